//! Files whose names nobody typed, or that people change: what lastrank wrote is replaced, what is somebody's is not.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};

/// Begins the last line of a program that lastrank wrote; a checksum of the lines above follows.
const MARK: &str = "# As lastrank wrote it: ";

/// Writes a program, over one that nobody has changed since lastrank wrote it.
///
/// # Errors
/// Another file is there, or it cannot be written.
pub fn program(path: &Path, text: &str) -> anyhow::Result<()> {
    let marked = marked(text);
    // A link is replaced and not followed: it may lead to a pipe, which one would wait for.
    if path.is_symlink() {
        return replaced(path, &marked);
    }
    // What is no file of text is somebody's as well.
    let there = match std::fs::read(path) {
        Ok(there) => there,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    if !there.is_empty() && there != marked.as_bytes() && !is_as_written(&there) {
        bail!(
            "{} is there, and was written or changed by somebody else than lastrank; move it, or name another file with \
             `-o FILE`",
            path.display()
        );
    }
    replaced(path, &marked)
}

fn replaced(path: &Path, text: &str) -> anyhow::Result<()> {
    store::replace(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn marked(text: &str) -> String {
    format!("{text}{MARK}{:08x}\n", crc32fast::hash(text.as_bytes()))
}

fn is_as_written(there: &[u8]) -> bool {
    std::str::from_utf8(there)
        .is_ok_and(|there| there.rfind(MARK).is_some_and(|at| marked(&there[..at]) == there))
}

/// Refuses a page whose name was made of another's, where what is there is no page of lastrank.
///
/// # Errors
/// Such a file.
pub fn refuse_strange_page(path: &Path) -> anyhow::Result<()> {
    const HEAD: u64 = 4096;
    // A link is replaced and not followed.
    if path.is_symlink() {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let is_page = String::from_utf8_lossy(&head).contains("lastrank</title>");
    if read.is_err() || head.is_empty() || is_page {
        return Ok(());
    }
    bail!(
        "the page would replace {}, which lastrank did not write; name another with `--report FILE`, or `--report none`",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_replaces_what_nobody_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.ppl");
        for text in ["stat(\"a\");\n", "stat(\"b\");\n", ""] {
            program(&path, text).unwrap();
        }
        program(&path, "stat(\"a\");\n").unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        for changed in [whole.replace('a', "c"), whole.clone() + "sync();\n", "my own\n".to_owned()] {
            std::fs::write(&path, &changed).unwrap();
            let refused = program(&path, "stat(\"d\");\n").unwrap_err().to_string();
            assert!(refused.contains("-o FILE"), "{refused}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), changed);
        }
    }

    #[test]
    fn a_page_replaces_pages_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.html");
        assert!(refuse_strange_page(&path).is_ok());
        std::fs::write(&path, "<!doctype html><title>My page</title>").unwrap();
        assert!(refuse_strange_page(&path).is_err());
        std::fs::write(&path, "<!doctype html><title>p – lastrank</title>").unwrap();
        assert!(refuse_strange_page(&path).is_ok());
    }
}
