//! Where a job reads and writes, and how much at once.

use crate::Refusal;
use crate::quantity::{self, Prefixes, bytes, bytes_in_words};

/// Direction and order of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// At random places, not one after the other.
    pub random: bool,
}

/// What follows an access, where fio's `rw` has a number behind a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// The next block in order, or another one at random.
    Plain,
    /// In order with so many bytes left out after each.
    Holes(u64),
    /// In order, and after each block so many bytes back: further than a block, so that it goes backwards.
    Backwards(u64),
    /// After each random place so many blocks in order, that one included.
    Runs(u64),
}

impl Access {
    /// One of `read write randread randwrite rw readwrite randrw`.
    pub fn of_word(word: &str) -> Result<Self, Refusal> {
        let access = |reads, writes, random| Ok(Self { reads, writes, random });
        match word {
            "read" => access(true, false, false),
            "write" => access(false, true, false),
            "randread" => access(true, false, true),
            "randwrite" => access(false, true, true),
            "rw" | "readwrite" => access(true, true, false),
            "randrw" => access(true, true, true),
            "trim" | "randtrim" | "trimwrite" | "randtrimwrite" => Err(Refusal::Unsupported {
                tool: "fio",
                option: format!("rw={word}"),
                why: "there is no trim",
            }),
            _ => Err(Refusal::BadValue {
                option: "rw".into(),
                value: word.into(),
                want: "one of read, write, randread, randwrite, rw, randrw",
            }),
        }
    }

    /// Such a word, perhaps with a number: `read:8k` leaves 8 KiB out after each read, `randread:8` reads 8 blocks in order
    /// after each random place.
    pub fn with_sequence(text: &str, prefixes: Prefixes) -> Result<(Self, Sequence), Refusal> {
        let Some((word, number)) = text.split_once(':') else {
            return Ok((Self::of_word(text)?, Sequence::Plain));
        };
        let access = Self::of_word(word)?;
        let bad = |want| Refusal::BadValue { option: "rw".into(), value: text.into(), want };
        if access.random {
            let count = quantity::count(number).filter(|count| (1..=1 << 32).contains(count));
            let count = count.ok_or_else(|| bad("a number of blocks in order, such as randread:8"))?;
            return Ok((access, if count == 1 { Sequence::Plain } else { Sequence::Runs(count) }));
        }
        let want = "bytes to leave out, such as read:8k, or to go back, such as read:-8k";
        if let Some(back) = number.strip_prefix('-') {
            let back = bytes(back, prefixes).filter(|back| *back > 0).ok_or_else(|| bad(want))?;
            return Ok((access, Sequence::Backwards(back)));
        }
        let hole = bytes(number, prefixes).ok_or_else(|| bad(want))?;
        Ok((access, if hole == 0 { Sequence::Plain } else { Sequence::Holes(hole) }))
    }

    /// fio's word, which is the label of the samples.
    pub fn word(self) -> &'static str {
        match (self.random, self.reads, self.writes) {
            (false, _, false) => "read",
            (false, false, true) => "write",
            (false, true, true) => "rw",
            (true, _, false) => "randread",
            (true, false, true) => "randwrite",
            (true, true, true) => "randrw",
        }
    }
}

/// How many bytes one operation moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSizes {
    /// Always as many.
    One(u64),
    /// Evenly from the first to the second, in steps of the first.
    Range(u64, u64),
    /// Each with a weight.
    Split(Vec<(u64, u64)>),
}

const SIZE: &str = "a size of 1 byte to 1 EiB, such as 4k or 1MiB";
const SPLIT: &str = "sizes with their shares in percent, such as 4k/60:64k/40";

impl BlockSizes {
    /// `4k`.
    pub fn one(option: &str, text: &str, prefixes: Prefixes) -> Result<Self, Refusal> {
        positive(option, text, prefixes).map(Self::One)
    }

