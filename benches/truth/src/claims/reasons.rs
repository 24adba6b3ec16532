//! Why values are not repetitions of one experiment: the findings of the tests of independence.

use super::{neutral, sentence};
use crate::Judged::Sentence;
use crate::{Asked, Clause, Course, Read};

/// Share of a series by which the place of a change may be off, and the least number of values.
const NEAR: (f64, f64) = (0.1, 10.0);

/// Values depend on those before them, or the level moves, which has the same signs.
fn depends(asked: &Asked) -> bool {
    !asked.distribution().is_independent()
}

/// Slow values come together: neighbours are correlated, in bursts or while the level is high.
fn together(asked: &Asked) -> bool {
    depends(asked)
        && !matches!(asked.distribution().course, Course::Periodic { .. } if asked.distribution().phi == 0.0)
}

fn jump(read: &Read, asked: &Asked, up: bool) -> crate::Judged {
    let n = asked.values.len() as f64;
    let near = |at: f64| (read.value(0) - at * n).abs() <= (NEAR.0 * n).max(NEAR.1);
    Sentence(match asked.distribution().course {
        Course::Step { from, by } => up == (by > 0.0) && near(from),
        // A warm-up ends somewhere in its course.
        Course::WarmUp { share, by } => up == (by < 0.0) && read.value(0) <= (1.5 * share * n).max(NEAR.1),
        _ => false,
    })
}

/// A change that the distribution has: of bursts each is one.
fn changes(asked: &Asked) -> bool {
    asked.distribution().changes()
        || matches!(asked.distribution().course, Course::Bursts { length, .. } if length >= 50.0)
}

fn creeps(asked: &Asked, up: bool) -> crate::Judged {
    Sentence(match asked.distribution().course {
        Course::Ramp { by } => up == (by > 0.0),
        Course::WarmUp { by, .. } => up == (by < 0.0),
        _ => false,
    })
}

/// How many values are worth for their mean: right within a factor of two where it is known.
fn worth_for_mean(read: &Read, asked: &Asked) -> crate::Judged {
    let (n, worth) = (read.value(2), read.value(3));
    let known = match asked.distribution().course {
        // Under a Gaussian copula values of these distributions are a little less correlated than the normal ones.
        Course::Steady => n * (1.0 - asked.distribution().phi) / (1.0 + asked.distribution().phi),
        _ => return Sentence(together(asked)),
    };
    Sentence(together(asked) && (0.5..2.0).contains(&(worth / known)))
}

pub(super) fn clauses() -> Vec<Clause> {
    let mut all = dependence();
    all.extend(dependence_of_a_rank());
    all.extend(changes_of_level());
    all.extend(in_short());
    all.extend([
        sentence(
            "several clumps",
            "the values form {} clumps of {*}: more than one kind of run is mixed",
            |_, asked| {
                Sentence(matches!(
                    asked.distribution().course,
                    Course::Modes { .. }
                        | Course::Step { .. }
                        | Course::Bursts { .. }
                        | Course::Periodic { .. }
                ))
            },
        ),
        sentence(
            "several clumps",
            "the values form several clumps: more than one kind of run is mixed",
            |_, asked| {
                Sentence(matches!(
                    asked.distribution().course,
                    Course::Modes { .. }
                        | Course::Step { .. }
                        | Course::Bursts { .. }
                        | Course::Periodic { .. }
                ))
            },
        ),
        neutral("more reasons", "(and one more reason)"),
        neutral("more reasons", "(and {} more reasons)"),
    ]);
    all
}

/// Of values that ranks take in turns, in the order of each.
fn dependence_of_a_rank() -> Vec<Clause> {
    vec![
        sentence(
            "neighbours resemble",
            "neighbouring values of a rank are correlated (lag-1 correlation of ranks {})",
            |_, asked| Sentence(together(asked)),
        ),
        sentence(
            "neighbours resemble",
            "neighbouring values of a rank are correlated (lag-1 correlation of ranks {}, tested up to lag {}): for \
             their mean, {} values are worth about {} independent ones",
            worth_for_mean,
        ),
        sentence(
            "neighbours alternate",
            "neighbouring values of a rank alternate between high and low ({*})",
            |_, _| Sentence(false),
        ),
        sentence(
            "neighbours alternate",
            "neighbouring values of a rank alternate between high and low ({*}): for their mean, {} values are worth about {} \
             independent ones",
            |_, _| Sentence(false),
        ),
        sentence(
            "values apart resemble",
            "values of a rank that are {} apart are correlated ({*})",
            |_, asked| Sentence(depends(asked)),
        ),
        sentence(
            "values apart resemble",
            "values of a rank that are {} apart are correlated ({*}): for their mean, {} values are worth about {} \
             independent ones",
            |_, asked| Sentence(depends(asked)),
        ),
        sentence(
            "values apart differ",
            "values of a rank that are {} apart differ more than by chance ({*})",
            |_, asked| Sentence(depends(asked)),
        ),
        sentence(
            "values apart differ",
            "values of a rank that are {} apart differ more than by chance ({*}): for their mean, {} values are worth about {} \
             independent ones",
            |_, asked| Sentence(depends(asked)),
        ),
        sentence("neighbours resemble", "neighbouring {what} of a rank are correlated", |_, asked| {
            Sentence(together(asked))
        }),
        sentence(
            "neighbours alternate",
            "neighbouring {what} of a rank alternate between high and low",
            |_, _| Sentence(false),
        ),
        sentence("values apart resemble", "{what} of a rank that are {} apart are correlated", |_, asked| {
            Sentence(depends(asked))
        }),
        sentence(
            "values apart differ",
            "{what} of a rank that are {} apart differ more than by chance",
            |_, asked| Sentence(depends(asked)),
        ),
    ]
}

