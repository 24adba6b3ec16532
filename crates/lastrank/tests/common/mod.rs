//! Runs the binary in a folder of the test's own.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a run of the binary printed, and how it ended.
pub struct Done {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The binary, to be started in `folder` without a launcher's environment.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lastrank"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars() {
        if ["PMI_", "PMIX_", "OMPI_", "SLURM_", "LASTRANK_", "PARABENCH_"].iter().any(|p| name.starts_with(p))
        {
            command.env_remove(name);
        }
    }
    command.env("COLUMNS", "100");
    command
}

/// Run the binary to its end.
pub fn lastrank(folder: &Path, arguments: &[&str]) -> Done {
    of(command(folder, arguments).output().unwrap())
}

/// The same with a program given as text.
pub fn program(folder: &Path, text: &str, arguments: &[&str]) -> Done {
    std::fs::write(folder.join("program.ppl"), text).unwrap();
    let mut all = vec!["run", "program.ppl", "-o", "run.parquet", "--report", "none"];
    all.extend(arguments);
    lastrank(folder, &all)
}

/// Output as text.
pub fn of(output: Output) -> Done {
    Done {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Standard output and error and the exit status in one text, for snapshots.
pub fn all(done: &Done) -> String {
    let mut text = done.out.clone();
    if !done.err.is_empty() {
        text += "---- standard error ----\n";
        text += &done.err;
    }
    let status = done.status.map_or("a signal".into(), |status| status.to_string());
    text + &format!("---- exit status {status} ----\n")
}

/// Names below a directory with their kind and size. Symbolic links are named by their text.
pub fn tree(folder: &Path) -> BTreeMap<String, String> {
    fn walk(folder: &Path, above: &str, all: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{above}{}", entry.file_name().to_string_lossy());
            let found = entry.path().symlink_metadata().unwrap();
            if found.is_dir() {
                all.insert(format!("{name}/"), String::new());
                walk(&entry.path(), &format!("{name}/"), all);
            } else if found.is_symlink() {
                all.insert(name, std::fs::read_link(entry.path()).unwrap().to_string_lossy().into_owned());
            } else {
                all.insert(name, found.len().to_string());
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, "", &mut all);
    all
}
