//! Which distributions are tried, with how many values and draws.

use crate::{Base, Course, Distribution};

/// Which screen is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Screen {
    /// `lastrank fit FILE`.
    Fit,
    /// `lastrank run`, each rank by itself.
    Run,
    /// `lastrank run` of steps in which ranks meet.
    Gate,
    /// `lastrank compare`.
    Compare,
    /// `lastrank ab`.
    Ab,
    /// `lastrank watch`.
    Watch,
    /// `lastrank scale`.
    Scale,
    /// `lastrank plan-runs`.
    Plan,
}

/// What is different about one rank, the last but two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slow {
    /// Nothing.
    None,
    /// All its values take so many times as long.
    Always(f64),
    /// This share of its values is so many standard deviations slower.
    Bursts(f64, f64),
}

/// A distribution, a number of values, a number of draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The screen.
    pub screen: Screen,
    /// The distribution.
    pub distribution: Distribution,
    /// Values of a draw; of ranks values of each.
    pub n: usize,
    /// Draws.
    pub draws: usize,
    /// Refits behind the test of the distribution.
    pub refits: usize,
    /// Ranks.
    pub ranks: usize,
    /// What is different about one of them.
    pub slow: Slow,
    /// By what factor the second of two takes longer.
    pub factor: f64,
    /// The standard deviation of the logarithm of a run's level.
    pub between: f64,
    /// The seed of its draws.
    pub seed: u64,
}

/// The seed of the draws of the table.
const SEED: u64 = 20_261_126;

impl Screen {
    /// Its command.
    pub fn name(self) -> &'static str {
        match self {
            Screen::Fit => "fit",
            Screen::Run => "run",
            Screen::Gate => "run, steps",
            Screen::Compare => "compare",
            Screen::Ab => "ab",
            Screen::Watch => "watch",
            Screen::Scale => "scale",
            Screen::Plan => "plan-runs",
        }
    }
}

impl Cell {
    /// Of one rank, with nothing different.
    pub fn of(screen: Screen, distribution: Distribution, n: usize, (draws, refits): (usize, usize)) -> Cell {
        Cell {
            screen,
            distribution,
            n,
            draws,
            refits,
            ranks: 1,
            slow: Slow::None,
            factor: 1.0,
            between: 0.0,
            seed: SEED,
        }
    }

    /// `fit, GEV 0.1, n = 400`.
    pub fn name(&self) -> String {
        let mut name = format!("{}, {}, n = {}", self.screen.name(), self.distribution.name(), self.n);
        if self.ranks > 1 {
            name += &format!(", {} ranks", self.ranks);
        }
        name += &match self.slow {
            Slow::None => String::new(),
            Slow::Always(factor) => format!(", one slower by {:.0}%", 100.0 * (factor - 1.0)),
            Slow::Bursts(share, by) => format!(", one slower by {by} in {:.0}%", 100.0 * share),
        };
        if self.factor != 1.0 {
            name += &format!(", apart by {:.0}%", 100.0 * (self.factor - 1.0));
        }
        if self.between > 0.0 {
            name += &format!(", runs vary by {:.1}%", 100.0 * self.between);
        }
        name
    }

    /// The rank that is different.
    pub fn slow_rank(&self) -> Option<usize> {
        (self.slow != Slow::None).then(|| self.ranks.saturating_sub(3))
    }

    /// Whether all values are of one distribution that does not depend on when or who.
    pub fn is_stationary(&self) -> bool {
        self.distribution.is_stationary() && self.slow == Slow::None
    }

    /// Whether a screen of one distribution for all ranks is right to say that values depend on each other.
    pub fn is_independent(&self) -> bool {
        self.distribution.is_independent()
    }

    /// What is stated of screens of this distribution: the share of those with a false sentence.
    pub fn stated(&self) -> Option<f64> {
        match () {
            // What two runs do not tell of run-to-run variation they cannot know.
            () if self.screen == Screen::Compare && self.between > 0.0 => None,
            () if self.distribution.is_independent() => Some(0.06),
            () if self.distribution.is_stationary() && self.distribution.phi <= 0.6 => Some(0.08),
            () => None,
        }
    }

