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
    /// How long a cache line takes from one processor to another.
    Cores,
    /// How long one load takes from each memory node in the memory of each.
    Nodes,
}

/// The numbers of processors or of memory nodes, as a machine has them.
pub type Numbers = Vec<u32>;

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
    /// Of [`What::Cores`] and [`What::Nodes`]: which ones.
    pub numbers: Numbers,
}

impl Memory {
    /// The program; `command` is told in its first line.
    pub fn program(&self, command: &str) -> String {
        let mut text = ProgramText::default();
        text.comment(match self.what {
            What::Latency => "latency: how long one load takes, by the amount of memory that loads go to.",
            What::Bandwidth => "bandwidth: bytes a second that workers read, write and copy in order.",
            What::Loaded => "loaded latency: how long one load takes while other workers read in order.",
            What::Cores => "core to core: how long a cache line takes from one processor to another.",
            What::Nodes => {
                "NUMA matrix: how long one load takes, by the node it is made on and the node of the memory."
            }
        });
        text.line("#");
        text.comment(&format!("Made by `{}`.", one_line(command)));
        text.gap();
        self.parameters(&mut text);
        text.gap();
        text.line("define ranks 1");
        if let Some(answer) = self.what.answer() {
            text.line(format!("define report {{\"answer\": \"{answer}\"}}"));
        }
        text.line("on_error stop;");
        text.gap();
        match self.what {
            What::Latency => latency(&mut text),
            What::Bandwidth => bandwidth(&mut text),
            What::Loaded => loaded(&mut text),
            What::Cores => cores(&mut text),
            What::Nodes => nodes(&mut text),
        }
        text.finish()
    }

    fn parameters(&self, text: &mut ProgramText) {
        if self.what != What::Cores {
            text.parameter("size", &bytes_literal(self.size), "from 64KiB", "the largest amount of memory");
        }
        if matches!(self.what, What::Bandwidth | What::Loaded) {
            text.parameter("workers", &self.workers.to_string(), "from 1", "the most at once");
        }
        text.parameter("time", &time_literal(self.time), "", "of each row");
        if matches!(self.what, What::Latency | What::Bandwidth | What::Loaded) {
            let pages = if self.huge_pages { "huge" } else { "small" };
            let pages = format!("\"{pages}\"");
            text.parameter("pages", &pages, "in [\"small\", \"huge\"]", "huge ones have 2 MiB");
        }
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        let numbers = format!("\"{}\"", numbers.join(","));
        match self.what {
            What::Cores => text.parameter("processors", &numbers, "", "each with each other"),
            What::Nodes => text.parameter("nodes", &numbers, "", "each with each"),
            What::Latency | What::Bandwidth | What::Loaded => {}
        }
    }
}

impl What {
    /// The form of the answer, where one says it better than the table of all rows.
    fn answer(self) -> Option<&'static str> {
        match self {
            What::Latency => Some("ladder"),
            What::Bandwidth => None,
            What::Loaded => Some("load"),
            What::Cores | What::Nodes => Some("matrix"),
        }
    }
}

/// Two sizes an octave, so that a step shows where it is.
fn latency(text: &mut ProgramText) {
    text.line("$octave = 4KiB;");
    text.line("while $octave <= $size {");
    text.line("for $bytes in [$octave, $octave / 2 * 3] {");
    text.line("$kib = $bytes / 1KiB;");
    text.line("if $bytes <= $size {");
    text.line(
        "chase($bytes, 1000, $pages); # makes its memory ready, which may take longer than the time of a row",
    );
    text.line("time[\"memory ${kib}KiB\"] for $time chase($bytes, 1000, $pages);\n}\n}");
    text.line("$octave = $octave * 2;\n}");
}

fn cores(text: &mut ProgramText) {
    text.line("$all = split($processors);");
    text.line("for $i in 0..len($all) {\nfor $j in $i + 1..len($all) {");
    text.line("$from = $all[$i];\n$to = $all[$j];");
    text.line("time[\"processor $from to $to\"] for $time core_pingpong(int($from), int($to), 1000);\n}\n}");
}

fn nodes(text: &mut ProgramText) {
    text.line("for $from in split($nodes) {\nfor $to in split($nodes) {");
    text.line("numa_chase($size, int($from), int($to), 1000); # makes its memory ready");
    text.line("time[\"node $from to $to\"] for $time numa_chase($size, int($from), int($to), 1000);\n}\n}");
}

fn bandwidth(text: &mut ProgramText) {
    text.line("$passes = max(16MiB / $size, 1); # of a sample, beside which its timing costs nothing");
    text.line("for $kind in [\"read\", \"write\", \"copy\"] {");
    text.line("$n = 1;\nwhile $n <= $workers {");
    text.line("parallel $n {");
    text.line("stream($kind, $size, $passes, $pages); # makes its memory ready");
    text.line("signal(\"$kind by $n\");\nawait(\"$kind by $n\", $n);");
    text.line("time[\"$kind by $n\"] for $time stream($kind, $size, $passes, $pages);\n}");
    text.line("$n = $n < $workers ? min($n * 2, $workers) : $n + 1;\n}\n}");
}

fn loaded(text: &mut ProgramText) {
    text.line(
        "chase($size, 1000, $pages); # makes its memory ready, which may take longer than the time of a row",
    );
    text.line("time[\"alone\"] for $time chase($size, 1000, $pages);");
    text.line(
        "# The first worker follows pointers, the others read from memory, with shorter and shorter pauses.",
    );
    for (name, pause) in [
        ("others pause 30 ms", "think 30ms;"),
        ("others pause 10 ms", "think 10ms;"),
        ("others pause 3 ms", "think 3ms;"),
        ("others read on", ""),
    ] {
        text.line("parallel $workers {\nif $$worker == 0 chase($size, 1000, $pages);");
        text.line("else stream(\"read\", 32MiB, 1, $pages);");
        text.line(format!("signal(\"{name}\");\nawait(\"{name}\", $workers);\ntime[\"{name}\"] {{"));
        text.line("if $$worker == 0 for $time chase($size, 1000, $pages);");
        text.line(format!("else for $time {{\n{pause}\nstream(\"read\", 32MiB, 1, $pages);\n}}\n}}\n}}"));
    }
}
