//! Alternative families against reference likelihoods.

mod common;

use common::{data, json, number};
use tail::rivals::{Distribution, Family, fit};
use tail::{Error, Series, Status, Xoshiro};

#[test]
fn likelihoods_are_the_reference_ones_or_better() {
    let gold = json("extras.json");
    let names = [
        (Family::Normal, "normal(2)"),
        (Family::LogNormal, "lognormal(2)"),
        (Family::Gamma, "gamma(2)"),
        (Family::Weibull, "weibull(2)"),
        (Family::LogNormal3, "lognormal(3)"),
        (Family::Gamma3, "gamma(3)"),
        (Family::Weibull3, "weibull(3)"),
        (Family::LogLogistic3, "loglogistic(3)"),
    ];
    for (set, gold) in gold["alternatives"].as_object().unwrap() {
        let series = Series::clean(&data(set));
        for (family, name) in names {
            let got = fit(&series, family).unwrap();
            let nll = number(gold, &[name, "nllh"]);
            let got_nll = got.negative_log_likelihood;
            assert!(got_nll <= nll + 1e-8 * nll.abs().max(1.0), "{set} {name}: {got_nll} against {nll}");
            let summed: f64 = -series.values().iter().map(|&x| got.distribution.ln_pdf(x)).sum::<f64>();
            let slack = if got.status == Status::Ok { 1e-8 } else { 1e-4 };
            assert!(
                (summed - got_nll).abs() < slack * got_nll.abs().max(1.0),
                "{set} {name}: ln_pdf {summed}"
            );
            // A much lower value would be a maximum other than the one that the reference found.
            assert!(got_nll > nll - 0.05, "{set} {name}: {got_nll} against {nll}");
        }
    }
}

#[test]
fn each_family_recovers_the_distribution_of_its_data() {
    let mut random = Xoshiro::new(9);
    let distribution = |family, shift, a, b| Distribution { family, shift, a, b };
    for truth in [
        distribution(Family::Normal, 0.0, 3.0, 2.0),
        distribution(Family::LogNormal, 0.0, 0.5, 0.4),
        distribution(Family::Gamma, 0.0, 4.0, 2.0),
        distribution(Family::Weibull, 0.0, 2.0, 3.0),
        distribution(Family::LogNormal3, 3.0, 0.5, 0.4),
        distribution(Family::Gamma3, 3.0, 4.0, 2.0),
        distribution(Family::Weibull3, -3.0, 2.5, 2.0),
        distribution(Family::LogLogistic3, 3.0, 4.0, 2.0),
    ] {
        let values: Vec<f64> = (0..5000).map(|_| truth.quantile(random.uniform())).collect();
        let found = fit(&Series::clean(&values), truth.family).unwrap();
        assert_eq!(found.status, Status::Ok);
        let of_truth: f64 = -values.iter().map(|&x| truth.ln_pdf(x)).sum::<f64>();
        // Twice the log-likelihood gain over the true parameters is chi-square with one degree of freedom per
        // parameter.
        let gain = 2.0 * (of_truth - found.negative_log_likelihood);
        assert!((0.0..16.3).contains(&gain), "{:?}: {gain}", found.distribution);
    }
}

#[test]
fn quantiles_invert_distributions_and_densities_are_their_slopes() {
    let series = Series::clean(&data("s01_paper400"));
    for family in Family::ALL {
        let distribution = fit(&series, family).unwrap().distribution;
        for p in [0.01, 0.5, 0.99] {
            let x = distribution.quantile(p);
            assert!((distribution.cdf(x) - p).abs() < 1e-7, "{family:?} {p}");
            let slope = (distribution.cdf(x + 1e-5) - distribution.cdf(x - 1e-5)) / 2e-5;
            assert!((slope / distribution.ln_pdf(x).exp() - 1.0).abs() < 1e-4, "{family:?} {p}");
        }
    }
}

#[test]
fn a_change_of_unit_changes_only_the_unit() {
    let x = data("s01_paper400");
    let nano: Vec<f64> = x.iter().map(|x| x * 1e9).collect();
    for family in Family::ALL {
        let (one, two) =
            (fit(&Series::clean(&x), family).unwrap(), fit(&Series::clean(&nano), family).unwrap());
        let moved = one.negative_log_likelihood + 400.0 * 1e9f64.ln();
        assert!((two.negative_log_likelihood - moved).abs() < 1e-6, "{family:?}");
    }
}

#[test]
fn positive_families_refuse_negative_values_and_shifted_ones_do_not() {
    let series = Series::clean(&[-1.0, 0.5, 2.0, 3.0, 4.5, 5.0, 9.0]);
    assert!(matches!(fit(&series, Family::Gamma), Err(Error::Support { .. })));
    assert!(fit(&series, Family::Gamma3).is_ok());
}
