//! Restricts a thread, and whatever it starts, by Landlock.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, NetPort, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

/// Rights are those of this version; on an older kernel those that it knows.
const NEWEST: ABI = ABI::V9;

/// Whether this kernel can confine threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSupport {
    /// Landlock, with the version of its interface.
    Landlock(u32),
    /// Not available: the reason.
    Missing(String),
}

/// Asks the kernel. Changes nothing.
pub fn support() -> KernelSupport {
    const VERSION: libc::c_long = 1;
    // SAFETY: without attributes and with this flag the call only gives the version.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    if let Ok(version @ 1..) = u32::try_from(version) {
        return KernelSupport::Landlock(version);
    }
    KernelSupport::Missing(match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ENOSYS) => "the kernel has no Landlock (it came with Linux 5.13)".into(),
        Some(libc::EOPNOTSUPP) => "Landlock is switched off (see the kernel's parameter `lsm=`)".into(),
        Some(libc::EPERM) => "a filter of the container forbids Landlock".into(),
        _ => "the kernel refuses Landlock".into(),
    })
}

/// The rights of a restricted thread. Everything else that Landlock controls is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Directory trees in which it may read, write, make, rename and remove; single files may be read and written.
    pub write: Vec<PathBuf>,
    /// As `write`, with requests to devices (`ioctl`): what the user named.
    pub trusted: Vec<PathBuf>,
    /// Directory trees in which it may remove files, and nothing else.
    pub remove: Vec<PathBuf>,
    /// Directory trees and files that it may read.
    pub read: Vec<PathBuf>,
    /// Whether it may read and start any program, which is then restricted in the same way.
    pub execute: bool,
    /// Whether it may use the network, and signals and sockets of other processes.
    pub communicates: bool,
    /// TCP ports that it may connect to.
    pub connect: Vec<u16>,
}

/// Why a thread could not be restricted.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel refused a call of Landlock.
    #[error("the kernel did not confine this rank: {0}")]
    Landlock(#[from] landlock::RulesetError),
    /// A place that is allowed cannot be opened: too few descriptors (`ulimit -n`), for example.
    #[error("the kernel did not confine this rank: {0}; see `ulimit -n`")]
    Place(#[from] landlock::PathFdError),
    /// The kernel accepted the rules but does not enforce them.
    #[error("the kernel did not confine this rank, without a reason")]
    NotEnforced,
}

/// Restricts this thread for the rest of its life, and the threads and processes that it starts from now on. It can
/// gain no rights by starting a program (`no_new_privs`). What it has open stays open.
///
/// Paths that do not exist are left out.
///
/// # Errors
/// Where the kernel refuses. The thread is then not restricted.
pub fn restrict_thread(rules: &Rules) -> Result<(), ConfineError> {
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let never = AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = all & !never;
    let mut set = Ruleset::default().handle_access(all)?;
    if !rules.communicates {
        set = set.handle_access(AccessNet::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    }
    let mut set = set.create()?;
    let granted = [
        (&rules.write, write),
        (&rules.trusted, write | AccessFs::IoctlDev),
        (&rules.remove, AccessFs::RemoveFile.into()),
        (&rules.read, read),
    ];
    for (places, rights) in granted {
        for place in places {
            set = grant(set, place, rights)?;
        }
    }
    if rules.execute {
        set = grant(set, Path::new("/"), read | AccessFs::Execute)?;
    }
    // Ports are only ruled where the network is.
    for port in rules.connect.iter().filter(|_| !rules.communicates) {
        set = set.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    let status = set.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(ConfineError::NotEnforced) } else { Ok(()) }
}

/// Adds a rule for what lies below `place`, or for the file `place`.
fn grant(
    set: RulesetCreated,
    place: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, ConfineError> {
    let descriptor = match PathFd::new(place) {
        Ok(descriptor) => descriptor,
        Err(PathFdError::OpenCall { source, .. }) if is_out_of_reach(&source) => return Ok(set),
        Err(error) => return Err(error.into()),
    };
    // Only some rights have a meaning for a file.
    let rights = if place.is_dir() { rights } else { rights & AccessFs::from_file(NEWEST) };
    Ok(set.add_rule(PathBeneath::new(descriptor, rights))?)
}

/// Is nothing there, or nothing that this user can reach? Without a rule it stays refused.
fn is_out_of_reach(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::PermissionDenied
            | ErrorKind::InvalidFilename
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What came of calls on a thread of their own, restricted by `rules`; `None` where this kernel cannot.
    fn restricted<T: Send>(rules: &Rules, calls: impl FnOnce() -> T + Send) -> Option<T> {
        if let KernelSupport::Missing(why) = support() {
            println!("skipped: {why}");
            return None;
        }
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                restrict_thread(rules).expect("this kernel has Landlock");
                calls()
            });
            thread.join().ok()
        })
    }

    #[test]
    fn a_restricted_thread_writes_inside_only_and_the_others_are_free() {
        let home = tempfile::tempdir().expect("a directory");
        let (inside, outside) = (home.path().join("in"), home.path().join("out"));
        std::fs::create_dir(&inside).expect("mkdir");
        std::fs::create_dir(&outside).expect("mkdir");
        std::os::unix::fs::symlink(&outside, inside.join("link")).expect("symlink");
        let rules = Rules { write: vec![inside.clone()], ..Rules::default() };
        let done = restricted(&rules, || {
            [inside.join("f"), inside.join("link/f"), inside.join("../out/g"), outside.join("h")]
                .map(|path| std::fs::write(path, "x").is_ok())
        });
        let Some(done) = done else { return };
        assert_eq!(done, [true, false, false, false]);
        assert_eq!(std::fs::read_dir(&outside).expect("there").count(), 0);
        std::fs::write(outside.join("free"), "x").expect("this thread is free");
    }

    #[test]
    fn nothing_is_executed_unless_it_may_be() {
        let home = tempfile::tempdir().expect("a directory");
        let mut rules = Rules { write: vec![home.path().into()], ..Rules::default() };
        let runs = || std::process::Command::new("true").status().is_ok_and(|status| status.success());
        let Some(refused) = restricted(&rules, runs) else { return };
        rules.execute = true;
        assert_eq!((refused, restricted(&rules, runs)), (false, Some(true)));
    }

    #[test]
    fn a_place_that_is_missing_is_left_out() {
        let rules = Rules { write: vec!["/no/such/place".into()], ..Rules::default() };
        let Some(read) = restricted(&rules, || std::fs::read("/etc/passwd").is_ok()) else { return };
        assert!(!read);
    }
}
