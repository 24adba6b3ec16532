//! Several runs phase by phase: the table of the paper of 2010, its calls by percentage, and bars of what was moved.

use results::{OperationOfRun, PhasesOfRuns};
use samples::units;
use serde::Serialize;
use serde_json::json;

use crate::answers::mib;
use crate::figures::{Figure, Numbers, draw};
use crate::number::{bandwidth, time};
use crate::screen::number::unit_of_rates;
use crate::unit::significant;
use crate::{Chapter, Table};

/// Operations that the figure of shares tells apart; the others are one.
const MOST_SHARES: usize = 12;

/// Largest rate by the smallest from which on their axis is logarithmic.
const MOST_LINEAR: f64 = 20.0;

/// Several runs, phase by phase.
pub struct SideBySide<'a> {
    /// Names of the runs: their files.
    pub files: Vec<&'a str>,
    /// What sets each run apart: its tags and settings; empty where nothing does.
    pub settings: Vec<String>,
    /// What they did.
    pub found: &'a PhasesOfRuns,
}

/// An operation of a phase with what it came to in each run.
struct OperationLine<'a> {
    phase: &'a str,
    operation: &'a str,
    runs: &'a [Option<OperationOfRun>],
}

impl OperationLine<'_> {
    fn name(&self) -> String {
        match self.phase.is_empty() {
            true => self.operation.to_owned(),
            false => format!("{} / {}", self.phase, self.operation),
        }
    }
}

/// Numbers of the figure of shares.
#[derive(Clone, Debug, Serialize)]
pub struct SharesOfRuns {
    /// The runs.
    pub runs: Vec<String>,
    /// The operations.
    pub operations: Vec<String>,
    /// Of each operation in each run the share of all calls, 0 to 1.
    pub calls: Vec<Vec<f64>>,
    /// Of each operation in each run the share of the summed time, 0 to 1.
    pub time: Vec<Vec<f64>>,
}

/// Numbers of the figure of rates.
#[derive(Clone, Debug, Serialize)]
pub struct RatesOfRuns {
    /// The runs.
    pub runs: Vec<String>,
    /// What moved bytes, and `complete`.
    pub parts: Vec<String>,
    /// Bytes a second of each part in each run.
    pub bytes_per_second: Vec<Vec<Option<f64>>>,
}

