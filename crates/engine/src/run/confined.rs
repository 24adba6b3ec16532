//! Confines a rank: decided before the run, carried out by each rank, a fact of the run.

use std::path::{Path, PathBuf};

use confine::{KernelSupport, support};
use samples::{ConfinedBy, ConfinementFacts};

use super::{Confine, Options, RunError};
use crate::files::Confinement;

/// What a rank reads of itself and of devices while it works: causes of slow operations, its own descriptors.
const READ_OF_THE_SYSTEM: [&str; 6] =
    ["/proc/self/task", "/proc/self/fd", "/proc/self/cgroup", "/sys/devices", "/sys/fs/cgroup", "/dev/zero"];

/// Written by the command that empties the page cache, which only root may do.
const WRITTEN_OF_THE_SYSTEM: [&str; 2] = ["/dev/null", "/proc/sys/vm/drop_caches"];

/// How ranks are to be confined. `in_mpi`: by a thread that also calls an MPI library, which needs more than a program
/// may have.
///
/// # Errors
/// [`RunError::Unconfined`] where the kernel must confine them and cannot.
pub(super) fn decide(options: &Options, in_mpi: bool) -> Result<ConfinementFacts, RunError> {
    let capabilities = options.backend.capabilities();
    let facts = |by, landlock, why: &str| ConfinementFacts {
        by,
        landlock,
        why: why.into(),
        spawn: options.allow_spawn || by == ConfinedBy::Nobody,
        connect: options.connect.clone(),
        ..ConfinementFacts::default()
    };
    let found = match (options.confine, support()) {
        (Confine::Nobody, _) => return Ok(facts(ConfinedBy::Nobody, 0, "--unconfined")),
        _ if capabilities.virtual_time => return Ok(facts(ConfinedBy::Paths, 0, "nothing is touched")),
        _ if !capabilities.local_files => facts(ConfinedBy::Paths, 0, "files are on a server"),
        (Confine::BestEffort | Confine::Required, _) if in_mpi => {
            facts(ConfinedBy::Paths, 0, "the MPI library shares the thread of the program")
        }
        (_, KernelSupport::Landlock(version)) => facts(ConfinedBy::Kernel, version, ""),
        (_, KernelSupport::Missing(why)) => facts(ConfinedBy::Paths, 0, &why),
    };
    if options.confine == Confine::Required && found.by != ConfinedBy::Kernel {
        return Err(RunError::Unconfined { why: found.why });
    }
    Ok(found)
}

/// The checks of names that go with it.
pub(super) fn checks(options: &Options, facts: &ConfinementFacts) -> Confinement {
    let confinement = match (&options.root, facts.by) {
        (_, ConfinedBy::Nobody) => Confinement::free(),
        (Some(root), _) => Confinement::rooted(Path::new(root)),
        (None, _) => Confinement::new(&options.named, &options.allow),
    };
    let confinement = confinement.spawning(options.allow_spawn).filling(options.fill);
    confinement.by_descriptor(facts.by != ConfinedBy::Kernel)
}

/// Restricts this thread and those that it starts, where the kernel is to do it.
///
/// # Errors
/// In words, where the kernel does not.
pub(super) fn enter(confinement: &Confinement, facts: &ConfinementFacts) -> Result<(), String> {
    if facts.by != ConfinedBy::Kernel {
        return Ok(());
    }
    let mut rules = confinement.rules();
    rules.read.extend(READ_OF_THE_SYSTEM.map(PathBuf::from));
    rules.write.extend(WRITTEN_OF_THE_SYSTEM.map(PathBuf::from));
    rules.connect.clone_from(&facts.connect);
    confine::restrict_thread(&rules).map_err(|error| error.to_string())
}
