//! The first screen of a run: the answer in at most 24 lines.
//!
//! Every number on it is one of [`results`] or of the analysis; tables and figures of the report have the rest.

pub(crate) mod answer;
mod answer_cells;
mod answer_line;
mod compare;
mod distribution;
mod fit;
mod fit_width;
mod next;
mod over_time;
mod paint;
mod rows;
mod shown;
mod title;
mod trust;

use results::QuantileInterval;
use samples::Warning;

pub(crate) use crate::number;
pub(crate) use crate::words::comparison::ratio as ratio_text;
pub use answer::are_shown;
pub use answer_cells::answer_cells;
pub use answer_line::{AnswerSign, answer_line};
pub use compare::{CompareAnswer, RunsAnswer};
pub use fit::{FitAnswer, fit_line};
pub use fit_width::fit_width;
use number::time;
use paint::Canvas;
pub use paint::ScreenOptions;
pub(crate) use paint::{Canvas as ScreenCanvas, Tone};
pub(crate) use rows::{Cells, laid_out, rate_in};
pub(crate) use trust::warning as typical_wait;

use crate::page_cache::{OF_VERIFIED, PAGE_CACHE};
use crate::table::width;
use crate::{Report, words};

/// Lines of a first screen.
const MOST_LINES: usize = 24;

/// Things that were found and are told under the sign.
const MOST_FOUND: usize = 2;

/// Stretches between changes of the level that a screen tells.
const MOST_STRETCHES: usize = 2;

/// Warnings in their own words.
const MOST_WARNINGS: usize = 2;

/// Where a run and its page stand, as a reader can name them.
#[derive(Clone, Copy, Debug)]
pub struct WrittenFiles<'a> {
    /// The run file; none if it could not be written.
    pub run: Option<&'a str>,
    /// The page; none if none was written.
    pub page: Option<&'a str>,
}

/// `Saved: run.parquet, run.html (report)`; in two lines where one has no room, so that each name can be copied.
pub fn saved(files: WrittenFiles, columns: usize) -> String {
    let page = files.page.map(|page| format!("{page} (report)"));
    let names: Vec<String> = files.run.map(str::to_owned).into_iter().chain(page).collect();
    let one = format!("Saved: {}\n", names.join(", "));
    match names.as_slice() {
        [] => String::new(),
        [run, page] if width(one.trim_end()) > columns => format!("Saved: {run}\n       {page}\n"),
        _ => one,
    }
}

impl Report {
    /// The answer in at most 24 lines: what ran and how it went, throughput, typical and slow, whether to trust it, what
    /// slowed it, which rank stands out, what to do next, files.
    pub fn first_screen(&self, files: WrittenFiles, options: ScreenOptions) -> String {
        let mut foot = Canvas::new(options);
        self.foot(&mut foot, files);
        let above = |in_table: bool| {
            let mut canvas = Canvas::new(options);
            self.head(&mut canvas, files, in_table);
            let room = MOST_LINES.saturating_sub(canvas.height() + foot.height());
            let drawn = answer::is_shown(self).then(|| shown::table(self, canvas.width(), room));
            (canvas, drawn.unwrap_or_default())
        };
        // The interval of p99 stands in the table, or above it where that has no room for it.
        let (mut canvas, mut drawn) = above(false);
        if drawn.has_intervals {
            (canvas, drawn) = above(true);
        }
        for (strong, line) in &drawn.lines {
            match strong {
                true => canvas.toned(Tone::Strong, line),
                false => canvas.line(line),
            }
        }
        drawn.legend.iter().for_each(|text| canvas.toned(Tone::Faint, text));
        canvas.text() + &foot.text()
    }

    /// How a first screen begins, down to the warnings: all that is known before distributions are fitted.
    pub fn first_lines(&self, options: ScreenOptions) -> String {
        let mut canvas = Canvas::new(options);
        self.said_first(&mut canvas);
        canvas.text()
    }

