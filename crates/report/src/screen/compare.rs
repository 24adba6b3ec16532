//! The first screen of a comparison: the figure to trust, its tail, row by row.

use results::{OtherWork, RowRatio, RowRatios};
use samples::SiteKind;
use tail::congestion::{Comparison, SeveralRuns};

use super::ScreenOptions;
use super::number::{three, time, unit_of_rates};
use super::paint::{Canvas, Tone, cut};
use crate::table::width;
use crate::words;
use crate::words::comparison::{Outcome, other_work_words, ratio};
use crate::words::unsound::Unsound;

/// What the two samples are called.
const SIDES: [&str; 2] = ["baseline", "new"];

/// Rows that a screen has room for.
const MOST_ROWS: usize = 8;

/// Warnings that a screen has room for.
const MOST_WARNINGS: usize = 3;

/// What the first screen of a comparison says.
pub struct CompareAnswer<'a> {
    /// The file of the baseline, and the new one.
    pub names: [&'a str; 2],
    /// Whether the values are seconds.
    pub seconds: bool,
    /// What was found.
    pub found: &'a Comparison,
    /// Of two runs: all rows beside each other.
    pub rows: Option<&'a RowRatios>,
    /// Whether a condition of the user failed.
    pub tripped: bool,
    /// In which settings two runs differ, each side in its own words; empty where they do not.
    pub unlike: &'a [String],
    /// Runs whose times are not those of the work that they were to do.
    pub unsound: &'a [Unsound],
    /// What makes it less trustworthy, a sentence each.
    pub warnings: &'a [String],
    /// Whether tables follow: then all rows and warnings are told.
    pub verbose: bool,
}

