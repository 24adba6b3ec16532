//! Several runs beside each other: a table row by row, a figure, a page, a first screen.

use results::{PhasesOfRuns, QuantileRatio, RowOfRun, RowOfRuns};
use samples::SiteKind;
use serde::Serialize;
use serde_json::{Value, json};

use crate::figures::{Figure, Numbers, draw};
use crate::page::Document;
use crate::screen::number::{three, time, times, unit_of_rates};
use crate::screen::{Cells, ScreenCanvas, ScreenOptions, Tone, ratio_text};
use crate::side_by_side::SideBySide;
use crate::text::sentence;
use crate::words::comparison::other_work_words;
use crate::words::unsound::{self, Unsound};
use crate::{Chapter, Table};

/// Lines of a first screen.
const MOST_LINES: usize = 24;

/// Operations that the figure shows.
const MOST_DRAWN: usize = 4;

/// A run beside itself.
const ITSELF: QuantileRatio = QuantileRatio { value: 1.0, lower: Some(1.0), upper: Some(1.0) };

/// Schema of [`SeveralRuns`] as JSON.
pub const SCHEMA: &str = "lastrank.compare-runs/1";

/// One of the runs.
#[derive(Clone, Debug, Serialize)]
pub struct NamedRun {
    /// Its file.
    pub file: String,
    /// UTC start.
    pub started: String,
    /// The machine.
    pub host: Option<String>,
    /// The program.
    pub program: String,
    /// Number of ranks.
    pub ranks: u32,
    /// What sets it apart from the others, in words: its tags, else settings; empty where nothing does.
    pub settings: String,
}

/// Several runs, row by row.
#[derive(Clone, Debug, Serialize)]
pub struct SeveralRuns {
    /// In the order in which they were named.
    pub runs: Vec<NamedRun>,
    /// Those that take the most time first; each has an entry a run.
    pub rows: Vec<RowOfRuns>,
    /// Phase by phase, each run beside the others.
    #[serde(flatten)]
    pub by_phase: PhasesOfRuns,
    /// What makes the comparison less trustworthy.
    pub warnings: Vec<String>,
    /// Those whose times are not those of the work that they were to do.
    pub unsound: Vec<Unsound>,
}

/// The ratios that the figure shows.
#[derive(Clone, Debug, Serialize)]
pub struct RatiosOfRuns {
    /// The runs.
    pub runs: Vec<String>,
    /// The operations.
    pub operations: Vec<String>,
    /// For each operation and run the ratio of its median to that of the first run that has it.
    pub p50: Vec<Vec<Option<QuantileRatio>>>,
    /// The same of the 99% quantile.
    pub p99: Vec<Vec<Option<QuantileRatio>>>,
}

/// An operation of a run beside the first run that has it.
struct Changed<'a> {
    name: &'a str,
    run: usize,
    first: usize,
    p50: QuantileRatio,
}

impl SeveralRuns {
    /// As JSON, schema `lastrank.compare-runs/1`.
    pub fn json(&self) -> Value {
        let mut object = serde_json::to_value(self).unwrap_or_default();
        object["schema"] = json!(SCHEMA);
        object
    }

    fn operations(&self) -> impl Iterator<Item = &RowOfRuns> {
        self.rows.iter().filter(|row| row.kind == SiteKind::Operation)
    }

