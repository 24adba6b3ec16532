//! Writes Parabench's own text formats.

use std::io::{self, Write};

use samples::{Run, field, units, visible};

use super::statistics::{BlockKind, BlockTimes, Calls, block_times, commands};

/// `rank;id;seconds`, a line each time a `time` or `ctime` block was run: all `time` blocks by rank, then
/// all `ctime` blocks.
pub fn times(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    for event in block_times(run) {
        // The separator and line ends cannot stand in a name.
        let id = event.id.replace([';', '\n', '\r'], " ");
        let id = field(&id);
        for seconds in &event.seconds {
            writeln!(out, "{};{id};{seconds:.9}", event.rank)?;
        }
    }
    Ok(())
}

/// The report: times by rank and event, calls inside `ctime` blocks, commands.
pub fn report(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let facts = &run.facts;
    let ranks = if facts.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", facts.ranks) };
    let began = facts.began().map_or("simulated".into(), |began| format!("started {}", visible(began)));
    writeln!(out, "{}: {ranks}, {began}, {:.6} s", visible(&facts.name), facts.elapsed_s)?;
    if !facts.complete {
        writeln!(out, "The run is incomplete.")?;
    }
    for one in report::words::judgement::lines(&run.judgements()) {
        writeln!(out, "{}", visible(&one.head))?;
    }
    let events = block_times(run);
    section(out, "time: wall time of each block", &events, BlockKind::Time)?;
    section(out, "ctime: time inside the calls of each block", &events, BlockKind::CommandTime)?;
    writeln!(out, "\ncommands")?;
    let commands = commands(run);
    if commands.is_empty() {
        writeln!(out, "  No I/O commands executed.")?;
    } else {
        writeln!(out, "  {:>5}  {:<16}{:>12}{:>12}", "rank", "command", "succeeded", "failed")?;
    }
    for ((rank, command), (good, bad)) in &commands {
        let command = visible(command);
        writeln!(out, "  {rank:>5}  {command:<16}{good:>12}{bad:>12}")?;
    }
    Ok(())
}

fn section(out: &mut dyn Write, title: &str, events: &[BlockTimes], kind: BlockKind) -> io::Result<()> {
    let of_kind: Vec<(String, &BlockTimes)> = events
        .iter()
        .filter(|event| event.kind == kind)
        .map(|event| (visible(&event.id.replace(['\n', '\r'], " ")).into_owned(), event))
        .collect();
    if of_kind.is_empty() {
        return Ok(());
    }
    let width = of_kind.iter().map(|(id, _)| id.chars().count()).max().unwrap_or(0).max(5);
    writeln!(out, "\n{title}")?;
    writeln!(
        out,
        "  {:>5}  {:<width$}{:>8}{:>16}{:>16}{:>16}{:>16}",
        "rank", "event", "runs", "total [s]", "avg [s]", "min [s]", "max [s]"
    )?;
    for (id, event) in of_kind {
        let total: f64 = event.seconds.iter().sum();
        let min = event.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let max = event.seconds.iter().copied().fold(0.0, f64::max);
        let average = total / event.seconds.len() as f64;
        let (rank, runs) = (event.rank, event.seconds.len());
        writeln!(
            out,
            "  {rank:>5}  {id:<width$}{runs:>8}{total:>16.9}{average:>16.9}{min:>16.9}{max:>16.9}"
        )?;
        if let Some(calls) = &event.calls {
            calls_of(out, calls)?;
        }
    }
    Ok(())
}

fn calls_of(out: &mut dyn Write, calls: &Calls) -> io::Result<()> {
    writeln!(
        out,
        "         {} calls, {:.1} a second; call time avg {:.9} s, min {:.9} s, max {:.9} s",
        calls.count,
        calls.per_second(),
        calls.average(),
        calls.min,
        calls.max
    )?;
    if let Some(average) = calls.throughput() {
        let mib = |rate: f64| rate / f64::from(1 << 20);
        writeln!(
            out,
            "         {}; throughput avg {:.3} MiB/s, min {:.3} MiB/s, max {:.3} MiB/s",
            units::bytes(calls.bytes),
            mib(average),
            mib(calls.slowest),
            mib(calls.fastest)
        )?;
    }
    Ok(())
}
