//! Writes text to standard output and error, without a panic when the reader has gone away.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, bail};
use samples::{visible, visible_in_colour, visible_json};

use crate::json_text::laid_out;
pub use crate::terminal::{
    Stream, columns, error_columns, is_one_terminal, is_watched, may_colour, progress_is_seen, screen_options,
};
use crate::{live, system};

/// Write words to standard output, in lines as wide as the terminal; what would command a terminal is made visible.
///
/// A reader that went away (`lastrank … | head`) is no error: the command finishes its work, and the exit
/// status says how that went.
pub fn print(text: &str) -> io::Result<()> {
    print_as_it_is(&fitted(&visible(&with_names_in_one_line(text))))
}

/// The text with each name of the command line that has line ends in one line: its second one would read like a line of ours.
fn with_names_in_one_line(text: &str) -> Cow<'_, str> {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let all = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        all.filter(|word| word.contains(['\n', '\r'])).collect()
    });
    names.iter().fold(text.into(), |text: Cow<'_, str>, name| match text.contains(name) {
        true => text.replace(name, &name.replace('\n', "\\n").replace('\r', "\\r")).into(),
        false => text,
    })
}

/// As [`print`], of what others read on, such as a program or a table of numbers: its lines stay whole.
pub fn print_whole(text: &str) -> io::Result<()> {
    print_as_it_is(&visible(text))
}

/// As [`print`], of a screen of `report`, which has made visible whatever users named: its colours stay colours.
pub fn print_screen(text: &str) -> io::Result<()> {
    print_as_it_is(&fitted(&visible_in_colour(text)))
}

/// As [`print_screen`] of the head, and as [`print`] of what stands below it.
pub fn print_below(head: &str, text: &str) -> io::Result<()> {
    print_as_it_is(&(fitted(&visible_in_colour(head)).into_owned() + &fitted(&visible(text))))
}

/// As [`tell`], of a screen of `report`.
pub fn tell_screen(text: &str) -> io::Result<()> {
    tell_as_it_is(&fitted(&visible_in_colour(text)))
}

/// The text in lines as wide as the terminal; unchanged for a pipe, whose reader wants whole lines, unless `COLUMNS` is
/// set.
fn fitted(text: &str) -> Cow<'_, str> {
    columns().map_or(text.into(), |columns| fit(text, columns).into())
}

fn fit(text: &str, columns: usize) -> String {
    report::fit_width(&text.replace('\t', " "), columns)
}

/// Sentences wrap at the width of the terminal from now on.
pub fn wrap_at_terminal() {
    if let Some(columns) = columns() {
        report::set_text_width(columns);
    }
}

fn print_as_it_is(text: &str) -> io::Result<()> {
    live::clear();
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(unheard),
    }
}

/// What was to be told could not be written.
#[derive(Debug)]
pub struct Unheard(io::Error);

impl std::fmt::Display for Unheard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl std::error::Error for Unheard {}

fn unheard(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => error,
        kind => io::Error::new(kind, Unheard(error)),
    }
}

/// Write `text` to standard output for as long as somebody reads it: a reader that went away is an
/// [`io::ErrorKind::BrokenPipe`], on which a command that would go on for ever ends (with status 0).
pub fn tell(text: &str) -> io::Result<()> {
    tell_as_it_is(&fitted(&visible(&with_names_in_one_line(text))))
}

fn tell_as_it_is(text: &str) -> io::Result<()> {
    live::clear();
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unheard)
}

/// Writes words to standard error, in lines as wide as the terminal; what would command a terminal is made visible. A
/// failure is ignored, since there is no other place to report it.
pub fn say(words: std::fmt::Arguments<'_>) {
    let words = words.to_string();
    let words = with_names_in_one_line(&words);
    let words = visible(&words);
    let fitted = error_columns().map_or(words.clone(), |columns| fit(&words, columns).into());
    put(&with_coloured_head(&fitted, may_colour(is_watched(Stream::Error))));
}

/// As [`say`], of text that may be coloured.
pub fn say_in_colour(words: &str) {
    let words = visible_in_colour(&with_names_in_one_line(words));
    put(&error_columns().map_or(words.clone(), |columns| fit(&words, columns)));
}

/// As [`say`], of a line that a program reads.
pub fn say_whole(line: &str) {
    put(&visible(line));
}