    /// The largest change in each direction over all operations and runs, each only where it is shown among so many.
    fn answer(&self) -> String {
        let n = self.runs.len();
        let all: Vec<Changed> = self
            .operations()
            .flat_map(|row| {
                let first = row.runs.iter().position(Option::is_some);
                let against = |run: &RowOfRun| {
                    run.against_first.as_ref().filter(|one| one.other_work.is_empty()).map(|one| one.p50)
                };
                let of = move |(at, run): (usize, &Option<RowOfRun>)| {
                    Some(Changed { name: &row.name, run: at, first: first?, p50: against(run.as_ref()?)? })
                };
                row.runs.iter().enumerate().filter_map(of)
            })
            .collect();
        // Rows of other work are in the table, and no change.
        let is_other =
            |run: &RowOfRun| run.against_first.as_ref().is_some_and(|one| !one.other_work.is_empty());
        let other =
            self.operations().flat_map(|row| row.runs.iter().flatten()).filter(|run| is_other(run)).count();
        let left_out = match other {
            0 => String::new(),
            1 => " 1 pair is not the same work, and not judged.".to_owned(),
            other => format!(" {other} pairs are not the same work, and not judged."),
        };
        if all.is_empty() && other == 0 {
            return format!("{n} runs that have no operation in common.");
        }
        if all.is_empty() {
            return format!("{n} runs:{left_out}");
        }
        let shown = || all.iter().filter(|one| one.p50.is_shown_among(all.len()));
        let by = |a: &&Changed, b: &&Changed| a.p50.value.total_cmp(&b.p50.value);
        let slower = shown().filter(|one| one.p50.value > 1.0).max_by(by);
        let faster = shown().filter(|one| one.p50.value < 1.0).min_by(by);
        let parts: Vec<String> = [slower, faster]
            .into_iter()
            .flatten()
            .map(|one| {
                let [run, first] = [one.run, one.first].map(|at| &self.runs[at].file);
                format!("{} in {run}, {}{}, against {first}", one.name, times(one.p50.value), ends(&one.p50))
            })
            .collect();
        match parts.is_empty() {
            true => {
                format!(
                    "{n} runs, by the medians of {} pairs: none differs by more than chance.{left_out}",
                    all.len()
                )
            }
            false => format!("{n} runs. Largest changes of a median: {}.{left_out}", parts.join("; ")),
        }
    }

    /// The answer in at most 24 lines.
    pub fn screen(&self, options: ScreenOptions) -> String {
        let mut canvas = ScreenCanvas::new(options);
        match unsound::headline(&self.unsound) {
            Some(text) => {
                canvas.answered("✖", Tone::Bad, &text, 4);
                canvas.said("", Tone::Faint, &format!("Measured all the same: {}", self.answer()), 3);
            }
            None => canvas.said("", Tone::Strong, &self.answer(), 3),
        }
        let of_unsound = |text: &&String| self.unsound.iter().any(|one| text.starts_with(&one.run));
        for warning in self.warnings.iter().filter(|text| !of_unsound(text)).take(3) {
            canvas.said("⚠", Tone::Caution, warning, 2);
        }
        let mut left = 0;
        let needed = |row: &RowOfRuns| 3 + row.runs.iter().flatten().count();
        for row in self.operations() {
            if left > 0 || (canvas.height() + needed(row) > MOST_LINES - 2 && canvas.height() > 6) {
                left += 1;
                continue;
            }
            let rest = MOST_LINES.saturating_sub(canvas.height() + 5);
            canvas.line("");
            canvas.line(row.name.clone());
            let runs: Vec<(&NamedRun, &RowOfRun)> = self
                .runs
                .iter()
                .zip(&row.runs)
                .filter_map(|(run, found)| Some((run, found.as_ref()?)))
                .collect();
            let shown = &runs[..runs.len().min(rest)];
            let names: Vec<(bool, String)> = shown.iter().map(|(run, _)| (false, run.file.clone())).collect();
            let lines = crate::screen::laid_out(&names, cells(shown), canvas.width());
            lines.into_iter().for_each(|(_, line)| canvas.line(line));
            if runs.len() > shown.len() {
                canvas.line(format!("  and {} more runs", runs.len() - shown.len()));
            }
        }
        if left > 0 {
            canvas.line(format!("and {left} more operations with less of the time"));
        }
        canvas.line("All operations: -v; a page with a figure: -o FILE.html");
        canvas.text()
    }

    /// The answer and the table of all operations and runs.
    pub fn text(&self) -> String {
        let warnings = self.warnings.iter().map(|warning| sentence("warning: ", warning));
        let wrong = unsound::headline(&self.unsound).map(|text| sentence("✖ ", &text));
        let lead = if wrong.is_some() { "Measured all the same: " } else { "" };
        let head: String =
            wrong.into_iter().chain([sentence(lead, &self.answer())]).chain(warnings).collect();
        format!("{head}\n{}", self.table().text())
    }

    /// Phase by phase: quantity, average, minimum, maximum and rate of each operation, and its share of calls and of time.
    pub fn phases(&self) -> String {
        let warnings: String = self.warnings.iter().map(|warning| sentence("warning: ", warning)).collect();
        format!("{warnings}{}", self.side_by_side().text())
    }

