//! Which MPI library belongs to this process, and what started it?

use std::path::{Path, PathBuf};

use super::library::MpiLibrary;

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
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
    found
}

/// Cray names its libraries by compiler and version: `libmpi_gnu_123.so.12`.
fn cray_names(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ["libmpi_gnu_", "libmpi_cray", "libmpi_intel"].iter().any(|start| name.starts_with(start))
                && name.ends_with(".so.12")
        })
        .collect();
    names.sort();
    names
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

/// What became of each candidate: for messages and for `lastrank machine`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// What started this process, if anything did.
    pub launcher: Option<Launcher>,
    /// Candidates that could not be used, and why.
    pub refused: Vec<(Candidate, String)>,
    /// The one that can, with its description.
    pub found: Option<(Candidate, String)>,
}

impl Search {
    /// One line for each candidate that was refused.
    pub fn refusals(&self) -> String {
        self.refused
            .iter()
            .map(|(candidate, why)| format!("{}: {why}", candidate.name.display()))
            .collect::<Vec<_>>()
            .join("\n  ")
    }
}

/// Opens the first usable library; does not start MPI.
pub(crate) fn search(choice: &MpiChoice) -> (Search, Option<MpiLibrary>) {
    let launcher = this_launcher();
    let tries = match choice {
        MpiChoice::None => Vec::new(),
        MpiChoice::Path(path) => vec![Candidate { name: path.clone(), why: "--mpi names it".into() }],
        MpiChoice::Auto => candidates(launcher.as_ref()),
    };
    let mut search = Search { launcher, ..Search::default() };
    for candidate in tries {
        match MpiLibrary::open(&candidate.name) {
            Ok(library) => {
                let words =
                    format!("{} ({}, {})", library.version(), library.abi.words(), library.path.display());
                search.found = Some((candidate, words));
                return (search, Some(library));
            }
            Err(why) => search.refused.push((candidate, why)),
        }
    }
    (search, None)
}

/// Which library would be used, and why; does not start MPI. For `lastrank machine`.
pub fn inspect(choice: &MpiChoice) -> Search {
    search(choice).0
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
    fn the_launchers_own_family_is_tried_first() {
        let first = |variables| candidates(with(variables).as_ref()).into_iter().map(|found| found.name);
        let by_name = |mut names: Box<dyn Iterator<Item = PathBuf>>| names.find(|name| name.is_relative());
        assert_eq!(by_name(Box::new(first(&[("PMI_SIZE", "2")]))), Some("libmpi.so.12".into()));
        assert_eq!(by_name(Box::new(first(&[("OMPI_COMM_WORLD_SIZE", "2")]))), Some("libmpi.so.40".into()));
    }
}
