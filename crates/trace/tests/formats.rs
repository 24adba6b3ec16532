//! Small traces of each format become programs whose dry run makes the same calls.

use trace::description::Description;
use trace::format::Reading;
use trace::{Options, Trace};

fn made(text: &str, description: Option<&str>) -> (String, Trace) {
    let description = description.map(|text| Description::read(text).unwrap());
    let reading = Reading { directory: None, description };
    let format = trace::formats::detect(text.as_bytes(), &reading).expect("a known format");
    let mut reader = text.as_bytes();
    let mut found = trace::import::read(format, &mut reader, &reading).unwrap();
    let made = trace::import(&mut found, &Options::default());
    assert_eq!(made.difference, None, "{}", made.text);
    (made.text, found)
}

#[test]
fn darshan_transfers_of_equal_ranks_are_one_text() {
    let mut text = String::from("# DXT, file_id: 1, file_name: /scratch/shared.dat\n");
    for rank in 0..4_u64 {
        for part in 0..8_u64 {
            let (offset, start) = ((part * 4 + rank) * 1_048_576, 0.5 + part as f64);
            text +=
                &format!(" X_POSIX {rank} write {part} {offset} 1048576 {start:.4} {:.4}\n", start + 0.01);
            text +=
                &format!(" X_MPIIO {rank} write {part} {offset} 1048576 {start:.4} {:.4}\n", start + 0.01);
        }
    }
    let (program, trace) = made(&text, None);
    assert_eq!(trace.calls.len(), 4 * (8 + 2));
    assert!(program.contains("define ranks 4"), "{program}");
    assert!(program.contains("$$rank * 1048576 + $j * 4194304"), "{program}");
    assert!(!program.contains("if $$rank"), "{program}");
}

#[test]
fn block_traces_are_read() {
    let (program, _) = made(
        "128166372003061629,usr,0,Read,7014400,24576,41286\n128166372016382155,usr,0,Write,7014400,4096,1\n",
        None,
    );
    assert!(program.contains("fwrite($f0, 4096, 7014400)"), "{program}");
    let (program, _) = made(
        "  8,0    1        1     0.000000000   697  Q   W 2048 + 8 [x]\n  8,0    1        2     0.100000000   697  C   W \
         2048 + 8 [0]\n",
        None,
    );
    assert!(program.contains("fwrite($f0, 4096, 1048576)"), "{program}");
}

#[test]
fn the_worked_descriptions_are_read() {
    let nfs = include_str!("../../../docs/traces/nfsdump.trace");
    let (program, _) = made("t,c,p,f,o,n\n1.5,a,WRITE,/home/x,0,8192\n1.6,a,GETATTR,/home/x,,\n", Some(nfs));
    assert!(program.contains("fwrite($f0, 8192, 0)") && program.contains("stat(\"$dir/x\")"), "{program}");
    let snoop = include_str!("../../../docs/traces/biosnoop.trace");
    let (program, trace) =
        made("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.5 fio 7 vda W 88 4096 0.25\n", Some(snoop));
    assert!(program.contains("fwrite($f0, 4096, 0)"), "{program}");
    assert_eq!(trace.calls.get(1).duration, 250_000);
    let blocks = include_str!("../../../docs/traces/blocks.trace");
    let (program, _) = made("W 17 2\nR 17 1\n", Some(blocks));
    assert!(program.contains("fwrite($f0, 8192, 69632)"), "{program}");
}

#[test]
fn errors_name_the_line() {
    let blocks = include_str!("../../../docs/traces/blocks.trace");
    let description = Some(Description::read(blocks).unwrap());
    let reading = Reading { directory: None, description };
    let format = trace::formats::detect(b"", &reading).unwrap();
    let mut text: &[u8] = b"R 1 1\nW x 2\n";
    let error = trace::import::read(format, &mut text, &reading).unwrap_err();
    assert_eq!(error.to_string(), "line 2: `x` is no offset");
    let wrong = Description::read("separator = comma\nnonsense = 1\n").unwrap_err();
    assert_eq!(wrong.to_string(), "description, line 2: `nonsense` is no key of a description");
    let mut text: &[u8] = b"fio version 3 iolog\n1 f read 0 x\n";
    let format = trace::formats::detect(text, &Reading::default()).unwrap();
    let error = trace::import::read(format, &mut text, &Reading::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 2: `x` is no length");
}