fn put(text: &str) {
    live::clear();
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The words with their first one in the colour of its kind, where it is `error:`, `warning:`, `note:`, `hint:` or a sign.
fn with_coloured_head(words: &str, colour: bool) -> Cow<'_, str> {
    const HEADS: [(&str, &str); 6] =
        [("error:", "31"), ("warning:", "33"), ("note:", "32"), ("hint:", "36"), ("✖", "31"), ("⚠", "33")];
    let head = HEADS.iter().find(|(head, _)| colour && words.starts_with(head));
    head.map_or(words.into(), |(head, code)| {
        format!("\x1b[1;{code}m{head}\x1b[0m{}", &words[head.len()..]).into()
    })
}

/// Where the one JSON document goes, if standard output is kept for it.
static DOCUMENT: OnceLock<File> = OnceLock::new();

/// Keeps standard output for one JSON document: what else is written there, by programs that ranks start too, goes to
/// standard error from now on.
pub fn keep_for_json() -> anyhow::Result<()> {
    let output = system::divert_output().context("cannot keep standard output for JSON")?;
    let _ = DOCUMENT.set(output);
    Ok(())
}

/// Write `value` as indented JSON and a final line feed.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = visible_json(&laid_out(&serde_json::to_value(value)?)).into_owned();
    text.push('\n');
    let Some(mut document) = DOCUMENT.get() else { return Ok(print_as_it_is(&text)?) };
    match document.write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result.map_err(unheard)?),
    }
}

/// Write `value` as JSON in one line, for as long as somebody reads it (see [`tell`]).
pub fn json_line(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = visible_json(&serde_json::to_string(value)?).into_owned();
    text.push('\n');
    Ok(tell_as_it_is(&text)?)
}

/// Refuses a page in a file that is called as a run or a program is.
pub fn refuse_page_as(page: &Path) -> anyhow::Result<()> {
    let is_called = |other| page.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(other));
    if ["parquet", "ppl", "pbl"].into_iter().any(is_called) {
        let right = page.with_extension("html");
        bail!("-o {}: a page is HTML; name it {}", page.display(), right.display());
    }
    Ok(())
}

/// The words of the command line, whatever bytes they hold.
pub fn command_line() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// A path in JSON, whatever bytes it holds.
pub fn path_in_json<S: serde::Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Refuses to replace a file that is needed (`needed`: a program, a run), a device or a pipe. `option` is the
/// option that names the file.
pub fn refuse_overwriting(path: &Path, option: &str, needed: &[&Path]) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!("{} is a directory; name a file with `{option} FILE`", path.display());
    }
    if path.symlink_metadata().is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
        bail!("{} is not an ordinary file; name one with `{option} FILE`", path.display());
    }
    for other in needed {
        let alike = match (path.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(two)) => one == two,
            _ => path == *other,
        };
        if alike {
            bail!("{} would be overwritten; name another file with `{option} FILE`", path.display());
        }
    }
    Ok(())
}

/// Refuses to name a run file as if it were of another kind: who writes `-o x.csv` expects a table.
pub fn refuse_other_kind(run: &Path) -> anyhow::Result<()> {
    if run == Path::new("-") {
        bail!("-o -: a run is a file, which is written at once; name one: -o run.parquet");
    }
    if run == Path::new("none") {
        bail!(
            "-o none: a run keeps its samples; name a file (./none for one of that name), or `--record histogram` keeps counts alone"
        );
    }
    let ending = run.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    let way_out = match ending.as_str() {
        "csv" | "tsv" | "txt" | "xlsx" => "then `lastrank export --to csv` makes a table",
        "xml" => "then `lastrank export --to parabench-xml` makes XML",
        "json" | "jsonl" => "`--json` prints the result as JSON",
        "html" | "htm" | "pdf" => "`--report FILE` names the page",
        _ => return Ok(()),
    };
    let right = run.with_extension("parquet");
    bail!("-o {}: a run is a Parquet file; name it {}: {way_out}", run.display(), right.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_file_is_not_named_as_a_file_of_another_kind() {
        for name in ["none", "-"] {
            assert!(refuse_other_kind(Path::new(name)).is_err(), "{name}");
        }
        for name in ["x.csv", "x.CSV", "a/x.json", "x.html", "x.txt", "x.xml"] {
            let told = refuse_other_kind(Path::new(name)).unwrap_err().to_string();
            assert!(told.contains("x.parquet") && told.contains('`'), "{told}");
        }
        for name in ["x.parquet", "x", "x.2026", "x.parquet.old"] {
            assert!(refuse_other_kind(Path::new(name)).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_kind_of_a_message_is_coloured_where_colours_are() {
        assert_eq!(with_coloured_head("error: no file\n", true), "\u{1b}[1;31merror:\u{1b}[0m no file\n");
        assert_eq!(with_coloured_head("error: no file\n", false), "error: no file\n");
        assert_eq!(with_coloured_head("  because: it is a pipe\n", true), "  because: it is a pipe\n");
    }
}
