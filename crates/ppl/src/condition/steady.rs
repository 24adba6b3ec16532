//! Text to a rule of steadiness.
//!
//! ```text
//! rule  = quantity [ "of" NAME ] limit { limit } "over" TIME [ "each" TIME ] [ "after" TIME ]
//! limit = [ "deviation" | "range" | "slope" ] bound          a bound alone is of deviation and slope
//! ```

use samples::{SteadyLimit, SteadyQuantity, SteadyRule};

use super::{Bound, Condition, ConditionError, Estimate, parse};

/// Bins of a window where nobody says how long they are, at least.
const BINS: u64 = 10;

/// How long a bin is at most, where nobody says: a second.
const LONGEST_BIN_NS: u64 = 1_000_000_000;

/// Fewest and most bins of a window.
const FEWEST_BINS: u64 = 3;
const MOST_BINS: u64 = 100_000;

/// A hundred years, so that times can be added up.
const LONGEST_NS: f64 = 3.2e18;

/// Why a text is no rule of steadiness.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SteadyError {
    /// A part of it is no quantity or no number.
    #[error(transparent)]
    Part(#[from] ConditionError),
    /// A quantity of which nobody asks whether it is steady.
    #[error("`{0}` is not watched for steadiness: write iops, bw, lat, or a quantile such as p99")]
    Quantity(String),
    /// Nothing says how far it may go.
    #[error(
        "nothing says how far it may go: `iops 5% over 30s`, or `deviation`, `range` and `slope` each with a bound"
    )]
    NoLimit,
    /// Nothing says how long.
    #[error("nothing says for how long: `over 30s`")]
    NoWindow,
    /// A word with nothing behind it, or twice.
    #[error("`{0}` stands once, and is followed by {1}")]
    Word(String, &'static str),
    /// A bound that does not fit the quantity.
    #[error("`{0}` is no bound of {1}: write a share such as `5%`, or {2}")]
    Unit(String, &'static str, &'static str),
    /// Bins that are no part of the window.
    #[error("a window has 3 to 100,000 bins: {0} of them do not suit `each`")]
    Bins(u64),
}

impl Condition {
    /// Reads a rule of steadiness, `iops 5% over 30s`: any bin of a window of 30 s is within 5% of its mean, and the straight
    /// line through them rises or falls by at most 5% in it.
    ///
    /// # Errors
    /// [`SteadyError`], which says what is wrong and what to write.
    pub fn parse_steady(text: &str) -> Result<SteadyRule, SteadyError> {
        let text = text.trim();
        let mut words = words(text)?.into_iter();
        let mut rule = SteadyRule { text: text.into(), ..SteadyRule::default() };
        let first = words.next().unwrap_or_default();
        rule.quantity = quantity(&first)?;
        let (mut window, mut bin, mut after) = (None, None, None);
        while let Some(word) = words.next() {
            match word.as_str() {
                "over" => once(&mut window, &word, "a time such as `30s`", words.next().and_then(time))?,
                "each" => once(&mut bin, &word, "a time such as `1s`", words.next().and_then(time))?,
                "after" => once(&mut after, &word, "a time such as `5s`", words.next().and_then(time))?,
                "of" => once(
                    &mut rule.of,
                    &word,
                    "a label or an operation",
                    words.next().filter(|n| !n.is_empty()),
                )?,
                "deviation" | "range" | "slope" => {
                    let bound = words.next().map(|bound| limit(&bound, rule.quantity)).transpose()?;
                    let place = match word.as_str() {
                        "deviation" => &mut rule.deviation,
                        "range" => &mut rule.range,
                        _ => &mut rule.slope,
                    };
                    once(place, &word, "a bound such as `5%`", bound)?;
                }
                bound => {
                    let bound = limit(bound, rule.quantity)?;
                    once(&mut rule.deviation, &word, "nothing", Some(bound))?;
                    once(&mut rule.slope, &word, "nothing", Some(bound))?;
                }
            }
        }
        if rule.deviation.or(rule.range).or(rule.slope).is_none() {
            return Err(SteadyError::NoLimit);
        }
        rule.window_ns = window.ok_or(SteadyError::NoWindow)?;
        rule.after_ns = after.unwrap_or(0);
        rule.bin_ns = bin.unwrap_or_else(|| (rule.window_ns / BINS).clamp(1, LONGEST_BIN_NS));
        let bins = rule.window_ns / rule.bin_ns;
        match (FEWEST_BINS..=MOST_BINS).contains(&bins) {
            true => Ok(rule),
            false => Err(SteadyError::Bins(bins)),
        }
    }
}

/// Words between spaces; what stands in quotes is one.
fn words(text: &str) -> Result<Vec<String>, SteadyError> {
    let (mut all, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                all.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            c => word.push(c),
        }
    }
    all.extend((!word.is_empty()).then_some(word));
    if quoted { Err(ConditionError::Unclosed(text.into()).into()) } else { Ok(all) }
}

