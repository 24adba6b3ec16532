//! Traces that several tests read.

/// Counters as `darshan-parser` prints them, of one file that two ranks share and one of rank 1 alone.
pub fn counters() -> String {
    let mut text = String::from("# darshan log version: 3.41\n# nprocs: 2\n# run time: 4.0\n");
    let mut add = |rank: i32, name: &str, value: &str, file: &str| {
        text += &format!("POSIX\t{rank}\t77\tPOSIX_{name}\t{value}\t{file}\t/scratch\text4\n");
    };
    for (name, value) in [
        ("OPENS", "2"),
        ("WRITES", "64"),
        ("READS", "0"),
        ("BYTES_WRITTEN", "262144"),
        ("ACCESS1_ACCESS", "4096"),
        ("ACCESS1_COUNT", "64"),
        ("MODE", "-1"),
        ("F_OPEN_START_TIMESTAMP", "0.5"),
        ("F_WRITE_START_TIMESTAMP", "1.0"),
        ("F_WRITE_END_TIMESTAMP", "3.0"),
        ("F_CLOSE_END_TIMESTAMP", "3.5"),
        ("F_WRITE_TIME", "0.64"),
    ] {
        add(-1, name, value, "/scratch/shared");
    }
    for (name, value) in [("OPENS", "1"), ("READS", "3"), ("BYTES_READ", "3100"), ("STATS", "1")] {
        add(1, name, value, "/scratch/input");
    }
    text
}