impl CompareAnswer<'_> {
    /// The answer in at most 24 lines; in as many as it takes where tables follow.
    pub fn screen(&self, options: ScreenOptions) -> String {
        let found = self.found;
        let mut canvas = Canvas::new(options);
        wrong(&mut canvas, self.unsound);
        if let [baseline, new] = self.unlike {
            let text = format!(
                "The runs were set unlike: baseline {baseline}; new {new}. Differences may come from that."
            );
            canvas.said("⚠", Tone::Caution, &text, 3);
        }
        let judged = (self.tripped, self.unsound);
        if let Some(text) = words::comparison::of_other_work(self.rows) {
            answer(&mut canvas, Outcome::Caution, judged, &format!("{text}."));
        } else {
            let tail = words::comparison::of_tail(found).map_or(String::new(), |p99| format!("; {p99}"));
            // Of numbers of a file nobody knows how many runs they are of.
            let is_alone = self.rows.is_some() && !found.identical;
            let alone = if is_alone { "; one run a side" } else { "" };
            let text = format!("{}{tail}{alone}.", words::comparison::headline(found));
            answer(&mut canvas, words::comparison::outcome(found), judged, &text);
            canvas.said(" ", Tone::Faint, &words::comparison::trusted(found), 2);
            let safe = words::comparison::until_safe_apart(self.rows, found);
            for text in words::comparison::medians_apart(found).into_iter().chain(safe) {
                canvas.said(" ", Tone::Strong, &text, 2);
            }
        }
        self.largest(&mut canvas);
        self.sides(&mut canvas);
        let (most, lines) = if self.verbose { (usize::MAX, usize::MAX) } else { (MOST_WARNINGS, 2) };
        for warning in self.warnings.iter().take(most) {
            canvas.said("⚠", Tone::Caution, warning, lines);
        }
        self.table(&mut canvas);
        for advice in words::comparison::advice(found) {
            canvas.said("→", Tone::Caution, &advice, lines);
        }
        if !self.verbose {
            canvas.line("All tables: -v");
        }
        canvas.text()
    }

    /// The two samples beside each other, and what is to be known of either.
    fn sides(&self, canvas: &mut Canvas) {
        let arms = [&self.found.baseline, &self.found.new];
        let shown = |value: f64| if self.seconds { time(value) } else { three(value) };
        let cells = arms.map(|arm| [samples::units::count(arm.n as u64), shown(arm.median)]);
        let widest =
            |at: usize, head: &str| cells.iter().map(|row| width(&row[at])).fold(width(head), usize::max);
        let [values, medians] = [widest(0, "values"), widest(1, "median")];
        canvas.line(format!("            {:>values$}  {:>medians$}", "values", "median"));
        for ((side, name), [count, median]) in SIDES.iter().zip(self.names).zip(&cells) {
            let row = format!("  {side:8}  {count:>values$}  {median:>medians$}  ");
            let room = canvas.width().saturating_sub(width(&row)).max(12);
            canvas.line(format!("{row}{}", cut(name, room)));
        }
        for (side, arm) in SIDES.iter().zip(arms) {
            if let Some(first) = arm.against.first() {
                canvas.said(
                    " ",
                    Tone::Faint,
                    &format!("{side}: {}", words::finding_in_short(first, "value")),
                    3,
                );
            }
        }
    }

    /// Of many operations those that changed most, where that is more than what the headline says.
    fn largest(&self, canvas: &mut Canvas) {
        let Some(rows) = self.rows.filter(|rows| rows.rows.len() > 1) else { return };
        let headline = self.found.headline();
        let subject = rows.of_subject();
        let is_known = |row: &RowRatio| {
            // The row of the headline itself.
            if subject.is_some_and(|subject| std::ptr::eq(subject, row)) {
                return true;
            }
            let (own, of_row) = (headline.value.ln(), row.p50.value.ln());
            !headline.interval.contains(1.0) && own * of_row > 0.0 && of_row.abs() <= own.abs()
        };
        let told = |row: Option<&RowRatio>, word: &str| {
            let row = row.filter(|row| !is_known(row))?;
            let like = |other: &&RowRatio| {
                let same_way = (other.p50.value > 1.0) == (row.p50.value > 1.0);
                same_way && !std::ptr::eq(*other, row) && !is_known(other)
            };
            let more = match rows.shown().filter(like).count() {
                0 => String::new(),
                others => format!(", and {others} more"),
            };
            Some(format!("{word} {}, p50 {}{more}", row.name, ratio(&row.p50)))
        };
        let [slower, faster] = rows.largest();
        let parts: Vec<String> =
            [told(slower, "slower"), told(faster, "faster")].into_iter().flatten().collect();
        if !parts.is_empty() {
            canvas.said(" ", Tone::Strong, &format!("Also: {}.", parts.join("; ")), 3);
        }
    }

    fn table(&self, canvas: &mut Canvas) {
        let Some(rows) = self.rows else { return };
        let every = || rows.rows.iter().filter(|row| row.kind == SiteKind::Operation);
        // Files made and removed, and what was done too seldom to compare, stand in the tables.
        let is_asked =
            |row: &&RowRatio| !row.is_aside && (row.p50.lower.is_some() || row.p50.upper.is_some());
        let mut operations: Vec<&RowRatio> = every().filter(is_asked).collect();
        if operations.is_empty() || self.verbose {
            operations = every().collect();
        }
        if operations.is_empty() {
            return;
        }
        let most = if self.verbose { operations.len() } else { MOST_ROWS };
        let shown = &operations[..operations.len().min(most)];
        let head = ["", SIDES[0], SIDES[1], "p50 ratio", "p99 ratio"].map(str::to_owned);
        let rated = rated(shown);
        let mut all = vec![head];
        for (at, row) in shown.iter().enumerate() {
            all.push(cells(row));
            if rated.contains(&at) {
                all.extend(rate_cells(row));
            }
        }
        let widths: [usize; 5] =
            std::array::from_fn(|at| all.iter().map(|row| width(&row[at])).max().unwrap_or(0));
        // Without room for all, the last column goes before a name is cut.
        let taken = |columns: usize| 2 + widths[1..columns].iter().map(|width| width + 2).sum::<usize>();
        let columns = if widths[0] + taken(5) > canvas.width() { 4 } else { 5 };
        let name = widths[0].min(canvas.width().saturating_sub(taken(columns))).max(6);
        canvas.line("");
        for row in &all {
            let first = cut(&row[0], name);
            let mut line = format!("  {first}{}", " ".repeat(name - width(&first)));
            for at in 1..columns {
                line += &" ".repeat(2 + widths[at] - width(&row[at]));
                line += &row[at];
            }
            let line = cut(line.trim_end(), canvas.width());
            canvas.line(line);
        }
        let footnote = "ratio: new over baseline, each quantile by itself, with its 95% interval";
        canvas.said(" ", Tone::Faint, footnote, 2);
        if rated.iter().any(|at| rate_says_otherwise(shown[*at])) {
            canvas.said(" ", Tone::Faint, RATE_SAYS_OTHERWISE, 2);
        }
        other_work(canvas, shown);
        let left = every().count() - shown.len();
        if left > 0 {
            let plural = if left == 1 { "" } else { "s" };
            canvas.line(format!("  and {left} more row{plural}: --json"));
        }
        for (names, where_from) in [(&rows.only_old, SIDES[0]), (&rows.only_new, SIDES[1])] {
            if !names.is_empty() {
                canvas.said(
                    " ",
                    Tone::Faint,
                    &format!("only in the {where_from} run: {}", names.join(", ")),
                    1,
                );
            }
        }
    }
}

