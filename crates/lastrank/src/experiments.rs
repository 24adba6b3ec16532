//! The programs that ship inside the binary, and loading a program by file or name.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use include_dir::{Dir, include_dir};

static SHIPPED: Dir = include_dir!("$CARGO_MANIFEST_DIR/experiments");

/// A program's text and where it comes from.
#[derive(Clone, Debug)]
pub struct ProgramText {
    /// The file's stem, or the experiment's name.
    pub name: String,
    /// What diagnostics call it.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// It ships inside the binary: no stranger's.
    pub shipped: bool,
}

/// Names of all shipped experiments with the first line of each, sorted by name.
pub fn all() -> Vec<(String, String)> {
    let mut found: Vec<_> = SHIPPED
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "ppl"))
        .filter_map(|file| {
            let name = file.path().file_stem()?.to_str()?.to_owned();
            let first = file.contents_utf8()?.lines().next().unwrap_or_default();
            let what = first.trim_start_matches(['#', ' ']);
            Some((name.clone(), what.strip_prefix(&format!("{name}: ")).unwrap_or(what).to_owned()))
        })
        .collect();
    found.sort();
    found
}

/// The text of a shipped experiment.
pub fn text(name: &str) -> Option<&'static str> {
    SHIPPED.get_file(format!("{name}.ppl"))?.contents_utf8()
}

/// The longest program. A longer file is not a program, or has no end (`/dev/zero`).
const MOST_BYTES: u64 = 256 << 20;

/// The text of a program or of a part that it includes.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    text_of(std::fs::File::open(path)?)
}

/// All text of `reader`, without a byte order mark.
fn text_of(reader: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("it is longer than {}; is this a program?", samples::units::bytes(MOST_BYTES));
    }
    if bytes.starts_with(b"PAR1") {
        bail!("it is a Parquet file and no program; `lastrank report FILE` shows a run");
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        anyhow::anyhow!("byte {} is not UTF-8 text; is this a program?", error.utf8_error().valid_up_to())
    })?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// Read a program: a file if there is one of that name, else a shipped experiment, `-` for
/// standard input.
pub fn load(program: &str) -> anyhow::Result<ProgramText> {
    if program == "-" {
        let text = text_of(std::io::stdin().lock()).context("cannot read standard input")?;
        return Ok(ProgramText { name: "stdin".into(), path: "<stdin>".into(), text, shipped: false });
    }
    let path = Path::new(program);
    if path.exists() && !path.is_dir() {
        let text = read_text(path).with_context(|| format!("cannot read {program}"))?;
        let name =
            path.file_stem().map_or_else(|| program.to_owned(), |stem| stem.to_string_lossy().into_owned());
        return Ok(ProgramText { name, path: program.to_owned(), text, shipped: false });
    }
    if let Some(text) = text(program) {
        return Ok(ProgramText {
            name: program.to_owned(),
            path: format!("{program}.ppl"),
            text: text.to_owned(),
            shipped: true,
        });
    }
    let names: Vec<_> = all().into_iter().map(|(name, _)| name).collect();
    if path.is_dir() {
        bail!("`{program}` is a directory; name a program in it, or an experiment: {}", names.join(", "));
    }
    let meant = like(program, &names).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    bail!(
        "there is no file `{program}` and no experiment of that name{meant}; the experiments are: {}",
        names.join(", ")
    )
}

/// The experiment that was meant: other signs between its words, or a slip or two.
fn like<'a>(typed: &str, names: &'a [String]) -> Option<&'a String> {
    let typed = typed.trim_end_matches(".ppl").to_lowercase().replace(['-', ' '], "_");
    let distance = |name: &&String| strsim::osa_distance(&typed, name);
    names.iter().min_by_key(distance).filter(|name| distance(name) <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_experiment_that_was_meant_is_named() {
        for typed in ["parallel-write", "Parallel_Write", "paralel_write", "parallel_write.ppl"] {
            let error = load(typed).expect_err(typed).to_string();
            assert!(error.contains("did you mean `parallel_write`?"), "{error}");
        }
        let error = load("mine.ppl").expect_err("no such file").to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }
}
