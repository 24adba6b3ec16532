//! Draws the progress bar of a run on a terminal, and nothing in a pipe.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ranks::RanksView;
use samples::units;

use crate::output;

const STEPS: u64 = 1000;

/// A progress bar that is moved by hand: a ticking thread would not survive the fork of the ranks.
pub struct Bar(Option<ProgressBar>);

impl Bar {
    /// A bar on standard error, where somebody is watching and `wanted`.
    pub fn new(wanted: bool, name: &str) -> Self {
        if !wanted || !output::progress_is_seen() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
        let template = "{prefix} {wide_bar} {percent:>3} %  {msg}  {elapsed}, {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━ "));
        }
        bar.set_prefix(name.to_owned());
        Self(Some(bar))
    }

    /// Draw what the ranks have done so far.
    pub fn look(&mut self, watch: &RanksView) {
        let Some(bar) = &self.0 else { return };
        let (samples, bytes) = watch.recorded();
        bar.set_message(format!("{} samples, {}", units::count(samples), units::bytes(bytes)));
        match watch.progress() {
            Some(share) => bar.set_position((share * STEPS as f64) as u64),
            None => bar.tick(),
        }
    }

    /// Take the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
