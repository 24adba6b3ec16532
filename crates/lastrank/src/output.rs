//! Writes text to standard output and error, without a panic when the reader has gone away.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::bail;

/// Write `text` to standard output.
///
/// A reader that went away (`lastrank … | head`) is no error: what is left to do is done, and the exit
/// status is that of the work.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Write `text` to standard output for as long as somebody reads it: a reader that went away is an
/// [`io::ErrorKind::BrokenPipe`], on which a command that would go on for ever ends (with status 0).
pub fn tell(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Write to standard error, where somebody still listens there.
pub fn say(words: std::fmt::Arguments<'_>) {
    // There is no other place to complain that nobody hears complaints.
    let _ = io::stderr().lock().write_fmt(words);
}

/// Write `value` as indented JSON and a final line feed.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(print(&text)?)
}

/// Write `value` as JSON in one line, for as long as somebody reads it (see [`tell`]).
pub fn json_line(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    Ok(tell(&text)?)
}

/// Replace the file `path` by `text` in one step: written beside and renamed, so that a reader sees the
/// old text or the new one, never half of one.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

/// Is somebody watching standard error, so that a progress bar makes sense?
pub fn progress_is_seen() -> bool {
    io::stderr().is_terminal()
}

/// A file that will be replaced as a whole must be none of the files that are needed (`needed`: a program,
/// a run), and no device or pipe, in whose place the new file would be put. `option` names the file.
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
