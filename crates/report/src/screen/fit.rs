//! The first screen of a fit.

use results::{QuantileInterval, Quantiles, of_values_taken_by};
use tail::assess::{AssessOptions, Assessment};
use tail::verdict::{FEWEST_FOR_VERDICT, Usability, VerdictCode};

use super::ScreenOptions;
use super::distribution::{self, Show};
use super::number::{three, time};
use super::paint::{Canvas, Tone};
use crate::stretches::Stretch;
use crate::unit::{Unit, confidence};
use crate::{Subject, shell, words};

/// Sentences of advice that a screen has room for.
const MOST_ADVICE: usize = 4;

/// Stretches that a screen has room for.
const MOST_STRETCHES: usize = 6;

/// What the first screen of a fit of maxima says.
pub struct FitAnswer<'a> {
    /// What was fitted, for the title.
    pub name: &'a str,
    /// What one value is called: `step`, `value`, `block`.
    pub what: &'a str,
    /// Whether each can be one measurement, not the largest of several: of a run it is then.
    pub single: bool,
    /// Whether the values are seconds.
    pub seconds: bool,
    /// What of a run they are; none of plain numbers.
    pub subject: Option<&'a Subject>,
    /// The values in time order.
    pub values: &'a [f64],
    /// The rank of each value, where ranks took them in turns; else empty.
    pub takers: &'a [u32],
    /// The words that fit the same values again, to which `--values` is added; empty where they cannot be typed.
    pub again: &'a [String],
    /// What was found.
    pub found: &'a Assessment,
    /// With what options.
    pub options: &'a AssessOptions,
    /// Whether the times are those of the work that was to be done; else the screen has no good sign.
    pub is_sound: bool,
}

/// A period: `10`, `1 000`.
fn whole(period: f64) -> String {
    if period < 1e15 && period == period.trunc() {
        samples::units::count(period as u64)
    } else {
        three(period)
    }
}

/// What may be done with fitted values, in one line; `what` is what one value is called.
pub fn fit_line(found: &Assessment, what: &str, seconds: bool) -> String {
    let plain = |value: f64| three(value);
    let show: Show = if seconds { &time } else { &plain };
    let notes: String =
        distribution::notes(found, what, show).into_iter().map(|note| format!(" ⚠ {note}")).collect();
    let (sign, _, text) = distribution::verdict(found, what, show);
    if notes.is_empty() { format!("{text} {sign}") } else { text + &notes }
}

