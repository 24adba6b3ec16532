//! Records by a preloaded library: about a tenth of a microsecond a call, of programs that use the C library.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::child;
use crate::folder::{self, MEMORY, SpoolFolder, lies_in_memory};
use crate::look::{links_before, look_after};
use crate::manifest::Manifest;
use crate::recorded::{Kept, RecordError, Recorded, Unseen};
use crate::signals::{Handled, SignalsPassedOn};
use crate::spool;
use crate::tree::TreeBefore;

/// The library, as the build made it; empty where it cannot be used.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));

/// Runs a command until it and all its children have ended, and records their calls by the preloaded library. `output`: the file
/// for which it is done; where this process is killed, [`crate::left::recordings`] finds what was recorded.
///
/// # Errors
/// Where the command cannot be started, or the library sees nothing of it.
pub fn record(command: &[OsString], output: &Path) -> Result<Recorded, RecordError> {
    let program = command.first().ok_or(RecordError::Command("it is empty"))?;
    let shown = program.to_string_lossy().into_owned();
    let file = child::find(program).ok_or_else(|| RecordError::NotFound(shown.clone()))?;
    if LIBRARY.is_empty() {
        return Err(RecordError::NoLibrary);
    }
    let path = PathBuf::from(OsStr::from_bytes(file.as_bytes()));
    if let Some(why) = unseen(&path, 0).map_err(|error| RecordError::Start(shown.clone(), error))? {
        return Err(RecordError::Unseen(shown, why));
    }
    let directory = std::env::current_dir().unwrap_or_default();
    let spool = Spool::new().map_err(no_place)?;
    spool.keep(&Manifest::new(command, output, &directory, None)).map_err(no_place)?;
    // Children whose parents ended come to this process, so that it can wait for them.
    // SAFETY: sets an attribute of this process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    let tree = TreeBefore::of(&directory, output);
    let signals = SignalsPassedOn::begin();
    let counter = counter();
    let begun = Instant::now();
    let started = spool.start(&path, command, (signals.before, counter.as_deref()));
    let status = started.map(|main| wait_for_all(main, &signals));
    let elapsed_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    drop(signals);
    let status = status.map_err(|error| RecordError::Start(shown, error))?;
    let files = spool::files::read(&spool.folders()).map_err(no_place)?;
    let load_ns = if matters(&files, elapsed_ns) { load_ns(counter.as_deref()) } else { None };
    let mut recorded = made_of(&files, directory.as_os_str().as_bytes(), load_ns.unwrap_or(0));
    let tree = tree.compare(&mut recorded.trace);
    Ok(Recorded { elapsed_ns, status, tree, kept: Kept(spool.into_folders()), ..recorded })
}

/// What the files of all threads hold; how long the application ran, and how it ended, is not known from them.
pub fn made_of(files: &[spool::ThreadFile], directory: &[u8], load_ns: u64) -> Recorded {
    let spool::Spooled { follower, seen, cost_ns, unseen, cut } =
        spool::read_files(files, directory, load_ns);
    let mut trace = follower.finish();
    look_after(&mut trace);
    links_before(&mut trace);
    trace.cost_ns = Some(cost_ns);
    let elapsed_ns =
        trace.calls.iter().map(|call| call.start.saturating_add(call.duration)).max().unwrap_or(0);
    Recorded { trace, seen, unseen, cut, cost_ns, elapsed_ns, status: 0, tree: None, kept: Kept::default() }
}

/// Waits until no child is left; the status of the first one.
fn no_place(error: io::Error) -> RecordError {
    RecordError::Spool { place: std::env::temp_dir(), error }
}

fn wait_for_all(main: libc::pid_t, signals: &SignalsPassedOn) -> i32 {
    let mut result = 0;
    signals.pass_to(main);
    loop {
        let mut status = 0;
        // SAFETY: the status is ours.
        let ended = unsafe { libc::wait(&raw mut status) };
        if ended == main {
            result = status;
            signals.application_ended();
        }
        if ended < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return result;
        }
    }
}

