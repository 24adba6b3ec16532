//! `lastrank export`: a run in the formats of the original Parabench, as CSV, or as the six times of a timed write.

mod csv;
mod parabench;
mod statistics;
mod timed_write;
mod xml;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use report::words::unsound::Unsound;
use samples::Run;

use super::redact::redact;
use crate::cli::{ExportArgs, ExportFormat};
use crate::exit::Status;
use crate::{output, values};

/// Read the run, write it in the format asked for.
pub fn run(args: &ExportArgs) -> anyhow::Result<Status> {
    let mut run = values::open_whole(&args.run)?;
    if args.redact {
        redact(&mut run);
    }
    values::every_sample(&run, &args.run)?;
    if args.output.as_deref() == Some(Path::new("-")) {
        let mut text = Vec::new();
        write(args.to, &run, &mut text)?;
        output::print_whole(&String::from_utf8_lossy(&text))?;
        tell(args, &run);
        return Ok(Status::Ok);
    }
    let path = args.output.clone().unwrap_or_else(|| default_path(&args.run, args.to));
    output::refuse_overwriting(&path, "-o", &[&args.run])?;
    replace(&path, |out| write(args.to, &run, out))
        .with_context(|| format!("cannot write {}; name another place with `-o FILE`", path.display()))?;
    output::print(&format!("Export: {}\n", path.display()))?;
    tell(args, &run);
    Ok(Status::Ok)
}

/// What the format has no place for: that the run is not sound, and why there is nothing in the file.
fn tell(args: &ExportArgs, run: &Run) {
    if let Some(one) = Unsound::of(&args.run.display().to_string(), &run.judgements()) {
        eprintln!("warning: {}: {}; its times are exported all the same", one.run, one.found);
    }
    if matches!(args.to, ExportFormat::ParabenchText) && statistics::block_times(run).is_empty() {
        eprintln!(
            "warning: {} has no `time` or `ctime` block that was done to its end, so the export is empty: this format has \
             nothing else; `--to csv` has all operations",
            args.run.display()
        );
    }
}

fn write(format: ExportFormat, run: &Run, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::ParabenchText => parabench::times(run, out),
        ExportFormat::ParabenchXml => xml::write(run, out),
        ExportFormat::ParabenchReport => parabench::report(run, out),
        ExportFormat::Csv => csv::write(run, out),
        ExportFormat::TimedWrite => timed_write::write(run, out),
    }
}

fn default_path(run: &Path, format: ExportFormat) -> PathBuf {
    run.with_extension(match format {
        ExportFormat::ParabenchText => "times.txt",
        ExportFormat::ParabenchXml => "xml",
        ExportFormat::ParabenchReport => "report.txt",
        ExportFormat::Csv => "csv",
        ExportFormat::TimedWrite => "timed-write.log",
    })
}

/// Replaces `path` in one step by what `fill` writes.
fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(store::Replacement::of(path)?);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
}

#[cfg(test)]
mod tests;