impl FitAnswer<'_> {
    /// The answer in at most 24 lines: what may be done with the values, what holds in any case, levels, stretches, what to do.
    pub fn screen(&self, options: ScreenOptions) -> String {
        let plain = |value: f64| three(value);
        let show: Show = if self.seconds { &time } else { &plain };
        let found = self.found;
        let mut canvas = Canvas::new(options);
        canvas.ends(Tone::Strong, self.name, "");
        if let Some((subject, share)) = self.subject.and_then(|subject| Some((subject, subject.share?))) {
            let rounded = |share: f64| format!("{:.0}%", 100.0 * share);
            let next = subject.runner_up.as_ref();
            let next =
                next.map_or(String::new(), |(name, share)| format!(", then {name} {}", rounded(*share)));
            let text =
                format!("of {}: {} of the time{next}; --of chooses another", subject.name, rounded(share));
            canvas.said("", Tone::Faint, &text, 2);
        }
        let (sign, tone, text) = distribution::verdict(found, self.what, show);
        let text = self.of_this_file(&text);
        match self.is_sound {
            true => canvas.said(sign, tone, &text, 3),
            false => canvas.said(" ", Tone::Faint, &format!("Fitted all the same. {text}"), 3),
        }
        let (quantiles, intervals): (Option<Quantiles>, Vec<QuantileInterval>) =
            of_values_taken_by(self.values, self.takers);
        let of = (self.values.len(), self.what);
        if let Some(held) = distribution::holds(quantiles.as_ref(), &intervals, of, show) {
            canvas.said(" ", Tone::Faint, &format!("Measured: {held}."), 2);
        }
        for note in distribution::notes(found, self.what, show) {
            canvas.said("⚠", Tone::Caution, &note, 2);
        }
        if !found.verdict.is_distribution_shown() {
            let stretches = Stretch::all(found, (self.values, self.takers), self.options);
            let lines = distribution::stretches(&stretches, MOST_STRETCHES, self.what, show);
            for line in &lines {
                canvas.said(" ", Tone::Faint, line, 2);
            }
            if lines.is_empty()
                && let Some(parts) = distribution::parts(&stretches, self.what, show)
            {
                canvas.said(" ", Tone::Faint, &parts, 2);
            }
            self.parts(&mut canvas, &stretches);
            if found.verdict.code == VerdictCode::Rounded {
                let distribution = distribution::parameters(found, show);
                canvas.said(" ", Tone::Faint, &format!("GEV fit to steps of that width: {distribution}."), 2);
            }
        } else if found.verdict.usability != Usability::TooFew {
            self.levels(&mut canvas, show);
        }
        let is_unfit = found.verdict.usability == Usability::NotUsable
            && !matches!(found.verdict.code, VerdictCode::Rounded);
        let goes_beyond = self.single && is_unfit && self.values.len() >= FEWEST_FOR_VERDICT;
        if goes_beyond {
            // What plain numbers are, only who made them knows.
            let are_they = match self.subject {
                Some(_) => "These are single values, not maxima:",
                None => "If each is one measurement, not the largest of several:",
            };
            let text = format!("{are_they} `lastrank fit FILE --model gpd` fits those beyond a threshold.");
            canvas.said("→", Tone::Caution, &self.of_this_file(&text), 2);
        }
        let mut advice = words::verdict::advice(found, self.what);
        // It was said just now.
        advice.retain(|one| !(goes_beyond && one.contains("--model gpd")));
        for one in advice.iter().take(MOST_ADVICE) {
            canvas.said("→", Tone::Caution, &self.of_this_file(one), 2);
        }
        canvas.line("All tables: -v");
        canvas.text()
    }

    /// A sentence whose `lastrank fit` names what was fitted here, so that it can be pasted.
    fn of_this_file(&self, text: &str) -> String {
        match self.again.is_empty() {
            true => text.to_owned(),
            false => text.replace("`lastrank fit FILE", &format!("`{}", shell::line(self.again))),
        }
    }

    /// The parts between changes of the level, each as a command that fits it by itself, newest first as they are told.
    fn parts(&self, canvas: &mut Canvas, stretches: &[Stretch]) {
        if self.again.is_empty() {
            return;
        }
        let mut longest: Vec<&Stretch> =
            stretches.iter().filter(|part| distribution::is_worth_a_fit(part)).collect();
        longest.sort_by_key(|part| std::cmp::Reverse(part.n));
        longest.truncate(distribution::MOST_PARTS);
        longest.sort_by_key(|part| std::cmp::Reverse(part.from));
        for part in longest {
            let ends = format!("--values={}-{}", part.from, part.from + part.n - 1);
            canvas.command("→", &[self.again, &[ends]].concat());
        }
    }

    fn levels(&self, canvas: &mut Canvas, show: Show) {
        let found = self.found;
        canvas.said(" ", Tone::Faint, &format!("GEV fit: {}.", distribution::parameters(found, show)), 2);
        for level in &found.return_levels {
            let ends = level.interval.filter(|ends| ends.lower.is_finite() && ends.upper.is_finite());
            let between = ends.map_or([f64::NAN; 2], |ends| [ends.lower, ends.upper]);
            let unit = if self.seconds { Unit::of_duration(level.level) } else { Unit::NONE };
            let [value, lower, upper] = unit.level_and_ends(level.level, between[0], between[1]);
            let ends = ends
                .map_or(String::new(), |ends| format!(" ({lower} to {upper}, {})", confidence(ends.level)));
            let beyond = if level.observed { "" } else { ", extrapolated" };
            let text = format!("Once in {} {}s: {value}{ends}{beyond}", whole(level.period), self.what);
            canvas.said(" ", Tone::Faint, &text, 1);
        }
    }
}
