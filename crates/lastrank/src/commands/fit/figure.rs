//! A figure for print: the page's own numbers, drawn by the Python package of lastrank with matplotlib.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use report::Figure;
use serde_json::json;

use crate::cli::FitArgs;

/// The kind that is drawn where none is asked for: four panels.
const DEFAULT_KIND: &str = "diagnostic";

/// Format of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FigureForm {
    Pdf,
    Svg,
    Png,
}

impl FigureForm {
    fn name(self) -> &'static str {
        match self {
            FigureForm::Pdf => "pdf",
            FigureForm::Svg => "svg",
            FigureForm::Png => "png",
        }
    }
}

/// A Python that has `lastrank` and matplotlib.
pub struct Python {
    program: PathBuf,
}

/// What a Python lacks. The probe ends with these statuses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lack {
    Lastrank,
    Matplotlib,
}

const NO_LASTRANK: i32 = 41;
const NO_MATPLOTLIB: i32 = 42;

/// Imports nothing from the current folder, where a file may bear the name of a module.
const NOT_FROM_HERE: &str = "import sys; sys.path[:] = [path for path in sys.path if path]\n";

const PROBE: &str = "
from importlib.util import find_spec
try:
    import lastrank._plot
except ImportError:
    sys.exit(41)
sys.exit(0 if find_spec('matplotlib') else 42)
";

const DRAW: &str = "
from lastrank._plot import main
sys.exit(main())
";

impl Python {
    /// The first that can draw: beside this program, as in a virtual environment, or on the PATH.
    ///
    /// # Errors
    /// If none can; the message names what to install.
    pub fn that_draws() -> anyhow::Result<Python> {
        let mut lack = None;
        for program in candidates() {
            match probe(&program) {
                Ok(()) => return Ok(Python { program }),
                // The nearest to a Python that draws is the one to complete.
                Err(Some(Lack::Matplotlib)) => lack = Some((program, Lack::Matplotlib)),
                Err(Some(Lack::Lastrank)) => lack = lack.or(Some((program, Lack::Lastrank))),
                Err(None) => {}
            }
        }
        let way_out = "or write -o FILE.html, or print the whole page through Chromium with --page";
        match lack {
            None => bail!(
                "a figure for print is drawn by Python with matplotlib, and no python3 is on the PATH: install Python and \
                 matplotlib, and the package by `pip install .` in the sources of lastrank, {way_out}"
            ),
            Some((program, Lack::Lastrank)) => bail!(
                "a figure for print is drawn by the Python package of lastrank, which {} does not have: `{} -m pip install . \
                 matplotlib` in the sources of lastrank, {way_out}",
                program.display(),
                program.display()
            ),
            Some((program, Lack::Matplotlib)) => bail!(
                "a figure for print is drawn with matplotlib, which {} does not have: `{} -m pip install matplotlib`, \
                 {way_out}",
                program.display(),
                program.display()
            ),
        }
    }

    /// Runs the drawer with the document on its standard input; what it writes to standard output.
    fn draw(&self, document: &[u8], arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        let mut child = self
            .script(DRAW)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        // It reads the whole document before it writes; one that ends early says why on its standard error.
        let sent = child.stdin.take().map(|mut stdin| stdin.write_all(document));
        let done = child.wait_with_output()?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            bail!("{}", last.strip_prefix("error: ").unwrap_or(last));
        }
        sent.transpose().context("the figure was drawn from half a document")?;
        Ok(done.stdout)
    }

    fn script(&self, text: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-c", &format!("{NOT_FROM_HERE}{text}")]);
        command
    }
}

/// Programs that may be a Python with `lastrank`, the nearest first.
fn candidates() -> Vec<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("python3")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    let mut found: Vec<PathBuf> =
        beside.into_iter().chain(named).filter(|program| program.is_file()).collect();
    found.dedup();
    found
}

fn probe(program: &Path) -> Result<(), Option<Lack>> {
    let python = Python { program: program.to_owned() };
    let done = python.script(PROBE).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match done.map_err(|_| None)?.code() {
        Some(0) => Ok(()),
        Some(NO_LASTRANK) => Err(Some(Lack::Lastrank)),
        Some(NO_MATPLOTLIB) => Err(Some(Lack::Matplotlib)),
        Some(_) | None => Err(None),
    }
}

/// Draws the figure that was asked for and writes it under its name, whole.
///
/// `model` is the code of the distribution, which decides what the four panels are.
pub fn write(
    (figures, model): (&[Figure], &str),
    args: &FitArgs,
    path: &Path,
    form: FigureForm,
) -> anyhow::Result<()> {
    let document = serde_json::to_vec(&json!({"model": model, "figures": figures}))?;
    let kind = args.figure.as_deref().unwrap_or(DEFAULT_KIND);
    let mut arguments = vec!["-", kind, "-", "--form", form.name()];
    arguments.extend(args.width.iter().flat_map(|width| ["--width", width]));
    let drawn = Python::that_draws()?.draw(&document, &arguments)?;
    store::replace(path, &drawn).with_context(|| format!("cannot write the figure {}", path.display()))
}
