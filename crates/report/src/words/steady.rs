//! Words what came of a rule of steadiness.

use samples::{SteadyFacts, SteadyOutcome, SteadyRule, SteadyWindow, Warning, units};

/// The code of the warning about a load that is not steady, or not known to be.
pub const NOT_STEADY: &str = "not-steady";

/// What is said of a load that is steady: since when, by how much it moves, and what is left out.
pub fn sentence(found: &SteadyFacts) -> Option<String> {
    let window = found.window.filter(|_| found.outcome == SteadyOutcome::Steady)?;
    let rule = &found.rule;
    let moves = movements(rule, &window).join(", ");
    let left_out = match found.left_out {
        0 => String::new(),
        1 => "; the operation before is left out".into(),
        n => format!("; the {} operations before are left out", units::count(n)),
    };
    let since = match found.warm_up_ns {
        Some(_) => format!("after {}", units::duration(found.warm_up_seconds())),
        None => "from the beginning".into(),
    };
    Some(format!("Steady {since} ({}): {moves}{left_out}.", rule.text))
}

/// The same in a few words, `steady after 12.0 s`, `not steady`; of any outcome.
pub fn in_short(found: &SteadyFacts) -> String {
    match (found.outcome, found.warm_up_ns) {
        (SteadyOutcome::Steady, Some(_)) => {
            format!("steady after {}", units::duration(found.warm_up_seconds()))
        }
        (SteadyOutcome::Steady, None) => "steady".into(),
        (SteadyOutcome::NotAtTheEnd, _) => "not steady to the end".into(),
        (SteadyOutcome::Never | SteadyOutcome::TooShort, _) => "not steady".into(),
        _ => "not known to be steady".into(),
    }
}

/// The warning about a load that is not steady, or not known to be.
pub fn warning(found: &SteadyFacts) -> Option<Warning> {
    let rule = &found.rule;
    let (bin, window) =
        (units::duration(rule.bin_ns as f64 * 1e-9), units::duration(rule.window_ns as f64 * 1e-9));
    let moved = |window: Option<SteadyWindow>| {
        let parts = window.map(|window| movements(rule, &window).join(", "));
        parts.map_or(String::new(), |parts| {
            format!("; in the last {}: {parts}", units::duration(rule.window_ns as f64 * 1e-9))
        })
    };
    let unknown = "whether it is steady is not known";
    let (text, advice) = match found.outcome {
        SteadyOutcome::Steady => return None,
        SteadyOutcome::Never => (
            format!("not steady: {} never held{}; nothing is left out", rule.text, moved(found.window)),
            "let it run longer, or allow more".to_owned(),
        ),
        SteadyOutcome::NotAtTheEnd => (
            format!(
                "not steady to the end: {} held from {} on, and no more{}",
                rule.text,
                units::duration(found.window.map_or(0.0, |window| window.begin_ns as f64 * 1e-9)),
                moved(found.last)
            ),
            "look at the rate over time; `--until steady` ends a run as soon as it is".to_owned(),
        ),
        SteadyOutcome::TooShort => (
            format!("not steady: the load is shorter than the {window} of {}", rule.text),
            "let it run longer, or take a shorter window".to_owned(),
        ),
        SteadyOutcome::TooFewValues => (
            format!("{unknown}: too few operations end in {bin} for a quantile of them ({})", rule.text),
            "take longer bins (`each 10s`), or a quantile that fewer operations tell".to_owned(),
        ),
        SteadyOutcome::NothingCounted => (
            format!("{unknown}: no operation that {} is about succeeded", rule.text),
            "name one that the table has: `iops of LABEL/OPERATION 5% over 30s`".to_owned(),
        ),
        SteadyOutcome::SeveralLoads => (
            format!("{unknown}: the run is about several loads, one after the other"),
            "name one: `iops of LABEL/OPERATION 5% over 30s`".to_owned(),
        ),
        SteadyOutcome::RanksApart => (
            format!("{} holds, but the passes of the ranks overlap: nothing is left out", rule.text),
            "have the ranks meet (`barrier`), or warm up before the block that is measured".to_owned(),
        ),
        SteadyOutcome::NotJudged => (
            format!("{unknown}: nobody has seen the samples of all ranks together"),
            "gather the run in one file".to_owned(),
        ),
    };
    Some(Warning { code: NOT_STEADY.into(), text, advice })
}

/// What the rule asks of a window, as the window has it.
fn movements(rule: &SteadyRule, window: &SteadyWindow) -> Vec<String> {
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    let bin = units::duration(rule.bin_ns as f64 * 1e-9);
    let mut parts = Vec::new();
    if rule.deviation.is_some() {
        parts.push(format!("each {bin} within {} of the mean", percent(window.deviation)));
    }
    if rule.range.is_some() {
        parts.push(format!("range {}", percent(window.range)));
    }
    if rule.slope.is_some() {
        let sign = if window.slope < 0.0 { "−" } else { "+" };
        parts.push(format!("slope {sign}{}", percent(window.slope.abs())));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{SteadyLimit, SteadyQuantity};

    #[test]
    fn each_outcome_has_its_words_and_only_one_says_steady() {
        let rule = SteadyRule {
            text: "iops 5% over 30s".into(),
            quantity: SteadyQuantity::Iops,
            deviation: Some(SteadyLimit::Share(0.05)),
            slope: Some(SteadyLimit::Share(0.05)),
            window_ns: 30_000_000_000,
            bin_ns: 1_000_000_000,
            ..SteadyRule::default()
        };
        let window = SteadyWindow {
            deviation: 0.031,
            slope: -0.02,
            mean: 1.0,
            begin_ns: 12_000_000_000,
            ..SteadyWindow::default()
        };
        let of = |outcome| SteadyFacts {
            outcome,
            window: Some(window),
            last: Some(window),
            warm_up_ns: Some([0, 12_000_000_000]),
            left_out: 1_234,
            ..SteadyFacts::asked(rule.clone())
        };
        assert_eq!(
            sentence(&of(SteadyOutcome::Steady)).as_deref(),
            Some(
                "Steady after 12.0 s (iops 5% over 30s): each 1.00 s within 3.1% of the mean, slope −2.0%; the 1,234 \
                 operations before are left out."
            )
        );
        assert_eq!(warning(&of(SteadyOutcome::Steady)), None);
        for other in [
            SteadyOutcome::NotAtTheEnd,
            SteadyOutcome::Never,
            SteadyOutcome::TooShort,
            SteadyOutcome::TooFewValues,
            SteadyOutcome::NothingCounted,
            SteadyOutcome::SeveralLoads,
            SteadyOutcome::RanksApart,
            SteadyOutcome::NotJudged,
        ] {
            let found = of(other);
            assert_eq!(sentence(&found), None);
            let told = warning(&found).expect("a warning");
            assert!(told.code == NOT_STEADY && !told.advice.is_empty(), "{told:?}");
            assert!(in_short(&found).starts_with("not "), "{other:?}");
        }
        let never = warning(&of(SteadyOutcome::Never)).expect("a warning");
        assert_eq!(
            never.text,
            "not steady: iops 5% over 30s never held; in the last 30.0 s: each 1.00 s within 3.1% of the mean, slope −2.0%; \
             nothing is left out"
        );
    }
}
