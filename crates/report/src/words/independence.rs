//! Words the findings of the tests of independence.

use samples::units::count;
use tail::independence::{Independence, Mode, SlowValues, Spacing, TestFinding};
use tail::latency::Latency;

/// The finding of one test as a part of a sentence, without capital and full stop.
pub fn finding(found: &TestFinding) -> String {
    finding_of(found, "value")
}

/// The same, of values that are called so: a `step`.
fn finding_of(found: &TestFinding, what: &str) -> String {
    match found {
        TestFinding::NoAutocorrelation { lag_one, lags } => {
            format!("no autocorrelation up to lag {lags} (lag-1 correlation of ranks {lag_one:+.2})")
        }
        TestFinding::Autocorrelation { lag_one, lag, at_lag, lags, n, effective_size, of_takers } => {
            let whose = if *of_takers { "values of a rank" } else { "values" };
            let (which, numbers) = correlated(whose, (*lag_one, *lag, *at_lag));
            match *effective_size > 0.9 * *n as f64 {
                true => format!("{which} ({numbers})"),
                false => format!(
                    "{which} ({numbers}, tested up to lag {lags}): for their mean, {} values are worth about \
                     {} independent ones",
                    count(*n as u64),
                    count(effective_size.round() as u64)
                ),
            }
        }
        TestFinding::NoTrend { tau } => format!("no trend over the run (tau {tau:+.2})"),
        TestFinding::Trend { tau, interquartile_ranges } => {
            let direction = if *tau > 0.0 { "up" } else { "down" };
            let by = interquartile_ranges
                .filter(|ranges| *ranges >= 0.05)
                .map_or(String::new(), |ranges| format!(", by about {ranges:.1} interquartile ranges"));
            format!("the level drifts {direction} over the run{by} (tau {tau:+.2})")
        }
        TestFinding::NoJump => "no jump of the level".into(),
        TestFinding::Jump { times, up, after, n } => {
            let last = if *times > 1 { format!(" {times} times, at last") } else { String::new() };
            let direction = if *up { "up" } else { "down" };
            format!(
                "the level jumps{last} {direction} after {what} {} of {}",
                count(*after as u64),
                count(*n as u64)
            )
        }
        TestFinding::OneMode => "no sign of more than one mode".into(),
        TestFinding::SeveralModes { modes } => several_modes(modes),
        TestFinding::SlowAtRandom => "slow values come as if at random".into(),
        TestFinding::SlowPatterned { slow } => slow_values(slow),
    }
}

/// The same without its numbers, for a first screen.
pub(crate) fn finding_in_short(found: &TestFinding, what: &str) -> String {
    match found {
        TestFinding::Autocorrelation { lag_one, lag, at_lag, of_takers, .. } => {
            let whose = if *of_takers { " of a rank" } else { "" };
            correlated(&format!("{what}s{whose}"), (*lag_one, *lag, *at_lag)).0
        }
        TestFinding::Trend { tau, interquartile_ranges } => {
            let direction = if *tau > 0.0 { "up" } else { "down" };
            let by = interquartile_ranges.filter(|ranges| *ranges >= 0.05).map_or(String::new(), |ranges| {
                format!(", by about {ranges:.1} times the width of the middle half")
            });
            format!("the level drifts {direction} over the run{by}")
        }
        TestFinding::SlowPatterned { slow } => match slow.spacing {
            Spacing::Periodic => format!("slow {what}s come every {} {what}s", slow.distance),
            Spacing::Bursts => format!("slow {what}s come in bursts"),
            Spacing::Even | Spacing::Random => format!("slow {what}s come too evenly"),
        },
        TestFinding::NoAutocorrelation { .. }
        | TestFinding::NoTrend { .. }
        | TestFinding::NoJump
        | TestFinding::Jump { .. }
        | TestFinding::OneMode
        | TestFinding::SlowAtRandom => finding_of(found, what),
        TestFinding::SeveralModes { modes } => match clumps(modes) {
            Some(clumps) => format!("the {what}s form {clumps}"),
            None => format!("the {what}s form several clumps"),
        },
    }
}

/// Which values are correlated and how, and the numbers.
fn correlated(values: &str, (lag_one, lag, at_lag): (f64, usize, f64)) -> (String, String) {
    if lag == 1 {
        let how = if lag_one < 0.0 { "alternate between high and low" } else { "are correlated" };
        return (format!("neighbouring {values} {how}"), format!("lag-1 correlation of ranks {lag_one:+.2}"));
    }
    let how = if at_lag < 0.0 { "differ more than by chance" } else { "are correlated" };
    let numbers = format!("correlation of ranks {at_lag:+.2}; of neighbours {lag_one:+.2}");
    (format!("{values} that are {lag} apart {how}"), numbers)
}

/// The pattern of slow values that are not random in time.
fn slow_values(slow: &SlowValues) -> String {
    let SlowValues { count, distance, followed, expected, dispersion, .. } = *slow;
    let pairs = format!(
        "of the slowest {count}, {followed} are followed by another after just {distance}, where chance gives \
         {expected:.1}"
    );
    let distances =
        format!("the distances between the slowest {count} vary {dispersion:.2} times as much as at random");
    match slow.spacing {
        Spacing::Periodic => format!("slow values come every {distance} values: {pairs}"),
        Spacing::Bursts if dispersion > 1.2 => format!("slow values come in bursts: {distances}"),
        Spacing::Bursts => format!("slow values cluster: {pairs}"),
        Spacing::Even | Spacing::Random => {
            format!("slow values come too evenly, one in about {:.0}: {distances}", slow.mean_distance)
        }
    }
}

/// The pattern of slow values in time, in a few words.
pub(crate) fn slow_ones(found: &Latency) -> String {
    let pattern = found.slow.filter(|slow| slow.p < 0.05);
    let theta = found.extremal_index[1].clamp(1e-6, 1.0);
    match pattern.map(|slow| slow.spacing) {
        Some(Spacing::Periodic) => {
            format!("slow values come every {} values", pattern.map_or(0, |slow| slow.distance))
        }
        Some(Spacing::Even) => "slow values come more evenly than at random".into(),
        None | Some(Spacing::Random | Spacing::Bursts) if theta <= 0.9 => {
            format!("slow values come in clusters of about {:.1}", 1.0 / theta)
        }
        Some(Spacing::Bursts) => "slow values come in bursts".into(),
        None | Some(Spacing::Random) => "slow values come singly".into(),
    }
}

fn several_modes(modes: &[Mode]) -> String {
    let clumps = clumps(modes).unwrap_or_else(|| "several clumps".into());
    format!("the values form {clumps}: more than one kind of run is mixed")
}

/// `2 clumps of 85%, 15%, the slowest 1.55 times the fastest`; none of fewer than two.
fn clumps(modes: &[Mode]) -> Option<String> {
    let [first, .., slowest] = modes else { return None };
    let share = |mode: &Mode| match 100.0 * mode.share {
        percent if percent < 0.095 => "below 0.1%".to_owned(),
        percent if percent < 0.95 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    };
    let shares: Vec<String> = modes.iter().map(share).collect();
    let times = slowest.location / first.location;
    let apart = if first.location > 0.0 && times < 100.0 {
        format!(", the slowest {times:.2} times the fastest")
    } else {
        String::new()
    };
    Some(format!("{} clumps of {}{apart}", modes.len(), shares.join(", ")))
}

/// The evidence against independent draws of one distribution, a part of a sentence each.
pub fn against(found: &Independence) -> Vec<String> {
    found.reasons().iter().map(|test| finding(&test.finding)).collect()
}
