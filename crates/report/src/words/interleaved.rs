//! Words for an interleaved comparison of two programs.

use tail::interleaved::{Decision, LOOKS, Look};

use crate::AnswerSign;
use crate::unit::{duration, significant};

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
        return format!("Not decided: {} of the {} blocks that are needed were run.", of.blocks, LOOKS[0]);
    };
    let range = format!("{} to {}", factor(look.interval.lower), factor(look.interval.upper));
    let level = significant(look.interval.level * 100.0, 3);
    match look.decision {
        Decision::Same => format!(
            "B takes as long as A within {} %: {} times ({level} % interval {range}).",
            significant(of.margin * 100.0, 2),
            factor(look.ratio)
        ),
        Decision::Slower => {
            format!("B is slower: {} times as long as A ({level} % interval {range}).", factor(look.ratio))
        }
        Decision::Faster => {
            format!("B is faster: {} times as long as A ({level} % interval {range}).", factor(look.ratio))
        }
        Decision::Open => {
            format!(
                "Not decided: B takes {} times as long as A ({level} % interval {range}).",
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
    let mut text = String::new();
    let widest = of.arms.iter().map(|arm| crate::table::width(&arm.what)).max().unwrap_or(0).min(40);
    for (letter, arm) in ["A", "B"].iter().zip(&of.arms) {
        let mut sorted = arm.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { continue };
        let gap = " ".repeat(widest.saturating_sub(crate::table::width(&arm.what)));
        text += &format!(
            "  {letter}  {}{gap}  {} ({} to {}, {} runs)\n",
            arm.what,
            duration(crate::quantile(&sorted, 0.5)),
            duration(*least),
            duration(*most),
            sorted.len()
        );
    }
    text += &format!(
        "  {}, {} blocks of A B B A or B A A B in random order, {}\n",
        of.value,
        of.blocks,
        duration(of.elapsed)
    );
    match &of.look {
        Some(look) if look.decision == Decision::Open && of.out_of_time => {
            text += "  The time was over before it was decided: give --time more.\n";
        }
        None => text += "  The time was over: give --time more.\n",
        Some(look) if look.decision == Decision::Open => {
            text += "  The difference, if there is one, is smaller than these runs can tell.\n";
        }
        Some(look) if look.decision != Decision::Same && look.blocks < LOOKS[5] => {
            text += "  It ended as soon as it was decided, which makes the factor look a little further from 1.\n";
        }
        Some(_) => {}
    }
    text
}

/// `1.23`, with as many digits as tell it from 1.
fn factor(ratio: f64) -> String {
    if (0.9..1.1).contains(&ratio) { format!("{ratio:.3}") } else { significant(ratio, 3) }
}
