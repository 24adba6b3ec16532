//! A job file of fio makes a program of the language that is free of mistakes, or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workloads::fio::{JobFile, looks_like_a_job_file};

mod compiles;

fuzz_target!(|text: &str| {
    let _ = looks_like_a_job_file(text);
    if let Ok(file) = JobFile::read(text)
        && let Ok(program) = file.program("fuzz")
    {
        compiles::without_mistakes(&program);
    }
});
