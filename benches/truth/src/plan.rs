//! Which laws are tried, with how many values and draws.

use crate::{Base, Course, Law};

/// Which screen is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Screen {
    /// `lastrank fit FILE`.
    Fit,
    /// `lastrank run`, of one rank.
    Run,
}

/// A law, a number of values, a number of draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The screen.
    pub screen: Screen,
    /// The law.
    pub law: Law,
    /// Values of a draw.
    pub n: usize,
    /// Draws.
    pub draws: usize,
    /// Refits behind the test of the law.
    pub refits: usize,
}

impl Screen {
    /// Its command.
    pub fn name(self) -> &'static str {
        match self {
            Screen::Fit => "fit",
            Screen::Run => "run",
        }
    }
}

impl Cell {
    /// `fit, GEV 0.1, n = 400`.
    pub fn name(&self) -> String {
        format!("{}, {}, n = {}", self.screen.name(), self.law.name(), self.n)
    }

    /// What is stated of screens of this law: the share of those with a false sentence.
    pub fn stated(&self) -> Option<f64> {
        match () {
            () if self.law.is_independent() => Some(0.06),
            () if self.law.is_stationary() && self.law.phi <= 0.6 => Some(0.08),
            () => None,
        }
    }

    /// The claims, one of which a screen should make of this law; empty where there is nothing to find.
    pub fn expected(&self) -> &'static [&'static str] {
        match self.law.course {
            Course::Step { .. } => &["jump"],
            Course::Ramp { .. } => &["creep", "jump"],
            Course::WarmUp { .. } => &["creep", "jump", "neighbours resemble"],
            Course::Bursts { .. } => &[
                "neighbours resemble",
                "slow values together",
                "count as",
                "slow ones together",
                "several clumps",
                "jump",
            ],
            Course::Periodic { .. } => {
                &["slow values periodic", "values apart resemble", "slow values even", "several clumps"]
            }
            Course::Modes { .. } => &["several clumps", "no law of maxima", "another law"],
            Course::Steady if self.law.phi > 0.0 => &[
                "neighbours resemble",
                "slow values together",
                "count as",
                "slow ones together",
                "values apart resemble",
            ],
            Course::Steady | Course::Outlier { .. } | Course::Tick { .. } => &[],
        }
    }
}

const GEV: Base = Base::Gev(0.1);

/// Laws whose values are independent.
fn independent() -> Vec<Law> {
    [-0.3, 0.0, 0.1, 0.3, 0.5]
        .map(Base::Gev)
        .into_iter()
        .chain([Base::LogNormal(0.5), Base::Exponential, Base::Gamma(4.0)])
        .map(Law::of)
        .collect()
}

/// Laws whose neighbours resemble each other.
fn dependent() -> Vec<Law> {
    let of = |base| [0.3, 0.6, 0.9].map(|phi| Law::of(base).ar(phi));
    [GEV, Base::LogNormal(0.5), Base::Exponential].into_iter().flat_map(of).collect()
}

/// Laws with something to find.
fn changing() -> Vec<Law> {
    let law = Law::of(GEV);
    vec![
        law.with(Course::Step { from: 0.5, by: 1.0 }),
        law.ar(0.3).with(Course::Step { from: 0.5, by: 1.0 }),
        law.with(Course::Ramp { by: 2.0 }),
        law.with(Course::WarmUp { share: 0.1, by: 4.0 }),
        law.with(Course::Bursts { share: 0.1, length: 10.0, by: 3.0 }),
        law.with(Course::Periodic { every: 16, by: 4.0 }),
        law.with(Course::Modes { share: 0.2, by: 6.0 }),
        law.with(Course::Outlier { by: 30.0 }),
        law.with(Course::Tick { ticks: 0.2 }),
        law.with(Course::Tick { ticks: 1.0 }),
        law.with(Course::Tick { ticks: 4.0 }),
    ]
}

fn cells(screens: &[Screen], laws: &[Law], sizes: &[usize], of_each: (usize, usize)) -> Vec<Cell> {
    let mut all = Vec::new();
    for screen in screens {
        for law in laws {
            all.extend(sizes.iter().map(|n| Cell {
                screen: *screen,
                law: *law,
                n: *n,
                draws: of_each.0,
                refits: of_each.1,
            }));
        }
    }
    all
}

/// The cells of the full table.
pub fn full() -> Vec<Cell> {
    let mut laws = independent();
    laws.extend(dependent());
    laws.extend(changing());
    let mut all = cells(&[Screen::Fit, Screen::Run], &laws, &[50, 400], (2000, 199));
    all.extend(cells(&[Screen::Fit], &laws, &[10_000], (2000, 99)));
    all.extend(cells(&[Screen::Run], &laws, &[10_000], (200, 99)));
    let few = [Law::of(GEV), Law::of(GEV).ar(0.6)];
    all.extend(cells(&[Screen::Fit, Screen::Run], &few, &[100_000], (200, 99)));
    all
}

/// Those of the test: the same laws, fewer of each.
pub fn quick() -> Vec<Cell> {
    let law = Law::of(GEV);
    let mut laws = vec![
        law,
        Law::of(Base::Gev(-0.3)),
        Law::of(Base::LogNormal(0.5)),
        law.ar(0.3),
        law.ar(0.6),
        law.ar(0.9),
    ];
    let mut all = cells(&[Screen::Fit], &laws, &[50, 400], (60, 49));
    all.extend(cells(&[Screen::Run], &laws, &[50], (60, 49)));
    all.extend(cells(&[Screen::Run], &laws, &[400], (12, 49)));
    laws = changing();
    all.extend(cells(&[Screen::Fit], &laws, &[400], (20, 49)));
    all.extend(cells(&[Screen::Run], &laws, &[400], (3, 49)));
    all
}
