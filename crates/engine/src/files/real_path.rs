//! Resolves links and `..` in a path of which the end may not exist yet.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The path with links and `..` resolved; what does not exist yet is kept as written, but may not
/// hold `..`. `None` where the path leads nowhere.
pub(super) fn real_path(path: &Path) -> Option<PathBuf> {
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = path;
    loop {
        let probe = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
        if let Ok(real) = probe.canonicalize() {
            return Some(missing.iter().rev().fold(real, |real, name| real.join(name)));
        }
        // A link that leads nowhere: what it names would be created by an open through it.
        if let Ok(target) = std::fs::read_link(probe) {
            let base = probe.parent().unwrap_or(Path::new(""));
            let start = missing.iter().rev().fold(base.join(target), |path, name| path.join(name));
            return if missing.len() > 40 { None } else { real_target(&start, 0) };
        }
        match existing.components().next_back() {
            Some(Component::Normal(name)) => missing.push(name),
            _ => return None,
        }
        existing = existing.parent()?;
    }
}

/// As [`real_path`] for the target of a dangling link; `depth` bounds circles of links.
fn real_target(path: &Path, depth: u32) -> Option<PathBuf> {
    if depth > 40 {
        return None;
    }
    let parent = path.parent()?;
    let name = path.file_name()?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let real = parent.canonicalize().ok()?.join(name);
    match std::fs::read_link(&real) {
        Ok(target) => real_target(&real.parent()?.join(target), depth + 1),
        Err(_) => Some(real),
    }
}
