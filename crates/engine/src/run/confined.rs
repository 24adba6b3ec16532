//! Confines a rank: decided before the run, carried out by each rank, a fact of the run.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use confine::{KernelSupport, support};
use samples::{ConfinedBy, ConfinementFacts};

use super::{Confine, Options, RunError};
use crate::files::{Confinement, Ownership};

/// What a rank reads of itself and of devices while it works: causes of slow operations, its own descriptors.
const READ_OF_THE_SYSTEM: [&str; 6] =
    ["/proc/self/task", "/proc/self/fd", "/proc/self/cgroup", "/sys/devices", "/sys/fs/cgroup", "/dev/zero"];

/// Takes what nobody wants.
const WRITTEN_OF_THE_SYSTEM: &str = "/dev/null";
/// Written by the command that empties the page cache, which only root may do.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// The version of Landlock from which on it rules everything that changes a file by its name (Linux 6.2).
const LEAST_OF_A_ROOM: u32 = 3;

/// Variables by which Open MPI and PMIx name the folder of one job.
const SESSION_DIRECTORIES: [&str; 3] = ["PMIX_SERVER_TMPDIR", "OMPI_FILE_LOCATION", "PMIX_NSDIR"];

/// How ranks are confined.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    /// For the facts of the run.
    pub(super) facts: ConfinementFacts,
    /// An MPI library works on the same thread, and keeps what it needs.
    beside_mpi: bool,
    /// [`Options::room`]
    room: bool,
}

/// How ranks are to be confined. `in_mpi`: by a thread that also calls an MPI library, which needs more than a program
/// may have; the kernel then confines it only where that is required.
///
/// # Errors
/// [`RunError::Unconfined`] where the kernel must confine them and cannot, [`RunError::Room`] where it cannot keep them in a room.
pub(super) fn decide(options: &Options, in_mpi: bool) -> Result<Decided, RunError> {
    let facts = if options.room { facts_of_a_room(options, in_mpi)? } else { facts(options, in_mpi)? };
    let beside_mpi = in_mpi && facts.by == ConfinedBy::Kernel;
    if beside_mpi {
        do_without_memory_of_others();
    }
    Ok(Decided { facts, beside_mpi, room: options.room })
}

/// A confined thread may not read the memory of other processes, by which MPI libraries copy long messages on one machine:
/// they are told to use shared memory, unless the user has chosen.
fn do_without_memory_of_others() {
    let instead = [
        ("UCX_TLS", "^cma"),
        ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
        ("OMPI_MCA_btl_sm_single_copy_mechanism", "none"),
        ("MPIR_CVAR_CH4_CMA_ENABLE", "0"),
        // No program uses shared file pointers, for which each open would make semaphores in /dev/shm.
        ("OMPI_MCA_sharedfp", "individual"),
    ];
    for (name, value) in instead.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()) {
        // SAFETY: no rank was forked and no thread was started, so nobody reads the environment.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Can ranks be confined as they must be? Without an effect, for an error before anything is made.
///
/// # Errors
/// As a run would fail.
pub fn can_confine(options: &Options, in_mpi: bool) -> Result<(), RunError> {
    if options.room { facts_of_a_room(options, in_mpi) } else { facts(options, in_mpi) }.map(drop)
}

fn facts(options: &Options, in_mpi: bool) -> Result<ConfinementFacts, RunError> {
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
        (Confine::BestEffort, _) if in_mpi => {
            facts(ConfinedBy::Paths, 0, "the MPI library shares the thread of the program")
        }
        (_, KernelSupport::Landlock(version)) => {
            let wider =
                "it may read anywhere and write to the launcher's session directory, as the MPI library must";
            facts(ConfinedBy::Kernel, version, if in_mpi { wider } else { "" })
        }
        (_, KernelSupport::Missing(why)) => facts(ConfinedBy::Paths, 0, &why),
    };
    if options.confine == Confine::Required && found.by != ConfinedBy::Kernel {
        return Err(RunError::Unconfined { why: found.why });
    }
    Ok(found)
}

