//! Passes values to the monitor, prints its events, and writes the state and metrics files.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use report::words::unsound::{Unsound, headline};
use report::{AnswerSign, Unit, answer_line, significant};
use samples::JudgementKind;
use serde_json::{Value, json};
use tail::alarm::{Event, Level, Watch};

use super::baseline::{self, Healthy};
use super::prometheus::Metrics;
use super::state::{Position, State};
use crate::cli::WatchArgs;
use crate::exit::{self, BrokenInput, Status};
use crate::output;

/// The schema of each line under `--json`.
const SCHEMA: &str = "lastrank.watch-event/1";

/// Bad lines that are named; further ones are counted.
const NAMED: u64 = 10;

/// A monitor at work.
pub struct Session<'a> {
    args: &'a WatchArgs,
    healthy: Healthy,
    state: State,
    unit: Unit,
    /// Values, alarms and bad lines of this call.
    values: u64,
    alarms: u64,
    bad: u64,
    /// Run files of this call whose times are not those of the work that they were to do.
    unsound: Vec<Unsound>,
    last: Option<f64>,
    header: Option<String>,
    saved: Instant,
    /// What the state file holds, once it was written.
    written: Option<String>,
    changed: bool,
    /// The stream has no end of its own.
    waits: bool,
    /// The stream is at its end: only the sum is left to tell.
    ending: bool,
}

impl<'a> Session<'a> {
    /// Calibrates, or resumes from the state file; prints the rates of false alarms.
    /// `waits`: for values that are still to come.
    pub fn open(args: &'a WatchArgs, healthy: Healthy, waits: bool) -> anyhow::Result<Self> {
        let old = match &args.state {
            Some(path) => State::load(path, &healthy, args.guaranteed)?,
            None => None,
        };
        let resumed = old.is_some();
        let state = match old {
            Some(state) => state,
            None => State::new(&healthy, args.guaranteed, healthy.calibrate(args.guaranteed)?.watch()),
        };
        let unit = healthy.values.unit(state.watch.baseline.median());
        if args.prometheus.is_some() && !healthy.values.seconds {
            bail!("--prometheus wants seconds: say with --unit which unit the plain numbers are in");
        }
        let mut session = Session {
            args,
            healthy,
            state,
            unit,
            values: 0,
            alarms: 0,
            bad: 0,
            unsound: Vec::new(),
            last: None,
            header: None,
            saved: Instant::now(),
            written: None,
            changed: true,
            waits,
            ending: false,
        };
        // Find a directory that cannot be written before the first value, not after the last.
        session.save()?;
        session.greet(resumed)?;
        Ok(session)
    }

    fn greet(&mut self, resumed: bool) -> anyhow::Result<()> {
        let watch = &self.state.watch;
        if self.args.quiet {
            return Ok(());
        }
        let text = match resumed {
            true => format!(
                "Going on after {}; the level is {}.\n",
                amount(watch.runs, self.healthy.noun),
                level(watch.level)
            ),
            false => baseline::words(&self.healthy, &watch.baseline, self.unit, self.args.guaranteed),
        };
        if self.args.json {
            let event = if resumed { "resumed" } else { "baseline" };
            return self.line(json!({
                "event": event,
                "name": self.healthy.values.name,
                "seconds": self.healthy.values.seconds,
                "baseline": report::words::json(&watch.baseline)?,
                "warnings": self.healthy.values.warnings(),
                "text": text.split_whitespace().collect::<Vec<_>>().join(" "),
            }));
        }
        self.tell_text(&format!("{text}\n"))
    }

    /// The factor that brings a plain number of the stream into the unit of the baseline: it is in that of `--unit`, else in
    /// the one that the baseline's file names.
    fn factor(&self) -> f64 {
        match (self.args.choice.unit, self.healthy.values.seconds) {
            (Some(unit), true) => unit.seconds(),
            (None, true) => self.healthy.values.plain_unit.map_or(1.0, intake::Unit::seconds),
            _ => 1.0,
        }
    }

