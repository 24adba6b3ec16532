//! Stores compiler and target for the facts of every run, and for `--version` the commit of the sources and the features.

use std::path::Path;
use std::process::Command;

/// Optional features of this crate.
const FEATURES: [&str; 1] = ["mpi"];

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().ok();
    let version = version.and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
    println!("cargo::rustc-env=LASTRANK_RUSTC={}", version.trim());
    println!("cargo::rustc-env=LASTRANK_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=experiments");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_on = |name: &&str| std::env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    let features: Vec<&str> = FEATURES.into_iter().filter(is_on).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    println!("cargo::rustc-env=LASTRANK_COMMIT={}", commit(&root));
    println!("cargo::rustc-env=LASTRANK_FEATURES={features}");
    // What is timed by kernels holds code of lastrank's own.
    let is_debug = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    println!(
        "cargo::rustc-env=LASTRANK_BUILT={}",
        if is_debug { "without optimisation, for tests" } else { "optimised" }
    );
}

/// The commit of the sources; of an archive, that there is none.
fn commit(root: &Path) -> String {
    let git = |words: &[&str]| {
        let done = Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    // An archive may be unpacked in a repository of something else.
    let top = git(&["rev-parse", "--show-toplevel"]).and_then(|top| Path::new(&top).canonicalize().ok());
    if top.is_none() || top != root.canonicalize().ok() {
        return "built from an archive; its commit is not known".into();
    }
    let Some(found) = git(&["log", "-1", "--format=%h %cs", "--abbrev=12"]) else {
        return "a repository without a commit".into();
    };
    // A new commit changes the log of HEAD; changed sources may be those of no commit.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={}", root.join(log).display());
    }
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", "crates", "Cargo.lock"]);
    match changed {
        Some(files) if files.is_empty() => format!("commit {found}"),
        _ => format!("commit {found}, with changes"),
    }
}
