//! Which MPI library belongs to this process, and what started it?

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::library::MpiLibrary;

/// What the user wants: `--mpi PATH|none`, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MpiChoice {
    /// MPI where a launcher started us, else none.
    #[default]
    Auto,
    /// No MPI, whatever started us.
    None,
    /// This library.
    Path(PathBuf),
}

impl std::str::FromStr for MpiChoice {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "none" => Self::None,
            "auto" => Self::Auto,
            path => Self::Path(path.into()),
        })
    }
}

/// What started this process as one of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// How we know it: the variable and its value.
    pub evidence: String,
    /// How many ranks it says there are, where it says so.
    pub ranks: Option<u32>,
    /// Which of them we are, where it says so.
    pub rank: Option<u32>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// Hydra or another process manager that speaks PMI: MPICH, Intel, Cray, `srun --mpi=pmi2`.
    Pmi,
    /// PMIx of some origin, mostly `srun --mpi=pmix`.
    Pmix,
    /// `srun` without any process-management interface.
    Slurm,
}

/// Looks at the environment through `variable`; `None` when no launcher started us.
pub fn launcher(variable: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
    let number = |name: &str| variable(name).and_then(|value| value.trim().parse::<u32>().ok());
    let rank =
        ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "ALPS_APP_PE", "PALS_RANKID", "SLURM_PROCID"]
            .iter()
            .find_map(|name| number(name));
    let found = |name: &str, ranks: Option<u32>, kind: Kind| {
        variable(name).map(|value| Launcher { evidence: format!("{name}={value}"), ranks, rank, kind })
    };
    let slurm = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"));
    found("OMPI_COMM_WORLD_SIZE", number("OMPI_COMM_WORLD_SIZE"), Kind::OpenMpi)
        .or_else(|| found("PMIX_RANK", slurm.filter(|_| variable("SLURM_STEP_ID").is_some()), Kind::Pmix))
        .or_else(|| found("PMI_SIZE", number("PMI_SIZE"), Kind::Pmi))
        .or_else(|| found("PMI_RANK", slurm, Kind::Pmi))
        // srun with Cray's own plug-in.
        .or_else(|| found("PMI_CONTROL_PORT", slurm, Kind::Pmi))
        .or_else(|| found("ALPS_APP_PE", None, Kind::Pmi))
        .or_else(|| found("PALS_RANKID", None, Kind::Pmi))
        // Set by srun for each step; a batch script itself has none.
        .or_else(|| {
            found("SLURM_STEP_NUM_TASKS", slurm, Kind::Slurm)
                .filter(|found| found.ranks.is_some_and(|n| n > 1))
        })
}

/// The launcher of this very process.
pub fn this_launcher() -> Option<Launcher> {
    launcher(|name| std::env::var(name).ok())
}

/// Ranks on this machine, where the launcher says so.
pub fn local_ranks() -> Option<u32> {
    local_ranks_in(|name| std::env::var(name).ok())
}

fn local_ranks_in(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let number = |name: &&str| variable(name)?.trim().parse().ok();
    ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE"]
        .iter()
        .find_map(number)
        // `16(x3),4`: 16 on each of three nodes, 4 on the last. The most there are on any.
        .or_else(|| {
            let nodes = variable("SLURM_STEP_TASKS_PER_NODE").or_else(|| variable("SLURM_TASKS_PER_NODE"))?;
            nodes.split(',').filter_map(|node| node.split('(').next()?.trim().parse().ok()).max()
        })
}

/// A library worth trying, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// A path, or a name that the dynamic linker looks for.
    pub name: PathBuf,
    /// Why it is tried.
    pub why: String,
}

/// Libraries of the Open MPI family and of MPICH's, in the order they are tried.
const OPEN_MPI: &[&str] = &["libmpi.so.40", "libmpi.so.80"];
const MPICH: &[&str] = &["libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi_gnu.so.12"];
const STANDARD: &[&str] = &["libmpi_abi.so.1", "libmpi_abi.so.0"];

/// What to try for `launcher`, best first: beside the launcher itself, where the environment says an
/// MPI is installed, then by name where the dynamic linker looks.
pub fn candidates(launcher: Option<&Launcher>) -> Vec<Candidate> {
    let families: Vec<&str> = match launcher.map(|launcher| launcher.kind) {
        Some(Kind::OpenMpi | Kind::Pmix) => [OPEN_MPI, STANDARD, MPICH].concat(),
        Some(Kind::Pmi) => [MPICH, STANDARD, OPEN_MPI].concat(),
        Some(Kind::Slurm) | None => [OPEN_MPI, MPICH, STANDARD].concat(),
    };
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |name: PathBuf, why: String| {
        if !found.iter().any(|known| known.name == name) {
            found.push(Candidate { name, why });
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

/// Where the dynamic linker looks, as the environment says: for Cray's names, which it cannot guess.
fn linker_directories() -> Vec<(PathBuf, String)> {
    ["LD_LIBRARY_PATH", "CRAY_LD_LIBRARY_PATH"]
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
        .flat_map(|(name, list)| {
            std::env::split_paths(&list).map(|path| (path, format!("in {name}"))).collect::<Vec<_>>()
        })
        .collect()
}

/// `lib` beside the `bin` of the launchers among our ancestors: `mpirun` of an installation finds
/// the library of the same installation, whatever else the machine has.
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
        let Some(parent) = parent_of(process) else { break };
        process = parent;
        let Ok(program) = std::fs::read_link(format!("/proc/{process}/exe")) else { continue };
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)) {
            continue;
        }
        let Some(prefix) = program.parent().and_then(Path::parent) else { continue };
        for library in ["lib", "lib64", "lib/release"] {
            found.push((prefix.join(library), format!("beside its launcher {}", program.display())));
        }
    }
    found
}

