//! Tests of interleaved comparisons: reference values, false alarms and power under drift.

use tail::Xoshiro;
use tail::interleaved::{BlockOrder, Decision, LOOKS, look};

/// Computed by enumeration of all signs; the ranks' interval by counting subsets.
#[test]
fn estimates_intervals_and_p_values_are_those_of_enumeration() {
    // Hollander and Wolfe (1973), depression scale: R's `wilcox.test` gives V = 40, p = 0.03906, pseudomedian 0.46.
    let depression = [0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01];
    let twelve = [0.023, 0.058, -0.008, 0.05, 0.012, 0.012, 0.077, 0.025, 0.019, 0.042, 0.054, 0.019];
    let ties = [0.01, -0.01, 0.02, 0.02, -0.02, 0.03, 0.03, 0.0, 0.04, 0.05];
    let sixteen = [
        0.0176, -0.0292, -0.011, -0.0131, -0.04, -0.0453, -0.0488, -0.0072, -0.0052, -0.0096, 0.0021,
        -0.0401, -0.0024, 0.0071, 0.0225, -0.0254,
    ];
    let cases: [(&[f64], [f64; 4]); 4] = [
        (&depression, [0.0390625, 0.46, -0.08, 0.952]),
        (&twelve, [0.0009765625, 0.03275, 0.012, 0.054]),
        (&ties, [0.05078125, 0.02, -0.005, 0.04]),
        (&sixteen, [0.021392822265625, -0.01335, -0.0292, 0.00225]),
    ];
    for (values, [p, estimate, lower, upper]) in cases {
        let found = look(values, 0.01).unwrap();
        let got = [found.p, found.ratio.ln(), found.interval.lower.ln(), found.interval.upper.ln()];
        for (got, expected) in got.into_iter().zip([p, estimate, lower, upper]) {
            assert!((got - expected).abs() < 1e-12, "{got} for {expected} of {values:?}");
        }
    }
}

#[test]
fn a_block_is_the_difference_of_mean_logarithms_in_either_order() {
    let e = std::f64::consts::E;
    assert!((BlockOrder::Abba.difference([1.0, e, e, 1.0]) - 1.0).abs() < 1e-15);
    assert!((BlockOrder::Baab.difference([e, 1.0, 1.0, e]) - 1.0).abs() < 1e-15);
    // A linear drift of the logarithms leaves nothing in either order.
    let drift = [0.0_f64, 0.1, 0.2, 0.3].map(f64::exp);
    assert!(BlockOrder::Abba.difference(drift).abs() < 1e-15);
    let tossed: Vec<_> = (0..1000).map(|block| BlockOrder::toss(7, block)).collect();
    let heads = tossed.iter().filter(|order| **order == BlockOrder::Abba).count();
    assert!((420..580).contains(&heads), "{heads}");
    assert_eq!(tossed[..20], (0..20).map(|block| BlockOrder::toss(7, block)).collect::<Vec<_>>()[..]);
}

#[test]
fn what_cannot_be_decided_is_an_error_or_open() {
    assert!(look(&[0.1; 7], 0.01).is_err());
    assert!(look(&[0.1, 0.1, f64::NAN, 0.1, 0.1, 0.1, 0.1, 0.1], 0.01).is_err());
    assert_eq!(look(&[0.0; 8], 0.01).unwrap().decision, Decision::Same);
    assert_eq!(look(&[0.1; 8], 0.01).unwrap().decision, Decision::Slower);
    assert_eq!(look(&[-0.1; 8], 0.01).unwrap().decision, Decision::Faster);
    let wide = [0.3, -0.2, 0.1, -0.4, 0.2, -0.1, 0.35, -0.3];
    assert_eq!(look(&wide, 0.01).unwrap().decision, Decision::Open);
}

/// What becomes of runs with noise of 3% and a drift that resembles its past, B slower by `effect`.
fn decided(effect: f64, seed: u64) -> Decision {
    let mut random = Xoshiro::stream(41, seed);
    let (mut differences, mut drift) = (Vec::new(), 0.0);
    for blocks in LOOKS {
        while differences.len() < blocks {
            let order = BlockOrder::toss(seed, differences.len() as u64);
            let values = order.is_b().map(|b| {
                drift = 0.8 * drift + 0.018 * random.normal();
                let effect = if b { effect } else { 0.0 };
                (effect + drift + 0.03 * random.normal()).exp()
            });
            differences.push(order.difference(values));
        }
        let found = look(&differences, 0.01).unwrap();
        if found.decision != Decision::Open {
            return found.decision;
        }
    }
    Decision::Open
}

#[test]
fn false_alarms_stay_near_five_percent_and_four_percent_are_found() {
    let count = |effect: f64, wanted: &[Decision]| {
        (0..600).filter(|seed| wanted.contains(&decided(effect, *seed))).count()
    };
    let alarms = count(0.0, &[Decision::Slower, Decision::Faster]);
    assert!(alarms <= 44, "{alarms} of 600 false alarms; 30 expected, 44 is 2.6 standard errors more");
    let found = count(0.04, &[Decision::Slower]);
    assert!(found >= 580, "{found} of 600 differences of 4% found");
    assert_eq!(count(0.04, &[Decision::Faster]), 0);
}
