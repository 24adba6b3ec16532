//! Files of histograms and reports that are damaged or hold less than they might, and what is said of their bins.

use std::path::Path;

use intake::{Error as ReadError, Histogram, Wanted, read, read_from};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

fn found(file: &str, column: Option<&str>, wanted: Wanted) -> Result<intake::Taken, intake::Error> {
    read(&folder().join(file), &Wanted { column: column.map(Into::into), ..wanted })
}

/// What an example says after a change to it; the change must be one.
fn changed(file: &str, column: Option<&str>, change: impl Fn(&str) -> String) -> String {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let damaged = change(&text);
    assert_ne!(text, damaged, "{file}");
    let wanted = Wanted { column: column.map(Into::into), ..Wanted::default() };
    read_from(damaged.as_bytes(), file, &wanted).unwrap_err().to_string()
}

#[test]
fn damaged_files_are_refused_with_their_line() {
    let cut = |file: &'static str, column, at: &'static str| {
        changed(file, column, |text| text[..text.find(at).unwrap() + at.len()].into())
    };
    let swap = |file: &'static str, column, from: &'static str, to: &'static str| {
        changed(file, column, |text| text.replacen(from, to, 1))
    };
    let cases = [
        (cut("hdr.hgrm", None, "1918.000 0.762695312500        382"), "cut off at 0.7626953125"),
        (swap("hdr.hgrm", None, "        382", "        300"), "line 8: `1918.000 0.7626"),
        (swap("hdr.hgrm", None, "=      500.000]", "=      501.000]"), "and the rows above count 500"),
        (cut("hdr.hgrm.csv", None, "0.652,0.250000000000,125"), "cut off at 0.25"),
        (cut("hdr.hlog", None, "HISTFAAAAM"), "line 4: its histogram is"),
        (
            swap("hdr.hlog", None, "HISTFAAAAM", "HISTEQAAAM"),
            "line 4: its histogram is none of the second version",
        ),
        (swap("hdr.hlog", None, "8.000000,", "8.000000;"), "line 4: `1700000000.000000,1.000000,8.0"),
        (swap("fio-plus.json", Some("mix read clat"), "\"76288\" :", "\"76289\" :"), "is no bin of fio"),
        (cut("mix_clat_hist.1.log", Some("read"), "\n1"), "line 2: `1` has not the counts"),
        (cut("bpftrace.txt", Some("@size"), "[512, 1K)              6 |@@"), "line 9: `[512, 1K)"),
        (
            changed("bpftrace.txt", Some("@size"), |text| text.repeat(2)),
            "`@read_us[sda]` is printed a second time",
        ),
        (swap("bpftrace.txt", Some("@size"), " 25 |", " 2x5 |"), "line 7: `[2, 4)"),
        (swap("biolatency.txt", None, ": 15       |", ": 15       "), "line 8: `128 -> 255"),
        (swap("prometheus.txt", None, "le=\"0.005\"} 168.0", "le=\"0.005\"} 16.0"), "line 11: a bucket of"),
        (
            swap("prometheus.txt", None, "_count{device=\"nvme0\"} 200", "_count{device=\"nvme0\"} 201"),
            "line 15: ",
        ),
        (cut("prometheus.txt", None, "le=\"0.05\"} 20.0\n"), "has no last bucket (+Inf)"),
        (swap("otlp.json", None, "\"count\": \"60\"", "\"count\": \"61\""), "in value 1 of the file"),
        (swap("elbencho-histogram.json", None, "22-26us", "22:26us"), "in value 1 of the file, `{"),
        (changed("elbencho-histogram.json", None, |text| text.repeat(2)), "`WRITE IO` is there twice"),
        (swap("perf-trace.txt", Some("mmap"), "( 0.014 ms): cat", "( 0.014 m"), "line 4: `"),
        (swap("perf-script.txt", None, "80586.571279:", "8058"), "line 2: `cat 12217 [001] 8058"),
        (cut("dxt.txt", Some("POSIX write"), "262144      0.0045"), "line 20: `"),
        (
            swap("dxt.txt", Some("POSIX read"), "0.0059      0.0061", "0.0061      0.0059"),
            "ends before it begins",
        ),
        (cut("iostat.txt", Some("vda w_await"), "617.82"), "line 14: `vda"),
        (cut("nfsiostat.txt", None, "20.000          85.938           4.297"), "line 18: `20.000"),
        (cut("jmeter.xml", Some("query"), "t=\"45\" it=\"0\""), "line 8: `<sample t=\"45\""),
    ];
    for (said, words) in cases {
        assert!(said.contains(words), "{said}\n  has not: {words}");
    }
}

