//! Compiles the library of the quiet recorder, which the binary carries: one file of machine code without any crate, by the
//! compiler that compiles the rest.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=preload");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let library = PathBuf::from(variable("OUT_DIR")).join("preload.so");
    // Elsewhere the binary carries nothing, and `record --quiet` says so.
    let fits = variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && matches!(variable("CARGO_CFG_TARGET_ARCH").as_str(), "x86_64" | "aarch64");
    if !fits {
        return std::fs::write(&library, b"").expect("OUT_DIR can be written");
    }
    // Fewer segments are loaded sooner, and everything that is looked up is looked up at once. Not every linker can do that.
    const FEWER_SEGMENTS: [&str; 3] =
        ["-Cforce-unwind-tables=no", "-Crelro-level=off", "-Clink-arg=-Wl,--no-rosegment"];
    let compile = |more: &[&str]| {
        let mut compile = Command::new(variable("RUSTC"));
        compile.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "preload"]);
        compile.args(["--target", &variable("TARGET"), "-Cpanic=abort", "-Copt-level=3", "-Cstrip=symbols"]);
        compile.args(["-Clto=fat", "-Ccodegen-units=1", "-Clink-arg=-nostartfiles"]).args(more).arg("-o");
        compile.arg(&library).arg("preload/preload.rs");
        let linker = format!("CARGO_TARGET_{}_LINKER", variable("TARGET").to_uppercase().replace('-', "_"));
        if let Ok(linker) = std::env::var(linker) {
            compile.arg(format!("-Clinker={linker}"));
        }
        compile.status().expect("the compiler runs").success()
    };
    assert!(compile(&FEWER_SEGMENTS) || compile(&[]), "the library of the quiet recorder does not compile");
}
