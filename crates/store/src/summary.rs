//! What the footer of a large run says besides its facts, so that its samples need not be read: their sums
//! ([`samples::Reduced`]), and the numbers of its answer.
//!
//! The samples are safe before anybody computes the answer. So its place is written with them, empty, and filled in later:
//! its bytes lie in the footer alone, which no checksum of data or facts covers, and a seal says whether they are whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use samples::{Reduced, Run};

/// Footer key of the sums.
pub(crate) const REDUCED_KEY: &str = "lastrank.reduced";
/// Footer key of the answer's numbers.
pub(crate) const ANSWER_KEY: &str = "lastrank.answer";

/// Runs of so many samples have both: fewer are read in the time that a command takes to begin.
const LARGE: usize = 1 << 16;
/// Bytes of the place for an answer; a longer one is not kept.
pub(crate) const PLACE: usize = 16 << 10;
/// What an empty place is full of.
pub(crate) const EMPTY: &str = "~";

/// The footer's further keys of a run; the place for an answer is the last.
pub(crate) fn pairs(run: &Run) -> Vec<(&'static str, String)> {
    if run.samples.len() < LARGE || !run.facts.counted.is_empty() {
        return Vec::new();
    }
    // They are to take a small part of the file.
    let most = run.samples.len();
    let mut reduced = Reduced::of(run);
    let mut bytes = reduced.encode();
    if bytes.len() > most {
        reduced.leave_out_steps();
        bytes = reduced.encode();
    }
    let sums = (bytes.len() <= most).then(|| (REDUCED_KEY, BASE64.encode(bytes)));
    sums.into_iter().chain([(ANSWER_KEY, EMPTY.repeat(PLACE))]).collect()
}