/// What the mark behind a name means: one line for each kind of other work.
fn other_work(canvas: &mut Canvas, rows: &[&RowRatio]) {
    let mut kinds: Vec<&str> =
        rows.iter().flat_map(|row| row.other_work.iter().copied().map(other_work_words)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        let text = format!("{OTHER_WORK} not the same work in both runs: {}", kinds.join(", "));
        canvas.said(" ", Tone::Faint, &text, 2);
    }
}

/// Behind the name of what is not the same work in both runs.
const OTHER_WORK: &str = "*";

/// Why operations a second do not follow how long one of them takes.
const RATE_SAYS_OTHERWISE: &str =
    "ops/s is over the whole block: how many are in flight, slow operations and all between them move it too";

/// Whether the rate of a row did not change as its median did.
fn rate_says_otherwise(row: &RowRatio) -> bool {
    /// How far the product of both ratios is from 1.
    const APART: f64 = 1.25;
    let is_same = row.other_work.is_empty() && row.operations_per_second.is_some();
    let product = row.rate.filter(|_| is_same).map(|rate| rate * row.p50.value);
    product.is_some_and(|product| product > APART || product * APART < 1.0)
}

/// The rows whose rates are told: the reads and writes with the most time, at most one block of them; else the first row.
fn rated(rows: &[&RowRatio]) -> Vec<usize> {
    let parts = |at: usize| rows[at].name.rsplit_once(" / ").unwrap_or(("", &rows[at].name));
    let moves = |at: &usize| {
        let (_, operation) = parts(*at);
        results::is_read(operation) || results::is_write(operation)
    };
    let Some(first) = (0..rows.len()).find(moves) else { return vec![0] };
    (first..rows.len()).filter(moves).filter(|at| parts(*at).0 == parts(first).0).collect()
}

fn cells(row: &RowRatio) -> [String; 5] {
    let mark = if row.other_work.is_empty() { "" } else { OTHER_WORK };
    // The operation is that of another row.
    let label = row.name.rsplit_once(" / ").map_or("", |(label, _)| label);
    let name = match (row.until_safe, label) {
        (false, _) => &row.name,
        (true, "") => "until safe",
        (true, label) => &format!("{label} / until safe"),
    };
    [
        format!("{name}{mark}"),
        time(row.p50_seconds[0]),
        time(row.p50_seconds[1]),
        ratio(&row.p50),
        row.p99.map_or("–".into(), |p99| ratio(&p99)),
    ]
}

/// Operations a second of the row above, and their ratio; of operations of other sizes bytes a second as well.
fn rate_cells(row: &RowRatio) -> Vec<[String; 5]> {
    let cells = |name: &str, [baseline, new]: [String; 2], ratio: f64| {
        [name.to_owned(), baseline, new, three(ratio), String::new()]
    };
    let operations = row.operations_per_second.zip(row.rate);
    let bytes =
        row.bytes_per_second.filter(|rates| rates[0] > 0.0 && row.other_work.contains(&OtherWork::Sizes));
    let operations = operations.map(|(rates, ratio)| cells("  ops/s", rates.map(three), ratio));
    let bytes = bytes.map(|rates| {
        let (unit, factor) = unit_of_rates(rates[0].max(rates[1]));
        cells(&format!("  {unit}"), rates.map(|rate| three(rate / factor)), rates[1] / rates[0])
    });
    operations.into_iter().chain(bytes).collect()
}

/// The line of the answer: what a condition of the user failed is bad, whatever it is.
fn answer(canvas: &mut Canvas, outcome: Outcome, (tripped, unsound): (bool, &[Unsound]), text: &str) {
    if !unsound.is_empty() {
        canvas.said(" ", Tone::Faint, &format!("Measured all the same: {text}"), 3);
        return;
    }
    let (sign, tone) = match outcome {
        _ if tripped => ("✖", Tone::Bad),
        Outcome::Good => ("✔", Tone::Good),
        Outcome::Caution => ("⚠", Tone::Caution),
    };
    canvas.answered(sign, tone, text, 3);
}