    /// `4k-64k`.
    pub fn range(option: &str, text: &str, prefixes: Prefixes) -> Result<Self, Refusal> {
        let bad = |want| Refusal::BadValue { option: option.into(), value: text.into(), want };
        let (low, high) = text.split_once('-').ok_or_else(|| bad("two sizes, such as 4k-64k"))?;
        let (low, high) = (positive(option, low, prefixes)?, positive(option, high, prefixes)?);
        match low.cmp(&high) {
            std::cmp::Ordering::Less => Ok(Self::Range(low, high)),
            std::cmp::Ordering::Equal => Ok(Self::One(low)),
            std::cmp::Ordering::Greater => Err(bad("the smaller size first, such as 4k-64k")),
        }
    }

    /// `4k/60:64k/40`; sizes without a share divide what is left of 100 evenly, as in fio.
    pub fn split(text: &str, prefixes: Prefixes) -> Result<Self, Refusal> {
        let bad = |want| Refusal::BadValue { option: "bssplit".into(), value: text.into(), want };
        let mut parts = Vec::new();
        for part in text.split(':') {
            let (size, share) = part.split_once('/').unwrap_or((part, ""));
            let share = match share {
                "" => None,
                share => {
                    Some(share.parse::<u64>().ok().filter(|share| *share <= 100).ok_or_else(|| bad(SPLIT))?)
                }
            };
            parts.push((positive("bssplit", size, prefixes)?, share));
        }
        let given: u64 = parts.iter().filter_map(|(_, share)| *share).sum();
        let open = parts.iter().filter(|(_, share)| share.is_none()).count() as u64;
        if given > 100 || (open == 0 && given != 100) {
            return Err(bad("shares that make 100 together"));
        }
        // In hundredths of a percent, so that what is left divides into any number of parts closely.
        let rest = ((100 - given) * 100).checked_div(open).unwrap_or(0);
        let weights = parts.into_iter().map(|(size, share)| (size, share.map_or(rest, |share| share * 100)));
        let mut weights: Vec<(u64, u64)> = weights.filter(|(_, weight)| *weight > 0).collect();
        if weights.iter().all(|(_, weight)| weight % 100 == 0) {
            weights.iter_mut().for_each(|(_, weight)| *weight /= 100);
        }
        match weights[..] {
            [] => Err(bad(SPLIT)),
            [(size, _)] => Ok(Self::One(size)),
            _ => Ok(Self::Split(weights)),
        }
    }

    /// The smallest.
    pub fn least(&self) -> u64 {
        match self {
            Self::One(size) | Self::Range(size, _) => *size,
            Self::Split(parts) => parts.iter().map(|(size, _)| *size).min().unwrap_or(1),
        }
    }

    /// The largest.
    pub fn most(&self) -> u64 {
        match self {
            Self::One(size) | Self::Range(_, size) => *size,
            Self::Split(parts) => parts.iter().map(|(size, _)| *size).max().unwrap_or(1),
        }
    }

    /// Whether all are multiples of `step`.
    pub fn are_multiples_of(&self, step: u64) -> bool {
        match self {
            Self::One(size) | Self::Range(size, _) => size.is_multiple_of(step),
            Self::Split(parts) => parts.iter().all(|(size, _)| size.is_multiple_of(step)),
        }
    }

    /// For a sentence.
    pub fn in_words(&self) -> String {
        match self {
            Self::One(size) => bytes_in_words(*size),
            Self::Range(low, high) => format!("{} to {}", bytes_in_words(*low), bytes_in_words(*high)),
            Self::Split(parts) => {
                let parts: Vec<_> = parts.iter().map(|(size, _)| bytes_in_words(*size)).collect();
                parts.join(" or ")
            }
        }
    }
}

/// A size of at least 1 byte.
pub(super) fn positive(option: &str, text: &str, prefixes: Prefixes) -> Result<u64, Refusal> {
    let size = bytes(text, prefixes).filter(|size| *size > 0);
    let is_ambiguous = || bytes(text, prefixes).is_none() && bytes(text, Prefixes::Fio).is_some();
    size.ok_or_else(|| {
        let want = if is_ambiguous() { "write 4k or 4KiB for 4096 bytes, 4000 for 4000" } else { SIZE };
        Refusal::BadValue { option: option.into(), value: text.into(), want }
    })
}

