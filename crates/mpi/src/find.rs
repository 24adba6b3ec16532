//! Finds the MPI library that belongs to the launcher of this process.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use ranks::launcher::{Launcher, LauncherKind, MpiChoice};

use crate::library::{MpiLibrary, OpenError};

/// A library to try, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LibraryCandidate {
    /// A path, or a name for the dynamic linker.
    pub(crate) name: PathBuf,
    /// Reason for trying it.
    pub(crate) why: String,
}

/// Libraries of the Open MPI family and of MPICH's, in the order they are tried.
const OPEN_MPI: &[&str] = &["libmpi.so.40", "libmpi.so.80"];
const MPICH: &[&str] = &["libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi_gnu.so.12"];
const STANDARD: &[&str] = &["libmpi_abi.so.1", "libmpi_abi.so.0"];

/// The libraries to try for `launcher`, best first: next to the launcher, in installations named by the
/// environment, then by name through the dynamic linker.
fn candidates(launcher: Option<&Launcher>) -> Vec<LibraryCandidate> {
    let families: Vec<&str> = match launcher.map(|launcher| launcher.kind) {
        Some(LauncherKind::OpenMpi | LauncherKind::Pmix) => [OPEN_MPI, STANDARD, MPICH].concat(),
        Some(LauncherKind::Pmi) => [MPICH, STANDARD, OPEN_MPI].concat(),
        Some(LauncherKind::Slurm) | None => [OPEN_MPI, MPICH, STANDARD].concat(),
    };
    let mut found: Vec<LibraryCandidate> = Vec::new();
    let mut add = |name: PathBuf, why: String| {
        if !found.iter().any(|known| known.name == name) {
            found.push(LibraryCandidate { name, why });
        }
    };
    let beside = launcher.map(|_| launcher_directories()).unwrap_or_default();
    for (directory, why) in beside.iter().chain(&environment_directories()) {
        for name in families.iter().map(|name| directory.join(name)).chain(cray_names(directory)) {
            if name.exists() {
                add(name, why.clone());
            }
        }
    }
    for name in families {
        add(name.into(), "found by the dynamic linker".into());
    }
    for (directory, why) in linker_directories() {
        for name in cray_names(&directory) {
            add(name, why.clone());
        }
    }
    found
}

/// Cray names its libraries by compiler and version: `libmpi_gnu_123.so.12`.
fn cray_names(directory: &Path) -> Vec<PathBuf> {
    const COMPILERS: [&str; 7] = ["cray", "gnu", "intel", "amd", "aocc", "nvidia", "pgi"];
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix("libmpi_").is_some_and(|rest| {
                rest.ends_with(".so.12") && COMPILERS.iter().any(|compiler| rest.starts_with(compiler))
            })
        })
        .collect();
    names.sort();
    names
}

/// The dynamic linker's directories from the environment, to search for Cray's library names, which vary.
fn linker_directories() -> Vec<(PathBuf, String)> {
    ["LD_LIBRARY_PATH", "CRAY_LD_LIBRARY_PATH"]
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
        .flat_map(|(name, list)| {
            std::env::split_paths(&list).map(|path| (path, format!("in {name}"))).collect::<Vec<_>>()
        })
        .collect()
}

/// `lib` next to the `bin` of each launcher among this process's ancestors, so that the `mpirun` of an
/// installation is paired with the library of the same installation.
fn launcher_directories() -> Vec<(PathBuf, String)> {
    const LAUNCHERS: [&str; 9] = [
        "hydra_pmi_proxy",
        "mpiexec",
        "mpirun",
        "orterun",
        "orted",
        "prterun",
        "prted",
        "prte",
        "hydra_bstrap_proxy",
    ];
    let mut found = Vec::new();
    let mut process = std::process::id();
    for _ in 0..32 {
        let Some(parent) = ranks::ancestors::parent_of(process) else { break };
        process = parent;
        let Ok(program) = std::fs::read_link(format!("/proc/{process}/exe")) else { continue };
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)) {
            continue;
        }
        let Some(prefix) = program.parent().and_then(Path::parent) else { continue };
        for library in ["lib", "lib64", "lib/release"] {
            found.push((prefix.join(library), format!("next to its launcher {}", program.display())));
        }
    }
    found
}

