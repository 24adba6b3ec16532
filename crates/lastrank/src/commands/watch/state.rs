//! The state file: keeps the monitor and the position in the stream between two calls.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tail::alarm::{AlarmOptions, BaselineWarning, Watch};

use super::baseline::Healthy;
use crate::exit::BrokenInput;

/// The schema of the state file.
const SCHEMA: &str = "lastrank.watch-state/1";

/// No state is longer: it has a name for each run file that was read, and a thousand values.
const LONGEST: u64 = 256 << 20;

/// The content of the state file.
#[derive(Serialize, Deserialize)]
pub struct State {
    schema: String,
    /// Which baseline the monitor was made from.
    pub baseline: Origin,
    /// What was asked for.
    pub options: AlarmOptions,
    /// Whether the threshold is the guaranteed one.
    pub guaranteed: bool,
    /// How far the stream was read.
    pub position: Position,
    /// What happened since the beginning.
    pub counts: Counts,
    /// The monitor.
    pub watch: Watch,
    /// What was seen lately, for the metrics.
    #[serde(default)]
    pub recent: Recent,
}

/// Values that the metrics are of.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Recent {
    /// The newest values, the oldest first.
    pub values: VecDeque<f64>,
    /// Sum of all values so far.
    pub sum: f64,
    /// Quantiles of the last run file: probability, seconds.
    pub run: Vec<(f64, f64)>,
}

/// Values whose quantiles are among the metrics.
const KEPT: usize = 1_000;

impl Recent {
    /// Takes a value.
    pub fn push(&mut self, value: f64) {
        self.sum += value;
        self.values.push_back(value);
        if self.values.len() > KEPT {
            self.values.pop_front();
        }
    }

    /// Takes the operations of a run file.
    pub fn look_at_run(&mut self, values: &[f64]) {
        let (_, intervals) = results::of_values(values);
        self.run = intervals.iter().map(|one| (one.probability, one.seconds)).collect();
    }

    /// Quantiles of the newest values, as far as they reach.
    pub fn quantiles(&self) -> Vec<(f64, f64)> {
        let values: Vec<f64> = self.values.iter().copied().collect();
        results::of_values(&values).1.iter().map(|one| (one.probability, one.seconds)).collect()
    }
}

/// Where a monitor comes from.
#[derive(Clone, Serialize, Deserialize)]
pub struct Origin {
    /// File and what of it.
    pub name: String,
    /// Of the values.
    pub fingerprint: String,
}

/// How far a file or a directory was read; standard input is always new.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// The file or directory.
    pub stream: String,
    /// Its first characters, by which a text is known again.
    pub head: String,
    /// Bytes of a text that were read, whole lines only.
    pub bytes: u64,
    /// Lines of it.
    pub lines: u64,
    /// When the run began whose values were read.
    pub run: String,
    /// Values of a run.
    pub values: u64,
    /// Run files of a directory.
    pub files: BTreeSet<String>,
}

/// Events so far.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Counts {
    pub spikes: u64,
    pub slow: u64,
    pub fast: u64,
    pub recovered: u64,
    pub rebaselined: u64,
    /// Lines or files that could not be read.
    pub bad: u64,
}

impl State {
    /// A state at the beginning.
    pub fn new(quiet: &Healthy, guaranteed: bool, watch: Watch) -> State {
        State {
            schema: SCHEMA.into(),
            baseline: Origin { name: quiet.values.name.clone(), fingerprint: quiet.fingerprint.clone() },
            options: quiet.options,
            guaranteed,
            position: Position::default(),
            counts: Counts::default(),
            watch,
            recent: Recent::default(),
        }
    }

    /// The state in the file `path`; none where there is no such file yet.
    pub fn load(path: &Path, quiet: &Healthy, guaranteed: bool) -> anyhow::Result<Option<State>> {
        let anew = "remove it to start again";
        let bytes = match store::read_ordinary(path, LONGEST) {
            Err(store::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(store::Error::Special { .. }) => {
                bail!("{} is not an ordinary file; name one with `--state FILE`", path.display())
            }
            Err(error @ store::Error::Long { .. }) => bail!("{error}; {anew}"),
            bytes => bytes.with_context(|| format!("cannot read the state {}", path.display()))?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let broken = |what: String| BrokenInput(format!("{}: {what}; {anew}", path.display()));
        let schema = serde_json::from_str::<serde_json::Value>(&text)
            .map_err(|error| broken(format!("no state of lastrank watch ({error})")))?
            .get("schema")
            .and_then(|schema| schema.as_str().map(String::from))
            .unwrap_or_default();
        if schema != SCHEMA {
            bail!(broken(format!("no state that this version can go on with (schema `{schema}`)")));
        }
        let state: State =
            serde_json::from_str(&text).map_err(|error| broken(format!("a damaged state ({error})")))?;
        if state.baseline.fingerprint != quiet.fingerprint {
            let (then, now) = (&state.baseline.name, &quiet.values.name);
            let other = match then == now {
                true => format!("other values of {then}, or these with another --unit"),
                false => format!("another baseline ({then})"),
            };
            bail!("{} was made from {other}; {anew}", path.display());
        }
        if state.watch.baseline.warnings.contains(&BaselineWarning::LevelMoved) {
            bail!(
                "{} was made by an earlier version from a baseline whose level moves, for which no rate of false \
                 alarms holds: measure a steady one and {anew}",
                path.display()
            );
        }
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        let (then, now) = (&state.options, &quiet.options);
        if !(same(then.false_alarms, now.false_alarms)
            && same(then.run_length, now.run_length)
            && same(then.factor, now.factor)
            && then.rebaseline == now.rebaseline
            && then.seed == now.seed
            && state.guaranteed == guaranteed)
        {
            bail!(
                "{} was made with other options (rate {}, run length {}, shift {}, rebaseline {}, seed {}{}); {anew}",
                path.display(),
                then.false_alarms,
                then.run_length,
                then.factor,
                then.rebaseline,
                then.seed,
                if state.guaranteed { ", guaranteed" } else { "" }
            );
        }
        Ok(Some(state))
    }

    /// Replaces the file, which holds what was `saved` last, or nothing; gives what it holds now.
    pub fn save(&self, path: &Path, saved: Option<&str>) -> anyhow::Result<String> {
        let there = store::read_ordinary(path, LONGEST).ok();
        // Without a file somebody wants to begin again.
        if there.zip(saved).is_some_and(|(there, saved)| there != saved.as_bytes()) {
            bail!(BrokenInput(format!(
                "{} was changed since this `watch` wrote it: another one uses it, and its values would be lost; give each a \
                 --state of its own",
                path.display()
            )));
        }
        let text = serde_json::to_string(self)?;
        store::replace(path, text.as_bytes())
            .with_context(|| format!("cannot write the state {}", path.display()))?;
        Ok(text)
    }
}
