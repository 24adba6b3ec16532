//! `lastrank check`: prints the mistakes of a program.

use ppl::diagnostic::has_errors;
use serde_json::json;

use crate::cli::{CheckArgs, DiagnosticFormat};
use crate::exit::Status;
use crate::{diagnostics, output, program};

/// Parse and check; exit status 2 where there are errors.
pub fn run(args: &CheckArgs) -> anyhow::Result<Status> {
    let program = program::load(&args.program, args.classic, None)?;
    let found = program.diagnostics();
    match args.format {
        DiagnosticFormat::Json => output::json(&json!({
            "schema": "lastrank.check/1",
            "diagnostics": diagnostics::findings(&program.source, found),
        }))?,
        DiagnosticFormat::Text => {
            diagnostics::show(&program.source, found);
            if found.is_empty() {
                output::print(&format!("{}: no mistakes found\n", args.program))?;
            }
        }
    }
    Ok(if has_errors(found) { Status::Usage } else { Status::Ok })
}