fn environment_directories() -> Vec<(PathBuf, String)> {
    const VARIABLES: [&str; 7] =
        ["I_MPI_ROOT", "CRAY_MPICH_DIR", "MPICH_DIR", "OPAL_PREFIX", "OMPI_DIR", "MPI_HOME", "MPI_ROOT"];
    VARIABLES
        .iter()
        .filter_map(|name| Some((name, PathBuf::from(std::env::var_os(name)?))))
        .flat_map(|(name, root)| {
            ["lib", "lib64", "lib/release"].map(|library| (root.join(library), format!("{name} is set")))
        })
        .collect()
}

/// A library that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLibrary {
    /// The file, with symbolic links followed.
    pub library: PathBuf,
    /// Name and version as the library reports them: `MPICH 4.0.2`.
    pub version: String,
    /// Its binary interface: `MPICH ABI`, `Open MPI ABI`, `MPI-5 standard ABI`.
    pub abi: String,
    /// Reason for the choice of this library.
    pub why: String,
}

impl FoundLibrary {
    fn new(library: &MpiLibrary, why: &str) -> Self {
        Self {
            library: library.path.clone(),
            version: library.version(),
            abi: library.abi.name().into(),
            why: why.into(),
        }
    }

    /// `MPICH 4.0.2 (MPICH ABI, /usr/lib/libmpich.so.12)`.
    pub fn describe(&self) -> String {
        format!("{} ({}, {})", self.version, self.abi, self.library.display())
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LibrarySearch {
    /// The launcher that started this process, if any.
    pub(crate) launcher: Option<Launcher>,
    /// Candidates that could not be used, and why.
    pub(crate) refused: Vec<(LibraryCandidate, OpenError)>,
    /// The first candidate that can be used.
    pub(crate) found: Option<FoundLibrary>,
}

impl LibrarySearch {
    /// Whether every candidate was refused only because it does not exist.
    pub(crate) fn all_missing(&self) -> bool {
        self.refused.iter().all(|(_, why)| matches!(why, OpenError::Missing(_)))
    }

    /// One line for each candidate that was refused.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.refused.iter().map(|(candidate, why)| format!("{}: {why}", candidate.name.display())).collect()
    }
}

/// Opens the first library that `launcher` can use; does not start MPI.
pub(crate) fn search(choice: &MpiChoice, launcher: Option<Launcher>) -> (LibrarySearch, Option<MpiLibrary>) {
    let tries = match choice {
        MpiChoice::None => Vec::new(),
        MpiChoice::Path(path) => vec![LibraryCandidate { name: path.clone(), why: "--mpi names it".into() }],
        MpiChoice::Auto => candidates(launcher.as_ref()),
    };
    let mut search = LibrarySearch { launcher, ..LibrarySearch::default() };
    for candidate in tries {
        match MpiLibrary::open(&candidate.name) {
            Ok(library) => {
                search.found = Some(FoundLibrary::new(&library, &candidate.why));
                return (search, Some(library));
            }
            Err(why) => search.refused.push((candidate, why)),
        }
    }
    (search, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    use ranks::launcher::launcher_in;

    fn with(variables: &[(&str, &str)]) -> Option<Launcher> {
        launcher_in(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn cray_libraries_are_found_by_their_compiler() {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["libmpi_gnu_123.so.12", "libmpi_cray.so.12", "libmpi_cxx.so.12", "libmpi_gnu_123.so"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let found: Vec<_> = cray_names(folder.path());
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["libmpi_cray.so.12", "libmpi_gnu_123.so.12"]);
    }

    #[test]
    fn the_launchers_own_family_is_tried_first() {
        let first = |variables| candidates(with(variables).as_ref()).into_iter().map(|found| found.name);
        let by_name = |mut names: Box<dyn Iterator<Item = PathBuf>>| names.find(|name| name.is_relative());
        assert_eq!(by_name(Box::new(first(&[("PMI_SIZE", "2")]))), Some("libmpi.so.12".into()));
        assert_eq!(by_name(Box::new(first(&[("OMPI_COMM_WORLD_SIZE", "2")]))), Some("libmpi.so.40".into()));
    }
}
