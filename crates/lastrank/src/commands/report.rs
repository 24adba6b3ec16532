//! `lastrank report`: the page of a run file, made again.

use std::path::Path;

use anyhow::Context;
use report::Report;
use samples::Run;
use serde_json::{Value, json};

use crate::cli::ReportArgs;
use crate::exit::Status;
use crate::output;

/// Read the run, analyse it, write the page.
pub fn run(args: &ReportArgs) -> anyhow::Result<Status> {
    let beside = || (!args.json).then(|| args.run.with_extension("html"));
    let page = args.output.clone().or_else(beside);
    if let Some(page) = &page {
        output::refuse_overwriting(page, "-o", &[&args.run])?;
    }
    let run = store::read(&args.run)?;
    let options = report::ReportOptions { site: args.label.clone(), ..Default::default() };
    let report = report::build(&run, &options);
    if args.text {
        output::print(&report.terminal_text())?;
    }
    if let Some(page) = &page {
        write_page(&report, page)?;
    }
    match page {
        _ if args.json => output::json(&document(&run, &report, &args.run, page.as_deref()))?,
        Some(page) => output::print(&format!("Report: {}\n", page.display()))?,
        None => {}
    }
    Ok(Status::Ok)
}

/// The result of a run as one JSON document, schema `lastrank.run/1`: what `run --json` and `report --json` print.
pub fn document(run: &Run, report: &Report, file: &Path, page: Option<&Path>) -> Value {
    let mut document = report.json();
    document["schema"] = json!("lastrank.run/1");
    document["run"] = json!(file);
    document["page"] = json!(page);
    document["results"] = json!(results::of_run(run));
    document
}

/// Writes the page of a report.
pub fn write_page(report: &Report, path: &Path) -> anyhow::Result<()> {
    write_html(&report.html(), path)
}

/// Writes a page; a full disk leaves the old page, or none.
pub fn write_html(html: &str, path: &Path) -> anyhow::Result<()> {
    store::replace(path, html.as_bytes()).with_context(|| {
        format!("cannot write the report {}; `--report FILE` names another place", path.display())
    })
}