impl SideBySide<'_> {
    /// A run as figures and tables name it: by what sets it apart, else by its file.
    fn name(&self, run: usize) -> String {
        let settings = &self.settings[run];
        let is_alone = self.settings.iter().filter(|other| *other == settings).count() == 1;
        if settings.is_empty() || !is_alone { self.files[run].to_owned() } else { settings.clone() }
    }

    fn names(&self) -> Vec<String> {
        (0..self.files.len()).map(|run| self.name(run)).collect()
    }

    fn lines(&self) -> Vec<OperationLine<'_>> {
        let mut lines = Vec::new();
        for phase in &self.found.phases {
            lines.extend(phase.operations.iter().map(|one| OperationLine {
                phase: &phase.phase,
                operation: &one.operation,
                runs: &one.runs,
            }));
        }
        lines
    }

    /// One sentence on how long the timed phases of each run took, or on how long its operations did.
    pub fn answer(&self) -> String {
        let of = |run: usize| {
            let name = self.name(run);
            match &self.found.complete[run] {
                Some(whole) => {
                    let rate = whole
                        .bytes_per_second
                        .map_or(String::new(), |rate| format!(" ({})", bandwidth(rate)));
                    format!("{name} {}{rate}", time(whole.seconds))
                }
                None => format!("{name} –"),
            }
        };
        match self.found.complete.iter().any(Option::is_some) {
            true => format!("All phases: {}.", (0..self.files.len()).map(of).collect::<Vec<_>>().join("; ")),
            false => {
                "No phase was timed: label the parts of the program with time[\"NAME\"] { … }.".to_owned()
            }
        }
    }

    /// Quantity, average, minimum, maximum and rate of each operation of each phase in each run.
    pub fn table(&self) -> Table {
        let mut table = Table::new(
            "Operations of each phase, run by run",
            &["<phase", "<operation", "<run", "quantity", "avg ms", "min ms", "max ms", "MiB/s"],
        );
        let names = self.names();
        let ms = |seconds: Option<f64>| seconds.map_or("–".into(), |seconds| significant(1e3 * seconds, 3));
        for phase in &self.found.phases {
            let mut label = phase.phase.as_str();
            for one in &phase.operations {
                let mut operation = one.operation.as_str();
                for (name, run) in names.iter().zip(&one.runs) {
                    let Some(run) = run else { continue };
                    let failed = match run.errors {
                        0 => String::new(),
                        errors => format!(" ({} failed)", units::count(errors)),
                    };
                    table.push(
                        false,
                        [
                            std::mem::take(&mut label).to_owned(),
                            std::mem::take(&mut operation).to_owned(),
                            name.clone(),
                            format!("{}{failed}", units::count(run.quantity)),
                            ms(run.avg_seconds),
                            ms(run.min_seconds),
                            ms(run.max_seconds),
                            mib(run.bytes_per_second),
                        ],
                    );
                }
            }
            self.whole(&mut table, "the phase", &phase.runs);
        }
        if self.found.phases.len() > 1 {
            self.whole(&mut table, "complete", &self.found.complete);
        }
        table.note = "A rate of an operation is over the time in which one was under way on any rank; of a phase, over the \
                      time in which any rank was inside."
            .into();
        table
    }

    fn whole(&self, table: &mut Table, name: &str, runs: &[Option<results::Moved>]) {
        let mut title = name;
        for (run, whole) in runs.iter().enumerate() {
            let Some(whole) = whole else { continue };
            let cells = [
                String::new(),
                std::mem::take(&mut title).to_owned(),
                self.name(run),
                units::count(whole.quantity),
                "–".into(),
                "–".into(),
                "–".into(),
                mib(whole.bytes_per_second),
            ];
            table.push(true, cells);
        }
    }

    /// Share of calls and of time of each operation in each run.
    pub fn shares(&self) -> Table {
        let columns: Vec<String> =
            self.names().iter().flat_map(|name| [format!("{name}: calls"), "time".into()]).collect();
        let heads = ["<phase", "<operation"].into_iter().chain(columns.iter().map(String::as_str));
        let mut table = Table::new("Calls and time, in % of all phases", &heads.collect::<Vec<_>>());
        for phase in &self.found.phases {
            let mut label = phase.phase.as_str();
            for one in &phase.operations {
                let percent = |share: f64| significant(100.0 * share, 3);
                let cells = one.runs.iter().flat_map(|run| match run {
                    Some(run) => [percent(run.share_of_calls), percent(run.share_of_time)],
                    None => ["–".to_owned(), "–".to_owned()],
                });
                let named = [std::mem::take(&mut label).to_owned(), one.operation.clone()];
                table.push(false, named.into_iter().chain(cells));
            }
        }
        table.note = "Time: the summed time of the operations of all ranks.".into();
        table
    }

    /// The answer and both tables.
    pub fn text(&self) -> String {
        format!(
            "{}\n{}\n{}",
            crate::text::sentence("", &self.answer()),
            self.table().text(),
            self.shares().text()
        )
    }

    /// The chapter of a page.
    pub fn chapter(&self) -> Chapter {
        let lead = "Each operation of each phase with its quantity, times and rate, run by run.";
        let mut chapter = Chapter::new("phases", "Phase by phase", lead)
            .with(self.figure_of_rates(), [self.table(), self.shares()]);
        chapter.figures.extend(self.figure_of_shares());
        chapter
    }

    /// Bars of calls by percentage beside time by percentage, a bar a run.
    fn figure_of_shares(&self) -> Option<Figure> {
        let mut lines = self.lines();
        if lines.is_empty() {
            return None;
        }
        let share = |line: &OperationLine, pick: fn(&OperationOfRun) -> f64| -> Vec<f64> {
            line.runs.iter().map(|run| run.as_ref().map_or(0.0, pick)).collect()
        };
        let most = |line: &OperationLine| {
            let of = |run: &OperationOfRun| run.share_of_calls.max(run.share_of_time);
            line.runs.iter().flatten().map(of).fold(0.0, f64::max)
        };
        lines.sort_by(|a, b| most(b).total_cmp(&most(a)));
        let names = self.names();
        let mut operations: Vec<String> = lines.iter().take(MOST_SHARES).map(OperationLine::name).collect();
        let of = |pick: fn(&OperationOfRun) -> f64| -> Vec<Vec<f64>> {
            let mut shares: Vec<Vec<f64>> = lines.iter().map(|line| share(line, pick)).collect();
            if shares.len() > MOST_SHARES {
                let rest = shares.split_off(MOST_SHARES);
                let sum = |run: usize| rest.iter().map(|one| one[run]).sum();
                shares.push((0..names.len()).map(sum).collect());
            }
            shares
        };
        let (calls, time) = (of(|run| run.share_of_calls), of(|run| run.share_of_time));
        if lines.len() > MOST_SHARES {
            operations.push("the other operations".into());
        }
        let bars: Vec<String> =
            names.iter().flat_map(|name| [format!("{name}: calls"), format!("{name}: time")]).collect();
        let traces = operations.iter().zip(calls.iter().zip(&time)).map(|(operation, (calls, time))| {
            let shares: Vec<f64> =
                calls.iter().zip(time).flat_map(|(calls, time)| [100.0 * calls, 100.0 * time]).collect();
            json!({
                "type": "bar", "orientation": "h", "name": operation, "y": bars, "x": shares,
                "hovertemplate": "%{y}: %{x:.1f}%<extra>%{fullData.name}</extra>",
            })
        });
        let traces = traces.collect();
        let title = "Calls and time by percentage".to_owned();
        let x = draw::axis_with("% of all phases of the run", json!({"range": [0, 100]}));
        let y = draw::axis_with("", json!({"type": "category", "autorange": "reversed", "automargin": true}));
        let mut plot = draw::figure(&title, traces, x, y);
        plot["layout"]["barmode"] = json!("stack");
        let numbers = SharesOfRuns { runs: names, operations, calls, time };
        Some(Figure {
            id: "shares".into(),
            caption: "Share of each operation in the number of calls and in their summed time, of all phases of a run."
                .into(),
            alternative: self.answer(),
            wide: true,
            plot,
            title,
            numbers: Numbers::new("shares", numbers),
        })
    }

    /// Bars of the rates of all that moves bytes, and of the complete run.
    fn figure_of_rates(&self) -> Option<Figure> {
        let moved =
            |line: &OperationLine| line.runs.iter().flatten().any(|run| run.bytes_per_second.is_some());
        let rate = |run: &Option<OperationOfRun>| run.as_ref()?.bytes_per_second;
        let complete = |run: &Option<results::Moved>| run.as_ref()?.bytes_per_second;
        let mut parts: Vec<(String, Vec<Option<f64>>)> = self
            .lines()
            .into_iter()
            .filter(moved)
            .map(|line| (line.name(), line.runs.iter().map(rate).collect()))
            .collect();
        let whole: Vec<Option<f64>> = self.found.complete.iter().map(complete).collect();
        if whole.iter().any(Option::is_some) {
            parts.push(("complete".into(), whole));
        }
        let largest = parts.iter().flat_map(|(_, rates)| rates).flatten().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return None;
        }
        let smallest = parts.iter().flat_map(|(_, rates)| rates).flatten().copied().fold(largest, f64::min);
        // Reads from the page cache would leave the other bars without a height.
        let scale = match smallest > 0.0 && largest > MOST_LINEAR * smallest {
            true => json!({"type": "log"}),
            false => json!({"rangemode": "tozero"}),
        };
        let (unit, factor) = unit_of_rates(largest);
        let names = self.names();
        let traces = parts.iter().map(|(name, rates)| {
            let shown: Vec<Option<f64>> = rates.iter().map(|rate| rate.map(|rate| rate / factor)).collect();
            json!({
                "type": "bar", "name": name, "x": names, "y": shown,
                "hovertemplate": format!("%{{x}}: %{{y:.4g}} {unit}<extra>%{{fullData.name}}</extra>"),
            })
        });
        let traces = traces.collect();
        let title = "What was moved in a second".to_owned();
        let x = draw::axis_with("", json!({"type": "category"}));
        let mut plot = draw::figure(&title, traces, x, draw::axis_with(unit, scale));
        plot["layout"]["barmode"] = json!("group");
        let numbers = RatesOfRuns {
            runs: names,
            parts: parts.iter().map(|(name, _)| name.clone()).collect(),
            bytes_per_second: parts.into_iter().map(|(_, rates)| rates).collect(),
        };
        Some(Figure {
            id: "rates".into(),
            caption: "Rates of the operations that move bytes, over the time in which one was under way, and of all timed \
                      phases together."
                .into(),
            alternative: self.answer(),
            wide: true,
            plot,
            title,
            numbers: Numbers::new("rates", numbers),
        })
    }
}
