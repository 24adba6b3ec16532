//! A command line of IOR or mdtest makes a program of the language that is free of mistakes, or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workloads::ior::{self, Ior};
use workloads::mdtest::{self, Mdtest};

mod compiles;

fuzz_target!(|line: &str| {
    let Some(words) = ior::words(line) else { return };
    if let Some(options) = ior::options_of_line(&words)
        && let Ok(ior) = Ior::of_words(options)
        && let Ok(program) = ior.program(line)
    {
        compiles::without_mistakes(&program);
    }
    if let Some(options) = mdtest::options_of_line(&words)
        && let Ok(mdtest) = Mdtest::of_words(options)
        && let Ok(program) = mdtest.program(line)
    {
        compiles::without_mistakes(&program);
    }
});
