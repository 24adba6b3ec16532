//! Traces of Darshan and blkparse that are damaged or not whole: what is missing is told, or refused.

mod common;

use common::counters;
use trace::format::Reading;

/// What the ledger says is not repeated: the words, what is missed, and how often.
fn lost(text: &str) -> Vec<(String, trace::ledger::Missing, u64)> {
    use trace::ledger::{Fate, Ledger};
    let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
    let trace = trace::import::read(format, &mut text.as_bytes(), &Reading::default()).unwrap();
    let choice = trace::select::Choice { all: true, ..Default::default() };
    let ledger = Ledger::of(&trace, &trace::recording::About::default(), &choice, None);
    ledger.of_fate(Fate::NotRepeated).map(|line| (line.what.clone(), line.missing, line.calls)).collect()
}

fn refusal(text: &str) -> String {
    let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
    let refused = trace::import::read(format, &mut text.as_bytes(), &Reading::default()).map(drop);
    refused.unwrap_err().to_string()
}

#[test]
fn counters_that_are_no_numbers_are_refused_and_missing_ones_told() {
    use trace::ledger::Missing::{Changes, Reads};
    assert_eq!(lost(&counters()), []);
    for bad in ["abc", "-1", "nan", ""] {
        let refused = refusal(&counters().replace("POSIX_WRITES\t64", &format!("POSIX_WRITES\t{bad}")));
        assert!(
            refused.contains(&format!("line 5: `{bad}` is no value of the counter POSIX_WRITES")),
            "{refused}"
        );
    }
    let without = |name: &str| {
        let whole = counters();
        whole.lines().filter(|line| !line.contains(name)).map(|line| format!("{line}\n")).collect::<String>()
    };
    let [(what, missing, 1)] = &lost(&without("POSIX_WRITES\t"))[..] else { panic!() };
    assert_eq!((what.starts_with("write that other counters"), *missing), (true, Changes));
    let sizes = "POSIX\t1\t77\tPOSIX_SIZE_READ_1K_10K\t5\t/scratch/input\t/scratch\text4\n";
    let [(what, missing, 2)] = &lost(&(counters() + sizes))[..] else { panic!() };
    assert_eq!((what.starts_with("read that other counters"), *missing), (true, Reads));
}

#[test]
fn transfers_of_darshan_that_are_missing_or_end_before_they_begin_are_told() {
    use trace::ledger::Missing::{Changes, Reads};
    let text = "# DXT, file_id: 1, file_name: /data/x/f\n# DXT, rank: 0, hostname: n1\n\
        # DXT, write_count: 3, read_count: 1\n# DXT, mnt_pt: /, fs_type: ext4\n\
        \x20X_POSIX 0 write 0 0 4096 0.0010 0.0020\n X_POSIX 0 write 1 4096 4096 0.0030 0.0040\n\
        \x20X_POSIX 0 write 2 8192 4096 0.0050 0.0060\n X_POSIX 0 read 0 0 4096 0.0070 0.0080\n\
        # DXT, file_id: 2, file_name: /data/x/g\n# DXT, rank: 0, hostname: n1\n\
        # DXT, write_count: 1, read_count: 0\n X_POSIX 0 write 0 0 4096 0.0090 0.0100\n";
    assert_eq!(lost(text), []);
    let kinds =
        |text: &str| lost(text).iter().map(|(_, missing, calls)| (*missing, *calls)).collect::<Vec<_>>();
    assert_eq!(kinds(&text.replace(" X_POSIX 0 write 1 4096 4096 0.0030 0.0040\n", "")), [(Changes, 1)]);
    assert_eq!(kinds(&text.replace(" X_POSIX 0 read 0 0 4096 0.0070 0.0080\n", "")), [(Reads, 1)]);
    assert_eq!(kinds(&text.replace(" X_POSIX 0 write 0 0 4096 0.0090 0.0100\n", "")), [(Changes, 1)]);
    let refused = refusal(&text.replace("0.0040", "0."));
    assert_eq!(refused, "line 6: the transfer ends before it begins");
}

#[test]
fn damaged_requests_of_blkparse_are_told() {
    use trace::ledger::Missing::{Changes, Reads};
    let of = |second: &str| {
        format!(
            "8,0 1 1 0.000000000 100 Q W 1000 + 8 [dd]\n{second}\n8,0 1 3 0.002000000 100 Q R 1016 + 8 [dd]\n\
             8,0 1 4 0.003000000 100 D W 1000 + \n8,0 1 5 0.003 0 m N cfq100 alloced\n8,0 1 6 0.004 100 Q FWS [dd]\n\
             CPU0 (8,0):\n Reads Queued: 1, 4KiB\n"
        )
    };
    assert_eq!(lost(&of("8,0 1 2 0.001000000 100 Q W 1008 + 8 [dd]")), []);
    for (line, missing) in [
        ("8,0 1 2 0.001000000 100 Q W 1008 + ", Changes),
        ("8,0 1 2 0.001000000 100 Q W -1008 + 8 [dd]", Changes),
        ("8,0 1 2 nan 100 Q W 1008 + 8 [dd]", Changes),
        ("8,0 1 2 0.001000000 100 Q W 99999999999999999999 + 8 [dd]", Changes),
        ("8,0 1 2 0.001000000 100 Q W 18446744073709551615 + 8 [dd]", Changes),
        ("8,0 1 2 0.0010", Changes),
        ("8,0 1 2 0.001000000 100 Q R 10", Reads),
    ] {
        let found = lost(&of(line));
        assert_eq!(found.iter().map(|line| (line.1, line.2)).collect::<Vec<_>>(), [(missing, 1)], "{line}");
    }
}