    /// Takes one number of a text, in its own unit or that of `--unit`, without either in that of the baseline.
    pub fn push_plain(&mut self, number: f64, unit: Option<intake::Unit>) -> anyhow::Result<()> {
        if let Some(unit) = unit {
            if !self.healthy.values.seconds {
                anyhow::bail!(
                    "{} is in {}; say with --unit which unit the numbers of {} are in",
                    self.stream(),
                    unit.symbol(),
                    self.healthy.values.name
                );
            }
            return self.push(number * unit.seconds());
        }
        let value = number * self.factor();
        let median = self.state.watch.baseline.median();
        if let (0, None, Some(unit)) = (self.values, self.args.choice.unit, self.healthy.values.plain_unit) {
            let stream = self.stream();
            self.note(&format!("{stream}: plain numbers, taken in {} as the baseline is", unit.symbol()));
        }
        let known = self.args.choice.unit.is_some() || !self.healthy.values.seconds;
        if !known && self.values == 0 && !(0.01..100.0).contains(&(value / median)) {
            self.note(&format!(
                "the first value is {} times the baseline's median: plain numbers are taken as {}, \
                 `--unit` says otherwise",
                significant(value / median, 3),
                self.healthy.values.plain_unit.map_or("seconds", intake::Unit::symbol)
            ));
        }
        self.push(value)
    }

    /// The baseline's values.
    pub fn healthy(&self) -> &Healthy {
        &self.healthy
    }

    /// How far the stream was read.
    pub fn position(&mut self) -> &mut Position {
        &mut self.state.position
    }

    /// The first line of a text was taken for its header.
    pub fn header(&mut self, line: &str) {
        self.header = Some(line.into());
    }

    /// Take one value, in the unit of the baseline.
    pub fn push(&mut self, value: f64) -> anyhow::Result<()> {
        self.values += 1;
        self.last = Some(value);
        self.state.recent.push(value);
        self.changed = true;
        let before = self.unit;
        for event in self.state.watch.push(value) {
            let counts = &mut self.state.counts;
            match &event {
                Event::Spike { .. } => (counts.spikes, self.alarms) = (counts.spikes + 1, self.alarms + 1),
                Event::Slow { .. } => (counts.slow, self.alarms) = (counts.slow + 1, self.alarms + 1),
                Event::Fast { .. } => counts.fast += 1,
                Event::Recovered { .. } => counts.recovered += 1,
                Event::Rebaselined { .. } => {
                    counts.rebaselined += 1;
                    let baseline = &mut self.state.watch.baseline;
                    if self.args.guaranteed {
                        baseline.guarantee();
                    }
                    self.unit = self.healthy.values.unit(baseline.median());
                }
            }
            self.tell(&event, before)?;
        }
        self.save_now_and_then()
    }

    fn tell(&mut self, event: &Event, unit: Unit) -> anyhow::Result<()> {
        let text = self.words(event, unit);
        if self.args.json {
            let mut line = serde_json::to_value(event)?;
            line["text"] = text.into();
            return self.line(line);
        }
        let stamp =
            if self.args.follow { format!("{}  ", samples::units::utc(now() as u64)) } else { String::new() };
        self.tell_text(&format!("{stamp}{text}\n"))
    }

    fn words(&self, event: &Event, unit: Unit) -> String {
        let noun = self.healthy.noun;
        let changed = |run: &u64, since: &u64, factor: &f64, what: &str| {
            let beside = match self.state.watch.baseline.median() > 0.0 {
                true => format!(", so far {} times the baseline's median", significant(*factor, 4)),
                // There is no ratio to zero.
                false => String::new(),
            };
            format!("{noun} {run}: {what} since {noun} {since}{beside}")
        };
        let apart = |value: f64, threshold: f64| unit.apart([value, threshold]);
        match event {
            Event::Spike { run, value, threshold, probability } => format!(
                "{noun} {run}: SPIKE {} (limit {}); at most one in {} healthy {noun}s is so slow",
                apart(*value, *threshold)[0],
                apart(*value, *threshold)[1],
                self.as_rare(*probability)
            ),
            Event::Slow { run, since, factor, .. } => changed(run, since, factor, "SLOW"),
            Event::Fast { run, since, factor, .. } => changed(run, since, factor, "fast"),
            Event::Recovered { run } => format!("{noun} {run}: back at the level of the baseline"),
            Event::Rebaselined { run, runs } => format!(
                "{noun} {run}: the last {runs} {noun}s are the baseline now, median {}; a spike is a {noun} above {}",
                self.unit.plain(self.state.watch.baseline.median()),
                self.unit.plain(self.state.watch.baseline.spike.value)
            ),
        }
    }

    /// Of how many healthy values at most one is a spike. The fitted distribution alone says far more of one beyond the
    /// limit than is known: its end is an estimate. What the limit keeps, with the error of the fit in it, is certain.
    fn as_rare(&self, probability: f64) -> String {
        let baseline = &self.state.watch.baseline;
        let probability = if baseline.counted.is_some() { probability } else { baseline.spike.false_alarms };
        samples::units::count((1.0 / probability).round() as u64)
    }