/// Where random accesses go.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Uniformly.
    Uniform,
    /// The k-th most wanted block with a weight of 1/k^theta, hot blocks scattered over the file.
    Zipf(f64),
    /// A share of `h` of the blocks gets a share of 1 - h of the accesses, and so on within.
    Pareto(f64),
    /// Around the middle, with a standard deviation of so many percent of the file.
    Normal(f64),
    /// Shares of accesses to shares of the file, both in percent.
    Zoned(Vec<(u64, u64)>),
}

impl Distribution {
    /// As fio's `random_distribution`.
    pub fn of_words(text: &str) -> Result<Self, Refusal> {
        let bad = |want| Refusal::BadValue { option: "random_distribution".into(), value: text.into(), want };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let number = |least: f64, most: f64, want| {
            let number = rest.parse::<f64>().ok().filter(|number| *number > least && *number < most);
            number.ok_or_else(|| bad(want))
        };
        match kind {
            "random" | "uniform" if rest.is_empty() => Ok(Self::Uniform),
            "zipf" => number(0.0, 100.0, "zipf:THETA with THETA above 0, such as zipf:1.2").map(Self::Zipf),
            "pareto" => {
                number(0.0, 1.0, "pareto:H with H between 0 and 1, such as pareto:0.2").map(Self::Pareto)
            }
            "normal" | "gauss" => {
                number(0.0, 100.1, "normal:PERCENT of the file, above 0 to 100, such as normal:15")
                    .map(Self::Normal)
            }
            "zoned" => {
                Self::zoned(rest).ok_or_else(|| bad("such as zoned:60/10:40/90, each side making 100 (an even part of the rest where one is left out)"))
            }
            "zoned_abs" => Err(Refusal::Unsupported {
                tool: "fio",
                option: "random_distribution=zoned_abs".into(),
                why: "write it as zoned, in percent",
            }),
            _ => Err(bad("one of random, zipf:THETA, pareto:H, normal:PERCENT, zoned:ACCESSES/SIZE:…")),
        }
    }

    /// Shares of accesses and of the file; those left out are even parts of what is left, as in fio.
    fn zoned(text: &str) -> Option<Self> {
        let share = |text: &str| match text {
            "" => Some(None),
            text => text.parse::<u64>().ok().filter(|share| *share <= 100).map(Some),
        };
        let zone = |part: &str| {
            let (accesses, size) = part.split_once('/').unwrap_or((part, ""));
            Some((share(accesses)?, share(size)?))
        };
        let zones: Vec<(Option<u64>, Option<u64>)> = text.split(':').map(zone).collect::<Option<_>>()?;
        let accesses = whole(zones.iter().map(|zone| zone.0).collect())?;
        let sizes = whole(zones.iter().map(|zone| zone.1).collect())?;
        let zones: Vec<(u64, u64)> = accesses.into_iter().zip(sizes).collect();
        zones.iter().all(|zone| zone.1 > 0).then_some(Self::Zoned(zones))
    }
}

/// Shares in percent that make 100, those left out as even parts of the rest.
fn whole(shares: Vec<Option<u64>>) -> Option<Vec<u64>> {
    let given: u64 = shares.iter().flatten().sum();
    let open = shares.iter().filter(|share| share.is_none()).count() as u64;
    let rest = 100_u64.checked_sub(given)?;
    if open == 0 {
        return (rest == 0).then(|| shares.into_iter().flatten().collect());
    }
    rest.is_multiple_of(open).then(|| shares.into_iter().map(|share| share.unwrap_or(rest / open)).collect())
}

/// A percentage: `70` or `70%`, up to 100.
pub(super) fn percent(option: &str, text: &str) -> Result<u64, Refusal> {
    let number = quantity::count(text.strip_suffix('%').unwrap_or(text)).filter(|number| *number <= 100);
    number.ok_or_else(|| Refusal::BadValue {
        option: option.into(),
        value: text.into(),
        want: "a share in percent, from 0 to 100",
    })
}