fn parent_of(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    (parent > 1).then_some(parent)
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
pub struct Found {
    /// The file, with symbolic links followed.
    pub library: PathBuf,
    /// What it calls itself: `MPICH 4.0.2`.
    pub version: String,
    /// Its binary interface: `MPICH ABI`, `Open MPI ABI`, `MPI-5 standard ABI`.
    pub abi: String,
    /// Why it was tried before the others.
    pub why: String,
}

impl Found {
    fn new(library: &MpiLibrary, why: &str) -> Self {
        Self {
            library: library.path.clone(),
            version: library.version(),
            abi: library.abi.words().into(),
            why: why.into(),
        }
    }

    /// `MPICH 4.0.2 (MPICH ABI, /usr/lib/libmpich.so.12)`.
    pub fn words(&self) -> String {
        format!("{} ({}, {})", self.version, self.abi, self.library.display())
    }
}

/// What became of each candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// What started this process, if anything did.
    pub launcher: Option<Launcher>,
    /// Candidates that could not be used, and why.
    pub refused: Vec<(Candidate, String)>,
    /// The one that can.
    pub found: Option<Found>,
}

impl Search {
    /// One line for each candidate that was refused.
    pub fn refusals(&self) -> Vec<String> {
        self.refused.iter().map(|(candidate, why)| format!("{}: {why}", candidate.name.display())).collect()
    }
}

/// Opens the first usable library; does not start MPI.
pub(crate) fn search(choice: &MpiChoice) -> (Search, Option<MpiLibrary>) {
    search_for(choice, this_launcher())
}

pub(crate) fn search_for(choice: &MpiChoice, launcher: Option<Launcher>) -> (Search, Option<MpiLibrary>) {
    let tries = match choice {
        MpiChoice::None => Vec::new(),
        MpiChoice::Path(path) => vec![Candidate { name: path.clone(), why: "--mpi names it".into() }],
        MpiChoice::Auto => candidates(launcher.as_ref()),
    };
    let mut search = Search { launcher, ..Search::default() };
    for candidate in tries {
        match MpiLibrary::open(&candidate.name) {
            Ok(library) => {
                search.found = Some(Found::new(&library, &candidate.why));
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

    fn with(variables: &[(&str, &str)]) -> Option<Launcher> {
        launcher(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn no_launcher_no_mpi() {
        assert_eq!(with(&[("HOME", "/root")]), None);
        // A batch script of Slurm that is not yet a step.
        assert_eq!(with(&[("SLURM_NTASKS", "16"), ("SLURM_PROCID", "0")]), None);
    }

    #[test]
    fn each_launcher_is_known_by_its_variables() {
        let seen = |variables: &[(&str, &str)]| with(variables).map(|found| (found.kind, found.ranks));
        assert_eq!(
            seen(&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1")]),
            Some((Kind::OpenMpi, Some(4)))
        );
        assert_eq!(seen(&[("PMI_RANK", "0"), ("PMI_SIZE", "8")]), Some((Kind::Pmi, Some(8))));
        let slurm = [("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "6")];
        assert_eq!(seen(&slurm), Some((Kind::Slurm, Some(6))));
        assert_eq!(seen(&[&slurm[..], &[("PMIX_RANK", "2")]].concat()), Some((Kind::Pmix, Some(6))));
    }

    #[test]
    fn ranks_of_this_machine_are_told_by_each_launcher() {
        let here =
            |name: &str, value: &str| local_ranks_in(|asked| (asked == name).then(|| value.to_owned()));
        assert_eq!(here("OMPI_COMM_WORLD_LOCAL_SIZE", "4"), Some(4));
        assert_eq!(here("MPI_LOCALNRANKS", "8"), Some(8));
        assert_eq!(here("SLURM_STEP_TASKS_PER_NODE", "16(x3),4"), Some(16));
        assert_eq!(here("SLURM_TASKS_PER_NODE", "2,3(x2)"), Some(3));
        assert_eq!(here("HOME", "4"), None);
    }

    #[test]
    fn crays_libraries_are_known_by_their_compiler() {
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