    /// One JSON line, with schema and time.
    fn line(&self, mut value: Value) -> anyhow::Result<()> {
        value["schema"] = SCHEMA.into();
        value["time"] = samples::units::utc(now() as u64).into();
        self.heard(output::json_line(&value))
    }

    fn tell_text(&self, text: &str) -> anyhow::Result<()> {
        self.heard(output::tell(text).map_err(Into::into))
    }

    /// Nobody reads what is told any more: an endless stream ends there, one that has an end is watched to it, since the exit
    /// status is still read.
    fn heard(&self, told: anyhow::Result<()>) -> anyhow::Result<()> {
        match told {
            Err(error) if exit::is_broken_pipe(&error) && (self.ending || !self.waits) => Ok(()),
            told => told,
        }
    }

    /// Count and name something that could not be read: line `line` of the stream, or a file.
    pub fn bad(&mut self, place: &str, what: &str) -> anyhow::Result<()> {
        self.bad += 1;
        self.state.counts.bad += 1;
        self.changed = true;
        if self.args.json {
            return self.line(json!({"event": "bad", "place": place, "text": what}));
        }
        match self.bad {
            ..=NAMED => eprintln!("warning: {place} {what}; passed over"),
            bad if bad == NAMED + 1 => eprintln!("warning: further bad lines are counted, not named"),
            _ => {}
        }
        Ok(())
    }

    /// A run file of a directory that cannot be read: it is named, and the watch is not well.
    pub fn corrupt(&mut self, file: &str, what: &str) -> anyhow::Result<()> {
        // The words of the error begin with the name.
        let what = what.strip_prefix(file).map_or(what, |rest| rest.trim_start_matches(':').trim_start());
        let (run, found) = (file.to_owned(), what.strip_prefix("is ").unwrap_or(what).to_owned());
        self.look_at_soundness(&[Unsound { run, found, status: 3, kind: JudgementKind::RankLost }])
    }

    /// A run file of the stream with what makes it unsound, once. Its values count, so that a slow one is not missed.
    pub fn look_at_soundness(&mut self, found: &[Unsound]) -> anyhow::Result<()> {
        let news: Vec<Unsound> = found.iter().filter(|one| !self.unsound.contains(one)).cloned().collect();
        for one in news {
            let text = headline(std::slice::from_ref(&one)).unwrap_or_default();
            match self.args.json {
                true => self.line(json!({
                    "event": "unsound",
                    "run_file": one.run,
                    "found": one.found,
                    "kind": one.kind,
                    "text": text,
                }))?,
                false => self.tell_text(&format!("✖ {text}\n"))?,
            }
            self.unsound.push(one);
        }
        Ok(())
    }

    /// Something a reader should know, on standard error.
    pub fn note(&self, text: &str) {
        eprintln!("note: {text}");
    }

    /// Takes the operations of a run file, whose quantiles are among the metrics.
    pub fn look_at_run(&mut self, values: &[f64]) {
        self.state.recent.look_at_run(values);
        self.changed = true;
    }

    /// The stream pauses: bring the state and metrics files up to date.
    pub fn pause(&mut self) -> anyhow::Result<()> {
        if self.changed { self.save() } else { Ok(()) }
    }

    fn save_now_and_then(&mut self) -> anyhow::Result<()> {
        if self.saved.elapsed().as_secs() >= 5 { self.save() } else { Ok(()) }
    }

    fn save(&mut self) -> anyhow::Result<()> {
        if let Some(path) = &self.args.state {
            self.written = Some(self.state.save(path, self.written.as_deref())?);
        }
        if let Some(path) = &self.args.prometheus {
            let name = |path: &Path| match path == Path::new("-") {
                true => "stdin".to_owned(),
                false => path.display().to_string(),
            };
            let metrics = Metrics {
                baseline: &name(&self.args.baseline),
                stream: &name(&self.args.stream),
                of: self.args.choice.label.as_deref(),
                watch: &self.state.watch,
                counts: &self.state.counts,
                last: self.last,
                recent: &self.state.recent,
                now: now(),
            };
            store::replace(path, metrics.text().as_bytes())
                .with_context(|| format!("cannot write the metrics {}", path.display()))?;
        }
        self.saved = Instant::now();
        self.changed = false;
        Ok(())
    }

