//! The first screen of a run: the answer in at most 24 lines.
//!
//! Every number on it is one of [`results`] or of the analysis; tables and figures of the report have the rest.

pub(crate) mod answer;
mod compare;
mod fit;
mod fit_width;
mod law;
mod paint;
mod rows;
mod trust;

use results::ResultRow;
use samples::SiteKind;

pub(crate) use crate::number;
pub use compare::CompareAnswer;
pub(crate) use compare::{other_work_words, ratio as ratio_text};
pub use fit::FitAnswer;
pub use fit_width::fit_width;
use number::{bandwidth, three, time};
use paint::Canvas;
pub use paint::ScreenOptions;
pub(crate) use paint::{Canvas as ScreenCanvas, Tone};
use rows::Shown;
pub(crate) use rows::{Cells, laid_out};

use crate::Report;
use crate::table::width;

/// Lines of a first screen.
const MOST_LINES: usize = 24;

/// Columns of a picture over time.
const PICTURE: usize = 32;

/// Timings from which on a row is shown before those of fewer.
const MANY: u64 = 30;

/// Stretches between changes of the level that a screen tells.
const MOST_STRETCHES: usize = 2;

/// Rows that take less of the time than this are left to the tables where a screen is about one subject.
const LEAST_SHARE: f64 = 0.02;

/// Where a run and its page stand, as a reader can name them.
#[derive(Clone, Copy, Debug)]
pub struct WrittenFiles<'a> {
    /// The run file.
    pub run: &'a str,
    /// The page; none if none was written.
    pub page: Option<&'a str>,
}

impl Report {
    /// The answer in at most 24 lines: what ran and how it went, throughput, typical and slow, whether to trust it, what
    /// slowed it, which rank stands out, what to do next, files.
    pub fn first_screen(&self, files: WrittenFiles, options: ScreenOptions) -> String {
        let mut canvas = Canvas::new(options);
        self.head(&mut canvas);
        let mut foot = Canvas::new(options);
        self.foot(&mut foot, files);
        let table = self.table(&canvas, MOST_LINES.saturating_sub(canvas.height() + foot.height()));
        for (strong, line) in table {
            match strong {
                true => canvas.toned(Tone::Strong, &line),
                false => canvas.line(line),
            }
        }
        canvas.text() + &foot.text()
    }

    /// The answer in one line: rate, median, p99, errors, whether to trust it.
    pub fn one_line(&self) -> String {
        let mut parts = Vec::new();
        let declared = self.answer.as_ref().and_then(|answer| answer.sentences.first());
        parts.extend(declared.map(|sentence| sentence.trim_end_matches('.').to_owned()));
        if let Some(row) = answer::operation(self) {
            parts.extend(row.bytes_per_second.filter(|rate| *rate > 0.0).map(bandwidth));
            parts
                .extend(row.operations_per_second.map(|rate| format!("{} {}/s", three(rate), row.operation)));
        }
        if let Some(found) = answer::subject(self).and_then(|main| main.quantiles.as_ref()) {
            parts.push(format!("p50 {}", time(found.p50)));
            parts.extend(found.p99.map(|p99| format!("p99 {}", time(p99))));
            parts.push(format!("max {}", time(found.max)));
        }
        let (_, outcome) = answer::outcome(self);
        parts.push(outcome);
        let sign = trust::verdict(self).map_or(String::new(), |(sign, ..)| format!(" {sign}"));
        format!("{}: {}{sign}\n", self.title, parts.join(", "))
    }

    fn head(&self, canvas: &mut Canvas) {
        let elapsed = if self.facts.elapsed_s > 0.0 { time(self.facts.elapsed_s) } else { String::new() };
        canvas.ends(Tone::Strong, &answer::title(self), &elapsed);
        let (well, text) = answer::outcome(self);
        match well {
            true => canvas.said("✔", Tone::Good, &text, 1),
            false => canvas.said("✖", Tone::Bad, &text, 2),
        }
        let serious: Vec<String> =
            self.warnings.iter().map(|warning| warning.code.replace('-', " ")).collect();
        if !serious.is_empty() {
            let plural = if serious.len() == 1 { "warning" } else { "warnings" };
            let text = format!("{} {plural}: {} (-v says more)", serious.len(), serious.join(", "));
            canvas.said("⚠", Tone::Caution, &text, 1);
        }
        let most = if self.brief.is_empty() { 4 } else { 8 };
        canvas.said("", Tone::Strong, &answer::sentences(self), most);
        if let Some((sign, tone, text)) = trust::verdict(self) {
            canvas.said(sign, tone, &text, 2);
            if tone == Tone::Bad {
                self.what_holds().iter().for_each(|text| canvas.said(" ", Tone::Faint, text, 2));
            }
        }
    }

