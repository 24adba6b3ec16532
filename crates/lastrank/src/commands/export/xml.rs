//! Writes Parabench's XML format, well-formed whatever the names are.

use std::io::{self, Write};

use samples::{Run, commands_a_terminal};

use super::statistics::{BlockKind, block_times, commands};

/// `<parabench>` with parameters, events (each run of a block, calls of `ctime` blocks) and commands.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let facts = &run.facts;
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<parabench program=\"{}\" ranks=\"{}\"{} seconds=\"{:.9}\" complete=\"{}\">",
        escaped(&facts.name),
        facts.ranks,
        facts.began().map_or(String::new(), |began| format!(" started=\"{}\"", escaped(began))),
        facts.elapsed_s,
        facts.complete
    )?;
    writeln!(out, "  <parameters>")?;
    for (name, value) in &facts.parameters {
        writeln!(out, "    <parameter name=\"{}\" value=\"{}\"/>", escaped(name), escaped(value))?;
    }
    writeln!(out, "  </parameters>")?;
    let found = report::words::judgement::lines(&run.judgements());
    if !found.is_empty() {
        writeln!(out, "  <found>")?;
        for one in found {
            writeln!(out, "    <judgement text=\"{}\"/>", escaped(&one.head))?;
        }
        writeln!(out, "  </found>")?;
    }
    writeln!(out, "  <events>")?;
    for event in block_times(run) {
        let kind = match event.kind {
            BlockKind::Time => "time",
            BlockKind::CommandTime => "ctime",
        };
        writeln!(out, "    <{kind} rank=\"{}\" id=\"{}\">", event.rank, escaped(&event.id))?;
        for seconds in &event.seconds {
            writeln!(out, "      <run seconds=\"{seconds:.9}\"/>")?;
        }
        if let Some(calls) = &event.calls {
            write!(
                out,
                "      <calls count=\"{}\" per_second=\"{:.3}\" avg=\"{:.9}\" min=\"{:.9}\" max=\"{:.9}\" bytes=\"{}\"",
                calls.count,
                calls.per_second(),
                calls.average(),
                calls.min,
                calls.max,
                calls.bytes
            )?;
            if let Some(average) = calls.throughput() {
                write!(
                    out,
                    " avg_bytes_per_second=\"{average:.0}\" min_bytes_per_second=\"{:.0}\" max_bytes_per_second=\"{:.0}\"",
                    calls.slowest, calls.fastest
                )?;
            }
            writeln!(out, "/>")?;
        }
        writeln!(out, "    </{kind}>")?;
    }
    writeln!(out, "  </events>")?;
    writeln!(out, "  <commands>")?;
    for ((rank, command), (good, bad)) in commands(run) {
        writeln!(
            out,
            "    <command rank=\"{rank}\" name=\"{}\" succeeded=\"{good}\" failed=\"{bad}\"/>",
            escaped(&command)
        )?;
    }
    writeln!(out, "  </commands>")?;
    writeln!(out, "</parabench>")
}

/// As the value of an attribute. Characters that XML 1.0 cannot hold or that command a terminal become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", character as u32)),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other if commands_a_terminal(other) => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
