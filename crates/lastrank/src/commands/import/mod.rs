//! `lastrank import`: makes a program of what an application did, from a trace.
//!
//! [`formats`] lists the formats, [`trace`] is what each of them gives, [`needs`] finds what must be there before
//! the first call, [`mod@write`] makes the program.

mod formats;
mod names;
mod needs;
mod trace;
mod write;

use anyhow::{Context, bail};

use crate::cli::ImportArgs;
use crate::exit::Status;
use crate::output;

/// Reads a trace and writes the program.
pub fn run(args: &ImportArgs) -> anyhow::Result<Status> {
    let bytes =
        std::fs::read(&args.trace).with_context(|| format!("cannot read {}", args.trace.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let Some(format) = formats::ALL.into_iter().find(|format| (format.detect)(&text)) else {
        let known: Vec<String> =
            formats::ALL.iter().map(|format| format!("{} (`{}`)", format.name, format.made_by)).collect();
        bail!("{} is no trace of {}", args.trace.display(), known.join(" or of "));
    };
    let trace = (format.parse)(&text, args)?;
    if trace.ranks.is_empty() {
        bail!(
            "no call in {} works on a file; with --all, files of the system count too",
            args.trace.display()
        );
    }
    let program = write::program(format.name, &trace, args);
    // A generated program that does not parse is a bug in lastrank, not in the trace.
    let mut source = ppl::Source::new("imported.ppl", &program);
    if let Err(found) = ppl::compile(&mut source, &ppl::plan::Settings::default(), false, None) {
        let first = found.iter().find(|one| one.is_error()).map_or("", |one| one.message.as_str());
        bail!("the program that came of it is wrong ({first}); please report this trace");
    }
    match &args.output {
        Some(path) => {
            output::refuse_overwriting(path, "-o", &[&args.trace])?;
            std::fs::write(path, &program).with_context(|| format!("cannot write {}", path.display()))?;
            let calls = trace.calls().count();
            eprintln!(
                "note: {} of {} calls; `lastrank explain {}` says what it does, `lastrank run {} -c` does it",
                path.display(),
                calls,
                path.display(),
                path.display()
            );
        }
        None => output::print(&program)?,
    }
    Ok(Status::Ok)
}
