//! Runs ranks in a test, which needs a process with one thread.
#![allow(dead_code)] // each test file uses its own part

pub mod language;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use engine::execute::{Call, Failed, Named, Session, Stop};
use engine::run::{self, Body, Options, ranks};
use record::StaticSite;
use samples::Outcome;
use samples::SiteKind;

const RESULT: &str = "LASTRANK_TEST_RESULT";

/// Runs `scene` in a process of its own and returns what it said.
pub fn alone(test: &str, scene: impl FnOnce() -> String) -> String {
    if let Some(path) = std::env::var_os(RESULT) {
        in_one_thread(|| std::fs::write(path, scene()).expect("a place for the result"));
    }
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(RESULT, file.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    let deadline = Instant::now() + Duration::from_secs(60);
    let ended = loop {
        if let Some(ended) = child.try_wait().expect("our child") {
            break ended;
        }
        if Instant::now() > deadline {
            child.kill().expect("our child");
            panic!("{test} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success(), "the process of {test} failed: {ended}");
    std::fs::read_to_string(file.path()).expect("the result")
}

/// Leaves the harness, whose main thread waits for this one, behind: a fork has one thread. Ends this process
/// with the status of the other.
fn in_one_thread(scene: impl FnOnce()) -> ! {
    // SAFETY: the harness runs one test, so its only other thread waits and holds no lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the child ends with its parent, which a hanging test kills.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(scene));
        // SAFETY: leaves without the harness's own end.
        unsafe { libc::_exit(if done.is_ok() { 0 } else { 101 }) }
    }
    let mut status = 0;
    // SAFETY: our own child and a live integer.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    std::process::exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 102 });
}

/// A place in a program that exists only in the test.
pub fn place(line: u32, operation: &str, kind: SiteKind) -> StaticSite {
    StaticSite {
        line,
        column: 1,
        operation: operation.into(),
        command: None,
        kind,
        group: String::new(),
        expects: None,
    }
}

/// A rank's work, the same for both back ends.
pub trait RankWork {
    fn work(&self, session: &mut Session<'_>, rank: u32) -> Result<(), Stop>;
}

/// A program: its places, and what a rank does.
pub struct RankProgram<W> {
    pub places: Vec<StaticSite>,
    pub work: W,
}

impl<W: RankWork> Body for RankProgram<W> {
    fn places(&self) -> &[StaticSite] {
        &self.places
    }

    fn run(&self, session: &mut Session<'_>) -> Result<(), Stop> {
        let rank = session.rank();
        self.work.work(session, rank)
    }
}

/// Does an operation and counts its failure as a program does.
pub fn attempt(session: &mut Session<'_>, place: usize, call: Call<'_>) -> Result<Outcome, Stop> {
    let outcome = session.operation(place, call)?;
    if !outcome.ok() {
        let named = Named { operation: format!("operation {place}"), ..Named::default() };
        let failed = Failed { errno: outcome.errno, moved: outcome.value, ..Failed::default() };
        session.failed(place, &named, &failed)?;
    }
    Ok(outcome)
}

/// Runs it.
pub fn run<W: RankWork>(program: &RankProgram<W>, options: &Options) -> run::RunOutcome {
    ranks(program, options, |_| ()).expect("ranks start")
}

/// Kills the n-th child of this process.
pub fn kill_child(number: usize) {
    // A child is listed under the thread that forked it.
    let tasks = std::fs::read_dir("/proc/self/task").expect("proc");
    let children: Vec<String> = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let killed = Command::new("kill").args(["-KILL", &children[number]]).status().expect("kill");
    assert!(killed.success());
}

/// A file system of 4 MiB on `directory`, unmounted when dropped; needs root.
pub fn small_disk(directory: &Path) -> Option<Mounted> {
    let target = CString::new(directory.as_os_str().as_bytes()).expect("no NUL");
    // SAFETY: all strings are NUL-terminated.
    let result = unsafe {
        let kind = c"tmpfs".as_ptr();
        libc::mount(kind, target.as_ptr(), kind, 0, c"size=4m".as_ptr().cast())
    };
    (result == 0).then_some(Mounted(target))
}

/// A file system that a test mounted.
pub struct Mounted(CString);

impl Drop for Mounted {
    fn drop(&mut self) {
        // SAFETY: the string is NUL-terminated.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}
