//! The places that a program may touch.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The directories below which a program may write, and, with a root, read.
#[derive(Clone, Debug)]
pub struct Confinement {
    places: Vec<PathBuf>,
    reads_too: bool,
    known: HashMap<Box<[u8]>, Result<ParentFacts, PathBuf>>,
}

/// What is known of the directory a path lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentFacts {
    /// Files here carry a birth time by this machine's own clock.
    pub birth_times: bool,
    /// Which directory it is: a number made of its path, links resolved.
    pub place: u64,
}

/// The number of the directory or file `name` in the directory with the number `parent` (FNV-1a; Fowler, Noll and Vo
/// 1991).
pub(super) fn of_place(parent: u64, name: &[u8]) -> u64 {
    let start = if parent == 0 { 0xcbf2_9ce4_8422_2325 } else { parent };
    name.iter()
        .chain(b"/")
        .fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A path as its directory, with the slash behind it, and the name in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    path.split_at(slash)
}

/// A path outside the allowed places.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "refused to {what} \"{path}\"{}: the program may only touch files below {places}; {remedy}",
    resolved(.path, .real)
)]
pub struct Refusal {
    /// `write to`, `read`, `remove` …
    pub what: &'static str,
    /// As the program wrote it.
    pub path: String,
    /// Where it really lies, links resolved.
    pub real: PathBuf,
    /// The allowed places in words.
    pub places: String,
    /// What would allow it.
    pub remedy: String,
}

fn resolved(path: &str, real: &Path) -> String {
    if Path::new(path) == real { String::new() } else { format!(" (that is {})", real.display()) }
}

impl Confinement {
    /// Writes are allowed below the working directory, the directory for temporary files and `named`;
    /// reads everywhere.
    pub fn new(named: &[PathBuf]) -> Self {
        let own = [PathBuf::from("."), std::env::temp_dir()];
        let places = own.iter().chain(named).filter_map(|place| real_path(place)).collect();
        Self { places, reads_too: false, known: HashMap::new() }
    }

    /// Reads and writes are allowed below `root` only.
    pub fn rooted(root: &Path) -> Self {
        let places = real_path(root).into_iter().collect();
        Self { places, reads_too: true, known: HashMap::new() }
    }

    /// Are reads confined as well?
    pub fn reads_too(&self) -> bool {
        self.reads_too
    }

    /// Checks the directory in which `path` lies; a link at the very end of the path is not followed
    /// (open such files with `O_NOFOLLOW` and ask [`Confinement::check_followed`] if that fails).
    ///
    /// The answer for a directory is kept: a second path in it costs one look-up.
    pub fn check(&mut self, what: &'static str, path: &CStr) -> Result<ParentFacts, Refusal> {
        let bytes = path.to_bytes();
        let directory = match bytes.iter().rposition(|byte| *byte == b'/') {
            _ if matches!(bytes, b"" | b"." | b"..") => bytes,
            Some(slash) if matches!(&bytes[slash + 1..], b"" | b"." | b"..") => bytes,
            Some(slash) => &bytes[..=slash],
            None => &b""[..],
        };
        if bytes == b"/dev/null" && matches!(what, "write to" | "read") {
            return Ok(ParentFacts { birth_times: false, place: 0 });
        }
        if let Some(answer) = self.known.get(directory) {
            return answer.clone().map_err(|real| self.refuse(what, path, real));
        }
        let answer = self.examine(Path::new(OsStr::from_bytes(directory)));
        // Where `..` leads from a directory changes when another rank puts a link in its place.
        if !goes_up(directory) {
            self.known.insert(directory.into(), answer.clone());
        }
        answer
            .map_err(|real| self.refuse(what, path, real.join(OsStr::from_bytes(&bytes[directory.len()..]))))
    }

    /// Checks where `path` leads when the link at its end is followed, and returns that place.
    pub fn check_followed(&self, what: &'static str, path: &CStr) -> Result<PathBuf, Refusal> {
        let written = Path::new(OsStr::from_bytes(path.to_bytes()));
        match real_path(written) {
            Some(real) if self.allows(&real) => Ok(real),
            Some(real) => Err(self.refuse(what, path, real)),
            None => Err(self.refuse(what, path, written.to_owned())),
        }
    }

    /// Checks what the new link `path` is to lead to. `..` is refused in it: the link may be moved, with the
    /// directory around it, to where `..` leads outside.
    pub fn check_target(&self, target: &CStr, path: &CStr) -> Result<(), Refusal> {
        const WHAT: &str = "make a link to";
        let written = Path::new(OsStr::from_bytes(target.to_bytes()));
        if goes_up(target.to_bytes()) {
            let mut refusal = self.refuse(WHAT, target, written.to_owned());
            refusal.remedy = "a link may be moved, so name its target by a path without `..`".into();
            return Err(refusal);
        }
        let base = Path::new(OsStr::from_bytes(path.to_bytes())).parent().unwrap_or(Path::new(""));
        let leads = base.join(written);
        match real_path(&leads) {
            Some(real) if self.allows(&real) => Ok(()),
            real => Err(self.refuse(WHAT, target, real.unwrap_or(leads))),
        }
    }

    /// Forgets what was found: a directory was renamed or a link was made.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn examine(&self, directory: &Path) -> Result<ParentFacts, PathBuf> {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let real = real_path(directory).ok_or_else(|| directory.to_owned())?;
        if !self.allows(&real) {
            return Err(real);
        }
        let names = real.components().filter(|part| matches!(part, Component::Normal(_)));
        let place = names.fold(0, |place, name| of_place(place, name.as_os_str().as_bytes()));
        Ok(ParentFacts { birth_times: has_birth_times(&real), place })
    }

    fn allows(&self, real: &Path) -> bool {
        real == Path::new("/dev/null") || self.places.iter().any(|place| real.starts_with(place))
    }

    fn refuse(&self, what: &'static str, path: &CStr, real: PathBuf) -> Refusal {
        let places: Vec<String> = self.places.iter().map(|place| place.display().to_string()).collect();
        let directory = real.parent().filter(|parent| *parent != Path::new("/")).unwrap_or(&real);
        let flag = if self.reads_too { "--root" } else { "--allow" };
        let remedy = format!("to allow it, add {flag} {}", directory.display());
        Refusal { what, path: path.to_string_lossy().into_owned(), places: places.join(", "), remedy, real }
    }
}

/// Does a path have a `..` in it?
fn goes_up(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name == b"..")
}

/// The path with links and `..` resolved; what does not exist yet is kept as written, but may not
/// hold `..`. `None` where the path leads nowhere.
fn real_path(path: &Path) -> Option<PathBuf> {
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

/// Does this directory's file system keep birth times by this machine's clock?
fn has_birth_times(real: &Path) -> bool {
    const LOCAL: [i64; 7] =
        [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1, 0x794C_7630];
    let Ok(facts) = rustix::fs::statfs(real) else { return false };
    #[allow(clippy::unnecessary_cast)] // the field's width differs between architectures
    let kind = facts.f_type as i64 & 0xFFFF_FFFF;
    LOCAL.contains(&kind)
        && rustix::fs::statx(
            rustix::fs::CWD,
            real,
            rustix::fs::AtFlags::empty(),
            rustix::fs::StatxFlags::BTIME,
        )
        .is_ok_and(|found| found.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0)
}