    /// The answer in one line: rate, median, p99, errors, whether to trust it.
    pub fn one_line(&self) -> String {
        let mut parts = Vec::new();
        // One line, whatever the file of the program is called.
        let title = self.title.replace('\n', "\\n").replace('\r', "\\r");
        let (sign, outcome) = answer::outcome(self);
        if !answer::is_shown(self) {
            return format!("{title}: {outcome} ✖\n");
        }
        let declared = self.answer.as_ref().and_then(|answer| answer.sentences.first());
        parts.extend(declared.map(|sentence| sentence.trim_end_matches('.').to_owned()));
        if self.brief.is_empty() || !self.facts.counted.is_empty() {
            parts.extend(answer::in_short(&self.numbers));
        }
        parts.extend(self.facts.steady.as_ref().map(words::steady::in_short));
        parts.push(outcome);
        parts.extend(answer::verified(self));
        // No sign says that a distribution fits where the run failed.
        let memory = self.warnings.iter().find(|one| one.code == PAGE_CACHE);
        let memory = memory.map(|one| match one.text.starts_with(OF_VERIFIED) {
            true => "`verify` compared memory (the page cache)",
            false => "memory (the page cache), not the device",
        });
        let sign = match (sign, memory) {
            (AnswerSign::Good, Some(memory)) => {
                let told = trust::in_short(self).filter(|told| told.starts_with('⚠'));
                let told = told.map_or("⚠".to_owned(), |told| format!("{told};"));
                format!(" {told} {memory}")
            }
            (AnswerSign::Good, None) => match (trust::in_short(self), trust::waited_in_short(self)) {
                (Some(told), Some(wait)) if told.starts_with('⚠') => format!(" {told}; {wait}"),
                (_, Some(wait)) => format!(" ⚠ {wait}"),
                (told, None) => told.map_or(String::new(), |told| format!(" {told}")),
            },
            (other, _) => format!(" {}", other.mark()),
        };
        format!("{title}: {}{sign}\n", parts.join(", "))
    }

    /// What needs no distribution: what ran, how it went, the answer, warnings.
    fn said_first(&self, canvas: &mut Canvas) -> AnswerSign {
        let elapsed = if self.facts.elapsed_s > 0.0 { time(self.facts.elapsed_s) } else { String::new() };
        canvas.ends(Tone::Strong, &title::title(self), &elapsed);
        let (sign, text) = answer::outcome(self);
        let (mark, tone) = sign.shown();
        let most = if self.brief.is_empty() { 4 } else { 8 };
        let sentences = answer::sentences(self);
        let says = |canvas: &mut Canvas| {
            if !sentences.is_empty() {
                canvas.said("", Tone::Strong, &sentences, most);
            }
        };
        // Trouble changes what the numbers mean: without it they come first.
        let answer_first = sign == AnswerSign::Good;
        if answer_first {
            self.warn_of_memory(canvas);
            says(canvas);
        }
        canvas.said(mark, tone, &text, if sign == AnswerSign::Good { 1 } else { 3 });
        if sign == AnswerSign::Bad {
            answer::found(self, MOST_FOUND).iter().for_each(|text| canvas.said(" ", Tone::Faint, text, 4));
        }
        let told = answer::laid_out(self).into_iter().chain(answer::verified_sentence(self));
        told.for_each(|text| canvas.said(" ", Tone::Faint, &text, 2));
        if !answer_first {
            says(canvas);
        }
        // It limits rates and times, and those of wrong data are not shown.
        if !answer_first && answer::is_shown(self) {
            self.warn_of_memory(canvas);
        }
        self.warn(canvas);
        sign
    }

    /// What stands above the table; `in_table`: that has the interval of p99.
    fn head(&self, canvas: &mut Canvas, files: WrittenFiles, in_table: bool) {
        let sign = self.said_first(canvas);
        // Where the machine is told to be busy, the line of causes says what that did.
        let is_busy = self.warnings.iter().any(|one| one.code == "processor-busy");
        let typical = trust::typical_wait(self);
        let slow = trust::waited(self).filter(|_| typical.is_none() && !is_busy);
        if let Some(text) = typical.or(slow).filter(|_| answer::is_shown(self)) {
            canvas.said("⚠", Tone::Caution, &text, 3);
        }
        if let Some((mark, tone, text)) = trust::verdict(self).filter(|_| answer::is_sound(self)) {
            // No distribution gives a tick to a run that did not do what it was asked to.
            let (mark, tone) = match (sign, tone) {
                (AnswerSign::Caution, Tone::Good) => (" ", Tone::Faint),
                _ => (mark, tone),
            };
            canvas.said(mark, tone, &self.of_file(&text, files), 3);
            trust::notes(self).iter().for_each(|note| canvas.said("⚠", Tone::Caution, note, 2));
            if tone == Tone::Caution {
                self.what_holds(in_table).iter().for_each(|text| canvas.said(" ", Tone::Faint, text, 3));
            }
        }
    }

