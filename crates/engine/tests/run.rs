//! Runs keep their samples and say what happened, also when a rank dies or the disk is full.

mod support;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use engine::driver::Model;
use engine::execute::{Call, Session, Stop};
use engine::run::{BackendKind, Clean, Options, RunOutcome};
use samples::{SiteKind, gates};
use support::{RankProgram, RankWork, alone, attempt, place, run, small_disk};

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no NUL")
}

/// Every rank writes a file of its own between two barriers, again and again.
struct ParallelWrite {
    directory: PathBuf,
    steps: u32,
    bytes: u64,
    /// This rank kills itself in this step.
    dies: Option<(u32, u32)>,
    keep: bool,
}

impl RankWork for ParallelWrite {
    fn work(&self, session: &mut Session<'_>, rank: u32) -> Result<(), Stop> {
        let path = c(&self.directory.join(format!("target-{rank}")));
        for step in 0..self.steps {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
            let file = attempt(session, 0, Call::Open { path: &path, flags, mode: 0o644 })?;
            session.barrier(1, None)?;
            if self.dies == Some((rank, step)) {
                // SAFETY: ends this very process.
                unsafe { libc::raise(libc::SIGKILL) };
            }
            session.enter(2, "write")?;
            let file = file.value as u32;
            attempt(session, 3, Call::Write { file, length: self.bytes, offset: None, buffer: None })?;
            session.leave(2)?;
            session.barrier(4, None)?;
            attempt(session, 5, Call::Close { file })?;
        }
        if !self.keep {
            attempt(session, 6, Call::Delete { path: &path })?;
        }
        Ok(())
    }
}

fn parallel_write(directory: &Path) -> RankProgram<ParallelWrite> {
    let places = vec![
        place(1, "fopen", SiteKind::Operation),
        place(2, "barrier", SiteKind::Barrier),
        place(3, "time", SiteKind::Time),
        place(3, "fwrite", SiteKind::Operation),
        place(4, "barrier", SiteKind::Barrier),
        place(5, "fclose", SiteKind::Operation),
        place(6, "delete", SiteKind::Operation),
    ];
    let work =
        ParallelWrite { directory: directory.into(), steps: 20, bytes: 10_000, dies: None, keep: false };
    RankProgram { places, work }
}

fn options(ranks: u32, directory: &Path) -> Options {
    Options { allow: vec![directory.to_owned()], ..Options::new(ranks) }
}

fn summary(outcome: &RunOutcome) -> String {
    let facts = &outcome.run.facts;
    let failures: Vec<_> = outcome.failures().iter().flat_map(|failure| failure.examples.clone()).collect();
    format!(
        "exit {} complete {} | {} | {}",
        outcome.exit_status(),
        facts.complete,
        facts.failures.join("; "),
        failures.join("; ")
    )
}