fn dependence() -> Vec<Clause> {
    vec![
        sentence(
            "neighbours resemble",
            "neighbouring values are correlated (lag-1 correlation of ranks {})",
            |_, asked| Sentence(together(asked)),
        ),
        sentence(
            "neighbours resemble",
            "neighbouring values are correlated (lag-1 correlation of ranks {}, tested up to lag {}): for their \
             mean, {} values are worth about {} independent ones",
            worth_for_mean,
        ),
        sentence(
            "neighbours alternate",
            "neighbouring values alternate between high and low ({*})",
            |_, _| Sentence(false),
        ),
        sentence(
            "neighbours alternate",
            "neighbouring values alternate between high and low ({*}): for their mean, {} values are worth about {} \
             independent ones",
            |_, _| Sentence(false),
        ),
        sentence("values apart resemble", "values that are {} apart are correlated ({*})", |_, asked| {
            Sentence(depends(asked))
        }),
        sentence(
            "values apart resemble",
            "values that are {} apart are correlated ({*}): for their mean, {} values are worth about {} \
             independent ones",
            |_, asked| Sentence(depends(asked)),
        ),
        sentence(
            "values apart differ",
            "values that are {} apart differ more than by chance ({*})",
            |_, asked| Sentence(depends(asked)),
        ),
        sentence(
            "values apart differ",
            "values that are {} apart differ more than by chance ({*}): for their mean, {} values are worth about {} \
             independent ones",
            |_, asked| Sentence(depends(asked)),
        ),
        sentence(
            "slow values periodic",
            "slow values come every {} values: of the slowest {}, {} are followed by another after just {}, where \
             chance gives {}",
            |read, asked| {
                Sentence(
                    matches!(asked.distribution().course, Course::Periodic { every, .. } if (read.value(0) as usize).is_multiple_of(every)),
                )
            },
        ),
        sentence(
            "slow values together",
            "slow values come in bursts: the distances between the slowest {} vary {} times as much as at random",
            |_, asked| Sentence(together(asked)),
        ),
        sentence(
            "slow values together",
            "slow values cluster: of the slowest {}, {} are followed by another after just {}, where chance gives {}",
            |_, asked| Sentence(together(asked)),
        ),
        sentence(
            "slow values even",
            "slow values come too evenly, one in about {}: the distances between the slowest {} vary {} times as much as \
             at random",
            |_, asked| Sentence(matches!(asked.distribution().course, Course::Periodic { .. })),
        ),
    ]
}

fn changes_of_level() -> Vec<Clause> {
    let mut all = vec![
        sentence("jump", "the level jumps up after {what} {} of {}", |read, asked| jump(read, asked, true)),
        sentence("jump", "the level jumps down after {what} {} of {}", |read, asked| {
            jump(read, asked, false)
        }),
        sentence("jump", "the level jumps {} times, at last {*} after {what} {} of {}", |_, asked| {
            Sentence(changes(asked))
        }),
    ];
    all.extend([
        sentence("creep", "the level drifts up over the run (tau {})", |_, asked| creeps(asked, true)),
        sentence("creep", "the level drifts down over the run (tau {})", |_, asked| creeps(asked, false)),
        sentence(
            "creep",
            "the level drifts up over the run, by about {} interquartile ranges (tau {})",
            |_, asked| creeps(asked, true),
        ),
        sentence(
            "creep",
            "the level drifts down over the run, by about {} interquartile ranges (tau {})",
            |_, asked| creeps(asked, false),
        ),
    ]);
    all
}

/// The same without their numbers.
fn in_short() -> Vec<Clause> {
    let clumps = |_: &Read, asked: &Asked| Sentence(has_modes(asked));
    vec![
        sentence("neighbours resemble", "neighbouring {what} are correlated", |_, asked| {
            Sentence(together(asked))
        }),
        sentence("neighbours alternate", "neighbouring {what} alternate between high and low", |_, _| {
            Sentence(false)
        }),
        sentence("values apart resemble", "{what} that are {} apart are correlated", |_, asked| {
            Sentence(depends(asked))
        }),
        sentence("values apart differ", "{what} that are {} apart differ more than by chance", |_, asked| {
            Sentence(depends(asked))
        }),
        sentence("creep", "the level drifts up over the run", |_, asked| creeps(asked, true)),
        sentence("creep", "the level drifts down over the run", |_, asked| creeps(asked, false)),
        sentence(
            "creep",
            "the level drifts up over the run, by about {} times the width of the middle half",
            |_, asked| creeps(asked, true),
        ),
        sentence(
            "creep",
            "the level drifts down over the run, by about {} times the width of the middle half",
            |_, asked| creeps(asked, false),
        ),
        sentence("slow values periodic", "slow {what} come every {} {what}", |read, asked| {
            Sentence(
                matches!(asked.distribution().course, Course::Periodic { every, .. } if (read.value(0) as usize).is_multiple_of(every)),
            )
        }),
        sentence("slow values together", "slow {what} come in bursts", |_, asked| Sentence(together(asked))),
        sentence("slow values even", "slow {what} come too evenly", |_, asked| {
            Sentence(matches!(asked.distribution().course, Course::Periodic { .. }))
        }),
        sentence("several clumps", "the {what} form {} clumps of {*}. Quote each kind by itself", clumps),
        sentence("several clumps", "the {what} form several clumps", clumps),
    ]
}

/// The distribution has kinds of values.
fn has_modes(asked: &Asked) -> bool {
    matches!(
        asked.distribution().course,
        Course::Modes { .. } | Course::Step { .. } | Course::Bursts { .. } | Course::Periodic { .. }
    )
}
