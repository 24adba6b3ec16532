//! Distributions from counts of bins, against the distributions that were drawn from.

use tail::binned::{BinnedLikelihood, CountedBin, TooCoarse};
use tail::gev::GevTarget;
use tail::interval::{self, Rounding};
use tail::{Gev, Series, Status, Xoshiro};

fn drawn(distribution: &Gev, n: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro::new(seed);
    (0..n).map(|_| distribution.sample(&mut random)).collect()
}

/// How many values lie between neighbouring bounds, and below and above all of them.
fn counted(values: &[f64], bounds: &[f64]) -> Vec<CountedBin> {
    let ends = std::iter::once(f64::NEG_INFINITY).chain(bounds.iter().copied());
    let above = bounds.iter().copied().chain([f64::INFINITY]);
    ends.zip(above)
        .map(|(low, high)| {
            let inside = values.iter().filter(|value| low <= **value && **value < high);
            CountedBin { low, high, count: inside.count() as u64 }
        })
        .collect()
}

/// The bounds of a histogram of powers of two (bpftrace), of two digits (HdrHistogram), and of a service (Prometheus).
fn kinds() -> [(&'static str, Vec<f64>); 3] {
    let powers = (0..20).map(|power| f64::from(1 << power)).collect();
    let digits = (100..4000).step_by(20).map(f64::from).collect();
    let service = [0.5, 0.75, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0].map(|bound| 1000.0 * bound);
    [("powers", powers), ("digits", digits), ("service", service.into())]
}

#[test]
fn intervals_hold_the_distribution_whose_values_were_counted() {
    const SEEDS: u64 = 100;
    for (kind, bounds) in kinds() {
        // Powers of two show a distribution that spreads over several of them.
        let distribution = match kind {
            "powers" => Gev::new(900.0, 500.0, 0.3).unwrap(),
            _ => Gev::new(1000.0, 150.0, 0.1).unwrap(),
        };
        let mut held = [0; 4];
        for seed in 0..SEEDS {
            let bins =
                BinnedLikelihood::new(&counted(&drawn(&distribution, 2000, seed + 1), &bounds)).unwrap();
            let fit = bins.fit();
            assert_eq!((fit.status, bins.count()), (Status::Ok, 2000), "{kind} {seed}");
            let level = distribution.quantile(0.99);
            let targets = [
                (GevTarget::Location, distribution.location),
                (GevTarget::Scale, distribution.scale),
                (GevTarget::Shape, distribution.shape),
                (GevTarget::ReturnLevel(100.0), level),
            ];
            for ((target, truth), held) in targets.into_iter().zip(&mut held) {
                *held += u64::from(bins.profile(&fit, target, 0.95).unwrap().contains(truth));
            }
        }
        // 95 of 100 are expected; below 88 or above 100 are 2 in 1000.
        assert!(held.iter().all(|held| (88..=SEEDS).contains(held)), "{kind}: {held:?}");
    }
}

#[test]
fn bins_of_one_width_are_a_coarse_clock() {
    let values: Vec<f64> =
        drawn(&Gev::new(10.0, 1.0, 0.1).unwrap(), 3000, 3).iter().map(|x| x.floor()).collect();
    let wanted = interval::fit(&Series::clean(&values), 1.0, Rounding::Down).unwrap();
    let bounds: Vec<f64> = (0..60).map(f64::from).collect();
    let found = BinnedLikelihood::new(&counted(&values, &bounds)).unwrap().fit();
    for (found, wanted) in
        [(found.location, wanted.location), (found.scale, wanted.scale), (found.shape, wanted.shape)]
    {
        assert!((found - wanted).abs() < 1e-7, "{found} {wanted}");
    }
    let errors = |fit: &tail::gev::GevFit| fit.standard_errors.unwrap();
    assert!((errors(&found).shape / errors(&wanted).shape - 1.0).abs() < 1e-5);
}

#[test]
fn another_unit_gives_the_same_distribution() {
    let bins = counted(&drawn(&Gev::new(1000.0, 150.0, 0.1).unwrap(), 2000, 1), &kinds()[2].1);
    let scaled = bins.iter().map(|bin| CountedBin { low: bin.low * 1e-9, high: bin.high * 1e-9, ..*bin });
    let one = BinnedLikelihood::new(&bins).unwrap();
    let other = BinnedLikelihood::new(&scaled.collect::<Vec<_>>()).unwrap();
    let (a, b) = (one.fit(), other.fit());
    assert!((a.location * 1e-9 / b.location - 1.0).abs() < 1e-9);
    assert!((a.scale * 1e-9 / b.scale - 1.0).abs() < 1e-9 && (a.shape - b.shape).abs() < 1e-9);
    let (p, q) = (one.test(&a.distribution()).unwrap(), other.test(&b.distribution()).unwrap());
    assert!((p.p - q.p).abs() < 1e-9 && p.freedom == q.freedom);
}

#[test]
fn the_distribution_of_the_values_passes_and_another_fails() {
    let bounds = &kinds()[1].1;
    let distribution = Gev::new(1000.0, 150.0, 0.1).unwrap();
    let p = |values: &[f64]| {
        let bins = BinnedLikelihood::new(&counted(values, bounds)).unwrap();
        bins.test(&bins.fit().distribution()).unwrap()
    };
    let rejected = (1..=200).filter(|seed| p(&drawn(&distribution, 2000, *seed)).p < 0.05).count();
    // 10 of 200 are expected.
    assert!((2..=20).contains(&rejected), "{rejected}");
    // Of two distributions, a tenth of the values is slow.
    let mut both = drawn(&distribution, 1800, 1);
    both.extend(drawn(&Gev::new(2500.0, 100.0, 0.0).unwrap(), 200, 2));
    let found = p(&both);
    assert!(found.p < 1e-6 && found.distance > 0.02, "{found:?}");
}

#[test]
fn what_bins_cannot_tell_is_refused() {
    let bin = |low: f64, high: f64, count: u64| CountedBin { low, high, count };
    let why = |bins: &[CountedBin]| BinnedLikelihood::new(bins).unwrap_err();
    let wide: Vec<CountedBin> = (0..6).map(|at| bin(f64::from(at), f64::from(at + 1), 3)).collect();
    assert_eq!(why(&wide), TooCoarse::Values { found: 18, needed: 20 });
    assert_eq!(why(&[bin(0.0, 1.0, 50), bin(1.0, 2.0, 40)]), TooCoarse::Bins { found: 2, needed: 6 });
    let mut low: Vec<CountedBin> = (0..8).map(|at| bin(f64::from(at), f64::from(at + 1), 5)).collect();
    low.push(bin(8.0, 9.0, 500));
    low.push(bin(9.0, 10.0, 5));
    assert_eq!(why(&low), TooCoarse::Tail { found: 1, needed: 3 });
    let mut open: Vec<CountedBin> = (0..8).map(|at| bin(f64::from(at), f64::from(at + 1), 10)).collect();
    open.push(bin(8.0, f64::INFINITY, 20));
    assert_eq!(why(&open), TooCoarse::Open { share: 0.2 });
    assert_eq!(why(&[bin(1.0, 1.0, 50)]), TooCoarse::NoWidth { low: 1.0, high: 1.0 });
    assert!(matches!(why(&[bin(f64::NAN, 1.0, 50)]), TooCoarse::NoWidth { .. }));
    assert!(matches!(why(&[]), TooCoarse::Values { found: 0, .. }));
    // Empty bins and one that holds everything.
    assert!(matches!(why(&[bin(f64::NEG_INFINITY, f64::INFINITY, 50)]), TooCoarse::Bins { .. }));
}

#[test]
fn counts_of_billions_are_fitted_too() {
    let distribution = Gev::new(1000.0, 150.0, 0.1).unwrap();
    let bounds = &kinds()[1].1;
    let mut bins: Vec<CountedBin> = Vec::new();
    for two in bounds.windows(2) {
        let share = distribution.cdf(two[1]) - distribution.cdf(two[0]);
        bins.push(CountedBin { low: two[0], high: two[1], count: (4e9 * share).round() as u64 });
    }
    let fit = BinnedLikelihood::new(&bins).unwrap().fit();
    assert!((fit.location - 1000.0).abs() < 0.1 && (fit.scale - 150.0).abs() < 0.1);
    assert!((fit.shape - 0.1).abs() < 1e-3, "{}", fit.shape);
}
