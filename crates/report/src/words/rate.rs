//! What came of a rate that was asked for.

/// Of a load that begins on time: whether what was asked for succeeded, too.
pub(crate) fn as_requested(reached: Option<f64>, asked: f64) -> &'static str {
    /// Less of it and much failed.
    const MOST: f64 = 0.95;
    if reached.is_some_and(|reached| reached < MOST * asked) {
        ", begun as often as requested"
    } else {
        ", as many as requested"
    }
}
