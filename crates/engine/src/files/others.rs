//! What is known of a file that the run may not change: who else may have made it.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{Created, look};
use super::object::Object;
use super::special::open_ordinary;
use super::table::Table;

/// The key by which the footer of a run file tells what it is.
const RUN_FILE: &[u8] = b"lastrank.schema";
/// Longer footers are not read for a message.
const LONGEST_FOOTER: u64 = 16 << 20;

/// Another run of the same user.
#[derive(Clone, Debug, Default)]
pub struct OtherRun {
    /// In words: program and start.
    pub what: String,
    /// Where it was started, links resolved.
    pub directory: PathBuf,
    /// What it made and left, where it was killed; `None`: it is under way.
    made: Option<Made>,
}

/// What a killed run made, as `recover` knows it.
#[derive(Clone)]
enum Made {
    /// Inodes and births of what was found under its names.
    Found(HashSet<(u64, i64)>),
    /// It was confined, and kept which objects it made.
    Kept(Arc<Table>),
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Found(_) => "Found",
            Self::Kept(_) => "Kept",
        })
    }
}

impl Made {
    fn has(&self, object: &Object) -> bool {
        match self {
            Self::Found(found) => found.contains(&(object.inode, object.born_ns)),
            Self::Kept(table) => table.find(object).is_some(),
        }
    }
}

/// Objects of one run are looked up so far.
const MOST: usize = 1 << 14;

impl OtherRun {
    /// One that is under way.
    pub fn under_way(what: String, directory: PathBuf) -> Self {
        Self { what, directory, made: None }
    }

    /// One that was killed, and what its ranks had made.
    pub fn killed(what: String, directory: PathBuf, created: &[Created]) -> Self {
        let object = |one: &Created| {
            let path = CString::new(directory.join(&one.path).as_os_str().as_bytes()).ok()?;
            let found = look(&path)?;
            let is_its = one.born.is_none_or(|born| found.born.is_some_and(|moment| moment.is_within(born)));
            is_its.then_some((found.object().inode, found.object().born_ns))
        };
        let made = Some(Made::Found(created.iter().take(MOST).filter_map(object).collect()));
        Self { what, directory, made }
    }

    /// One that was killed, and kept in `file` what it made; `None` where that cannot be read.
    pub fn killed_with(what: String, directory: PathBuf, file: File) -> Option<Self> {
        Some(Self { what, directory, made: Some(Made::Kept(Arc::new(Table::left(file)?))) })
    }
}

/// Who made what is in the way, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Maker {
    /// No run that is known.
    #[default]
    Unknown,
    /// A run that was killed: its words, and where it was started.
    Killed(String, PathBuf),
    /// A run that is under way around it may have.
    UnderWay(String, PathBuf),
    /// What earlier runs made is not remembered, and why.
    Forgotten(String),
    /// lastrank itself: it is a run file.
    Lastrank,
}

impl Maker {
    /// Of what lies at `real`; `forgotten`: why nothing is remembered.
    pub(super) fn of(real: &Path, others: &[OtherRun], forgotten: Option<&String>) -> Self {
        if is_run_file(real) {
            return Self::Lastrank;
        }
        let found = CString::new(real.as_os_str().as_bytes()).ok().and_then(|path| look(&path));
        let made = |other: &&OtherRun| {
            let made = other.made.as_ref();
            found.as_ref().is_some_and(|found| made.is_some_and(|made| made.has(found.object())))
        };
        if let Some(other) = others.iter().find(made) {
            return Self::Killed(other.what.clone(), other.directory.clone());
        }
        let around = |other: &&OtherRun| other.made.is_none() && real.starts_with(&other.directory);
        match (others.iter().find(around), forgotten) {
            (Some(other), _) => Self::UnderWay(other.what.clone(), other.directory.clone()),
            (None, Some(why)) => Self::Forgotten(why.clone()),
            (None, None) => Self::Unknown,
        }
    }
}

/// Is it a run file? As far as it may be read.
fn is_run_file(path: &Path) -> bool {
    let looked = || -> Option<bool> {
        // No pipe is opened, and no device.
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        let mut file = File::from(open_ordinary(&path)?);
        let end = file.seek(SeekFrom::End(-8)).ok()?;
        let mut last = [0; 8];
        file.read_exact(&mut last).ok()?;
        let length = u64::from(u32::from_le_bytes(*last.first_chunk()?));
        if &last[4..] != b"PAR1" || length > LONGEST_FOOTER.min(end) {
            return Some(false);
        }
        file.seek(SeekFrom::Start(end - length)).ok()?;
        let mut footer = Vec::new();
        file.take(length).read_to_end(&mut footer).ok()?;
        Some(footer.windows(RUN_FILE.len()).any(|part| part == RUN_FILE))
    };
    looked().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(folder: &Path, name: &str) -> Created {
        std::fs::write(folder.join(name), "x").expect("room");
        Created { path: name.into(), born: None, done: true, of_a_kernel: false }
    }

    #[test]
    fn who_made_a_file_is_said_only_where_it_is_known() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().canonicalize().expect("there");
        let killed = OtherRun::killed("p".into(), folder.clone(), &[made(&folder, "a")]);
        std::fs::write(folder.join("b"), "x").expect("room");
        let one = std::slice::from_ref(&killed);
        let of = |name: &str, others: &[OtherRun], why: Option<&String>| {
            Maker::of(&folder.join(name), others, why)
        };
        assert_eq!(of("a", one, None), Maker::Killed("p".into(), folder.clone()));
        assert_eq!(of("b", one, None), Maker::Unknown);
        let why = "HOME is not set".to_owned();
        assert_eq!(of("b", one, Some(&why)), Maker::Forgotten(why.clone()));
        let other = OtherRun::under_way("q".into(), folder.clone());
        assert_eq!(
            of("b", &[killed.clone(), other.clone()], Some(&why)),
            Maker::UnderWay("q".into(), folder.clone())
        );
        let elsewhere = OtherRun { directory: folder.join("c"), ..other };
        assert_eq!(of("b", &[elsewhere], None), Maker::Unknown);
        // What the user puts in the place of what the killed run made is the user's.
        let killed = OtherRun::killed("p".into(), folder.clone(), &[made(&folder, "d")]);
        std::fs::write(folder.join("e"), "x").expect("room");
        std::fs::rename(folder.join("e"), folder.join("d")).expect("a rename");
        assert_eq!(of("d", &[killed], None), Maker::Unknown);
    }

    #[test]
    fn a_run_file_is_known_by_its_footer() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("r.parquet");
        let footer = b"....lastrank.schema....";
        let file = [b"PAR1data", &footer[..], &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat();
        std::fs::write(&path, &file).expect("room");
        assert_eq!(Maker::of(&path, &[], None), Maker::Lastrank);
        for other in [&b"PAR1"[..], b"", b"lastrank.schema\xff\xff\xff\xffPAR1", &file[..file.len() - 1]] {
            std::fs::write(&path, other).expect("room");
            assert_eq!(Maker::of(&path, &[], None), Maker::Unknown);
        }
        // Nobody waits for a writer.
        rustix::fs::mknodat(
            rustix::fs::CWD,
            home.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("a pipe");
        assert_eq!(Maker::of(&home.path().join("pipe"), &[], None), Maker::Unknown);
    }
}
