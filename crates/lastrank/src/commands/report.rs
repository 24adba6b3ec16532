//! `lastrank report`: the page of a run file, made again.

use std::path::Path;

use anyhow::Context;

use crate::cli::ReportArgs;
use crate::exit::Status;
use crate::output;

/// Read the run, analyse it, write the page.
pub fn run(args: &ReportArgs) -> anyhow::Result<Status> {
    let page = args.output.clone().unwrap_or_else(|| args.run.with_extension("html"));
    output::refuse_overwriting(&page, "-o", &[&args.run])?;
    let run = store::read(&args.run)?;
    let options = report::ReportOptions { site: args.label.clone(), ..Default::default() };
    let report = report::build(&run, &options);
    if args.text {
        output::print(&report.terminal_text())?;
    }
    write_page(&report, &page)?;
    output::print(&format!("Report: {}\n", page.display()))?;
    Ok(Status::Ok)
}

/// Writes the page of a report.
pub fn write_page(report: &report::Report, path: &Path) -> anyhow::Result<()> {
    write_html(&report.html(), path)
}

/// Writes a page; a full disk leaves the old page, or none.
pub fn write_html(html: &str, path: &Path) -> anyhow::Result<()> {
    store::replace(path, html.as_bytes()).with_context(|| {
        format!("cannot write the report {}; `--report FILE` names another place", path.display())
    })
}
