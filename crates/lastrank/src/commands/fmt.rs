//! `lastrank fmt`: write programs in their one layout.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use ppl::Source;
use similar::TextDiff;

use crate::cli::FmtArgs;
use crate::exit::Status;
use crate::{diagnostics, experiments, output};

/// Format files in place, or standard input to standard output. With `--check` nothing is written
/// and the exit status says whether all were formatted; with `--diff` it is shown what would change.
pub fn run(args: &FmtArgs) -> anyhow::Result<Status> {
    let (mut wrong, mut changed) = (0, 0);
    for name in &args.files {
        let found = load(name)?;
        let formatted = match ppl::format::format_as(&found.text, args.classic) {
            Ok(formatted) => formatted,
            Err(findings) => {
                diagnostics::show(&Source::new(&found.path, &found.text), &findings);
                eprintln!("{name}: left as it is, for it cannot be read");
                wrong += 1;
                continue;
            }
        };
        // Read again what would be written, and compare: formatting must not change what a program does.
        if !ppl::format::is_same_program_as(&found.text, &formatted, args.classic) {
            bail!(
                "{name}: left as it is, for formatting would change what it does; please report this program"
            );
        }
        let same = formatted == found.text;
        changed += usize::from(!same);
        if args.diff && !same {
            output::print_whole(&difference(name, &found.text, &formatted))?;
        }
        if args.check {
            if !same {
                eprintln!("{name}: not formatted");
            }
        } else if !args.diff && name == "-" {
            output::print_whole(&formatted)?;
        } else if !args.diff && !same {
            replace(Path::new(name), &formatted)?;
        }
    }
    Ok(match (wrong, changed) {
        (1.., _) => Status::Usage,
        (_, 1..) if args.check => Status::No,
        _ => Status::Ok,
    })
}

/// A file or standard input; a shipped experiment is inside the binary and cannot be written.
fn load(name: &str) -> anyhow::Result<experiments::ProgramText> {
    if name != "-" && !Path::new(name).is_file() {
        let help = match experiments::text(name) {
            Some(_) => format!("; to change the experiment: lastrank experiments {name} > {name}.ppl"),
            None => String::new(),
        };
        bail!("there is no file `{name}`{help}");
    }
    experiments::load(name)
}

fn difference(name: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().header(name, &format!("{name} (formatted)")).to_string()
}

/// Replaces a file in one step. A link keeps pointing at its file, and the file keeps its permissions.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let path = fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))?;
    let write = || {
        let mut replacement = store::Replacement::of(&path)?;
        replacement.write_all(text.as_bytes())?;
        replacement.file().set_permissions(fs::metadata(&path)?.permissions())?;
        replacement.commit()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