#[test]
fn reports_since_boot_alone_say_which_option_gives_intervals() {
    let first = |text: &str| text[..text.match_indices("avg-cpu").nth(1).unwrap().0].to_owned();
    assert!(
        changed("iostat.txt", None, first)
            .contains("iostat without waiting times of intervals: `iostat -x 1 60`")
    );
    let first = |text: &str| text[..text.match_indices("srv:").nth(1).unwrap().0].to_owned();
    assert!(changed("nfsiostat.txt", None, first).contains("`nfsiostat 1 60` reports them"));
    let without = |text: &str| text.replace("\"samples\"", "\"other\"");
    assert!(changed("asv.json", None, without).contains("`asv run --record-samples` keeps them"));
    let other = |text: &str| {
        text.replacen("\"attributes\": [{\"key\": \"telemetry", "\"attributes\": [{\"key\": \"elemetry", 1)
    };
    assert!(changed("otlp.json", None, other).contains("comes from several resources"));
}

fn bins_of(file: &str, column: Option<&str>) -> Histogram {
    match found(file, column, Wanted::default()) {
        Err(ReadError::Binned { histogram, .. }) => *histogram,
        other => panic!("{file}: {other:?}"),
    }
}

#[test]
fn what_was_taken_of_bins_is_told_and_they_are_no_values() {
    let told = |file, column| bins_of(file, column).told;
    assert_eq!(
        told("hdr.hlog", None),
        "HdrHistogram log: values, 350 values in 330 bins (4 intervals added up)"
    );
    assert_eq!(
        told("biolatency.txt", Some("disk = b'sdb'")),
        "bcc histogram: disk = b'sdb' in µs, 1 value in 1 bin (1 other series)"
    );
    let said = found("wrk2.hgrm", None, Wanted::default()).unwrap_err().to_string();
    assert!(said.contains("counts of bins, no single values: `lastrank fit` shows the bounds"), "{said}");
    let where_ = Wanted { filters: vec!["a=1".parse().unwrap()], ..Wanted::default() };
    assert!(found("wrk2.hgrm", None, where_).unwrap_err().to_string().contains("it has no columns"));
    // Line by line, as `watch` reads, nothing is taken of them.
    for file in ["hdr.hlog", "iostat.txt"] {
        let text = std::fs::read_to_string(folder().join(file)).unwrap();
        let mut lines = intake::NumberLines::new(&Wanted::default(), file);
        let head: Vec<&str> = text.lines().collect();
        lines.learn(&head).unwrap();
        let said = lines.number(text.lines().nth(3).unwrap()).unwrap_err().to_string();
        assert!(said.contains("is read as a whole"), "{said}");
    }
}

/// The largest values of the OpenTelemetry client for Python lie in the bins that its scale of 5 makes: of base 2^(1/32).
#[test]
fn bins_of_a_scale_are_powers_of_its_base() {
    let found = bins_of("otlp.json", Some("write"));
    assert_eq!((found.count, found.bins.len()), (120, 65));
    let recorded = [0.0065596850425056075, 0.01216048621974675, 0.01780453075338779, 0.0224728179382891];
    for (share, value) in [0.5, 0.9, 0.99, 1.0].into_iter().zip(recorded) {
        let [low, high] = found.quantile(share).unwrap();
        assert!(low <= value && value <= high && (high / low - 2_f64.powf(1.0 / 32.0)).abs() < 1e-12);
    }
}

/// Each example, cut short and with single bytes changed: numbers, bins or an error, never a panic.
#[test]
fn whatever_is_left_of_an_example_is_answered() {
    const SIGNS: &[u8] = b"\0\n\"{[(,:=-9eK| \xff";
    for file in std::fs::read_dir(folder()).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let whole = std::fs::read(folder().join(&file)).unwrap();
        let mut seed = 7_u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        for _ in 0..40 {
            let mut bytes = whole.clone();
            if draw(2) == 0 {
                bytes.truncate(draw(whole.len()) + 1);
            }
            for _ in 0..draw(4) {
                let at = draw(bytes.len());
                bytes[at] = SIGNS[draw(SIGNS.len())];
            }
            match read_from(&bytes[..], &file, &Wanted::default()) {
                Ok(taken) => assert!(taken.values.iter().all(|value| value.is_finite()), "{file}"),
                Err(ReadError::Binned { histogram, .. }) => {
                    let ranks = [1, histogram.count].map(|rank| histogram.rank(rank).unwrap());
                    assert!(ranks.iter().all(|[low, high]| low <= high), "{file}");
                }
                Err(error) => assert!(error.to_string().contains(&file), "{error}"),
            }
        }
    }
}
