//! Writes text to standard output and error, without a panic when the reader has gone away.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, bail};
use report::ScreenOptions;
use samples::{visible, visible_in_colour, visible_json};

use crate::json_text::laid_out;

/// Write `text` to standard output; what would command a terminal is made visible.
///
/// A reader that went away (`lastrank … | head`) is no error: the command finishes its work, and the exit
/// status says how that went.
pub fn print(text: &str) -> io::Result<()> {
    print_as_it_is(&visible(text))
}

/// As [`print`], of a screen of `report`, which has made visible whatever users named: its colours stay colours.
pub fn print_screen(text: &str) -> io::Result<()> {
    print_as_it_is(&visible_in_colour(text))
}

/// As [`print`], in lines as wide as the terminal.
pub fn print_fitted(text: &str) -> io::Result<()> {
    print(&fitted(text))
}

/// The text in lines as wide as the terminal; unchanged for a pipe, whose reader wants whole lines, unless `COLUMNS` is
/// set.
pub fn fitted(text: &str) -> Cow<'_, str> {
    columns().map_or(text.into(), |columns| report::fit_width(text, columns).into())
}

/// How wide the lines may be; any width for a pipe.
pub fn columns() -> Option<usize> {
    has_width().then(|| screen_options().width)
}

/// Whether lines are to be as long as somebody's terminal is wide.
fn has_width() -> bool {
    let is_asked = std::env::var_os("COLUMNS").is_some_and(|columns| !columns.is_empty());
    is_asked || io::stdout().is_terminal()
}

/// Sentences wrap at the width of the terminal from now on.
pub fn wrap_at_terminal() {
    if let Some(columns) = columns() {
        report::set_text_width(columns);
    }
}

fn print_as_it_is(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Write `text` to standard output for as long as somebody reads it: a reader that went away is an
/// [`io::ErrorKind::BrokenPipe`], on which a command that would go on for ever ends (with status 0).
pub fn tell(text: &str) -> io::Result<()> {
    tell_as_it_is(&visible(text))
}

fn tell_as_it_is(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Writes to standard error; what would command a terminal is made visible. A failure is ignored, since there is no
/// other place to report it.
pub fn say(words: std::fmt::Arguments<'_>) {
    let words = words.to_string();
    let _ = io::stderr().lock().write_all(visible(&words).as_bytes());
}

/// As [`say`], of text that may be coloured.
pub fn say_in_colour(words: &str) {
    let _ = io::stderr().lock().write_all(visible_in_colour(words).as_bytes());
}

/// Where the one JSON document goes, if standard output is kept for it.
static DOCUMENT: OnceLock<File> = OnceLock::new();

/// Keeps standard output for one JSON document: what else is written there, by programs that ranks start too, goes to
/// standard error from now on.
pub fn keep_for_json() -> anyhow::Result<()> {
    let output = crate::system::divert_output().context("cannot keep standard output for JSON")?;
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
        result => Ok(result?),
    }
}

/// Write `value` as JSON in one line, for as long as somebody reads it (see [`tell`]).
pub fn json_line(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = visible_json(&serde_json::to_string(value)?).into_owned();
    text.push('\n');
    Ok(tell_as_it_is(&text)?)
}

/// Whether standard error is a terminal, on which a progress bar can be drawn.
pub fn progress_is_seen() -> bool {
    io::stderr().is_terminal()
}

/// How wide a screen may be and whether it may have colours: what the terminal takes, or 80 columns without colours in
/// a pipe. `COLUMNS` sets the width of a pipe; a `NO_COLOR` that is not empty (no-color.org) and `TERM=dumb` take the
/// colours away, `CLICOLOR_FORCE` (bixense.com/clicolors) gives them to a pipe too.
pub fn screen_options() -> ScreenOptions {
    let asked = said("COLUMNS").and_then(|columns| columns.parse().ok());
    let seen = terminal_size::terminal_size_of(io::stdout()).map(|(columns, _)| usize::from(columns.0));
    let width = seen.or(asked).unwrap_or(80).clamp(60, 160);
    ScreenOptions { width, colour: may_colour(io::stdout().is_terminal()) }
}

/// Whether text for a stream that is a terminal, or is none, has colours.
pub fn may_colour(is_terminal: bool) -> bool {
    let is_forced = said("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let is_able = is_terminal && said("TERM").is_none_or(|term| term != "dumb");
    said("NO_COLOR").is_none() && (is_forced || is_able)
}

/// A variable of the environment that says something.
fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
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
