//! `lastrank fmt`: write programs in their one layout.

use std::fs;
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
        // The layout is no place for surprises: what would be written is read again.
        if !ppl::format::is_same_program_as(&found.text, &formatted, args.classic) {
            bail!(
                "{name}: left as it is, for formatting would change what it does; please report this program"
            );
        }
        let same = formatted == found.text;
        changed += usize::from(!same);
        if args.diff && !same {
            output::print(&difference(name, &found.text, &formatted))?;
        }
        if args.check {
            if !same {
                eprintln!("{name}: not formatted");
            }
        } else if args.diff {
        } else if name == "-" {
            output::print(&formatted)?;
        } else if !same {
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
fn load(name: &str) -> anyhow::Result<experiments::Source> {
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

/// Written beside and renamed, so that no half file is ever there. A link keeps pointing at its
/// file, and the file keeps its permissions.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let path = fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = fs::write(&beside, text)
        .and_then(|()| fs::set_permissions(&beside, fs::metadata(&path)?.permissions()))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // It may never have come to be; what matters is said below.
        let _ = fs::remove_file(&beside);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
