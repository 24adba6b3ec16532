//! Programs that measure memory: latency, bandwidth, and latency under load.

use crate::quantity::{bytes_literal, time_literal};
use crate::text::{ProgramText, one_line};

/// What of memory is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// How long one load takes, by the amount of memory that loads go to.
    Latency,
    /// How much is read, written and copied in a second, by one worker and by all.
    Bandwidth,
    /// How long one load takes while other workers read as fast as they can.
    Loaded,
}

/// The measurement and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The measurement.
    pub what: What,
    /// The largest amount of memory in bytes.
    pub size: u64,
    /// The most workers.
    pub workers: u32,
    /// Nanoseconds that each row lasts.
    pub time: u64,
    /// Pages of 2 MiB.
    pub huge_pages: bool,
}

impl Memory {
    /// The program; `command` is told in its first line.
    pub fn program(&self, command: &str) -> String {
        let mut text = ProgramText::default();
        text.comment(match self.what {
            What::Latency => "latency: how long one load takes, by the amount of memory that loads go to.",
            What::Bandwidth => "bandwidth: bytes a second that workers read, write and copy in order.",
            What::Loaded => "loaded latency: how long one load takes while other workers read in order.",
        });
        text.line("#");
        text.comment(&format!("Made by `{}`.", one_line(command)));
        text.gap();
        text.parameter("size", &bytes_literal(self.size), "from 64KiB", "the largest amount of memory");
        if self.what != What::Latency {
            text.parameter("workers", &self.workers.to_string(), "from 1", "the most at once");
        }
        text.parameter("time", &time_literal(self.time), "", "of each row");
        let pages = if self.huge_pages { "huge" } else { "small" };
        text.parameter("pages", &format!("\"{pages}\""), "in [\"small\", \"huge\"]", "huge ones have 2 MiB");
        text.gap();
        text.line("define ranks 1");
        text.line("on_error stop;");
        text.gap();
        match self.what {
            What::Latency => latency(&mut text),
            What::Bandwidth => bandwidth(&mut text),
            What::Loaded => loaded(&mut text),
        }
        text.finish()
    }
}

fn latency(text: &mut ProgramText) {
    text.line("$bytes = 4KiB;");
    text.line("while $bytes <= $size {");
    text.line("time[\"$bytes\"] for $time chase($bytes, 1000, $pages);");
    text.line("$bytes = $bytes * 2;\n}");
}

fn bandwidth(text: &mut ProgramText) {
    text.line("for $kind in [\"read\", \"write\", \"copy\"] {");
    text.line("$n = 1;\nwhile $n <= $workers {");
    text.line("time[\"$kind by $n\"] parallel $n for $time stream($kind, $size, 1, $pages);");
    text.line("$n = $n < $workers ? min($n * 2, $workers) : $n + 1;\n}\n}");
}

fn loaded(text: &mut ProgramText) {
    text.line("time[\"idle\"] for $time chase($size, 1000, $pages);");
    text.line("# The first worker follows pointers, the others read, with fewer and fewer pauses.");
    text.line("for $pause in [1ms, 100us, 10us, 0us] {");
    text.line("time[\"pause $pause\"] parallel $workers {");
    text.line("if $$worker == 0 for $time chase($size, 1000, $pages);");
    text.line("else for $time {\nthink $pause;\nstream(\"read\", 1MiB, 1, $pages);\n}\n}\n}");
}
