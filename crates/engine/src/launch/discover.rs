//! Are we one rank of an MPI job, or alone on this machine?

use std::time::Duration;

use crate::comm::mpi::{Mpi, MpiChoice, MpiError, find};

/// What surrounds this process.
#[derive(Debug)]
pub enum World {
    /// No launcher: ranks are to be forked with [`super::processes`].
    Alone,
    /// We are one rank of this world; every process runs the program itself.
    Mpi(Box<Mpi>),
}

/// Finds out whether a launcher started this process, and starts its MPI if so.
///
/// `timeout` is how long a rank waits at a barrier; `None` for ever. Call it once, before threads
/// or files are made: it may install signal handlers and start MPI.
///
/// # Errors
/// When a launcher started us but no library fits, or the library does not see the other ranks:
/// ranks never run as so many worlds of one.
pub fn discover(choice: &MpiChoice, timeout: Option<Duration>) -> Result<World, MpiError> {
    if *choice == MpiChoice::None || (*choice == MpiChoice::Auto && find::this_launcher().is_none()) {
        return Ok(World::Alone);
    }
    let (search, library) = find::search(choice);
    let Some(library) = library else {
        let refusals = search.refusals();
        return Err(match search.launcher {
            Some(launcher) if *choice == MpiChoice::Auto => {
                MpiError::NoLibrary { evidence: launcher.evidence, refusals }
            }
            _ => MpiError::Unusable { refusals },
        });
    };
    let expected = search.launcher.and_then(|launcher| launcher.ranks);
    Ok(World::Mpi(Box::new(Mpi::start(library, expected, timeout)?)))
}