    fn side_by_side(&self) -> SideBySide<'_> {
        SideBySide {
            files: self.runs.iter().map(|run| run.file.as_str()).collect(),
            settings: self.runs.iter().map(|run| run.settings.clone()).collect(),
            found: &self.by_phase,
        }
    }

    /// One table of all operations and runs.
    pub fn table(&self) -> Table {
        let rates = self.operations().flat_map(|row| row.runs.iter().flatten());
        let (unit, factor) = unit_of_rates(rates.filter_map(|run| run.bytes_per_second).fold(0.0, f64::max));
        let columns =
            ["<operation", "<run", "/s", unit, "p50", "to the first (95%)", "p99", "to the first (95%)", "<"];
        let mut table = Table::new("All operations of all runs", &columns);
        for row in self.operations() {
            let mut name = row.name.as_str();
            for (run, found) in self.runs.iter().zip(&row.runs) {
                let Some(found) = found else { continue };
                let against = found.against_first.as_ref();
                let slower = against.is_some_and(|one| one.p50.is_shown());
                let mut note: Vec<&str> = against
                    .iter()
                    .flat_map(|one| &one.other_work)
                    .map(|what| other_work_words(*what))
                    .collect();
                if found.errors > 0 {
                    note.push("with errors");
                }
                table.push(
                    slower,
                    [
                        std::mem::take(&mut name).to_owned(),
                        run.file.clone(),
                        found.operations_per_second.map_or("–".into(), three),
                        found.bytes_per_second.map_or("–".into(), |rate| three(rate / factor)),
                        time(found.p50_seconds),
                        against.map_or(String::new(), |one| ratio_text(&one.p50)),
                        found.p99_seconds.map_or("–".into(), time),
                        against.and_then(|one| one.p99.as_ref()).map_or(String::new(), ratio_text),
                        note.join(", "),
                    ],
                );
            }
        }
        table.note =
            "Each run stands against the first that has the operation. Intervals need no distribution and allow for \
                      slow operations that come together; strong: the interval of the median leaves 1 out."
                .into();
        table
    }

    /// The page: answer, figure, table.
    pub fn html(&self) -> String {
        let chapter = Chapter::new(
            "runs",
            "Run by run",
            "Medians and 99% quantiles of each operation, as multiples of those of the first run.",
        )
        .with(self.figure(), [self.table(), self.list()]);
        let place = self.runs.iter().map(|run| format!("{}: {}", run.file, run.started)).collect();
        let warnings: Vec<samples::Warning> = self
            .warnings
            .iter()
            .map(|text| samples::Warning { text: text.clone(), ..samples::Warning::default() })
            .collect();
        Document {
            title: "Runs compared",
            kicker: "Comparison of several runs".into(),
            place,
            answer: Some(match unsound::headline(&self.unsound) {
                Some(wrong) => format!("{wrong} Measured all the same: {}", self.answer()),
                None => self.answer(),
            }),
            warnings: &warnings,
            verdict: None,
            tiles: Vec::new(),
            chapters: &[chapter, self.side_by_side().chapter()],
            facts: None,
            details: false,
            timed_lines: &[],
            version: None,
        }
        .html()
    }

    fn list(&self) -> Table {
        let mut table = Table::new("The runs", &["<file", "<started", "<host", "<program", "ranks"]);
        for run in &self.runs {
            let host = run.host.clone().unwrap_or_default();
            let ranks = run.ranks.to_string();
            table.push(false, [run.file.clone(), run.started.clone(), host, run.program.clone(), ranks]);
        }
        table
    }

    fn figure(&self) -> Option<Figure> {
        const COLOURS: [&str; MOST_DRAWN] = [draw::DATA, draw::DISTRIBUTION, draw::SECOND, draw::OTHER];
        let rows: Vec<&RowOfRuns> =
            self.operations().filter(|row| row.runs.iter().flatten().count() > 1).take(MOST_DRAWN).collect();
        if rows.is_empty() {
            return None;
        }
        let of =
            |row: &RowOfRuns, value: fn(&RowOfRun) -> Option<QuantileRatio>| -> Vec<Option<QuantileRatio>> {
                row.runs.iter().map(|run| value(run.as_ref()?)).collect()
            };
        let p50 = |run: &RowOfRun| Some(run.against_first.as_ref().map_or(ITSELF, |found| found.p50));
        let p99 = |run: &RowOfRun| run.against_first.as_ref().map_or(Some(ITSELF), |found| found.p99);
        let names: Vec<&str> = self.runs.iter().map(|run| run.file.as_str()).collect();
        let mut traces = Vec::new();
        for (row, colour) in rows.iter().zip(COLOURS) {
            traces.push(drawn(&format!("{}, p50", row.name), &names, &of(row, p50), (colour, "circle")));
            traces.push(drawn(
                &format!("{}, p99", row.name),
                &names,
                &of(row, p99),
                (colour, "diamond-open"),
            ));
        }
        let numbers = RatiosOfRuns {
            runs: names.iter().map(|name| (*name).to_owned()).collect(),
            operations: rows.iter().map(|row| row.name.clone()).collect(),
            p50: rows.iter().map(|row| of(row, p50)).collect(),
            p99: rows.iter().map(|row| of(row, p99)).collect(),
        };
        let title = "Times as long as in the first run".to_owned();
        let x = draw::axis_with("", json!({"type": "category"}));
        let y = draw::axis_with("times as long", json!({"type": "log", "dtick": "D2"}));
        Some(Figure {
            id: "runs".into(),
            caption: "Medians (filled) and 99% quantiles (open) of each operation with 95% intervals; 1 is the first \
                      run. An end that is open is not drawn."
                .into(),
            alternative: self.answer(),
            wide: true,
            plot: draw::figure(&title, traces, x, y),
            title,
            numbers: Numbers::new("runs", numbers),
        })
    }
}

