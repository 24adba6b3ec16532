//! When a job counts as steady (`ss`, `ss_dur`, `ss_ramp`, `ss_interval`): a rule that ends the run.

use crate::quantity::{SECOND, nanoseconds, time_literal};

/// Fewest intervals of a window: two of them say nothing of a third.
const FEWEST_INTERVALS: u64 = 3;

/// What `ss` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// `iops`, `bw` or `lat`.
    quantity: &'static str,
    /// Whether the slope is limited, not how far each second is from the mean.
    is_slope: bool,
    /// The limit,
    limit: f64,
    /// which is in per cent of the mean, or in the unit of the quantity.
    is_share: bool,
}

impl Criterion {
    /// Reads `iops:0.3%`, `bw_slope:1%`, `iops:20`, `lat:5%`, `lat:50us`; the reason where that is not possible.
    pub(super) fn of(text: &str) -> Result<Criterion, &'static str> {
        const WANT: &str = "a criterion and its limit, such as iops:0.3% or bw_slope:1%";
        let (word, limit) = text.split_once(':').ok_or(WANT)?;
        let (quantity, is_slope) = match word.trim() {
            "iops" => ("iops", false),
            "iops_slope" => ("iops", true),
            "bw" => ("bw", false),
            "bw_slope" => ("bw", true),
            "lat" => ("lat", false),
            "lat_slope" => ("lat", true),
            _ => return Err(WANT),
        };
        let digits = limit.trim();
        let is_share = digits.ends_with('%');
        let limit: f64 = match quantity {
            // fio reads a latency without a unit as microseconds.
            "lat" if !is_share => {
                nanoseconds(digits, 1_000).ok_or("a time, such as lat:50us, or per cent")? as f64
            }
            _ => digits.trim_end_matches('%').parse().map_err(|_| WANT)?,
        };
        match limit > 0.0 && limit <= 1e15 {
            true if !is_share && quantity == "bw" => Err("a limit in per cent, such as bw:1%"),
            true => Ok(Criterion { quantity, is_slope, limit, is_share }),
            false => Err("a limit above 0, such as iops:0.3%"),
        }
    }
}

/// When a job counts as steady, which ends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steady {
    /// `ss`.
    pub criterion: Option<Criterion>,
    /// `ss_dur`, in nanoseconds,
    pub window: u64,
    /// `ss_ramp`,
    pub after: u64,
    /// and `ss_interval`, 0 where it is not said.
    pub interval: u64,
}

impl Steady {
    /// The rule in the words of `--steady`; none where the job has none.
    pub(super) fn rule(&self) -> Option<String> {
        let Criterion { quantity, is_slope, limit, is_share } = self.criterion.as_ref()?;
        // fio's slope is that of one interval; a rule's is that of the whole window.
        let intervals = self.window as f64 / self.each() as f64;
        let limit = if *is_slope { limit * intervals } else { *limit };
        let unit = match (is_share, *quantity) {
            (true, _) => "%",
            (false, "lat") => "ns",
            (false, _) => "/s",
        };
        let what = if *is_slope { "slope" } else { "deviation" };
        let after = match self.after {
            0 => String::new(),
            after => format!(" after {}", time_literal(after)),
        };
        let (window, each) = (time_literal(self.window), time_literal(self.each()));
        Some(format!("{quantity} {what} {limit}{unit} over {window} each {each}{after}"))
    }

    /// Nanoseconds from one look to the next: fio looks once a second.
    fn each(&self) -> u64 {
        if self.interval == 0 { SECOND } else { self.interval }
    }

    /// What the program says of it, as keys of `define report`; empty where there is nothing to say.
    pub(super) fn hints(&self) -> String {
        self.rule().map_or(String::new(), |rule| format!("\"steady\": \"{rule}\", \"until\": \"steady\""))
    }

    pub(super) fn check(&self, found: &mut Vec<String>) {
        match (&self.criterion, self.window) {
            (None, 0) => {}
            (None, _) => found.push("ss_dur goes with ss: add ss=iops:0.3%, or leave it out".into()),
            (Some(_), 0) => found.push("ss does nothing without ss_dur: add ss_dur=30s".into()),
            (Some(_), window) if window < FEWEST_INTERVALS * self.each() => {
                let least = time_literal(FEWEST_INTERVALS * self.each());
                found.push(format!(
                    "ss_dur is at least {least}: a window is judged by its intervals (ss_interval)"
                ));
            }
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_criterion_of_fio_becomes_a_rule() {
        let rule = |ss: &str, seconds: u64, after: u64| {
            let criterion = Some(Criterion::of(ss).expect(ss));
            let steady = Steady { criterion, window: seconds * SECOND, after: after * SECOND, interval: 0 };
            steady.rule().expect("a rule")
        };
        assert_eq!(rule("iops:0.3%", 30, 0), "iops deviation 0.3% over 30s each 1s");
        assert_eq!(rule("bw_slope:0.5%", 10, 5), "bw slope 5% over 10s each 1s after 5s");
        assert_eq!(rule("iops:20", 10, 0), "iops deviation 20/s over 10s each 1s");
        assert_eq!(rule("lat:5%", 10, 0), "lat deviation 5% over 10s each 1s");
        assert_eq!(rule("lat:50", 10, 0), "lat deviation 50000ns over 10s each 1s");
        let criterion = Some(Criterion::of("lat_slope:2ms").expect("a slope"));
        let steady = Steady { criterion, window: 60 * SECOND, after: 0, interval: 10 * SECOND };
        assert_eq!(steady.rule().expect("a rule"), "lat slope 12000000ns over 1min each 10s");
        for wrong in
            ["", "iops", "lat:x", "lat:0", "iops:", "iops:-1%", "iops:0", "iops:x%", "bw:1000", "iops:inf"]
        {
            assert!(Criterion::of(wrong).is_err(), "{wrong}");
        }
    }
}