    /// The claims, one of which a screen should make of this distribution; empty where there is nothing to find.
    pub fn expected(&self) -> &'static [&'static str] {
        match (self.screen, self.slow) {
            (Screen::Run | Screen::Gate, Slow::Always(_) | Slow::Bursts(..)) => {
                return &["slow rank", "last rank"];
            }
            (Screen::Compare | Screen::Ab, _) if self.factor != 1.0 => return &["slower"],
            (Screen::Fit | Screen::Run | Screen::Gate, _) => {}
            (Screen::Compare | Screen::Ab | Screen::Watch | Screen::Scale | Screen::Plan, _) => return &[],
        }
        match self.distribution.course {
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
            Course::Modes { .. } => &["several clumps", "no distribution of maxima", "another distribution"],
            Course::Steady if self.distribution.phi > 0.0 => &[
                "neighbours resemble",
                // What a screen of too few values says of it.
                "space the runs",
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

/// Distributions whose values are independent.
fn independent() -> Vec<Distribution> {
    [-0.3, 0.0, 0.1, 0.3, 0.5]
        .map(Base::Gev)
        .into_iter()
        .chain([Base::LogNormal(0.5), Base::Exponential, Base::Gamma(4.0)])
        .map(Distribution::of)
        .collect()
}

/// Distributions whose neighbours are correlated.
fn dependent() -> Vec<Distribution> {
    let of = |base| [0.3, 0.6, 0.9].map(|phi| Distribution::of(base).ar(phi));
    [GEV, Base::LogNormal(0.5), Base::Exponential].into_iter().flat_map(of).collect()
}

/// Distributions with something to find.
fn changing() -> Vec<Distribution> {
    let distribution = Distribution::of(GEV);
    vec![
        distribution.with(Course::Step { from: 0.5, by: 1.0 }),
        distribution.ar(0.3).with(Course::Step { from: 0.5, by: 1.0 }),
        distribution.with(Course::Ramp { by: 2.0 }),
        distribution.with(Course::WarmUp { share: 0.1, by: 4.0 }),
        distribution.with(Course::Bursts { share: 0.1, length: 10.0, by: 3.0 }),
        distribution.with(Course::Periodic { every: 16, by: 4.0 }),
        distribution.with(Course::Modes { share: 0.2, by: 6.0 }),
        distribution.with(Course::Outlier { by: 30.0 }),
        distribution.with(Course::Tick { ticks: 0.2 }),
        distribution.with(Course::Tick { ticks: 1.0 }),
        distribution.with(Course::Tick { ticks: 4.0 }),
    ]
}

fn cells(
    screens: &[Screen],
    distributions: &[Distribution],
    sizes: &[usize],
    of_each: (usize, usize),
) -> Vec<Cell> {
    let mut all = Vec::new();
    for screen in screens {
        for distribution in distributions {
            all.extend(sizes.iter().map(|n| Cell::of(*screen, *distribution, *n, of_each)));
        }
    }
    all
}

/// Ranks of the same distribution, and with one that is slow.
fn ranks(of_each: (usize, usize), most: usize) -> Vec<Cell> {
    let base = Distribution::of(Base::LogNormal(0.3));
    let of = |screen, ranks, n, slow| {
        let draws = if ranks * n > 5_000 { of_each.0.div_ceil(10) } else { of_each.0 };
        Cell { ranks, slow, ..Cell::of(screen, base, n, (draws, of_each.1)) }
    };
    let mut all = vec![
        of(Screen::Run, 8, 5, Slow::None),
        of(Screen::Run, 8, 50, Slow::None),
        of(Screen::Run, 8, 50, Slow::Always(1.3)),
        of(Screen::Gate, 8, 100, Slow::None),
        of(Screen::Gate, 8, 100, Slow::Always(1.3)),
        of(Screen::Gate, 8, 100, Slow::Bursts(0.15, 5.0)),
        of(Screen::Run, 64, 5, Slow::None),
        of(Screen::Run, 2, 400, Slow::None),
        of(Screen::Run, 16, 100, Slow::Always(1.1)),
        of(Screen::Gate, 16, 400, Slow::None),
        of(Screen::Gate, 16, 400, Slow::Always(1.02)),
        of(Screen::Gate, 64, 1000, Slow::None),
        of(Screen::Run, 64, 1000, Slow::None),
        of(Screen::Gate, 2, 20, Slow::None),
        of(Screen::Gate, 64, 50, Slow::Always(1.05)),
        of(Screen::Gate, 64, 50, Slow::Bursts(0.15, 5.0)),
    ];
    let dependent = Cell { distribution: base.ar(0.6), ..of(Screen::Run, 8, 50, Slow::None) };
    all.insert(3, dependent);
    all.truncate(most);
    all
}

/// Two runs, two arms.
fn pairs(of_each: (usize, usize), quick: bool) -> Vec<Cell> {
    let distribution = Distribution::of(GEV);
    let of = |screen, distribution, n, factor, between| Cell {
        factor,
        between,
        ..Cell::of(screen, distribution, n, of_each)
    };
    let mut all = vec![
        of(Screen::Compare, distribution, 100, 1.0, 0.0),
        of(Screen::Compare, distribution.ar(0.6), 400, 1.0, 0.0),
        of(Screen::Compare, distribution, 100, 1.05, 0.0),
        of(Screen::Compare, distribution, 100, 1.2, 0.0),
        of(Screen::Compare, distribution.with(Course::Tick { ticks: 1.0 }), 100, 1.0, 0.0),
        of(Screen::Ab, distribution, 48, 1.0, 0.02),
        of(Screen::Ab, distribution, 48, 1.05, 0.02),
        of(Screen::Ab, distribution, 48, 1.2, 0.02),
    ];
    if !quick {
        for phi in [0.3, 0.9] {
            all.push(of(Screen::Compare, distribution.ar(phi), 400, 1.0, 0.0));
        }
        all.push(of(Screen::Compare, distribution, 400, 1.0, 0.0));
        all.push(of(Screen::Compare, distribution.ar(0.6), 400, 1.05, 0.0));
        all.push(of(Screen::Compare, distribution.ar(0.6), 400, 1.2, 0.0));
        all.push(of(Screen::Compare, Distribution::of(Base::LogNormal(0.5)), 400, 1.0, 0.0));
        all.push(of(Screen::Compare, Distribution::of(Base::Exponential), 400, 1.05, 0.0));
        all.push(of(
            Screen::Compare,
            distribution.with(Course::Bursts { share: 0.1, length: 10.0, by: 3.0 }),
            400,
            1.0,
            0.0,
        ));
        all.push(of(Screen::Compare, distribution, 400, 1.0, 0.02));
        all.push(of(Screen::Compare, distribution, 400, 1.2, 0.02));
    }
    all
}

fn others(draws: [usize; 3], quick: bool) -> Vec<Cell> {
    let distribution = Distribution::of(GEV);
    let mut all = Vec::new();
    let mut quiet = vec![
        distribution,
        distribution.ar(0.3),
        distribution.ar(0.6),
        distribution.with(Course::Step { from: 0.5, by: 1.0 }),
    ];
    if !quick {
        let more = [Base::Gev(-0.2), Base::Gev(0.3), Base::LogNormal(0.2), Base::Gamma(4.0)];
        quiet.extend(
            more.map(Distribution::of)
                .into_iter()
                .flat_map(|distribution| [distribution, distribution.ar(0.6)]),
        );
    }
    all.extend(
        quiet.into_iter().map(|distribution| Cell::of(Screen::Watch, distribution, 400, (draws[0], 0))),
    );
    for base in [GEV, Base::LogNormal(0.5), Base::Exponential] {
        all.push(Cell { ranks: 16, ..Cell::of(Screen::Scale, Distribution::of(base), 400, (draws[1], 0)) });
    }
    all.extend(
        [distribution, distribution.ar(0.6)]
            .map(|distribution| Cell::of(Screen::Plan, distribution, 400, (draws[2], 0))),
    );
    all
}

/// The cells of the full table.
pub fn full() -> Vec<Cell> {
    let mut distributions = independent();
    distributions.extend(dependent());
    distributions.extend(changing());
    let distribution = Distribution::of(GEV);
    let main = [
        distribution,
        Distribution::of(Base::LogNormal(0.5)),
        distribution.ar(0.3),
        distribution.ar(0.6),
        distribution.ar(0.9),
    ];
    let mut all = cells(&[Screen::Fit], &distributions, &[50, 400], (2000, 99));
    all.extend(cells(&[Screen::Fit, Screen::Run], &main, &[20], (2000, 99)));
    all.extend(cells(&[Screen::Fit], &main, &[10_000], (2000, 99)));
    all.extend(cells(&[Screen::Run], &main, &[50, 400], (2000, 99)));
    all.extend(cells(&[Screen::Run], &changing(), &[400], (200, 99)));
    all.extend(cells(
        &[Screen::Fit, Screen::Run],
        &[distribution, distribution.ar(0.6)],
        &[100_000],
        (200, 99),
    ));
    all.extend(ranks((500, 99), usize::MAX));
    all.extend(pairs((2000, 0), false));
    all.extend(others([200, 2000, 2000], false));
    all
}

/// Those of the test: the same distributions, fewer of each.
pub fn quick() -> Vec<Cell> {
    let distribution = Distribution::of(GEV);
    let distributions = [
        distribution,
        Distribution::of(Base::Gev(-0.3)),
        Distribution::of(Base::LogNormal(0.5)),
        distribution.ar(0.3),
        distribution.ar(0.6),
        distribution.ar(0.9),
    ];
    let mut all = cells(&[Screen::Fit], &distributions, &[50, 400], (60, 49));
    all.extend(cells(&[Screen::Run], &distributions, &[50], (60, 49)));
    all.extend(cells(&[Screen::Run], &distributions, &[400], (6, 49)));
    all.extend(cells(&[Screen::Fit], &changing(), &[400], (15, 49)));
    all.extend(cells(&[Screen::Run], &changing(), &[400], (2, 49)));
    all.extend(ranks((8, 49), 7));
    all.extend(pairs((40, 0), true));
    all.extend(others([3, 40, 40], true));
    all
}