/// ` (factor 1.22–1.27)`, on time; nothing where an end is open.
fn ends(ratio: &QuantileRatio) -> String {
    match (ratio.lower, ratio.upper) {
        (Some(lower), Some(upper)) => format!(" (factor {}–{})", three(lower), three(upper)),
        (Some(_) | None, Some(_) | None) => String::new(),
    }
}

fn drawn(
    name: &str,
    runs: &[&str],
    found: &[Option<QuantileRatio>],
    (colour, symbol): (&str, &str),
) -> Value {
    let value = |pick: fn(&QuantileRatio) -> f64| -> Vec<Option<f64>> {
        found.iter().map(|one| one.as_ref().map(pick)).collect()
    };
    json!({
        "type": "scatter", "mode": "lines+markers", "name": name, "x": runs,
        "y": value(|one| one.value),
        "error_y": {
            "type": "data", "symmetric": false, "thickness": 1.2,
            "array": value(|one| one.upper.map_or(0.0, |upper| upper - one.value)),
            "arrayminus": value(|one| one.lower.map_or(0.0, |lower| one.value - lower)),
        },
        "line": {"color": colour, "width": 1.25, "dash": "dot"},
        "marker": {"color": colour, "size": 8, "symbol": symbol},
        "hovertemplate": "%{x}: %{y:.3f}<extra></extra>",
    })
}

/// Columns of one operation on a screen.
fn cells(runs: &[(&NamedRun, &RowOfRun)]) -> Vec<Cells> {
    let column = |name: &str, spare: u8, cell: &dyn Fn(&RowOfRun) -> String| {
        Cells::new(name, spare, runs.iter().map(|(_, run)| cell(run)).collect())
    };
    let dash = || "–".to_owned();
    let largest = runs.iter().filter_map(|(_, run)| run.bytes_per_second).fold(0.0, f64::max);
    let (unit, factor) = unit_of_rates(largest);
    let against = |run: &RowOfRun| run.against_first.clone();
    let mut all = vec![
        column("/s", 3, &|run| run.operations_per_second.map_or_else(dash, three)),
        column(unit, 2, &|run| run.bytes_per_second.map_or_else(dash, |rate| three(rate / factor))),
        column("p50", 0, &|run| time(run.p50_seconds)),
        column("× (95%)", 0, &|run| against(run).map_or_else(|| "1".into(), |one| ratio_text(&one.p50))),
        column("p99", 1, &|run| run.p99_seconds.map_or_else(dash, time)),
        column("× (95%)", 1, &|run| match against(run) {
            None => "1".into(),
            Some(one) => one.p99.map_or_else(dash, |p99| ratio_text(&p99)),
        }),
    ];
    if largest == 0.0 {
        all.remove(1);
    }
    all
}
