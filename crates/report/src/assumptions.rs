//! The assumptions behind T = k · max S (Henwood et al. 2016), one by one: what this run says of each.

use results::ResultRow;
use samples::Run;
use serde::Serialize;
use tail::targets::{Assumptions, Standing, StepDependence, Targets, judge};

use crate::analysis::Analysis;
use crate::causes::Slowness;
use crate::chapter::Chapter;
use crate::surroundings::Surroundings;
use crate::table::Table;
use crate::unit::{fixed, percent, probability};

/// What is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumed {
    /// Targets are slow independently of each other.
    Independent,
    /// One client, many targets.
    OneToMany,
    /// What varies is the targets, not the client.
    FromTargets,
    /// All targets and the ways to them have one distribution.
    Alike,
    /// k is one number over the run.
    Constant,
}

impl Assumed {
    fn words(self) -> &'static str {
        match self {
            Assumed::Independent => "targets are independent",
            Assumed::OneToMany => "one client, many targets",
            Assumed::FromTargets => "the targets vary, not the client",
            Assumed::Alike => "connections are alike",
            Assumed::Constant => "k is constant",
        }
    }
}

/// An assumption, and what the run says of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assumption {
    /// Which.
    pub assumption: Assumed,
    /// Whether it is met.
    pub standing: Standing,
    /// Why, with the number that decides: a sentence without its full stop.
    pub because: String,
}

/// The assumptions behind the steps of a gate over several ranks; empty of anything else.
pub(crate) fn of(
    run: &Run,
    rows: &[ResultRow],
    main: Option<&Analysis>,
    causes: &[Slowness],
    level: f64,
) -> Vec<Assumption> {
    let Some((main, found)) = main.and_then(|main| Some((main, main.targets.as_ref()?))) else {
        return Vec::new();
    };
    let steps = main.tail.as_ref().and_then(|tail| tail.independence());
    let judged = judge(found, steps, level);
    let around = Surroundings { run, rows, subject: &main.subject, causes };
    let all = [
        (Assumed::Independent, (judged.independent, independent(found))),
        (Assumed::OneToMany, around.one_to_many()),
        (Assumed::FromTargets, around.who_varies()),
        (Assumed::Alike, (judged.alike, alike(found, &judged))),
        (Assumed::Constant, (judged.constant, constant(found, &judged))),
    ];
    all.into_iter()
        .map(|(assumption, (standing, because))| Assumption { assumption, standing, because })
        .collect()
}

/// The chapter of assumptions; none where there are none.
pub(crate) fn chapter(all: &[Assumption], on_page_only: bool) -> Option<Chapter> {
    if all.is_empty() {
        return None;
    }
    let mut table = Table::new("What T = k · max S assumes, one by one", &["<assumption", "<", "<because"]);
    for one in all {
        let standing = match one.standing {
            Standing::Met => "met",
            Standing::NotMet => "not met",
            Standing::NotKnown => "not known",
        };
        table.push(
            one.standing == Standing::NotMet,
            [one.assumption.words().into(), standing.into(), one.because.clone()],
        );
    }
    table.note = "A target is a rank and what it waits for. Of runs that meet the first, the fourth and the fifth, at most 5% \
                  are told that they do not."
        .into();
    let lead = "A step is the slowest of equal, independent targets, times k for the traffic, only as far as these hold.";
    let mut chapter =
        Chapter::new("assumptions", "Is a step the slowest of equal targets?", lead).with([], [table]);
    chapter.repeats = true;
    chapter.on_page_only = on_page_only;
    Some(chapter)
}

fn independent(found: &Targets) -> String {
    let Some(StepDependence { correlation, standard_error, p }) = found.dependence else {
        return format!("{} steps are too few", found.steps);
    };
    let effective = found.extremal.map_or(String::new(), |extremal| {
        format!(
            "; in slow steps {} ranks behave like {} ± {} independent ones",
            found.m,
            fixed(extremal.effective, 1),
            fixed(extremal.standard_error, 1)
        )
    });
    format!(
        "correlation of two ranks in a step {} ± {} (p {}){effective}",
        signed(correlation),
        fixed(standard_error, 3),
        probability(p)
    )
}

fn signed(value: f64) -> String {
    format!("{value:+.3}")
}

fn alike(found: &Targets, judged: &Assumptions) -> String {
    if crate::words::targets::stands_out(found) {
        let first = crate::words::targets::first(found, &|rank| rank.to_string());
        return first.trim_end_matches('.').to_owned();
    }
    let fast = found.targets.iter().filter(|one| one.finding == tail::groups::GroupFinding::Fast);
    if let Some(fast) = fast.min_by(|a, b| a.relative.total_cmp(&b.relative)) {
        let by = percent(1.0 - fast.relative);
        return format!("rank {} takes {by} less than the others", found.name(fast.target));
    }
    format!(
        "no rank is shown to differ: none by more than {} (95% CI, joint), where a rank varies by {} from step to step",
        percent(judged.difference),
        percent(found.ln_k_sd.hypot(found.residual_sd))
    )
}

fn constant(found: &Targets, judged: &Assumptions) -> String {
    let of_steps = format!("from step to step k varies by {} (standard deviation)", percent(found.ln_k_sd));
    let Some(p) = judged.constant_p.map(probability) else {
        return format!("too few steps to tell a trend or a jump; {of_steps}");
    };
    match (judged.constant, judged.independent) {
        (Standing::NotMet, _) => {
            format!("the level of T changes over the run (trend or jump: p {p}); {of_steps}")
        }
        (Standing::NotKnown, Standing::NotMet) => format!(
            "no trend or jump of T is shown (p {p}), but ranks share a factor that varies by {} from step to step: it may be k",
            percent(found.ln_k_sd)
        ),
        (Standing::NotKnown, _) => {
            format!("the level of T may change over the run (trend or jump: p {p}); {of_steps}")
        }
        (Standing::Met, _) => format!("no trend or jump of T that matters (p {p}); {of_steps}"),
    }
}
