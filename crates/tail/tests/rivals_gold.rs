//! Rival families against reference likelihoods.

mod common;

use common::{data, json, number};
use tail::Series;
use tail::rivals::{Family, fit};

#[test]
fn likelihoods_are_the_reference_ones_or_better() {
    let gold = json("extras.json");
    let names = [(Family::Normal, "normal(2)"), (Family::LogNormal, "lognormal(2)")];
    for (set, gold) in gold["alternatives"].as_object().unwrap() {
        let series = Series::clean(&data(set));
        for (family, name) in names {
            let got = fit(&series, family).unwrap();
            let nll = number(gold, &[name, "nllh"]);
            let got_nll = got.negative_log_likelihood;
            assert!(got_nll <= nll + 1e-8 * nll.abs().max(1.0), "{set} {name}: {got_nll} against {nll}");
            let summed: f64 = -series.values().iter().map(|&x| got.law.ln_pdf(x)).sum::<f64>();
            assert!((summed - got_nll).abs() < 1e-8 * got_nll.abs().max(1.0), "{set} {name}: ln_pdf");
        }
    }
}
