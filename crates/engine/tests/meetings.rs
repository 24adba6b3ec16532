//! Ranks that wait for each other at different places of the program are told so, and the run fails.

mod support;

use engine::execute::{Collective, Session, Stop};
use engine::run::{Options, RunOutcome};
use ranks::Comm;
use samples::SiteKind;
use support::{RankProgram, RankWork, alone, place};

/// What each of three ranks does. Sessions are driven by hand: the check refuses most such programs.
type Scene = fn(&mut Session<'_>, u32) -> Result<(), Stop>;

struct Apart(Scene);

impl RankWork for Apart {
    fn work(&self, session: &mut Session<'_>, rank: u32) -> Result<(), Stop> {
        (self.0)(session, rank)
    }
}

fn run(scene: Scene) -> RunOutcome {
    let places = vec![
        place(1, "barrier", SiteKind::Barrier),
        place(2, "barrier", SiteKind::Barrier),
        place(3, "phase", SiteKind::Phase),
        place(3, "phase", SiteKind::Barrier),
        place(4, "pdelete", SiteKind::Operation),
    ];
    support::run(&RankProgram { places, work: Apart(scene) }, &Options::new(3))
}

/// The status, and at which places ranks waited for each other: which of several ranks are named depends on who came
/// first.
fn places(outcome: &RunOutcome) -> String {
    let failures = outcome.run.facts.failures.join(" | ");
    let named = failures.split_once("different places: ").and_then(|(_, rest)| rest.split_once(';'));
    let mut places: Vec<&str> = named.map_or(&failures[..], |(places, _)| places).split(", rank ").collect();
    places.iter_mut().for_each(|place| *place = place.split_once(" is ").map_or(*place, |(_, place)| place));
    places.sort_unstable();
    format!("{}: {}", outcome.exit_status(), places.join(" and "))
}

/// The status, and what is wrong in words, without who noticed it.
fn told(outcome: &RunOutcome) -> String {
    let failures: Vec<&str> = outcome
        .run
        .facts
        .failures
        .iter()
        .map(|failure| failure.split_once("gave up: ").map_or(failure.as_str(), |(_, why)| why))
        .collect();
    format!("{} {}", outcome.exit_status(), failures.join(" | "))
}

#[test]
fn a_barrier_that_meets_the_end_or_another_statement_fails_and_both_places_are_named() {
    let said =
        alone("a_barrier_that_meets_the_end_or_another_statement_fails_and_both_places_are_named", || {
            let works: [Scene; 6] = [
                // Rank 0 alone waits, and the others come to the end.
                |session, rank| if rank == 0 { session.barrier(0, None) } else { Ok(()) },
                // Two come to one barrier, one to another.
                |session, rank| session.barrier(usize::from(rank == 1), None),
                // Rank 2 waits inside the phase, at whose end the others are.
                |session, rank| {
                    session.barrier(3, None)?;
                    session.enter(2, "p")?;
                    if rank == 2 {
                        session.barrier(0, None)?;
                    }
                    session.leave_phase(2, 3, None)
                },
                // One goes on to the next round of a phase, the others are still in this one.
                |session, rank| {
                    session.barrier(3, None)?;
                    session.enter(2, "p")?;
                    if rank == 0 { session.barrier(3, None) } else { session.leave_phase(2, 3, None) }
                },
                // A collective command and a barrier.
                |session, rank| match rank {
                    0 => session.together(4, Collective::Delete(c"none"), None).map(drop),
                    _ => session.barrier(1, None),
                },
                // The rounds of two loops over time.
                |session, rank| session.agree((rank / 2, 5 + rank / 2), None, 0).map(drop),
            ];
            works.map(|work| places(&run(work))).join("\n")
        });
    insta::assert_snapshot!(said);
}

#[test]
fn ranks_that_meet_at_the_same_places_pass() {
    let said = alone("ranks_that_meet_at_the_same_places_pass", || {
        let home = tempfile::tempdir().expect("a directory");
        let text = r#"
            define groups {"low":S, "high":S};
            define pattern {"p", 2, 4k, 1};
            def meet($n) { repeat $n barrier; return $n; }
            repeat 3 { barrier; phase "p" { think 1us; } barrier; }
            for 5ms { barrier; meet(2); }
            group "low" { repeat 4 barrier("low"); pwrite("low", "p"); }
            group "high" { phase "q" stonewall { repeat 10 getpid(); } }
            pwrite("all", "p"); pread("all", "p");
            print(meet(3));
            barrier;
        "#;
        told(&support::language::run_in(home.path(), text, 3, 7))
    });
    assert_eq!(said, "0 ");
}

#[test]
fn ranks_that_wait_for_each_other_in_different_groups_are_told_so() {
    let said = alone("ranks_that_wait_for_each_other_in_different_groups_are_told_so", || {
        let works: [Scene; 3] = [
            // Ranks 0 and 1 meet in two groups, and come to them in different orders.
            |session, rank| {
                let (one, two) = (pair(session, [0, 1])?, pair(session, [1, 0])?);
                let (first, then) = if rank == 0 { (&one, &two) } else { (&two, &one) };
                session.barrier(usize::from(rank == 1), first.as_deref())?;
                session.barrier(usize::from(rank == 0), then.as_deref())
            },
            // Each waits in a pair for the next one.
            |session, rank| {
                let pairs = [pair(session, [0, 1])?, pair(session, [1, 2])?, pair(session, [0, 2])?];
                let own = [0, 1, 2][rank as usize];
                session.barrier(own % 2, pairs[own].as_deref())?;
                session.barrier(1, None)
            },
            // Two wait for all, and one of all for one of the two.
            |session, rank| {
                let of_two = pair(session, [0, 2])?;
                session.barrier(usize::from(rank == 2), of_two.as_deref().filter(|_| rank == 2))
            },
        ];
        works.map(|work| in_groups(&run(work))).join("\n")
    });
    insta::assert_snapshot!(said);
}

/// A group of two ranks; all ranks take part in making it.
fn pair(session: &Session<'_>, ranks: [u32; 2]) -> Result<Option<Box<dyn Comm>>, Stop> {
    let rank = session.rank();
    Ok(session.comm().split(ranks.contains(&rank).then_some(0), rank)?)
}

/// The status, and who waits where, in the order of ranks.
fn in_groups(outcome: &RunOutcome) -> String {
    let failures = outcome.run.facts.failures.join(" | ");
    let named = failures.split_once("different groups: ").and_then(|(_, rest)| rest.split_once(';'));
    let mut places: Vec<&str> = named.map_or(&failures[..], |(places, _)| places).split(", ").collect();
    places.sort_unstable();
    format!("{}: {}", outcome.exit_status(), places.join(", "))
}