    /// What may be said of values that are not repetitions: the newest stretches, or quantiles of all.
    fn what_holds(&self) -> Vec<String> {
        let Some(main) = answer::subject(self) else { return Vec::new() };
        let what = main.subject.value_name();
        let mut lines = law::stretches(&main.stretches, what, &time);
        lines.truncate(MOST_STRETCHES);
        if lines.is_empty() {
            let of = (main.subject.steps.len(), what);
            let held = law::holds(main.quantiles.as_ref(), &main.intervals, of, &time);
            lines.extend(held.map(|text| format!("What holds all the same: {text}.")));
        }
        lines
    }

    fn foot(&self, canvas: &mut Canvas, files: WrittenFiles) {
        if let Some(line) = self.over_time(canvas.width()) {
            canvas.line(line);
        }
        for text in trust::slow(self).iter().chain(&trust::rank(self)) {
            canvas.said("", Tone::Faint, text, 2);
        }
        canvas.said("", Tone::Faint, &format!("Next: {}; all tables: -v", trust::next(self, files.run)), 2);
        canvas.line(format!("Run:    {}", files.run));
        if let Some(page) = files.page {
            canvas.line(format!("Report: {page}"));
        }
    }

    /// The table, in at most so many lines; with each, whether it is strong.
    fn table(&self, canvas: &Canvas, most: usize) -> Vec<(bool, String)> {
        if let Some(answer) = &self.answer {
            return answer.lines(canvas.width(), most).into_iter().map(|line| (false, line)).collect();
        }
        let operations: Vec<&ResultRow> =
            self.results.iter().filter(|row| row.kind == SiteKind::Operation).collect();
        let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(row.timings as f64);
        let total: f64 = operations.iter().map(|row| busy(row)).sum();
        let main = answer::subject(self);
        let mut kept: Vec<&ResultRow> = operations.clone();
        if main.is_some() {
            kept.retain(|row| busy(row) >= LEAST_SHARE * total || row.errors > 0);
        }
        let gate = main.filter(|main| main.subject.gate && main.subject.ranks.len() > 1);
        let about = answer::operation(self);
        // Blank line, head, the line of a gate, what is left out.
        let room = most.saturating_sub(3 + usize::from(gate.is_some()));
        if kept.len() > room {
            // What the run is about, rows of many timings before those of a few, then by time.
            let weight = |row: &ResultRow| {
                let is_about = about.is_some_and(|about| std::ptr::eq(about, row));
                (u8::from(is_about) + u8::from(is_about || row.timings >= MANY), busy(row))
            };
            let mut order: Vec<(u8, f64)> = kept.iter().map(|row| weight(row)).collect();
            let descending = |a: &(u8, f64), b: &(u8, f64)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1));
            order.sort_unstable_by(descending);
            let least = order.get(room.saturating_sub(1)).copied().unwrap_or((u8::MAX, f64::INFINITY));
            kept.retain(|row| descending(&weight(row), &least).is_le());
            kept.truncate(room);
        }
        let mut shown: Vec<Shown> = gate
            .map(|main| Shown {
                name: format!("{} (slowest of {})", main.subject.name, main.subject.ranks.len()),
                strong: true,
                per_second: None,
                bytes_per_second: None,
                depth: None,
                quantiles: main.quantiles.clone(),
                intervals: main.intervals.clone(),
                errors: 0,
            })
            .into_iter()
            .collect();
        let is_it = |row: &ResultRow| gate.is_none() && about.is_some_and(|about| std::ptr::eq(about, row));
        shown.extend(kept.iter().map(|row| Shown::of(row, is_it(row))));
        if shown.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![(false, String::new())];
        lines.extend(rows::lines(&shown, canvas.width()));
        let left = operations.len() - kept.len();
        if left > 0 {
            lines.push((false, format!("  and {left} more with less of the time")));
        }
        lines
    }

    /// The rate of the operation over time: `fwrite/s ▁▂▅█▃▁  21 300 to 64 300; steady`.
    fn over_time(&self, columns: usize) -> Option<String> {
        let row = answer::operation(self)?;
        let series = row.series.as_ref()?;
        let rates = series.rates();
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        let name = format!("{}/s", row.operation);
        let pauses = if row.series_counts_pauses() { ", pauses counted" } else { "" };
        let range = format!("{} to {}", three(least), three(most));
        let steady = trust::steadiness(row.steady.as_ref());
        let bins = format!(" in bins of {}", time(series.bin_seconds));
        // On a narrow screen the words make way for the bars.
        let texts = [format!("{bins}{pauses}"), pauses.into(), String::new()];
        let texts = texts.map(|more| format!("{range}{more}; {steady}"));
        let room = |text: &str| columns.saturating_sub(width(&name) + width(text) + 6).min(PICTURE);
        let line = match texts.iter().find(|text| room(text) >= 8) {
            Some(text) => format!("  {name}  {}  {text}", picture(&rates, room(text))),
            None => format!("  {name}  {}", texts[2]),
        };
        Some(paint::cut(&line, columns))
    }
}