fn left_in(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        names.map(|name| name.expect("a name").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn four_ranks_write_and_each_sample_is_kept() {
    let said = alone("four_ranks_write_and_each_sample_is_kept", || {
        let home = tempfile::tempdir().expect("a directory");
        let outcome = run(&parallel_write(home.path()), &options(4, home.path()));
        let writes = outcome.run.sites.iter().position(|site| site.operation == "fwrite").expect("a site");
        let of_writes: Vec<_> = outcome.run.of_site(writes as u32).copied().collect();
        let whole = of_writes.iter().all(|s| s.bytes == 10_000 && s.errno == 0 && s.duration_ps > 0);
        let labels = &outcome.run.sites[writes].labels;
        format!(
            "{} {} {whole} {} {labels:?} {:?}",
            summary(&outcome),
            of_writes.len(),
            gates(&of_writes).len(),
            left_in(home.path())
        )
    });
    assert_eq!(said, "exit 0 complete true |  |  80 true 20 [\"write\"] []");
}

#[test]
fn a_killed_rank_ends_the_run_keeps_its_samples_and_leaves_no_file() {
    let said = alone("a_killed_rank_ends_the_run_keeps_its_samples_and_leaves_no_file", || {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("not ours"), "").expect("write");
        let mut program = parallel_write(home.path());
        program.work.dies = Some((2, 7));
        let outcome = run(&program, &options(4, home.path()));
        let site = outcome.run.sites.iter().position(|site| site.operation == "fwrite").expect("a site");
        let kept = outcome.run.of_site(site as u32).filter(|sample| sample.rank == 2).count();
        format!("{} {kept} {:?}", summary(&outcome), left_in(home.path()))
    });
    assert_eq!(
        said,
        "exit 3 complete false | rank 2 was killed by SIGKILL in or after barrier at line 2; its 44 samples are \
         kept |  7 [\"not ours\"]"
    );
}

#[test]
fn a_full_disk_ends_the_run_and_names_rank_line_and_errno() {
    let said = alone("a_full_disk_ends_the_run_and_names_rank_line_and_errno", || {
        let home = tempfile::tempdir().expect("a directory");
        let Some(_mount) = small_disk(home.path()) else { return "skipped".into() };
        let mut program = parallel_write(home.path());
        program.work.bytes = 3 << 20;
        let outcome = run(&program, &options(2, home.path()));
        let samples = outcome.run.samples.iter().filter(|sample| sample.errno == libc::ENOSPC).count();
        let all = summary(&outcome);
        let told =
            all.contains("line 3: operation 3 failed") && all.contains("ENOSPC, no space left on device");
        let status = outcome.exit_status();
        format!("{status} {} {told} {} {:?}", outcome.run.facts.complete, samples > 0, left_in(home.path()))
    });
    if said == "skipped" {
        eprintln!("skipped: mounting a small tmpfs needs root");
    } else {
        assert_eq!(said, "3 false true true []");
    }
}

#[test]
fn a_file_that_grows_past_the_limit_fails_with_efbig_and_the_run_goes_on() {
    let said = alone("a_file_that_grows_past_the_limit_fails_with_efbig_and_the_run_goes_on", || {
        let home = tempfile::tempdir().expect("a directory");
        let mut program = parallel_write(home.path());
        program.work.keep = true;
        // The limit is set in the ranks' own step, since shared memory is a file as well.
        struct Limited(ParallelWrite);
        impl RankWork for Limited {
            fn work(&self, session: &mut Session<'_>, rank: u32) -> Result<(), Stop> {
                let limit = libc::rlimit { rlim_cur: 4096, rlim_max: 4096 };
                // SAFETY: `limit` is valid to read.
                unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
                self.0.work(session, rank)
            }
        }
        let program = RankProgram { places: program.places, work: Limited(program.work) };
        let outcome = run(&program, &options(1, home.path()));
        let failure = &outcome.failures()[0];
        let short = outcome.run.samples.iter().filter(|sample| sample.errno == libc::EFBIG);
        let moved: Vec<u64> = short.map(|sample| sample.bytes).collect();
        let first = failure.examples[0].clone();
        format!("{} {} {first} {}", outcome.exit_status(), failure.count, moved.iter().all(|b| *b == 4096))
    });
    assert_eq!(
        said,
        "3 20 rank 0, line 3: operation 3 failed after 4096 bytes of the call: EFBIG, file too large true"
    );
}

#[test]
fn a_directory_that_is_not_there_fails_every_open_and_the_run_reaches_its_end() {
    let said = alone("a_directory_that_is_not_there_fails_every_open_and_the_run_reaches_its_end", || {
        let home = tempfile::tempdir().expect("a directory");
        let program = parallel_write(&home.path().join("missing"));
        let outcome = run(&program, &options(2, home.path()));
        let counts: Vec<_> = outcome
            .failures()
            .iter()
            .map(|failure| (outcome.run.sites[failure.site as usize].operation.clone(), failure.count))
            .collect();
        format!("{} {} {counts:?}", outcome.exit_status(), outcome.run.facts.complete)
    });
    assert_eq!(said, "3 true [(\"fopen\", 40), (\"fwrite\", 40), (\"fclose\", 40), (\"delete\", 2)]");
}

#[test]
fn a_program_that_reaches_elsewhere_is_refused_before_it_touches_anything() {
    let said = alone("a_program_that_reaches_elsewhere_is_refused_before_it_touches_anything", || {
        let home = tempfile::tempdir().expect("a directory");
        let inside = home.path().join("inside");
        std::fs::create_dir(&inside).expect("mkdir");
        let program = parallel_write(&inside.join("../outside"));
        let options = Options { root: Some(inside), ..Options::new(2) };
        let outcome = run(&program, &options);
        let told = outcome.run.facts.failures[0].contains("refused to write to");
        format!("{} {told} {:?}", outcome.exit_status(), left_in(home.path()))
    });
    assert_eq!(said, "2 true [\"inside\"]");
}

#[test]
fn what_a_run_created_is_removed_when_asked_and_only_that() {
    let said = alone("what_a_run_created_is_removed_when_asked_and_only_that", || {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("target-1"), "was there before").expect("write");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut program = parallel_write(home.path());
        program.work.keep = true;
        let outcome = run(&program, &Options { clean: Clean::Always, ..options(3, home.path()) });
        format!("{:?} {:?}", outcome.cleaned.map(|cleaned| cleaned.removed()), left_in(home.path()))
    });
    assert_eq!(said, "Some(2) [\"target-1\"]");
}

#[test]
fn a_simulation_touches_nothing_and_repeats_to_the_last_digit() {
    let said = alone("a_simulation_touches_nothing_and_repeats_to_the_last_digit", || {
        let program = parallel_write(Path::new("/nowhere/at/all"));
        let model: Model = "fwrite: gev(10ms,1ms,0.1); *: constant(1us)".parse().expect("a model");
        let simulate = |seed| {
            let backend = BackendKind::Simulate(Model::clone(&model));
            run(&program, &Options { backend, seed, ..Options::new(4) })
        };
        let (first, again, other) = (simulate(1), simulate(1), simulate(2));
        let same = first.run.samples == again.run.samples && first.run.facts == again.run.facts;
        format!("{} {same} {}", summary(&first), first.run.samples == other.run.samples)
    });
    assert_eq!(said, "exit 0 complete true |  |  true false");
}

#[test]
fn simulated_ranks_leave_a_barrier_at_the_time_of_the_slowest() {
    let said = alone("simulated_ranks_leave_a_barrier_at_the_time_of_the_slowest", || {
        let program = parallel_write(Path::new("/nowhere"));
        let backend = BackendKind::Simulate("exp(2ms)".parse().expect("a model"));
        let outcome = run(&program, &Options { backend, ..Options::new(3) });
        let line = |line| move |site: &samples::Site| site.line == line;
        let site = outcome.run.sites.iter().position(line(4)).expect("the second barrier") as u32;
        let ends = |rank| {
            let of_rank = outcome.run.of_site(site).filter(move |sample| sample.rank == rank);
            of_rank.map(|sample| sample.start_ns + sample.duration_ps / 1000).collect::<Vec<u64>>()
        };
        let close = |a: &[u64], b: &[u64]| a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= 1);
        format!("{} {}", ends(0).len(), close(&ends(0), &ends(1)) && close(&ends(1), &ends(2)))
    });
    assert_eq!(said, "20 true");
}
