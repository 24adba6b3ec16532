//! The file that `fit -o` names: the page, a figure for print, or the printed page.

use std::path::Path;

use anyhow::bail;
use report::FitPage;

use super::figure::{FigureForm, Python};
use super::page::{PrintedForm, browser, print};
use super::{FitResult, figure};
use crate::cli::FitArgs;
use crate::commands::report::write_html;
use crate::output;

/// What a file is, by its name and by `--page`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Html,
    Figure(FigureForm),
    Printed(PrintedForm),
}

fn form(path: &Path, whole_page: bool) -> anyhow::Result<Form> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(match (ending.to_ascii_lowercase().as_str(), whole_page) {
        ("html" | "htm", _) => Form::Html,
        ("pdf", false) => Form::Figure(FigureForm::Pdf),
        ("svg", false) => Form::Figure(FigureForm::Svg),
        ("png", false) => Form::Figure(FigureForm::Png),
        ("pdf", true) => Form::Printed(PrintedForm::Pdf),
        ("png", true) => Form::Printed(PrintedForm::Png),
        ("svg", true) => {
            bail!("-o {}: a page of several figures is no SVG; --page writes .pdf or .png", path.display())
        }
        _ => bail!("-o {}: a name that ends in .html, .pdf, .svg or .png", path.display()),
    })
}

/// Before the fit: whether the file can be written.
pub fn check(args: &FitArgs) -> anyhow::Result<()> {
    let Some(path) = &args.output else { return Ok(()) };
    output::refuse_overwriting(path, "-o", &[&args.file])?;
    let form = form(path, args.page)?;
    let for_print = matches!(form, Form::Figure(_));
    if !for_print && (args.figure.is_some() || args.width.is_some()) {
        bail!(
            "--figure and --width are for a figure for print: -o FILE.pdf, FILE.svg or FILE.png, without --page"
        );
    }
    match form {
        Form::Html => {}
        Form::Figure(_) => drop(Python::that_draws()?),
        Form::Printed(_) => drop(browser()?),
    }
    Ok(())
}

/// Writes the file where one was asked for.
pub fn write(args: &FitArgs, found: &FitResult) -> anyhow::Result<()> {
    let Some(path) = &args.output else { return Ok(()) };
    let options = super::options(args);
    let page = page(args, found, &options);
    let what = match form(path, args.page)? {
        Form::Html => {
            write_html(&page.html(), path)?;
            "Report"
        }
        Form::Figure(form) => {
            figure::write((&page.figures(), found.fitted.code()), args, path, form)?;
            "Figure"
        }
        Form::Printed(form) => {
            print(&page.html(), path, form)?;
            "Report"
        }
    };
    if !args.json {
        output::print(&format!("\n{what}: {}\n", path.display()))?;
    }
    Ok(())
}

/// The page of what was found.
pub fn page<'a>(
    args: &'a FitArgs,
    found: &'a FitResult,
    options: &'a tail::assess::AssessOptions,
) -> FitPage<'a> {
    FitPage {
        name: &found.values.name,
        seconds: found.values.seconds,
        subject: found.values.subject.as_ref(),
        values: &found.sample.numbers,
        takers: &found.sample.takers,
        groups: found.groups.as_ref().map(|groups| (groups, args.by.as_deref().unwrap_or_default())),
        options,
        unsound: &found.values.unsound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_is_written() {
        let of = |name: &str, whole| form(Path::new(name), whole).ok();
        assert_eq!(
            [
                of("a.html", false),
                of("a.PDF", false),
                of("b/c.png", false),
                of("a.svg", false),
                of("a", false)
            ],
            [
                Some(Form::Html),
                Some(Form::Figure(FigureForm::Pdf)),
                Some(Form::Figure(FigureForm::Png)),
                Some(Form::Figure(FigureForm::Svg)),
                None
            ]
        );
        assert_eq!(
            [of("a.html", true), of("a.pdf", true), of("a.svg", true)],
            [Some(Form::Html), Some(Form::Printed(PrintedForm::Pdf)), None]
        );
    }
}
