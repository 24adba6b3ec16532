//! A write that the operating system refuses is named as the cause, and nothing of it is left.

use std::path::Path;
use std::process::Command;

use samples::{Run, Sample, Site};

/// Names the folder in which the test, started anew under a limit of file sizes, writes a run.
const FOLDER: &str = "LASTRANK_TEST_LIMITED";

#[test]
fn a_refused_write_is_named_and_the_old_file_stays() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_a_run_that_does_not_fit(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.parquet"), "old").unwrap();
    // The limit counts for this process alone; ignoring SIGXFSZ turns it into the error EFBIG.
    let limited = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact a_refused_write_is_named_and_the_old_file_stays",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stdout));
    let passed = String::from_utf8_lossy(&limited.stdout).contains("1 passed");
    assert!(passed, "the test was not run under the limit");
    assert_eq!(std::fs::read_to_string(folder.path().join("run.parquet")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

fn write_a_run_that_does_not_fit(folder: &Path) {
    let sample =
        |n: u64| Sample { start_ns: n * n * 7919, duration_ps: n * 77_003, batch: 1, ..Sample::default() };
    let run =
        Run { sites: vec![Site::default()], samples: (0..4000).map(sample).collect(), ..Run::default() };
    let said = store::write(&folder.join("run.parquet"), &run).unwrap_err().to_string();
    assert!(said.starts_with("cannot write ") && said.contains("File too large"), "{said}");
}

#[test]
fn a_new_file_has_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode();
    std::fs::write(folder.path().join("plain"), "x").unwrap();
    store::replace(&folder.path().join("replaced"), b"x").unwrap();
    assert_eq!(mode("replaced"), mode("plain"));
}
