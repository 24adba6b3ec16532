//! How does text reach standard output without a panic when the reader goes away?

use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Write `text` to standard output; a closed pipe is an ordinary [`io::Error`].
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Write `value` as indented JSON and a final line feed.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(print(&text)?)
}

/// Write `value` as JSON in one line.
pub fn json_line(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    Ok(print(&text)?)
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