/// What is said before all else where a run is not sound.
fn wrong(canvas: &mut Canvas, unsound: &[Unsound]) {
    if let Some(text) = words::unsound::headline(unsound) {
        canvas.answered("✖", Tone::Bad, &text, 4);
    }
}

/// The first screen of several runs a side.
pub struct RunsAnswer<'a> {
    /// The baseline, and the new side.
    pub names: [&'a str; 2],
    /// `median of write / fwrite`.
    pub what: &'a str,
    /// The number of each run, in the order in which they began.
    pub values: [&'a [f64]; 2],
    /// What was found.
    pub found: &'a SeveralRuns,
    /// Whether a condition of the user failed.
    pub tripped: bool,
    /// Runs whose times are not those of the work that they were to do.
    pub unsound: &'a [Unsound],
    /// What makes it less trustworthy, a sentence each.
    pub warnings: &'a [String],
}

/// Runs of a side whose numbers are told one by one, so that one unlike the others is seen.
const MOST_EACH: usize = 6;

impl RunsAnswer<'_> {
    /// The answer in a few lines.
    pub fn screen(&self, options: ScreenOptions) -> String {
        let mut canvas = Canvas::new(options);
        let (outcome, text) = words::comparison::of_runs(self.found);
        wrong(&mut canvas, self.unsound);
        answer(&mut canvas, outcome, (self.tripped, self.unsound), &format!("{text}."));
        let basis = format!(
            "The unit is the run, so what differs from run to run is in the interval; by the {}.",
            self.what
        );
        canvas.said(" ", Tone::Faint, &basis, 2);
        for (at, side) in SIDES.into_iter().enumerate() {
            let between = crate::unit::significant(100.0 * self.found.between_runs[at], 2);
            let each: Vec<String> = self.values[at].iter().map(|value| time(*value)).collect();
            let each =
                if each.len() <= MOST_EACH { format!(" ({})", each.join(", ")) } else { String::new() };
            let line = format!(
                "{side}: {}: {} runs{each}, geometric mean {}, {between}% apart (standard deviation)",
                self.names[at],
                self.found.runs[at],
                time(self.found.means[at])
            );
            canvas.said(" ", Tone::Faint, &line, 2);
        }
        for warning in self.warnings.iter().take(MOST_WARNINGS) {
            canvas.said("⚠", Tone::Caution, warning, 2);
        }
        canvas.text()
    }
}

#[cfg(test)]
mod tests {
    use tail::Series;
    use tail::congestion::{CompareOptions, compare_series};

    use super::*;

    #[test]
    fn a_row_is_told_once_and_with_one_interval() {
        const WRITE: u32 = 2;
        let [mut old, mut new] = [3, 9].map(|seed| samples::example::parallel_write(4, 400, seed));
        // A cache serves all but one in twenty of the one run, and none of the other.
        let writes = |run: &mut samples::Run, one_in: usize| {
            let of = run.samples.iter_mut().filter(|sample| sample.site == WRITE);
            of.enumerate()
                .filter(|(at, _)| at * 7919 % one_in == 0)
                .for_each(|(_, one)| one.duration_ps *= 30);
        };
        writes(&mut old, 20);
        writes(&mut new, 1);
        let [baseline, other] = [&old, &new].map(|run| {
            let mut of: Vec<_> = run.samples.iter().filter(|sample| sample.site == WRITE).collect();
            of.sort_by_key(|sample| (sample.start_ns, sample.rank));
            let values: Vec<f64> = of.iter().map(|sample| sample.duration_ps as f64 * 1e-12).collect();
            Series::taken_by(&values, &of.iter().map(|sample| sample.rank).collect::<Vec<_>>())
        });
        let found = compare_series([&baseline, &other], &CompareOptions::default()).unwrap();
        let mut rows = results::compare_rows(&results::of_run(&old), &results::of_run(&new));
        rows.subject = Some("write / fwrite".to_owned());
        let screen = CompareAnswer {
            names: ["a", "b"],
            seconds: true,
            found: &found,
            rows: Some(&rows),
            tripped: false,
            unlike: &[],
            unsound: &[],
            warnings: &[],
            verbose: false,
        }
        .screen(ScreenOptions { width: 120, ..ScreenOptions::default() });
        let row = rows.rows.iter().find(|row| row.name == "write / fwrite").unwrap();
        let p50 = ratio(&row.p50);
        assert!(screen.contains(&format!("at the median, not by one factor: p50 {p50}; p99 ")), "{screen}");
        assert!(!screen.contains("Also: slower write / fwrite"), "{screen}");
    }
}
