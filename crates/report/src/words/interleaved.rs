//! Words for an interleaved comparison of two programs.

use samples::units::duration;
use tail::interleaved::{Decision, LOOKS, Look};

use crate::AnswerSign;
use crate::table::width;
use crate::unit::significant;
use crate::wrap::columns_for;

/// One of the two arms.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmSummary {
    /// What was run.
    pub what: String,
    /// Its runs that count, in seconds.
    pub seconds: Vec<f64>,
}

/// What the two were compared by, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Interleaving {
    /// `wall time`, `median of read / fread`.
    pub value: String,
    /// A, then B.
    pub arms: [ArmSummary; 2],
    /// How much the factor may differ from 1 and still be the same.
    pub margin: f64,
    /// The last look; `None` where there were too few blocks.
    pub look: Option<Look>,
    /// Blocks that were run.
    pub blocks: usize,
    /// Wall time of everything in seconds.
    pub elapsed: f64,
    /// Whether the time was over before it was decided.
    pub out_of_time: bool,
}

/// The answer in one sentence.
pub fn answer(of: &Interleaving) -> String {
    let Some(look) = &of.look else {
        return format!("Undecided: {} of the {} blocks that are needed were run.", of.blocks, LOOKS[0]);
    };
    let range = format!("{} to {}", factor(look.interval.lower), factor(look.interval.upper));
    let level = significant(look.interval.level * 100.0, 3);
    match look.decision {
        Decision::Same => format!(
            "B takes as long as A within {}%: {} times ({level}% interval {range}).",
            significant(of.margin * 100.0, 2),
            factor(look.ratio)
        ),
        Decision::Slower => {
            format!("B is slower: {} times as long as A ({level}% interval {range}).", factor(look.ratio))
        }
        Decision::Faster => {
            format!("B is faster: {} times as long as A ({level}% interval {range}).", factor(look.ratio))
        }
        Decision::Open => {
            format!(
                "Undecided: B takes {} times as long as A ({level}% interval {range}).",
                factor(look.ratio)
            )
        }
    }
}

/// The sign of the answer. `fails_if_slower`: a slower B, or no answer, is what the user called a failure.
pub fn sign(of: &Interleaving, fails_if_slower: bool) -> AnswerSign {
    match of.look.map(|look| look.decision) {
        Some(Decision::Slower) | None if fails_if_slower => AnswerSign::Bad,
        Some(Decision::Same | Decision::Faster) => AnswerSign::Good,
        Some(Decision::Slower | Decision::Open) | None => AnswerSign::Caution,
    }
}

/// Both arms and what the answer rests on.
pub fn text(of: &Interleaving) -> String {
    let mut text = arms(of);
    text += &format!(
        "  {}, {} runs each in random order (ABBA or BAAB), {}\n",
        of.value,
        of.arms[0].seconds.len(),
        duration(of.elapsed)
    );
    match &of.look {
        Some(look) if look.decision == Decision::Open && of.out_of_time => {
            text += &format!("  The time was over before it was decided: {}.\n", more_time(of));
        }
        None => text += &format!("  The time was over: {}.\n", more_time(of)),
        Some(look) if look.decision == Decision::Open => {
            text += "  The difference, if there is one, is smaller than these runs can tell.\n";
        }
        Some(look) if look.decision != Decision::Same && look.blocks < LOOKS[5] => {
            text += "  It ended as soon as it was decided, which makes the factor look a little further from 1.\n";
        }
        Some(_) => {}
    }
    if let Some(apart) = medians_apart(of) {
        text += &format!(
            "  The medians over all runs point the other way (B over A: {apart}): the factor compares runs of the same block only.\n"
        );
    }
    text
}

/// A row for each, as far as there were runs; what was run is cut where the terminal has no room.
fn arms(of: &Interleaving) -> String {
    /// Of a column of times with the blanks before it.
    const COLUMN: usize = 10;
    const LETTER: usize = 5;
    let room = columns_for(usize::MAX).saturating_sub(LETTER + 3 * COLUMN).max(COLUMN);
    let names = of.arms.each_ref().map(|arm| crate::cut(&arm.what, room));
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let line = |letter: &str, name: &str, times: [String; 3]| {
        let gap = " ".repeat(widest.saturating_sub(width(name)));
        let times: String = times.iter().map(|time| format!("{time:>COLUMN$}")).collect();
        format!("  {letter:<3}{name}{gap}{times}\n")
    };
    let mut text = line("", "", ["median", "fastest", "slowest"].map(str::to_owned));
    for (letter, (name, arm)) in ["A", "B"].iter().zip(names.iter().zip(&of.arms)) {
        let mut sorted = arm.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return String::new() };
        text += &line(letter, name, [crate::quantile(&sorted, 0.5), *least, *most].map(duration));
    }
    text
}

