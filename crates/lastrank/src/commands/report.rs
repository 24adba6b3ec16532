//! `lastrank report`: the page of a run file, made again.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use report::{Report, With, WrittenFiles};
use serde_json::{Value, json};

use super::redact::redact;
use crate::asked::explained;
use crate::cli::{ReportArgs, WithMore};
use crate::exit::{Misplaced, Status};
use crate::{kept_answer, output};

/// Read the run, analyse it, write the page. The status is that of the run.
pub fn run(args: &ReportArgs) -> anyhow::Result<Status> {
    let beside = || (!args.json && !args.one_line).then(|| args.run.with_extension("html"));
    let page = args.output.clone().or_else(beside);
    if let Some(page) = &page {
        output::refuse_overwriting(page, "-o", &[&args.run])?;
        output::refuse_page_as(page)?;
    }
    if let Some(status) = from_footer(args, page.as_deref())? {
        return Ok(status);
    }
    let mut run = store::read(&args.run).map_err(|error| explained(error, &args.run))?;
    if args.redact {
        redact(&mut run);
    }
    let options = report::ReportOptions {
        site: args.label.clone(),
        distribution_figures: page.is_some() || args.json || args.verbose,
        ..Default::default()
    };
    let report = report::build(&run, &options);
    let html = |page: &PathBuf| {
        let html = if args.details { report.html_with_details() } else { report.html() };
        write_html(&html, page)
    };
    // What was found in the run is told whether its page could be written or not.
    let lost = page.as_ref().and_then(|page| html(page).err());
    let written = WrittenPaths { run: Some(&args.run), page: page.as_deref().filter(|_| lost.is_none()) };
    if args.json {
        output::json(&document(&report, with(&args.with), written))?;
    } else {
        let told = Told { verbose: args.verbose, one_line: args.one_line };
        output::print_screen(&told.of(&report, written))?;
    }
    if let Some(error) = lost {
        bail!(Misplaced(format!("{error:#}")));
    }
    Ok(if args.exit_zero { Status::Ok } else { Status::of(&report.judgements) })
}

/// Prints the line that the footer of a large run keeps, where that is all that is wished.
fn from_footer(args: &ReportArgs, page: Option<&Path>) -> anyhow::Result<Option<Status>> {
    if !args.one_line || page.is_some() || args.label.is_some() || args.redact {
        return Ok(None);
    }
    let Some((run, line)) = kept_answer::line(&args.run) else { return Ok(None) };
    let Some(found) = &run.facts.judgements else { return Ok(None) };
    output::print_screen(&samples::visible(&line))?;
    Ok(Some(if args.exit_zero { Status::Ok } else { Status::of(found) }))
}

/// How much of a result is told on standard output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// All tables, not only the first screen.
    pub verbose: bool,
    /// One line.
    pub one_line: bool,
}

impl Told {
    /// Whether a first screen is all that is told.
    pub fn is_screen(self) -> bool {
        !self.verbose && !self.one_line
    }

    /// The result of a run as so much text.
    pub fn of(self, report: &Report, written: WrittenPaths) -> String {
        let shown = |path: Option<&Path>| path.map(|path| path.display().to_string());
        let (run, page) = (shown(written.run), shown(written.page));
        match self {
            Told { one_line: true, .. } => samples::visible(&report.one_line()).into_owned(),
            Told { verbose: true, .. } => {
                let files = WrittenFiles { run: run.as_deref(), page: page.as_deref() };
                let saved = report::saved(files, output::screen_options().width);
                samples::visible(&format!("{}\n{saved}", report.terminal_text())).into_owned()
            }
            Told { .. } => {
                let files = WrittenFiles { run: run.as_deref(), page: page.as_deref() };
                report.first_screen(files, output::screen_options())
            }
        }
    }
}

/// Where a run and its page were written, if they were.
#[derive(Clone, Copy, Debug)]
pub struct WrittenPaths<'a> {
    /// The run.
    pub run: Option<&'a Path>,
    /// The page.
    pub page: Option<&'a Path>,
}

/// What `--with` asks for.
pub fn with(asked: &[WithMore]) -> With {
    With {
        steps: asked.contains(&WithMore::Steps),
        figures: asked.contains(&WithMore::Figures),
        ranks: asked.contains(&WithMore::Ranks),
        tables: asked.contains(&WithMore::Tables),
    }
}

/// The result of a run as one JSON document, schema `lastrank.run/1`: what `run --json` and `report --json`
/// print.
pub fn document(report: &Report, with: With, written: WrittenPaths) -> Value {
    let mut document = report.json(with);
    document["schema"] = json!("lastrank.run/1");
    document["run"] = json!(written.run.map(|run| run.display().to_string()));
    document["page"] = json!(written.page.map(|page| page.display().to_string()));
    document
}

/// Writes the page of a run, which `--report` names.
pub fn write_page(report: &Report, path: &Path) -> anyhow::Result<()> {
    written(&report.html(), path, "--report")
}

/// Writes a page that `-o` names; a full disk leaves the old page, or none.
pub fn write_html(html: &str, path: &Path) -> anyhow::Result<()> {
    written(html, path, "-o")
}

fn written(html: &str, path: &Path, option: &str) -> anyhow::Result<()> {
    store::replace(path, html.as_bytes()).with_context(|| {
        format!("cannot write the report {}; `{option} FILE` names another place", path.display())
    })
}
