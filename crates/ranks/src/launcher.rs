//! The MPI launcher that started this process as one of many, known by the environment it sets.

use std::path::PathBuf;

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
    /// Which family it belongs to.
    pub kind: LauncherKind,
}

/// A family of launchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherKind {
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
pub fn launcher_in(variable: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
    let number = |name: &str| variable(name).and_then(|value| value.trim().parse::<u32>().ok());
    let rank =
        ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "ALPS_APP_PE", "PALS_RANKID", "SLURM_PROCID"]
            .iter()
            .find_map(|name| number(name));
    let found = |name: &str, ranks: Option<u32>, kind: LauncherKind| {
        variable(name).map(|value| Launcher { evidence: format!("{name}={value}"), ranks, rank, kind })
    };
    let slurm = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"));
    found("OMPI_COMM_WORLD_SIZE", number("OMPI_COMM_WORLD_SIZE"), LauncherKind::OpenMpi)
        .or_else(|| {
            found("PMIX_RANK", slurm.filter(|_| variable("SLURM_STEP_ID").is_some()), LauncherKind::Pmix)
        })
        .or_else(|| found("PMI_SIZE", number("PMI_SIZE"), LauncherKind::Pmi))
        .or_else(|| found("PMI_RANK", slurm, LauncherKind::Pmi))
        // srun with Cray's own plug-in.
        .or_else(|| found("PMI_CONTROL_PORT", slurm, LauncherKind::Pmi))
        .or_else(|| found("ALPS_APP_PE", None, LauncherKind::Pmi))
        .or_else(|| found("PALS_RANKID", None, LauncherKind::Pmi))
        // Set by srun for each step; a batch script itself has none.
        .or_else(|| {
            found("SLURM_STEP_NUM_TASKS", slurm, LauncherKind::Slurm)
                .filter(|found| found.ranks.is_some_and(|n| n > 1))
        })
}

/// The launcher of this very process.
pub fn this_launcher() -> Option<Launcher> {
    launcher_in(|name| std::env::var(name).ok())
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
        // `16(x3),4`: 16 on each of three nodes, 4 on the last. The largest counts.
        .or_else(|| {
            let nodes = variable("SLURM_STEP_TASKS_PER_NODE").or_else(|| variable("SLURM_TASKS_PER_NODE"))?;
            nodes.split(',').filter_map(|node| node.split('(').next()?.trim().parse().ok()).max()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Option<Launcher> {
        launcher_in(|name| {
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
            Some((LauncherKind::OpenMpi, Some(4)))
        );
        assert_eq!(seen(&[("PMI_RANK", "0"), ("PMI_SIZE", "8")]), Some((LauncherKind::Pmi, Some(8))));
        let slurm = [("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "6")];
        assert_eq!(seen(&slurm), Some((LauncherKind::Slurm, Some(6))));
        assert_eq!(seen(&[&slurm[..], &[("PMIX_RANK", "2")]].concat()), Some((LauncherKind::Pmix, Some(6))));
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
}