/// The directories in which the library lies and writes.
struct Spool {
    /// On a disk, with the library.
    disk: SpoolFolder,
    /// In memory. No library is loaded from there: `/dev/shm` is often mounted without execution.
    memory: Option<SpoolFolder>,
}

impl Spool {
    fn new() -> io::Result<Self> {
        let (place, random) = (std::env::temp_dir(), folder::random()?);
        // In LD_PRELOAD these end a name: what is before them would be loaded, and others can write to /tmp.
        if place.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':')) {
            let what = format!(
                "{} has a space or a colon in its name, where the dynamic linker takes a name to end; set TMPDIR to \
                 another directory",
                place.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let disk = SpoolFolder::new(&place, &random)?;
        let library = disk.path.join(folder::LIBRARY);
        std::fs::write(&library, LIBRARY)?;
        // SAFETY: a plain call.
        if unsafe { libc::geteuid() } == 0 {
            std::fs::set_permissions(&library, Permissions::from_mode(0o644))?;
        }
        let memory = Path::new(MEMORY);
        let memory = lies_in_memory(memory).then(|| SpoolFolder::new(memory, &random).ok()).flatten();
        Ok(Self { disk, memory })
    }

    fn into_folders(self) -> Vec<SpoolFolder> {
        std::iter::once(self.disk).chain(self.memory).collect()
    }

    fn keep(&self, manifest: &Manifest) -> io::Result<()> {
        let text = serde_json::to_vec(manifest)?;
        self.memory.iter().chain([&self.disk]).try_for_each(|folder| folder.keep(&text))
    }

    /// Where records are: files begin in the last one.
    fn folders(&self) -> Vec<&Path> {
        let memory = self.memory.iter().map(|memory| memory.path.as_path());
        std::iter::once(self.disk.path.as_path()).chain(memory).collect()
    }

    /// A program into which the library is to be loaded.
    fn command(&self, path: &Path, counter: Option<&str>) -> Command {
        let mut library = self.disk.path.join(folder::LIBRARY).into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            library.push(":");
            library.push(others);
        }
        let mut started = Command::new(path);
        started.env("LD_PRELOAD", library).env("LASTRANK_SPOOL", &self.disk.path);
        // The library writes the number of each process over it.
        started.env("LASTRANK_PROCESS", "0000000000");
        match &self.memory {
            Some(memory) => started.env("LASTRANK_SPOOL_MEMORY", &memory.path),
            None => started.env_remove("LASTRANK_SPOOL_MEMORY"),
        };
        match counter {
            Some(counter) => started.env("LASTRANK_COUNTER", counter),
            None => started.env_remove("LASTRANK_COUNTER"),
        };
        started
    }

    fn start(
        &self,
        path: &Path,
        command: &[OsString],
        (signals, counter): (Handled, Option<&str>),
    ) -> io::Result<libc::pid_t> {
        use std::os::unix::process::CommandExt;
        let mut started = self.command(path, counter);
        started.arg0(&command[0]).args(&command[1..]);
        // SAFETY: between fork and exec, calls that may be made there.
        unsafe {
            started.pre_exec(move || {
                signals.restore();
                Ok(())
            });
        }
        started.spawn().map(|child| child.id().cast_signed())
    }
}

/// How the library is to read the processor's counter in place of the kernel's clock, as `keep_counter` in `preload.rs` wants it:
/// at how many ticks it was how many nanoseconds, and how many 2³² ticks take. `None` where looks at the clock are cheap, or
/// the counter is not to be trusted. In User-Mode Linux each look is a call of tens of microseconds.
fn counter() -> Option<String> {
    const LOOKS: u32 = 32;
    const CHEAP_NS: u128 = 500;
    let begun = Instant::now();
    for _ in 0..LOOKS {
        std::hint::black_box(Instant::now());
    }
    if begun.elapsed().as_nanos() < CHEAP_NS * u128::from(LOOKS) {
        return None;
    }
    let (clock, _) = clock::Clock::choose();
    if clock.kind() == clock::Kind::Monotonic {
        return None;
    }
    let (ticks, ns) = (clock.now(), clock::monotonic_ns());
    let scale = clock.ticks_to_ps(1 << 32) / 1000;
    Some(format!("{ticks}:{ns}:{scale}"))
}

