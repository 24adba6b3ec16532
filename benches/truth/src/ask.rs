//! The text of the screens that the commands print, from the code that they call.

use report::{FitAnswer, ReportOptions, ScreenOptions, WrittenFiles};
use samples::{FACTS_SCHEMA, Facts, Run, Sample, Site, SiteKind};
use tail::assess::{AssessOptions, assess};

/// So wide that no sentence is broken or cut.
const WIDE: ScreenOptions = ScreenOptions { width: 4000, colour: false };

/// What `lastrank fit FILE` prints of numbers in seconds; the refusal where there is one.
pub fn fit(values: &[f64], options: &AssessOptions) -> Result<String, String> {
    let found = assess(values, options).map_err(|error| error.to_string())?;
    let answer = FitAnswer {
        name: "the values",
        what: "value",
        seconds: true,
        subject: None,
        values,
        found: &found,
        options,
    };
    Ok(answer.screen(WIDE))
}

/// What `lastrank run` prints of a program of one kind of operation: its ranks each do one value after the other.
pub fn run(of_rank: &[Vec<f64>], options: &AssessOptions) -> String {
    let options = ReportOptions { fit: options.clone(), ..ReportOptions::default() };
    let report = report::build(&made_of(of_rank), &options);
    report.first_screen(WrittenFiles { run: "run.parquet", page: None }, WIDE)
}

/// A run whose ranks each write one after the other, each write as long as its value.
pub fn made_of(of_rank: &[Vec<f64>]) -> Run {
    const BYTES: u64 = 8192;
    let mut samples = Vec::new();
    let mut last = 0;
    for (rank, values) in (0..).zip(of_rank) {
        let mut now = 0u64;
        for value in values {
            let duration_ps = (value * 1e12).max(1.0).round() as u64;
            samples.push(Sample {
                start_ns: now,
                duration_ps,
                bytes: BYTES,
                rank,
                batch: 1,
                cpu: u16::MAX,
                ..Sample::default()
            });
            now += duration_ps.div_ceil(1000);
        }
        last = last.max(now);
    }
    let site =
        Site { line: 3, column: 5, operation: "fwrite".into(), kind: SiteKind::Operation, ..Site::default() };
    let facts = Facts {
        schema: FACTS_SCHEMA.into(),
        name: "the-run".into(),
        program: "repeat 9 { fwrite($f, 8k); }".into(),
        ranks: of_rank.len() as u32,
        backend: "simulate".into(),
        elapsed_s: last as f64 * 1e-9,
        complete: true,
        ..Facts::default()
    };
    Run { facts, sites: vec![site], samples }
}