/// Bars from 0 to the largest, `columns` of them at most: each is the mean of what it stands for.
fn picture(values: &[f64], columns: usize) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let count = values.len().min(columns);
    let mean = |at: usize| {
        let (from, to) = (at * values.len() / count, ((at + 1) * values.len()).div_ceil(count));
        let part = &values[from..to.min(values.len()).max(from + 1)];
        part.iter().sum::<f64>() / part.len() as f64
    };
    (0..count)
        .map(
            |at| if most > 0.0 { BARS[(8.0 * mean(at) / most).ceil().clamp(0.0, 8.0) as usize] } else { ' ' },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReportOptions, build};

    const FILES: WrittenFiles = WrittenFiles { run: "run.parquet", page: Some("run.html") };

    fn report() -> Report {
        let mut options = ReportOptions::default();
        options.fit.bootstrap = 99;
        build(&samples::example::parallel_write(16, 400, 7), &options)
    }

    #[test]
    fn the_first_screen_of_the_example_at_three_widths() {
        let report = report();
        for columns in [60, 80, 120] {
            let text = report.first_screen(FILES, ScreenOptions { width: columns, colour: false });
            assert!(text.lines().count() <= MOST_LINES, "{text}");
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            insta::assert_snapshot!(format!("example_{columns}"), text);
        }
    }

    #[test]
    fn one_line_has_the_rate_the_tail_and_the_verdict() {
        insta::assert_snapshot!(report().one_line());
    }

    #[test]
    fn a_run_of_nothing_and_a_broken_one_have_a_screen() {
        let mut run = samples::example::parallel_write(2, 40, 1);
        run.facts.complete = false;
        run.samples.iter_mut().filter(|sample| sample.site == 2).for_each(|sample| sample.errno = 28);
        let report = build(&run, &ReportOptions::default());
        assert_eq!(report.warnings.iter().filter(|one| one.code == "failed-operations").count(), 1);
        let text = report.first_screen(FILES, ScreenOptions::default());
        assert!(text.contains("✖ incomplete: 320 operations, 80 failed (most with errno 28)"), "{text}");
        run.samples.clear();
        let text = build(&run, &ReportOptions::default()).first_screen(FILES, ScreenOptions::default());
        assert!(text.contains("Nothing was measured that could be analysed."), "{text}");
    }

    #[test]
    fn a_picture_keeps_the_height_of_each_part() {
        assert_eq!(picture(&[0.0, 4.0, 8.0, 8.0], 4), " ▄██");
        assert_eq!(picture(&[1.0, 1.0, 2.0, 2.0], 2), "▄█");
        assert_eq!(picture(&[0.0], 9), " ");
    }
}
