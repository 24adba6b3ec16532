//! A run file as a Python object: facts, results, report, samples.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use report::{Report, ReportOptions, ScreenOptions, Step, Subject, With, WrittenFiles};
use results::Columns;
use samples::visible_json;
use serde_json::json;

use crate::error::raised;
use crate::frame::Frame;
use crate::table::SampleTable;

/// A run file, or a directory of parts. Samples are read when they are needed.
#[pyclass(frozen, module = "lastrank._native")]
pub struct RunFile {
    path: PathBuf,
    facts: String,
    /// The report of the whole run; made when it is first asked for.
    whole: Mutex<Option<Arc<Report>>>,
}

impl RunFile {
    fn shown_path(&self) -> String {
        self.path.display().to_string()
    }

    /// The report; of one place of the program, where it is named.
    fn report(&self, label: Option<&str>) -> Result<Arc<Report>, store::Error> {
        let make = |site: Option<&str>| {
            let run = store::read(&self.path)?;
            let options = ReportOptions { site: site.map(Into::into), ..ReportOptions::default() };
            Ok(Arc::new(report::build(&run, &options)))
        };
        if label.is_some() {
            return make(label);
        }
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = whole.as_ref() {
            return Ok(Arc::clone(report));
        }
        let report = make(None)?;
        *whole = Some(Arc::clone(&report));
        Ok(report)
    }
}

#[pymethods]
impl RunFile {
    /// Opens a run file; `lastrank.Error` says why it is none.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<RunFile> {
        let facts = py.detach(|| store::facts(&path)).map_err(raised)?;
        let facts = serde_json::to_string(&facts).map_err(raised)?;
        Ok(RunFile { path, facts, whole: Mutex::new(None) })
    }

    /// The facts of the run as JSON.
    #[getter]
    fn facts(&self) -> &str {
        &self.facts
    }

    /// The rows of the result as JSON: `results` of the document.
    fn rows(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let mut columns = Columns::default();
            let run = store::scan(&self.path, &mut |samples| columns.push(samples)).map_err(raised)?;
            let rows = results::of_columns(columns, &run.facts, &run.sites);
            serde_json::to_string(&rows).map_err(raised)
        })
    }

    /// What `lastrank report --json` prints, of one place of the program where it is named: the answer, without steps
    /// and figures.
    #[pyo3(signature = (label=None))]
    fn document(&self, py: Python<'_>, label: Option<String>) -> PyResult<String> {
        py.detach(|| {
            let mut document = self.report(label.as_deref()).map_err(raised)?.json(With::default());
            document["schema"] = json!("lastrank.run/1");
            document["run"] = json!(self.path);
            document["page"] = json!(null);
            let text = serde_json::to_string(&document).map_err(raised)?;
            Ok(visible_json(&text).into_owned())
        })
    }

    /// The figures of the page as JSON, in the order of reading.
    fn figures(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let report = self.report(None).map_err(raised)?;
            serde_json::to_string(&report.figures().collect::<Vec<_>>()).map_err(raised)
        })
    }

    /// The first screen: the answer in at most 24 lines.
    fn screen(&self, py: Python<'_>, width: usize, colour: bool) -> PyResult<String> {
        py.detach(|| {
            let report = self.report(None).map_err(raised)?;
            let run = self.shown_path();
            let text = report
                .first_screen(WrittenFiles { run: Some(&run), page: None }, ScreenOptions { width, colour });
            Ok(samples::visible_in_colour(&text))
        })
    }

    /// All tables and sentences.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| Ok(samples::visible(&self.report(None).map_err(raised)?.terminal_text()).into_owned()))
    }

    /// The answer in one line.
    fn one_line(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| Ok(samples::visible(&self.report(None).map_err(raised)?.one_line()).into_owned()))
    }

    /// The page: one HTML document that needs no network.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| Ok(self.report(None).map_err(raised)?.html()))
    }

    /// All samples by column.
    fn frame(&self, py: Python<'_>) -> PyResult<Frame> {
        py.detach(|| SampleTable::read(&self.path)).map(Frame::new).map_err(raised)
    }

    /// Durations in seconds of one place of the program, or of the slowest rank of each step (`gate`), in time order:
    /// their name, the durations, and when each began in seconds since the begin of the run, as 64-bit floating-point
    /// numbers of this machine's byte order.
    #[pyo3(signature = (label=None, gate=None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        label: Option<String>,
        gate: Option<bool>,
    ) -> PyResult<(String, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let subject = py.detach(|| {
            let run = store::read(&self.path).map_err(raised)?;
            if !run.facts.counted.is_empty() {
                return Err(raised(format!(
                    "{} was recorded with --record histogram and holds the slowest samples only",
                    self.path.display()
                )));
            }
            Subject::choose(&run, label.as_deref(), gate)
                .map_err(|why| raised(format!("{}: {why}", self.path.display())))
        })?;
        let bytes = |number: fn(&Step) -> f64| {
            let all: Vec<u8> = subject.steps.iter().flat_map(|step| number(step).to_ne_bytes()).collect();
            PyBytes::new(py, &all)
        };
        Ok((subject.describe(), bytes(|step| step.seconds), bytes(|step| step.start_s)))
    }
}
