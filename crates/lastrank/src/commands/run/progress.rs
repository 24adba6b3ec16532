//! Shows what a run does while it runs: one line on a terminal, lines of JSON for other programs, nothing in a pipe.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ranks::RanksView;
use samples::{Sample, Site, SiteKind, units};
use serde::Serialize;

use crate::cli::ProgressKind;
use crate::{live, output};

/// Columns of the bar.
const BAR: usize = 20;

/// Columns of the name at most.
const NAME: usize = 24;

/// How long the rates that are shown look back.
const WINDOW: Duration = Duration::from_secs(1);

/// Fewest operations of a window whose p99 is shown.
const FEWEST: usize = 100;

/// How long and how far the ranks must have come before the rest of the time is told: before, the pace is that of
/// making ready.
const TOLD_FROM: (f64, f64) = (2.0, 0.05);

/// What is shown while a run runs. It is moved by hand: a ticking thread would not survive the fork of the ranks.
pub struct Bar {
    shown: Shown,
    name: String,
    began: Instant,
    /// Seconds, and the share that was done, when the ranks first had done something.
    first: Option<(f64, f64)>,
    before: Look,
    /// Samples and bytes a second over the last window.
    rates: [f64; 2],
    /// Samples and bytes at the last look.
    last: (u64, u64),
    recent: LastSecond,
}

/// Operations that ended since the last window, by site.
#[derive(Default)]
struct LastSecond {
    /// Of each site its durations in picoseconds.
    durations: HashMap<u32, Vec<u64>>,
    /// p99 of the last window, of the operation with the most time in it; none of too few.
    p99_s: Option<f64>,
}

impl LastSecond {
    fn take(&mut self, sites: &[Site], samples: &[Sample]) {
        for sample in samples {
            let is_operation =
                sites.get(sample.site as usize).is_some_and(|site| site.kind == SiteKind::Operation);
            if is_operation && !sample.failed() {
                self.durations
                    .entry(sample.site)
                    .or_default()
                    .push(sample.duration_ps / u64::from(sample.batch.max(1)));
            }
        }
    }

    /// The window is over.
    fn turn(&mut self) {
        let total = |list: &Vec<u64>| list.iter().map(|ps| u128::from(*ps)).sum::<u128>();
        let most = self.durations.values_mut().max_by_key(|list| total(list));
        self.p99_s = most.filter(|list| list.len() >= FEWEST).map(|list| {
            let rank = list.len() - list.len() / 100 - 1;
            *list.select_nth_unstable(rank).1 as f64 * 1e-12
        });
        self.durations.clear();
    }
}

enum Shown {
    Nothing,
    Line,
    Json,
}

/// What was recorded at a moment.
struct Look {
    at: Instant,
    samples: u64,
    bytes: u64,
}

/// One line of `--progress json`.
#[derive(Serialize)]
struct ProgressLine {
    schema: &'static str,
    elapsed_s: f64,
    samples: u64,
    bytes: u64,
    samples_per_second: f64,
    bytes_per_second: f64,
    /// 99% of the operations that ended in the last second took no longer, of the operation with the most time in it;
    /// null of fewer than 100.
    p99_seconds: Option<f64>,
    /// Share of the program that the least advanced rank has done; null where that is not known.
    done: Option<f64>,
    /// Seconds to go at the pace so far.
    left_s: Option<f64>,
}

impl Bar {
    /// A line on standard error, where somebody is watching and `wanted`, or JSON where that is asked for.
    pub fn new(wanted: bool, name: &str, kind: ProgressKind) -> Self {
        let shown = match kind {
            ProgressKind::Json => Shown::Json,
            ProgressKind::Auto if wanted && output::progress_is_seen() => Shown::Line,
            ProgressKind::Auto | ProgressKind::None => Shown::Nothing,
        };
        let began = Instant::now();
        Self {
            shown,
            name: samples::visible(name).replace(['\n', '\t'], " "),
            began,
            first: None,
            before: Look { at: began, samples: 0, bytes: 0 },
            rates: [0.0; 2],
            last: (0, 0),
            recent: LastSecond::default(),
        }
    }

    /// Whether samples are to be shown to it.
    pub fn is_shown(&self) -> bool {
        !matches!(self.shown, Shown::Nothing)
    }

    /// Takes samples as they come.
    pub fn take(&mut self, sites: &[Site], samples: &[Sample]) {
        if self.is_shown() {
            self.recent.take(sites, samples);
        }
    }

    /// Show what the ranks have done so far; `left_s`: seconds to go, where that is known from elsewhere.
    pub fn look(&mut self, watch: &RanksView, left_s: Option<f64>) {
        if matches!(self.shown, Shown::Nothing) {
            return;
        }
        let (samples, bytes) = watch.recorded();
        self.last = (samples, bytes);
        let now = Instant::now();
        let since = now.duration_since(self.before.at);
        let is_new = since >= WINDOW;
        if is_new {
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / since.as_secs_f64();
            self.rates = [rate(samples, self.before.samples), rate(bytes, self.before.bytes)];
            self.before = Look { at: now, samples, bytes };
            self.recent.turn();
        }
        let done = watch.progress();
        match &self.shown {
            Shown::Nothing => {}
            Shown::Line => {
                let elapsed_s = self.began.elapsed().as_secs_f64();
                let left_s = left_s.or_else(|| self.left(elapsed_s, done));
                live::show(&Line { done, elapsed_s, left_s, bar: self }.laid_out(live::columns()));
            }
            Shown::Json if is_new => self.tell(samples, bytes, done, left_s),
            Shown::Json => {}
        }
    }

