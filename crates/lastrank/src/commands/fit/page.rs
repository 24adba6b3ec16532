//! The page of a fit, as HTML or, through a browser, as PDF or PNG.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use report::FitPage;

use super::FitResult;
use crate::cli::FitArgs;
use crate::commands::report::write_html;
use crate::output;

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Html,
    Pdf,
    Png,
}

/// Browsers that print pages, by their names.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

fn form(path: &Path) -> anyhow::Result<Form> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" => Form::Html,
        "pdf" => Form::Pdf,
        "png" => Form::Png,
        "svg" => bail!(
            "-o {}: a page of several figures is no SVG; write -o FILE.html, whose figures save as SVG by the camera \
             above each",
            path.display()
        ),
        _ => bail!("-o {}: a name that ends in .html, .pdf or .png", path.display()),
    })
}

/// Before the fit: whether the page can be written.
pub fn check(args: &FitArgs) -> anyhow::Result<()> {
    let Some(path) = &args.output else { return Ok(()) };
    output::refuse_overwriting(path, "-o", &[&args.file])?;
    if form(path)? != Form::Html {
        browser()?;
    }
    Ok(())
}

/// Writes the page where one was asked for.
pub fn write(args: &FitArgs, found: &FitResult) -> anyhow::Result<()> {
    let Some(path) = &args.output else { return Ok(()) };
    let page = FitPage {
        name: &found.values.name,
        seconds: found.values.seconds,
        subject: found.values.subject.as_ref(),
        values: &found.sample.numbers,
        groups: found.groups.as_ref().map(|groups| (groups, args.by.as_deref().unwrap_or_default())),
        options: &super::options(args),
    };
    match form(path)? {
        Form::Html => write_html(&page.html(), path)?,
        printed @ (Form::Pdf | Form::Png) => print(&page.html(), path, printed)?,
    }
    if !args.json {
        output::print(&format!("\nReport: {}\n", path.display()))?;
    }
    Ok(())
}

fn browser() -> anyhow::Result<PathBuf> {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let all = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file()).context(
        "PDF and PNG are printed by a browser, and neither Chromium nor Chrome is on the PATH: install one, or write -o \
         FILE.html",
    )
}

/// Has a browser print the page beside the final name, and renames.
fn print(html: &str, path: &Path, form: Form) -> anyhow::Result<()> {
    let around = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let around = around.canonicalize().with_context(|| format!("cannot write below {}", around.display()))?;
    let place = around.join(format!(".lastrank-fit-{}", std::process::id()));
    std::fs::create_dir(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let printed = printed(html, &place, form);
    let done = printed.and_then(|bytes| {
        store::replace(path, &bytes).with_context(|| format!("cannot write the page {}", path.display()))
    });
    drop(std::fs::remove_dir_all(&place));
    done
}

fn printed(html: &str, place: &Path, form: Form) -> anyhow::Result<Vec<u8>> {
    let (page, made) = (place.join("page.html"), place.join("printed"));
    std::fs::write(&page, html).with_context(|| format!("cannot write {}", page.display()))?;
    let browser = browser()?;
    let mut command = Command::new(&browser);
    command.args(["--headless", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000"]);
    command.arg(format!("--user-data-dir={}", place.join("profile").display()));
    // Its sandbox does not work for root, and the page runs our own scripts only.
    if is_root() {
        command.arg("--no-sandbox");
    }
    match form {
        Form::Pdf => {
            command.args(["--no-pdf-header-footer".to_owned(), format!("--print-to-pdf={}", made.display())])
        }
        Form::Png | Form::Html => {
            command.args(["--window-size=1280,4000".to_owned(), format!("--screenshot={}", made.display())])
        }
    };
    command.arg(format!("file://{}", page.display()));
    let done = command.stdin(Stdio::null()).output();
    let done = done.with_context(|| format!("cannot start {}", browser.display()))?;
    std::fs::read(&made).with_context(|| {
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned();
        format!("{} printed nothing ({}): {last}; write -o FILE.html instead", browser.display(), done.status)
    })
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_is_written() {
        let of = |name: &str| form(Path::new(name)).ok();
        assert_eq!(
            [of("a.html"), of("a.PDF"), of("b/c.png"), of("a.svg"), of("a")],
            [Some(Form::Html), Some(Form::Pdf), Some(Form::Png), None, None]
        );
    }
}
