//! Loads, parses, checks and plans a program, and prints what is wrong with it.

use std::path::{Path, PathBuf};

use ppl::plan::{Plan, Settings};
use ppl::{Diagnostic, Source, Span, check, plan, syntax};

use crate::experiments::ProgramText;
use crate::{diagnostics, experiments};

/// What findings about its words name as their file.
const COMMAND_LINE: &str = "command line";

/// A program that was parsed and checked.
pub struct Program {
    /// The file's stem or the experiment's name.
    pub name: String,
    shipped: bool,
    /// The text with everything it includes.
    source: Source,
    checked: check::Checked,
}

/// Load, parse and check. Nothing is printed.
///
/// With a `root`, only files below it are included.
pub fn load(program: &str, classic: bool, root: Option<&Path>) -> anyhow::Result<Program> {
    of_text(experiments::load(program)?, classic, root)
}

/// Parse and check a program whose text is at hand, as [`load`] does.
pub fn of_text(found: ProgramText, classic: bool, root: Option<&Path>) -> anyhow::Result<Program> {
    let folder: PathBuf = Path::new(&found.path).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut source = Source::new(&found.path, &found.text);
    let mut read = |name: &str| {
        let path = folder.join(name);
        if let Some(root) = root.filter(|root| !lies_below(&path, root)) {
            return Err(format!(
                "it does not lie below {}, the only place to read from (--root)",
                root.display()
            ));
        }
        included(&path, &folder)
    };
    let parsed = syntax::parse_with(&mut source, classic, Some(&mut read));
    let mut checked = check::check(&parsed.tree, &source);
    let mut all = parsed.diagnostics;
    all.append(&mut checked.diagnostics);
    all.sort_by_key(|diagnostic| diagnostic.span.start);
    checked.diagnostics = all;
    Ok(Program { name: found.name, shipped: found.shipped, source, checked })
}

/// The text of a file to include. Only programs are, from below the folder of the program that names them: what is included stands in the run
/// file. Nothing else is opened: a pipe or a device could block.
pub fn included(path: &Path, folder: &Path) -> Result<String, String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    if !lies_below(&real, folder) {
        return Err("it does not lie below the folder of the program".into());
    }
    if real.extension().is_none_or(|extension| extension != "ppl") {
        return Err("the name of an included file ends in .ppl".into());
    }
    if !real.metadata().is_ok_and(|found| found.is_file()) {
        return Err("it is no ordinary file".into());
    }
    experiments::read_text(&real).map_err(|error| error.to_string())
}

fn lies_below(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        // Reading it will report that it does not exist.
        (Err(_), Ok(_)) => true,
        (_, Err(_)) => false,
    }
}

impl Program {
    /// Does it ship inside the binary?
    pub fn is_shipped(&self) -> bool {
        self.shipped
    }

    /// Everything that is wrong with it in a run with these settings, the text, and its plan where it has one.
    pub fn findings(self, settings: &Settings<'_>) -> (Source, Vec<Diagnostic>, Option<Plan>) {
        let Self { mut source, checked, .. } = self;
        let (mut found, plan) = match plan::plan(checked, &source, settings) {
            Ok((plan, found)) => (found, Some(plan)),
            Err(found) => (found, None),
        };
        place_given(&mut source, &mut found);
        (source, found, plan)
    }

    /// Adds ranks and parameters; `None` if there are errors. Findings are printed on standard error if this process
    /// `speaks` for its job.
    pub fn plan(self, settings: &Settings<'_>, speaks: bool) -> Option<Planned> {
        let (name, shipped, text) = (self.name.clone(), self.shipped, self.source.text().to_owned());
        let (source, findings, plan) = self.findings(settings);
        if speaks {
            diagnostics::show(&source, &findings);
        }
        plan.map(|plan| Planned { name, text, shipped, plan })
    }
}

/// Gives findings about words of the command line their place there: it is shown as one more file.
fn place_given(source: &mut Source, found: &mut [Diagnostic]) {
    for diagnostic in found {
        let Some(given) = &diagnostic.given else { continue };
        if let Some(start) = source.append(COMMAND_LINE, given) {
            diagnostic.span = Span::new(start, start + given.len() as u32);
        }
    }
}

/// A program that is ready to run.
pub struct Planned {
    /// The file's stem or the experiment's name.
    pub name: String,
    /// The whole text, for the facts.
    pub text: String,
    /// It ships inside the binary.
    pub shipped: bool,
    /// What every rank does.
    pub plan: Plan,
}
