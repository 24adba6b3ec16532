//! What to do about a file that cannot be read as a run or as numbers.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::anyhow;
use store::Error;

/// What can be read.
const READABLE: &str = "what can be read: a run of lastrank, a table (--column NAME), text with one number a line, or a file \
                        of another tool (docs/formats.md)";

/// Where other files than runs are read.
const OTHERS: &str = "this command reads runs of lastrank; numbers, tables and files of other tools:";

/// What a table needs beside its name.
const COLUMN: &str = ", of a table with `--column NAME`";

/// Lines of a text in which a value that is no number says that it is another kind of file.
const BEGINNING: usize = 2;

/// The error of a run that cannot be read, with the way out.
pub fn explained(error: Error, file: &Path) -> anyhow::Error {
    match &error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => anyhow!("{}", missing(file)),
        Error::Foreign { .. } | Error::NotParquet { .. } => {
            let is_program = file.extension().is_some_and(|end| end == "ppl" || end == "pbl");
            let file = samples::visible(&file.display().to_string()).into_owned();
            match is_program {
                true => anyhow!("{error}\na program is run: `lastrank run {file}`"),
                false => anyhow!("{error}\n{OTHERS} `lastrank fit {file}`{COLUMN}"),
            }
        }
        _ => error.into(),
    }
}

/// The error of numbers that cannot be read, with the way out.
pub fn not_read(error: intake::Error, file: &Path) -> anyhow::Error {
    let is_other_kind = match &error {
        intake::Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            return anyhow!("{}", missing(file));
        }
        intake::Error::Value { line, .. } => *line <= BEGINNING,
        intake::Error::Table { what, .. } => {
            // A text with commas in it is no table.
            let is_table = file
                .extension()
                .is_some_and(|end| ["csv", "tsv", "txt", "dat", "parquet"].iter().any(|known| end == *known));
            let asks = what.starts_with("choose one of its columns") && !is_table;
            asks || what.contains("is not text") || what.contains("holds no numbers")
        }
        _ => false,
    };
    // What asks for a column names the option: the reader of files knows none.
    let said = match &error {
        intake::Error::Table { what, .. } => what.as_str(),
        _ => "",
    };
    let by_place = said.ends_with("choose one by position, from 1");
    let asks = by_place || said.starts_with("choose one of its columns");
    let how = match (asks, by_place) {
        (true, true) => " (`--column '#1'`)",
        (true, false) => " (`--column NAME`)",
        _ => "",
    };
    match is_other_kind {
        true => anyhow!("{error}{how}\n{READABLE}"),
        false if asks => anyhow!("{error}{how}"),
        false => error.into(),
    }
}

fn missing(file: &Path) -> String {
    let around = file.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !around.is_dir() {
        return format!("cannot read {}: there is no directory {}", file.display(), around.display());
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let there = std::fs::read_dir(around).into_iter().flatten().flatten();
    let names = there.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let out = match nearest(&name, names) {
        Some(near) => format!("did you mean `{}`?", around.join(near).display()),
        None => format!("`lastrank ls {}` lists the runs there", around.display()),
    };
    let plain = |text: &str| text.replace("`./", "`");
    format!("cannot read {}: there is no such file; {}", file.display(), plain(&out))
}

/// The word that was meant: a slip or two away.
pub fn nearest(typed: &str, known: impl Iterator<Item = String>) -> Option<String> {
    let most = if typed.chars().count() < 4 { 1 } else { 2 };
    known
        .map(|name| (strsim::osa_distance(typed, &name), name))
        .filter(|(far, _)| (1..=most).contains(far))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = || ["read", "randread", "randwrite"].map(str::to_owned).into_iter();
        assert_eq!(nearest("randraed", known()).as_deref(), Some("randread"));
        assert_eq!(nearest("write-all", known()), None);
        assert_eq!(nearest("raed", known()).as_deref(), Some("read"));
    }
}
