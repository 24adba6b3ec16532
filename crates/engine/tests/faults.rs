//! Samples and errors come out right when the system fails inside `async` and `parallel` blocks.

mod support;

use engine::execute::{Session, Stop};
use engine::run::{Body, Options, Program, RunOutcome, ranks};
use record::StaticSite;
use support::language::{of, plan};
use support::{alone, small_disk};

/// A program whose rank first does something to itself.
struct Prepared<'p>(Program<'p>, fn());

impl Body for Prepared<'_> {
    fn places(&self) -> &[StaticSite] {
        self.0.places()
    }

    fn run(&self, session: &mut Session<'_>) -> Result<(), Stop> {
        (self.1)();
        self.0.run(session)
    }
}

const BLOCKS: [&str; 3] = [
    "async depth=4 { repeat $i 16 fwrite($f, 64k, $i * 64k); }",
    "parallel 4 { repeat $i 4 fwrite($f, 64k, ($$worker * 4 + $i) * 64k); }",
    "parallel 4 async depth=2 { repeat $i 4 fwrite($f, 64k, ($$worker * 4 + $i) * 64k); }",
];

/// Files may grow to 500 KiB: the eighth block of 64 KiB comes back short.
fn limit_files() {
    let limit = libc::rlimit { rlim_cur: 500 << 10, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is valid to read.
    unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
}

#[test]
fn a_file_that_grows_too_large_fails_where_it_does_and_not_before() {
    let said = alone("a_file_that_grows_too_large_fails_where_it_does_and_not_before", || {
        let mut lines = Vec::new();
        for block in BLOCKS {
            let home = tempfile::tempdir().expect("a directory");
            std::env::set_current_dir(home.path()).expect("the directory");
            let plan = plan(&format!("$f = fcreat(\"f\"); {block} fclose($f);"), 1, 7);
            let body = Prepared(Program::new(&plan), limit_files);
            let outcome: RunOutcome = ranks(&body, &Options::new(1), |_| ()).expect("a run");
            let size = std::fs::metadata("f").expect("there").len();
            let failure = &outcome.failures()[0];
            let said = failure.examples.iter().all(|one| one.contains("\"f\"") && one.contains("EFBIG"));
            lines.push(format!(
                "exit {} {:?} size {size} counted {} said {said}",
                outcome.exit_status(),
                of(&outcome, "fwrite", libc::EFBIG),
                failure.count
            ));
        }
        lines.join("\n")
    });
    // Seven whole blocks and 52 KiB of the eighth, which counts as failed.
    let line = "exit 3 (16, 512000, 9) size 512000 counted 9 said true";
    assert_eq!(said, [line; 3].join("\n"));
}

#[test]
fn a_full_disk_ends_the_run_with_its_reason_and_the_samples_before_it() {
    let said = alone("a_full_disk_ends_the_run_with_its_reason_and_the_samples_before_it", || {
        let mut lines = Vec::new();
        for block in BLOCKS {
            let home = tempfile::tempdir().expect("a directory");
            let Some(_disk) = small_disk(home.path()) else { return "skipped".into() };
            let large = block.replace("64k", "1m");
            std::env::set_current_dir(home.path()).expect("the directory");
            let program = plan(&format!("$f = fcreat(\"f\"); {large} fclose($f);"), 1, 7);
            let options = Options { fill: true, ..Options::new(1) };
            let outcome = engine::run(&program, &options, |_| ()).expect("a run");
            std::env::set_current_dir("/").expect("the root");
            let (_, bytes, full) = of(&outcome, "fwrite", libc::ENOSPC);
            let told = outcome.run.facts.failures.join("; ");
            lines.push(format!(
                "exit {} complete {} some written {} some failed {} told {}",
                outcome.exit_status(),
                outcome.run.facts.complete,
                (1 << 20..=4 << 20).contains(&bytes),
                full > 0,
                told.contains("fwrite(\"f\") failed") && told.contains("ENOSPC")
            ));
        }
        lines.join("\n")
    });
    if said == "skipped" {
        eprintln!("skipped: mounting a small tmpfs needs root");
    } else {
        let line = "exit 3 complete false some written true some failed true told true";
        assert_eq!(said, [line; 3].join("\n"));
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// A timer that interrupts this process every 300 µs, with a handler that lets no call begin again.
fn interrupt_often() {
    // SAFETY: the handler does nothing, and both structures are valid to read.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        let every = libc::timeval { tv_sec: 0, tv_usec: 300 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
}

#[test]
fn signals_without_restart_change_no_result() {
    let said = alone("signals_without_restart_change_no_result", || {
        let text = r#"
            $f = fopen("f", "w+");
            async depth=4 { repeat $i 60 fwrite($f, 64k, $i * 64k); fsync($f); }
            parallel 3 { repeat $i 20 { fwrite($f, 64k, ($$worker * 20 + $i) * 64k); think 200us; } sleep(5000); }
            verify { fread($f); }
            fclose($f);
            verify read("f");
            $before = $$time; sleep(30000); assert $$time - $before >= 30ms;
            time["pipe"] pipe_pingpong();
        "#;
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let plan = plan(text, 1, 7);
        let body = Prepared(Program::new(&plan), interrupt_often);
        let outcome: RunOutcome = ranks(&body, &Options::new(1), |_| ()).expect("a run");
        let size = std::fs::metadata("f").expect("there").len();
        let failed = outcome.run.samples.iter().filter(|sample| sample.errno != 0).count();
        format!(
            "exit {} size {size} writes {:?} failed {failed} {:?} {:?}",
            outcome.exit_status(),
            of(&outcome, "fwrite", libc::EINTR),
            outcome.failures().iter().flat_map(|one| &one.examples).collect::<Vec<_>>(),
            outcome.assertions()
        )
    });
    assert_eq!(said, "exit 0 size 3932160 writes (120, 7864320, 0) failed 0 [] []");
}