fn quantity(word: &str) -> Result<SteadyQuantity, SteadyError> {
    match parse::estimate(word)? {
        Estimate::Iops => Ok(SteadyQuantity::Iops),
        Estimate::Bandwidth => Ok(SteadyQuantity::Bandwidth),
        Estimate::Latency | Estimate::Mean => Ok(SteadyQuantity::Latency),
        Estimate::Quantile(probability) => Ok(SteadyQuantity::Quantile(probability)),
        _ => Err(SteadyError::Quantity(word.into())),
    }
}

fn once<T>(
    place: &mut Option<T>,
    word: &str,
    wants: &'static str,
    found: Option<T>,
) -> Result<(), SteadyError> {
    match (&place, found) {
        (None, Some(found)) => {
            *place = Some(found);
            Ok(())
        }
        _ => Err(SteadyError::Word(word.into(), wants)),
    }
}

fn time(word: String) -> Option<u64> {
    match parse::bound(&word) {
        Ok(Bound::Seconds(seconds)) => {
            Some(seconds * 1e9).filter(|ns| (1.0..LONGEST_NS).contains(ns)).map(|ns| ns.round() as u64)
        }
        _ => None,
    }
}

fn limit(word: &str, quantity: SteadyQuantity) -> Result<SteadyLimit, SteadyError> {
    let is_rate = matches!(quantity, SteadyQuantity::Iops | SteadyQuantity::Bandwidth);
    match (parse::bound(word)?, is_rate) {
        (Bound::Share(share), _) => Ok(SteadyLimit::Share(share)),
        (Bound::Change(share), _) if share > 0.0 => Ok(SteadyLimit::Share(share)),
        (Bound::Change(_), _) => Err(ConditionError::NotPositive(word.into()).into()),
        (Bound::Number(number), true) => Ok(SteadyLimit::Absolute(number)),
        (Bound::Seconds(seconds), false) => Ok(SteadyLimit::Absolute(seconds)),
        (Bound::Seconds(_), true) => {
            Err(SteadyError::Unit(word.into(), "a rate", "a number a second such as `100/s`"))
        }
        (Bound::Number(_), false) => Err(SteadyError::Unit(word.into(), "a latency", "a time such as `1ms`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_one_writes_them() {
        let read = |text: &str| Condition::parse_steady(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let plain = read("iops 5% over 30s");
        let five = Some(SteadyLimit::Share(0.05));
        assert_eq!(
            (plain.quantity, plain.deviation, plain.slope, plain.range),
            (SteadyQuantity::Iops, five, five, None)
        );
        assert_eq!((plain.window_ns, plain.bin_ns, plain.after_ns), (30_000_000_000, 1_000_000_000, 0));
        let rounds = read(
            " bw of \"my load\" range 20% slope 10% over 5min each 1min after 1s".replace(" %", "%").as_str(),
        );
        assert_eq!((rounds.quantity, rounds.of.as_deref()), (SteadyQuantity::Bandwidth, Some("my load")));
        assert_eq!((rounds.range, rounds.deviation), (Some(SteadyLimit::Share(0.2)), None));
        assert_eq!((rounds.window_ns / rounds.bin_ns, rounds.after_ns), (5, 1_000_000_000));
        let tail = read("p99 of read/fread deviation 1ms over 2s");
        assert_eq!(
            (tail.quantity, tail.deviation),
            (SteadyQuantity::Quantile(0.99), Some(SteadyLimit::Absolute(1e-3)))
        );
        assert_eq!(tail.bin_ns, 200_000_000);
        assert_eq!(read("iops 100/s over 10s").deviation, Some(SteadyLimit::Absolute(100.0)));
        assert_eq!(read("lat 5% over 10s").quantity, SteadyQuantity::Latency);
    }

    #[test]
    fn mistakes_name_what_is_wrong_and_what_to_write() {
        for (text, wanted) in [
            ("", "is not a quantity"),
            ("iosp 5% over 30s", "(`iops`?)"),
            ("factor 5% over 30s", "write iops, bw, lat"),
            ("iops over 30s", "nothing says how far"),
            ("iops 5%", "`over 30s`"),
            ("iops 5% over", "a time such as `30s`"),
            ("iops 5% over 30", "a time such as `30s`"),
            ("iops 5% over 30s over 20s", "`over` stands once"),
            ("iops 5% 6% over 30s", "`6%` stands once"),
            ("iops 5ms over 30s", "`100/s`"),
            ("lat 5 over 30s", "`1ms`"),
            ("iops fast over 30s", "is not a number"),
            ("iops 5% over 30s each 20s", "3 to 100,000 bins"),
            ("iops 5% over 30h each 1us", "3 to 100,000 bins"),
            ("iops 5% over 30s of", "a label or an operation"),
            ("iops of \"a 5% over 30s", "closing"),
            ("iops -5% over 30s", "a number above 0"),
        ] {
            let said = Condition::parse_steady(text).expect_err(text).to_string();
            assert!(said.contains(wanted), "{text}: {said}");
        }
    }
}