/// Whether it is worth the time to find out how long programs were delayed ([`load_ns`]): for one of a second it is not.
fn matters(files: &[spool::ThreadFile], elapsed_ns: u64) -> bool {
    /// It is about so long, in nanoseconds,
    const ABOUT: u64 = 100_000;
    /// and no matter below this part of the whole.
    const PART: u64 = 200;
    let programs = files.iter().filter(|file| file.process == file.thread).count() as u64;
    programs * ABOUT * PART > elapsed_ns
}

/// How long the library delays the start and the end of a program, beside what it records of itself, in nanoseconds: what the dynamic
/// linker does with it, and the system with its memory. The least times of a program that does nothing, without it and with
/// it, are compared. `None` where there is no such program.
fn load_ns(counter: Option<&str>) -> Option<u64> {
    const ROUNDS: usize = 8;
    let path = ["/bin/true", "/usr/bin/true"].map(Path::new).into_iter().find(|path| path.exists())?;
    if unseen(path, 0).ok()?.is_some() {
        return None;
    }
    let spool = Spool::new().ok()?;
    let took = |mut program: Command| {
        let begun = Instant::now();
        let done = program.stdin(Stdio::null()).status().ok()?;
        done.success().then(|| begun.elapsed())
    };
    let (mut without, mut with) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        without = without.min(took(Command::new(path))?);
        with = with.min(took(spool.command(path, counter))?);
    }
    let told = spool::read_files(&spool::files::read(&spool.folders()).ok()?, b"/", 0).follower.finish();
    let ends = told.calls.having(|op| op == trace::model::Op::Exit).map(|(_, end)| end.held);
    let told = Duration::from_nanos(ends.min()?);
    u64::try_from(with.saturating_sub(without).saturating_sub(told).as_nanos()).ok()
}

/// Why the library sees nothing of a program; scripts are what their interpreter is.
fn unseen(path: &Path, depth: u32) -> io::Result<Option<Unseen>> {
    const SCRIPTS_IN_SCRIPTS: u32 = 4;
    let file = File::open(path)?;
    let mut head = [0; 4096];
    let count = file.read_at(&mut head, 0)?;
    let head = &head[..count];
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or(line).trim_ascii();
        let interpreter = line.split(u8::is_ascii_whitespace).next().unwrap_or(line);
        if depth == SCRIPTS_IN_SCRIPTS {
            return Ok(Some(Unseen::OtherFormat));
        }
        return unseen(Path::new(OsStr::from_bytes(interpreter)), depth + 1);
    }
    if file.metadata()?.mode() & 0o6000 != 0 || has_capabilities(path) {
        return Ok(Some(Unseen::SetId));
    }
    Ok(match interpreter(head, &file) {
        None => Some(Unseen::OtherFormat),
        Some(None) => Some(Unseen::Static),
        Some(Some(linker)) if linker.windows(4).any(|part| part == b"musl") => Some(Unseen::OtherLibrary),
        Some(Some(_)) => None,
    })
}

pub fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both strings end in NUL; no value is read.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

/// The dynamic linker of an ELF program of this processor: `None` if it is no such program, `Some(None)` if it has none.
fn interpreter(head: &[u8], file: &File) -> Option<Option<Vec<u8>>> {
    const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    const INTERPRETER: u32 = 3;
    const ENTRY: usize = 56;
    let short = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let is_elf = head.starts_with(b"\x7fELF\x02\x01");
    if !is_elf || short(18)? != MACHINE {
        return None;
    }
    let first = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?);
    let count = usize::from(short(56)?);
    let mut table = vec![0; count * ENTRY];
    file.read_exact_at(&mut table, first).ok()?;
    for entry in table.chunks_exact(ENTRY) {
        if u32::from_le_bytes(entry[..4].try_into().ok()?) != INTERPRETER {
            continue;
        }
        let long = |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
        let mut name = vec![0; usize::try_from(long(32)?).ok()?.min(4096)];
        file.read_exact_at(&mut name, long(8)?).ok()?;
        return Some(Some(name));
    }
    Some(None)
}