    /// A sentence whose `lastrank fit` names the run file, so that it can be pasted.
    fn of_file(&self, text: &str, files: WrittenFiles) -> String {
        match files.run.map(|run| next::command(self, run)).as_deref() {
            Some([lastrank, fit, file]) if fit == "fit" => {
                text.replace("`lastrank fit FILE", &format!("`{lastrank} {fit} {file}"))
            }
            _ => text.to_owned(),
        }
    }

    /// That memory was measured, with the remedy, which is never cut: who reads two lines must not take it for the device.
    fn warn_of_memory(&self, canvas: &mut Canvas) {
        for warning in self.warnings.iter().filter(|one| one.code == PAGE_CACHE) {
            canvas.said("⚠", Tone::Caution, &words::capital(&warning.text), 3);
            canvas.said(" ", Tone::Faint, &format!("Fix: {}", warning.advice), 3);
        }
    }

    /// The first warnings in their own words, the others by name. What was found in the run stands above them already.
    fn warn(&self, canvas: &mut Canvas) {
        let mut found = words::judgement::warnings(&self.judgements);
        found.retain(|one| one.code != words::judgement::SHORT_TRANSFER);
        // What was not begun is told as what failed.
        let is_told = |one: &&Warning| {
            found.contains(one) || ["would-fill", trust::TYPICAL_WAIT].contains(&one.code.as_str())
        };
        // What memory served is told above, with all that follows from it.
        let told_above = self.warnings.iter().any(|one| one.code == PAGE_CACHE);
        let is_memory =
            |one: &&Warning| told_above && [PAGE_CACHE, "async-at-once"].contains(&one.code.as_str());
        // A busy machine limits times, and those of wrong data are not shown.
        let is_of_times = |one: &&Warning| one.code == "processor-busy" && !answer::is_shown(self);
        let is_left = |one: &&Warning| !is_told(one) && !is_memory(one) && !is_of_times(one);
        let others: Vec<_> = self.warnings.iter().filter(is_left).collect();
        let most = MOST_WARNINGS - usize::from(told_above);
        let (told, named) = others.split_at(others.len().min(most));
        for warning in told {
            let remedy =
                if warning.code == "processor-busy" { ". Repeat when idle: lastrank machine" } else { "" };
            canvas.said("⚠", Tone::Caution, &format!("{}{remedy}", words::capital(&warning.text)), 3);
        }
        let names: Vec<String> = named.iter().map(|warning| warning.code.replace('-', " ")).collect();
        if !names.is_empty() {
            let text = format!("{} more: {}: -v", names.len(), names.join(", "));
            canvas.said("⚠", Tone::Caution, &text, 1);
        }
    }

    /// What may be said of values that are not repetitions: the newest stretches, or quantiles of all.
    fn what_holds(&self, in_table: bool) -> Vec<String> {
        let Some(main) = answer::subject(self) else { return Vec::new() };
        let what = main.subject.value_name();
        let mut lines = distribution::stretches(&main.stretches, MOST_STRETCHES, what, &time);
        if lines.is_empty() {
            let of = (main.subject.steps.len(), what);
            let is_told = |one: &&QuantileInterval| !in_table || one.probability == 0.5;
            let intervals: Vec<QuantileInterval> = main.intervals.iter().filter(is_told).cloned().collect();
            let held = distribution::holds(main.quantiles.as_ref(), &intervals, of, &time);
            lines.extend(held.map(|text| format!("Measured: {text}.")));
            lines.extend(distribution::parts(&main.stretches, what, &time));
        }
        lines
    }