    /// Saves the state after an error: the next call resumes there.
    pub fn keep(&mut self) {
        let _ = self.save();
    }

    /// Store, sum up, and give the exit status.
    pub fn finish(mut self) -> anyhow::Result<Status> {
        self.ending = true;
        self.save()?;
        if self.values == 0 && (self.bad > 0 || self.header.is_some()) {
            return Err(anyhow!(BrokenInput(match (self.bad, &self.header) {
                (0, Some(header)) => format!(
                    "{} holds no values: its only line `{}` is no number (it was taken for a header)",
                    self.stream(),
                    header.chars().take(60).flat_map(char::escape_debug).collect::<String>()
                ),
                _ => format!("nothing in {} could be used", self.stream()),
            })));
        }
        let watch = &self.state.watch;
        // A probe that died sends nothing: that is not quiet. One that goes on from a state may have nothing new.
        if self.values == 0 && watch.runs == 0 && self.unsound.is_empty() {
            return Err(anyhow!(BrokenInput(format!(
                "no value came from {}: nothing was watched",
                self.stream()
            ))));
        }
        let status = if self.alarms > 0 || watch.alarmed() { Status::No } else { Status::Ok };
        let status = status.unless(&self.unsound);
        if self.args.quiet {
            return Ok(status);
        }
        let counts = self.state.counts;
        if self.args.json {
            self.line(json!({
                "event": "end",
                "runs": watch.runs,
                "values": self.values,
                "bad": self.bad,
                "unsound": self.unsound,
                "alarms": self.alarms,
                "level": watch.level,
                "alarmed": watch.alarmed(),
                "counts": counts,
                "status": status as u8,
            }))?;
        } else {
            let mut parts = vec![amount(self.values, self.healthy.noun)];
            parts.push(match self.alarms {
                0 => "no alarm".into(),
                n => amount(n, "alarm"),
            });
            if self.bad > 0 {
                parts.push(format!("{} that could not be read", amount(self.bad, "line")));
            }
            if !self.unsound.is_empty() {
                parts.push(format!("{} not sound", amount(self.unsound.len() as u64, "run file")));
            }
            let sign = match (status, self.bad) {
                _ if !self.unsound.is_empty() => AnswerSign::Bad,
                (Status::Ok, 0) if self.values > 0 => AnswerSign::Good,
                _ => AnswerSign::Caution,
            };
            let text = match self.values {
                0 if self.alarms == 0 => {
                    format!("No value came from {}: nothing was watched.", self.stream())
                }
                _ => format!(
                    "{}; the level is {}.{}",
                    parts.join(", "),
                    level(watch.level),
                    beside(watch, self.healthy.noun)
                ),
            };
            self.heard(
                output::tell_screen(&answer_line(sign, &text, output::screen_options())).map_err(Into::into),
            )?;
        }
        Ok(status)
    }

    /// What the stream is called.
    pub fn stream(&self) -> String {
        match self.args.stream.as_os_str() {
            name if name == "-" => "standard input".into(),
            _ => self.args.stream.display().to_string(),
        }
    }

    /// Begins the stream again, since it is another file than the last time.
    pub fn restart(&mut self) {
        let stream = self.args.stream.display().to_string();
        self.state.position = Position { stream, files: BTreeSet::new(), ..Position::default() };
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Quiet => "that of the baseline",
        Level::Slow => "slow",
        Level::Fast => "fast",
    }
}

/// Fewest values whose median is told next to the baseline's.
const FEWEST_BESIDE: usize = 20;

/// What the end of a stream says next to its alarms: that only slower values are one, and how all values differ from the
/// baseline where the level did not change by the evidence of values as they came.
fn beside(watch: &Watch, noun: &str) -> String {
    let tuned = watch.baseline.options.factor;
    match (watch.level, watch.overall()) {
        (Level::Fast, _) => format!(" Only slower {noun}s are an alarm."),
        (Level::Quiet, Some((factor, runs)))
            if runs >= FEWEST_BESIDE && !(1.0 / tuned..=tuned).contains(&factor) =>
        {
            format!(
                " The median of the last {} is {} times the baseline's: `lastrank compare` says whether that is more than \
             chance.",
                amount(runs as u64, noun),
                significant(factor, 3)
            )
        }
        (Level::Quiet | Level::Slow, _) => String::new(),
    }
}

fn amount(count: u64, what: &str) -> String {
    format!("{} {what}{}", samples::units::count(count), if count == 1 { "" } else { "s" })
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
