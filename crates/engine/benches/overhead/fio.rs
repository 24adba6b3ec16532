//! What fio needs for the same calls, by its own account.

use std::path::Path;
use std::process::Command;

use super::{BLOCK, FILE, TimedCall};

/// Nanoseconds of processor time an operation. `None` without fio.
pub fn ns(kind: TimedCall, path: &Path, operations: u64) -> Option<f64> {
    let (workload, engine) = match kind {
        TimedCall::Write | TimedCall::WriteMemory => ("write", "psync"),
        TimedCall::Read => ("read", "psync"),
        TimedCall::Stat => return filestat(),
        TimedCall::Open => return None,
    };
    let output = Command::new("fio")
        .args(["--name=overhead", "--thread", "--output-format=json", "--fallocate=none", "--overwrite=1"])
        .args([format!("--rw={workload}"), format!("--ioengine={engine}"), format!("--bs={BLOCK}")])
        .args([format!("--filename={}", path.display()), format!("--size={FILE}")])
        .args([format!("--io_size={}", operations * BLOCK)])
        .output()
        .ok()?;
    job_ns(&output.stdout, workload)
}

fn filestat() -> Option<f64> {
    let output = Command::new("fio")
        .args(["--name=overhead", "--thread", "--output-format=json", "--ioengine=filestat", "--rw=read"])
        .args([
            "--nrfiles=2000",
            "--bs=4096",
            "--filesize=4096",
            "--directory=/dev/shm",
            "--unlink=1",
            "--loops=20",
        ])
        .output()
        .ok()?;
    job_ns(&output.stdout, "read")
}

fn job_ns(output: &[u8], direction: &str) -> Option<f64> {
    // fio may write lines of its own before the JSON.
    let start = output.iter().position(|byte| *byte == b'{')?;
    let report: serde_json::Value = serde_json::from_slice(&output[start..]).ok()?;
    let part = &report["jobs"][0][direction];
    let (operations, ms) = (part["total_ios"].as_f64()?, report["jobs"][0]["job_runtime"].as_f64()?);
    let share = (report["jobs"][0]["usr_cpu"].as_f64()? + report["jobs"][0]["sys_cpu"].as_f64()?) / 100.0;
    (operations > 0.0 && ms > 0.0).then_some(ms * share * 1e6 / operations)
}