    fn foot(&self, canvas: &mut Canvas, files: WrittenFiles) {
        if answer::is_shown(self) {
            if let Some(line) = over_time::line(self, canvas.width()).filter(|_| answer::is_sound(self)) {
                canvas.line(line);
            }
            for text in trust::slow(self).iter().chain(&trust::rank(self)) {
                canvas.said("", Tone::Faint, text, 3);
            }
        }
        saved(files, canvas.width()).lines().for_each(|line| canvas.line(line));
        let next = files.run.map(|run| next::command(self, run)).filter(|next| !next.is_empty());
        if let Some(next) = next {
            canvas.command("Next: ", &next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReportOptions, build};

    const FILES: WrittenFiles = WrittenFiles { run: Some("run.parquet"), page: Some("run.html") };

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
    fn the_first_lines_are_told_before_distributions_are_fitted_and_begin_the_screen() {
        for (ranks, broken) in [(1, false), (16, false), (2, true)] {
            let mut run = samples::example::parallel_write(ranks, 200, 7);
            run.samples.iter_mut().filter(|one| broken && one.site == 2).for_each(|one| one.errno = 28);
            run.facts.warnings.push(Warning {
                code: "x".into(),
                text: "it is so".into(),
                ..Warning::default()
            });
            let options = ScreenOptions { width: 70, colour: false };
            let mut first = String::new();
            let report = crate::build_telling(&run, &ReportOptions::default(), |report| {
                assert!(report.main.as_ref().is_none_or(|main| main.tail.is_none() && main.far.is_none()));
                first = report.first_lines(options);
            });
            let text = report.first_screen(FILES, options);
            assert!(text.starts_with(&first), "{first}\n{text}");
            let said = if broken { "operations failed" } else { "0 errors" };
            assert!(first.contains(said) && first.ends_with("It is so\n"), "{first}");
        }
    }

    #[test]
    fn the_answer_stands_above_what_limits_it() {
        let mut run = samples::example::parallel_write(16, 400, 7);
        let warning =
            |code: &str, text: &str| Warning { code: code.into(), text: text.into(), advice: String::new() };
        run.facts.warnings.push(warning("processor-busy", "other processes compete for the 2 processors"));
        let text = build(&run, &ReportOptions::default()).first_screen(FILES, ScreenOptions::default());
        let lines: Vec<&str> = text.lines().collect();
        let at = |part: &str| lines.iter().position(|line| line.contains(part)).expect(part);
        let order =
            ["parallel_write: ", "step takes", "✔ ", "⚠ Other processes compete", "✔ The slow steps"].map(at);
        assert!(order.is_sorted() && order[..2] == [0, 1], "{text}");
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
        let said = "✖ incomplete: a rank did not reach the end; 80 of 400 operations failed";
        assert!(text.contains(said), "{text}");
        run.samples.clear();
        let text = build(&run, &ReportOptions::default()).first_screen(FILES, ScreenOptions::default());
        assert!(text.contains("Nothing was measured that could be analysed."), "{text}");
    }

    #[test]
    fn the_interval_of_p99_stands_on_a_screen_once() {
        let mut run = samples::example::parallel_write(1, 1_000, 7);
        let mut random = samples::random::Random::new(4);
        let mut uniform = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        // A sum of twelve is nearly normal: a distribution that maxima do not have.
        run.samples.iter_mut().filter(|sample| sample.duration_ps > 0).for_each(|sample| {
            let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            sample.duration_ps = (1e9 * (0.8 * normal).exp()) as u64;
        });
        let report = build(&run, &ReportOptions::default());
        let upper = report
            .main
            .as_ref()
            .and_then(|main| main.intervals.iter().find(|one| one.probability == 0.99)?.upper_seconds);
        let upper = time(upper.expect("an upper end"));
        let number = upper.split(' ').next().unwrap_or_default().to_owned();
        let mut in_table = 0;
        for columns in (60..130).step_by(5) {
            let text = report.first_screen(FILES, ScreenOptions { width: columns, colour: false });
            assert!(text.contains("Measured: median"), "{text}");
            assert_eq!(text.matches(&number).count(), 1, "{number}: {text}");
            in_table += usize::from(text.contains("95% CI"));
        }
        assert!((1..14).contains(&in_table), "some widths have room for the column, some not: {in_table}");
    }
}