/// As [`facts`], of a program that must be confined by the kernel in all that it does to files.
fn facts_of_a_room(options: &Options, in_mpi: bool) -> Result<ConfinementFacts, RunError> {
    let cannot = |why: &str| RunError::Room { why: why.to_owned() };
    if in_mpi {
        return Err(cannot(
            "under an MPI launcher the MPI library shares the program's thread, and reads and writes elsewhere; start it \
             without the launcher, with -n RANKS",
        ));
    }
    if options.backend.capabilities().virtual_time {
        return Err(cannot("a simulated run touches nothing: leave it out"));
    }
    let found = facts(&Options { confine: Confine::BestEffort, ..options.clone() }, in_mpi)?;
    match (found.by, found.landlock) {
        (ConfinedBy::Kernel, LEAST_OF_A_ROOM..) => Ok(ConfinementFacts { why: "--room".into(), ..found }),
        (ConfinedBy::Kernel, version) => Err(cannot(&format!(
            "version {version} of Landlock does not rule all that changes a file; Linux 6.2 has the version that does"
        ))),
        (ConfinedBy::Paths | ConfinedBy::Nobody, _) => Err(cannot(&found.why)),
    }
}

/// The checks of names of a run that nobody has begun: those of our own code, which the kernel's go with.
pub(super) fn checks_of(options: &Options) -> Confinement {
    let facts = ConfinementFacts { by: ConfinedBy::Paths, ..ConfinementFacts::default() };
    checks(options, &Decided { facts, beside_mpi: false, room: options.room })
}

/// The checks of names that go with it.
pub(super) fn checks(options: &Options, decided: &Decided) -> Confinement {
    let confinement = match (&options.root, decided.facts.by) {
        (_, ConfinedBy::Nobody) => Confinement::free(),
        (Some(root), _) => Confinement::rooted(Path::new(root)),
        (None, _) => Confinement::new(&options.named, &options.allow),
    };
    let confinement = confinement.spawning(options.allow_spawn).filling(options.fill).in_room(decided.room);
    let confinement = confinement.beside(&options.results).linking(options.links && !decided.room);
    confinement.by_descriptor(decided.facts.by != ConfinedBy::Kernel || decided.beside_mpi || decided.room)
}

/// What a run owns when it begins. One that nobody confines is asked nothing.
pub(super) fn ownership(options: &Options, in_mpi: bool) -> Ownership {
    match options.confine == Confine::Nobody || !options.backend.capabilities().local_files {
        true => Ownership::default(),
        false if in_mpi => Ownership::of_process().beside(super::live::others()),
        false => {
            let file = options.live.as_ref().and_then(|live| live.objects().ok());
            let own = file.map_or_else(Ownership::new, |file| Ownership::kept_in(&file));
            own.beside(super::live::others())
        }
    }
}

/// The folder in which the launcher and its ranks meet, of this user and nobody else: MPI libraries make files in it while
/// they work. What they share in memory they have opened when the rank is confined.
fn of_the_launcher() -> Vec<PathBuf> {
    let is_private = |path: &PathBuf| {
        let own = rustix::process::geteuid().as_raw();
        path.is_absolute()
            && path.components().count() > 2
            && path
                .symlink_metadata()
                .is_ok_and(|found| found.is_dir() && found.uid() == own && found.mode() & 0o022 == 0)
    };
    SESSION_DIRECTORIES.iter().filter_map(std::env::var_os).map(PathBuf::from).filter(is_private).collect()
}

/// Restricts this thread and those that it starts, where the kernel is to do it.
///
/// # Errors
/// In words, where the kernel does not.
pub(super) fn enter(confinement: &Confinement, decided: &Decided) -> Result<(), String> {
    if decided.facts.by != ConfinedBy::Kernel {
        return Ok(());
    }
    let mut rules = confinement.rules();
    rules.read.extend(READ_OF_THE_SYSTEM.map(PathBuf::from));
    rules.write.push(WRITTEN_OF_THE_SYSTEM.into());
    if !decided.room {
        rules.write.push(DROP_CACHES.into());
    }
    if decided.beside_mpi {
        // Its libraries, devices and peers; what it shares with them.
        rules.read.push("/".into());
        rules.write.extend(of_the_launcher());
        // Where it ends it removes the segments that it has made before.
        rules.remove.push("/dev/shm".into());
        rules.communicates = true;
    }
    rules.connect.clone_from(&decided.facts.connect);
    confine::restrict_thread(&rules).map_err(|error| error.to_string())
}
