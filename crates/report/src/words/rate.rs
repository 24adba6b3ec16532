//! What came of a rate that was asked for.

use results::AnswerPart;

/// That times from when operations were due are those of a load which cannot keep up.
pub(crate) fn behind(parts: &[AnswerPart]) -> Option<String> {
    let is_behind = |part: &AnswerPart| {
        let late = part
            .rate
            .is_some_and(|rate| !rate.keeps_up && rate.achieved_per_second < MOST * rate.asked_per_second);
        late && part.is_from_schedule()
    };
    parts
        .iter()
        .any(is_behind)
        .then(|| "It could not keep up with this rate, and the wait grew while it ran.".into())
}

/// Less of what was asked for, and it was another load.
const MOST: f64 = 0.95;

/// Of a load that does not keep up: what it was to reach. Of moments at random it is not known to the digit what the
/// program requests, but what came due is.
pub(crate) fn missed(parts: &[AnswerPart], asked: &str) -> String {
    let irregular = parts.iter().any(|part| part.rate.is_some_and(|rate| rate.irregular));
    format!(" of {asked} {}", if irregular { "that came due" } else { "requested" })
}

/// Of a load that begins on time: whether what was asked for succeeded, too.
pub(crate) fn as_requested(reached: Option<f64>, asked: f64) -> &'static str {
    if reached.is_some_and(|reached| reached < MOST * asked) {
        ", begun as often as requested"
    } else {
        ", as many as requested"
    }
}
