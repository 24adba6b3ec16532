//! Shows what a run does while it runs: one line on a terminal, lines of JSON for other programs, nothing in a pipe.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ranks::RanksView;
use samples::units;
use serde::Serialize;

use crate::cli::ProgressKind;
use crate::output;

const STEPS: u64 = 1000;

/// How long the rates that are shown look back.
const WINDOW: Duration = Duration::from_secs(1);

/// What is shown while a run runs. It is moved by hand: a ticking thread would not survive the fork of the ranks.
pub struct Bar {
    shown: Shown,
    began: Instant,
    before: Look,
    /// Samples and bytes a second over the last window.
    rates: [f64; 2],
    /// Samples and bytes at the last look.
    last: (u64, u64),
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
        Self { shown, began, before: Look { at: began, samples: 0, bytes: 0 }, rates: [0.0; 2], last: (0, 0) }
    }

    /// Show what the ranks have done so far.
    pub fn look(&mut self, watch: &RanksView) {
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
        }
        let done = watch.progress();
        match &self.shown {
            Shown::Nothing => {}
            Shown::Line(bar) => {
                let [samples_rate, bytes_rate] = self.rates;
                bar.set_message(format!(
                    "{} samples/s, {}/s",
                    units::count(samples_rate.round() as u64),
                    units::bytes(bytes_rate as u64)
                ));
                match done {
                    Some(share) => bar.set_position((share * STEPS as f64) as u64),
                    None => bar.tick(),
                }
            }
            Shown::Json if is_new => self.tell(samples, bytes, done),
            Shown::Json => {}
        }
    }

    fn tell(&self, samples: u64, bytes: u64, done: Option<f64>) {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let line = ProgressLine {
            schema: "lastrank.progress/1",
            elapsed_s,
            samples,
            bytes,
            samples_per_second: self.rates[0],
            bytes_per_second: self.rates[1],
            done,
            left_s: done.filter(|done| *done > 0.0).map(|done| elapsed_s * (1.0 - done) / done),
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
            Shown::Json => self.tell(self.last.0, self.last.1, Some(1.0)),
        }
    }
}

fn line(name: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    let template = "{prefix} {wide_bar} {percent:>3} %  {msg}  {elapsed}, {eta} to go";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━ "));
    }
    bar.set_prefix(name.to_owned());
    bar
}
