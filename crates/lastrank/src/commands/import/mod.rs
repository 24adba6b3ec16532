//! `lastrank import`: makes a program of what an application did, from a trace, or of the options of another tool.
//!
//! [`formats`] lists the formats, [`trace`] is what each of them gives, [`needs`] finds what must be there before
//! the first call, [`mod@write`] makes the program. [`workload`] is for job files and command lines.

mod formats;
mod names;
mod needs;
mod trace;
mod workload;
mod write;

use anyhow::{Context, bail};

use crate::cli::ImportArgs;
use crate::exit::Status;
use crate::output;

/// Reads a trace, a job file or a command line, and writes the program.
pub fn run(args: &ImportArgs) -> anyhow::Result<Status> {
    let name = args.trace.display().to_string();
    let text = match std::fs::read(&args.trace) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // A command line in quotes is no file.
        Err(error) => match workload::program(&name, "a command line")? {
            Some(program) => return deliver(args, &program, "the command line"),
            None => return Err(error).with_context(|| format!("cannot read {name}")),
        },
    };
    let format = formats::ALL.into_iter().find(|format| (format.detect)(&text));
    if let Some(format) = format {
        return of_trace(args, &text, format);
    }
    if let Some(program) = workload::program(&text, &name)? {
        return deliver(args, &program, &name);
    }
    let known: Vec<String> =
        formats::ALL.iter().map(|format| format!("{} (`{}`)", format.name, format.made_by)).collect();
    bail!(
        "{name} is no trace of {}, no job file of fio and no command line of ior or mdtest",
        known.join(" or of ")
    )
}

fn of_trace(args: &ImportArgs, text: &str, format: &trace::Format) -> anyhow::Result<Status> {
    let trace = (format.parse)(text, args)?;
    if trace.ranks.is_empty() {
        bail!(
            "no call in {} works on a file; with --all, files of the system count too",
            args.trace.display()
        );
    }
    let program = write::program(format.name, &trace, args);
    deliver(args, &program, &format!("{} calls", trace.calls().count()))
}

/// Writes the program; `what` it came of is told.
fn deliver(args: &ImportArgs, program: &str, what: &str) -> anyhow::Result<Status> {
    // A generated program that does not parse is a bug in lastrank, not in the trace.
    let mut source = ppl::Source::new("imported.ppl", program);
    if let Err(found) = ppl::compile(&mut source, &ppl::plan::Settings::default(), false, None) {
        let first = found.iter().find(|one| one.is_error()).map_or("", |one| one.message.as_str());
        bail!("the program that came of it is wrong ({first}); please report this");
    }
    match &args.output {
        Some(path) => {
            output::refuse_overwriting(path, "-o", &[&args.trace])?;
            std::fs::write(path, program).with_context(|| format!("cannot write {}", path.display()))?;
            eprintln!(
                "note: {} of {what}; `lastrank explain {}` says what it does, `lastrank run {} -c` does it",
                path.display(),
                path.display(),
                path.display()
            );
        }
        None => output::print(program)?,
    }
    Ok(Status::Ok)
}
