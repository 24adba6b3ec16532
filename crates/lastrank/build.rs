//! Stores the compiler version and the target in the binary, for the facts of every run.

use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().ok();
    let version = version.and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
    println!("cargo::rustc-env=LASTRANK_RUSTC={}", version.trim());
    println!("cargo::rustc-env=LASTRANK_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=experiments");
}