/// The ratio of the medians over all runs, where it and the factor are on different sides of 1.
fn medians_apart(of: &Interleaving) -> Option<String> {
    let [a, b] = of.arms.each_ref().map(|arm| {
        let mut sorted = arm.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        (!sorted.is_empty()).then(|| crate::quantile(&sorted, 0.5))
    });
    let ratio = b? / a?;
    let told = of.look?.ratio;
    ((ratio - 1.0) * (told - 1.0) < 0.0 && factor(ratio) != factor(1.0) && factor(told) != factor(1.0))
        .then(|| factor(ratio))
}

/// How much time would decide it, as an option that can be typed.
fn more_time(of: &Interleaving) -> String {
    /// Blocks differ in how long they take.
    const ROOM: f64 = 1.2;
    let most = LOOKS[LOOKS.len() - 1];
    let needed = of.look.map_or(Some(LOOKS[0]), |look| blocks_that_decide(&look, of.margin));
    let each = of.elapsed / of.blocks.max(1) as f64;
    let time = |blocks: usize| option_of(ROOM * each * blocks as f64);
    match needed {
        Some(blocks) if of.look.is_none() => {
            format!("the first look is at {blocks} blocks, which take about --time {} in total", time(blocks))
        }
        Some(blocks) => format!("about {blocks} blocks would decide it: --time {} in total", time(blocks)),
        None => format!(
            "all {most} blocks take about --time {} and may not decide it either; make each run do more, or the machine idle",
            time(most)
        ),
    }
}

/// Blocks after which a look would decide, if the ratio stays and its interval narrows with the root of their number; `None`
/// where the last look comes first.
fn blocks_that_decide(look: &Look, margin: f64) -> Option<usize> {
    let half = 0.5 * (look.interval.upper / look.interval.lower).ln();
    let (ratio, margin) = (look.ratio.ln().abs(), margin.ln_1p());
    // Either the interval leaves 1 out, or it lies within the margin: whichever comes first.
    let wanted = ratio.max(margin - ratio);
    let blocks = look.blocks as f64 * (half / wanted).powi(2);
    LOOKS.into_iter().find(|at| *at > look.blocks && *at as f64 >= blocks)
}

/// A time as an option takes it: `45s`, `12m`, `3h`; of two digits, rounded up.
fn option_of(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s <= 99.0 => (s, "s"),
        s if s <= 99.0 * 60.0 => (s / 60.0, "m"),
        s => (s / 3600.0, "h"),
    };
    format!("{}{unit}", number.ceil().max(1.0))
}

/// `1.23`, with as many digits as tell it from 1.
fn factor(ratio: f64) -> String {
    if (0.9..1.1).contains(&ratio) { format!("{ratio:.3}") } else { significant(ratio, 3) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tail::Interval;

    fn over(blocks: usize, look: Option<(f64, f64, f64)>, elapsed: f64) -> String {
        let look = look.map(|(lower, ratio, upper)| Look {
            blocks,
            ratio,
            interval: Interval::new(lower, upper, 0.9858),
            p: 0.2,
            decision: Decision::Open,
        });
        let arm = |what: &str| ArmSummary { what: what.into(), seconds: vec![1.0; 2 * blocks] };
        let value = "wall time".into();
        let arms = [arm("a"), arm("b")];
        text(&Interleaving { value, arms, margin: 0.01, look, blocks, elapsed, out_of_time: true })
    }

    #[test]
    fn medians_that_point_the_other_way_are_told() {
        let told = |b: f64| {
            let look = Look {
                blocks: 8,
                ratio: 1.04,
                interval: Interval::new(0.99, 1.09, 0.9858),
                p: 0.2,
                decision: Decision::Open,
            };
            let arm = |seconds: f64| ArmSummary { what: "x".into(), seconds: vec![seconds; 16] };
            let (value, arms) = ("wall time".into(), [arm(1.0), arm(b)]);
            text(&Interleaving {
                value,
                arms,
                margin: 0.01,
                look: Some(look),
                blocks: 8,
                elapsed: 9.0,
                out_of_time: false,
            })
        };
        assert!(told(0.98).contains("point the other way (B over A: 0.980)"), "{}", told(0.98));
        assert!(!told(1.02).contains("the other way"), "{}", told(1.02));
    }

    #[test]
    fn a_comparison_that_ran_out_of_time_says_how_much_it_needs() {
        // Half of the interval is 0.1 wide, and 1 is 0.07 away: twice the blocks are needed.
        let told = over(8, Some((0.97, 1.07, 1.18)), 40.0);
        assert!(told.contains("about 24 blocks would decide it: --time 3m in total."), "{told}");
        // Twice as fast as it was: half of the time.
        let told = over(8, Some((0.97, 1.07, 1.18)), 20.0);
        assert!(told.contains("--time 72s in total"), "{told}");
        // No number of looks decides what is far from both answers.
        let told = over(12, Some((0.70, 1.006, 1.45)), 60.0);
        assert!(told.contains("all 48 blocks take about --time 5m and may not decide it either"), "{told}");
        let told = over(3, None, 30.0);
        assert!(
            told.contains("the first look is at 8 blocks, which take about --time 96s in total"),
            "{told}"
        );
    }
}