    fn tell(&self, samples: u64, bytes: u64, done: Option<f64>, left_s: Option<f64>) {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let line = ProgressLine {
            schema: "lastrank.progress/1",
            elapsed_s,
            samples,
            bytes,
            samples_per_second: self.rates[0],
            bytes_per_second: self.rates[1],
            p99_seconds: self.recent.p99_s,
            done,
            left_s: left_s.or_else(|| left(elapsed_s, done)),
        };
        if let Ok(text) = serde_json::to_string(&line) {
            output::say_whole(&format!("{text}\n"));
        }
    }

    /// Seconds to go at the pace since the ranks began, once that says something.
    fn left(&mut self, elapsed_s: f64, done: Option<f64>) -> Option<f64> {
        let done = done.filter(|done| *done > 0.0)?;
        let (since, had) = *self.first.get_or_insert((elapsed_s, done));
        let (seconds, share) = (elapsed_s - since, done - had);
        let is_told = seconds >= TOLD_FROM.0 && share >= TOLD_FROM.1;
        is_told.then(|| seconds * (1.0 - done).max(0.0) / share)
    }

    /// Take the line away; of JSON tell the end.
    pub fn finish(&self) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Line => live::clear(),
            Shown::Json => self.tell(self.last.0, self.last.1, Some(1.0), None),
        }
    }
}

/// Seconds to go at the pace so far.
fn left(elapsed_s: f64, done: Option<f64>) -> Option<f64> {
    done.filter(|done| *done > 0.0).map(|done| elapsed_s * (1.0 - done) / done)
}

/// A rest of time without digits that change with each look.
fn rounded(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{:.0} s", s.ceil()),
        s if s < 6_000.0 => format!("{:.0} min", (s / 60.0).ceil()),
        s => format!("{:.0} h", (s / 3_600.0).ceil()),
    }
}

fn elapsed(seconds: f64) -> String {
    match seconds as u64 {
        s if s < 100 => format!("{s} s"),
        s if s < 6_000 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
    }
}

/// What the line of a terminal says.
struct Line<'a> {
    done: Option<f64>,
    elapsed_s: f64,
    left_s: Option<f64>,
    bar: &'a Bar,
}

impl Line<'_> {
    /// The line in so many columns: name, bar and elapsed time, and of the rest what fits, the most useful first.
    fn laid_out(&self, columns: usize) -> String {
        let [samples_rate, bytes_rate] = self.bar.rates;
        let share = self.done.map(|done| done.clamp(0.0, 1.0));
        let bar = share.map_or(String::new(), |share| {
            let full = (share * BAR as f64) as usize;
            format!("{}{} {:>3.0}%  ", "━".repeat(full), "┄".repeat(BAR - full), (100.0 * share).floor())
        });
        let elapsed = elapsed(self.elapsed_s);
        let width = |text: &str| text.chars().count();
        let name_columns = NAME.min(columns.saturating_sub(width(&bar) + width(&elapsed) + 2));
        let mut parts = vec![(0, format!("{} samples/s", units::count(samples_rate.round() as u64)))];
        if bytes_rate > 0.0 {
            parts.push((2, format!("{}/s", units::bytes(bytes_rate as u64))));
        }
        parts.extend(self.bar.recent.p99_s.map(|p99| (3, format!("p99 {}", units::duration(p99)))));
        parts.extend(self.left_s.map(|left| (1, format!("{} left", rounded(left)))));
        let whole = |parts: &[(u8, String)]| {
            let parts: String = parts.iter().map(|(_, text)| format!("{text}, ")).collect();
            format!("{}  {bar}{parts}{elapsed}", report::cut(&self.bar.name, name_columns))
        };
        while width(&whole(&parts)) > columns && !parts.is_empty() {
            let least = (0..parts.len()).max_by_key(|at| parts[*at].0).unwrap_or(0);
            parts.remove(least);
        }
        report::cut(&whole(&parts), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str) -> Bar {
        let mut bar = Bar::new(false, name, ProgressKind::None);
        bar.rates = [128_000.0, 524_288_000.0];
        bar.recent.p99_s = Some(0.0034);
        bar
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_bar_keeps_its_width() {
        let bar = bar(&"long-name-".repeat(6));
        for columns in 40..130 {
            let line =
                Line { done: Some(0.25), elapsed_s: 12.3, left_s: Some(37.0), bar: &bar }.laid_out(columns);
            assert!(line.chars().count() <= columns, "{columns}: {line}");
            assert_eq!(line.matches('━').count() + line.matches('┄').count(), BAR, "{line}");
            assert_eq!(line.matches('━').count(), BAR / 4);
            assert!(line.contains("25%") && line.ends_with("12 s"), "{line}");
        }
        let wide = Line { done: None, elapsed_s: 130.0, left_s: Some(37.0), bar: &bar }.laid_out(120);
        assert_eq!(
            wide,
            "long-name-long-name-lon…  128,000 samples/s, 500 MiB/s, p99 3.40 ms, 37 s left, 2 min 10 s"
        );
    }

    #[test]
    fn the_rest_of_the_time_is_told_once_the_pace_says_something() {
        let mut bar = bar("run");
        // Making ready takes most of the first second; then 5% a second are done.
        assert_eq!(bar.left(0.0, None), None);
        assert_eq!(bar.left(0.9, Some(0.001)), None);
        assert_eq!(bar.left(1.9, Some(0.051)), None);
        let left = bar.left(3.9, Some(0.151)).unwrap_or_default();
        assert!((left - 0.849 / 0.05).abs() < 0.01, "{left}");
        assert_eq!(bar.left(20.9, Some(1.0)), Some(0.0));
    }
}
