//! Shows what a run does while it runs: one line on a terminal, lines of JSON for other programs, nothing in a pipe.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ranks::RanksView;
use samples::{Sample, Site, SiteKind, units};
use serde::Serialize;

use crate::cli::ProgressKind;
use crate::output;

const STEPS: u64 = 1000;

/// How long the rates that are shown look back.
const WINDOW: Duration = Duration::from_secs(1);

/// Fewest operations of a window whose p99 is shown.
const FEWEST: usize = 100;

/// What is shown while a run runs. It is moved by hand: a ticking thread would not survive the fork of the ranks.
pub struct Bar {
    shown: Shown,
    began: Instant,
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
    Line(ProgressBar),
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
    /// 99 % of the operations that ended in the last second took no longer, of the operation with the most time in it;
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
            ProgressKind::Auto if wanted && output::progress_is_seen() => Shown::Line(line(name)),
            ProgressKind::Auto | ProgressKind::None => Shown::Nothing,
        };
        let began = Instant::now();
        Self {
            shown,
            began,
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
            Shown::Line(bar) => {
                let [samples_rate, bytes_rate] = self.rates;
                let p99 =
                    self.recent.p99_s.map_or(String::new(), |p99| format!(", p99 {}", units::duration(p99)));
                let elapsed_s = self.began.elapsed().as_secs_f64();
                let left = left_s.or_else(|| left(elapsed_s, done));
                let left = left.map_or(String::new(), |left| format!("  {} left", rounded(left)));
                bar.set_message(format!(
                    "{} samples/s, {}/s{p99}{left}",
                    units::count(samples_rate.round() as u64),
                    units::bytes(bytes_rate as u64)
                ));
                match done {
                    Some(share) => bar.set_position((share * STEPS as f64) as u64),
                    None => bar.tick(),
                }
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
            output::say(format_args!("{text}\n"));
        }
    }

    /// Take the line away; of JSON tell the end.
    pub fn finish(&self) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Line(bar) => bar.finish_and_clear(),
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

fn line(name: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    let template = "{prefix} {wide_bar} {percent:>3} %  {msg}  {elapsed}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━ "));
    }
    bar.set_prefix(name.to_owned());
    bar
}
