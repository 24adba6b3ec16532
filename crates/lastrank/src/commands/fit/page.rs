//! The page of a fit as PDF or PNG, printed by a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

/// Format of a printed page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PrintedForm {
    Pdf,
    Png,
}

/// Browsers that print pages, by their names.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// A browser that prints, if one is on the PATH.
pub fn browser() -> anyhow::Result<PathBuf> {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let all = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file()).context(
        "--page is printed by a browser, and neither Chromium nor Chrome is on the PATH: install one, or write -o \
         FILE.html",
    )
}

/// Has a browser print the page beside the final name, and renames.
pub fn print(html: &str, path: &Path, form: PrintedForm) -> anyhow::Result<()> {
    let around = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let around = around.canonicalize().with_context(|| format!("cannot write below {}", around.display()))?;
    let place = store::PrivateFolder::make(&around, ".lastrank-fit-")
        .with_context(|| format!("cannot make a folder in {}", around.display()))?;
    let bytes = printed(html, &place, form)?;
    store::replace(path, &bytes).with_context(|| format!("cannot write the page {}", path.display()))
}

/// The browser finds page and result by the name of the folder, we in the folder itself.
fn printed(html: &str, place: &store::HeldFolder, form: PrintedForm) -> anyhow::Result<Vec<u8>> {
    let (page, made) = (place.path().join("page.html"), place.path().join("printed"));
    std::fs::write(place.inside("page.html"), html)
        .with_context(|| format!("cannot write {}", page.display()))?;
    let browser = browser()?;
    let mut command = Command::new(&browser);
    command.args(["--headless", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000"]);
    command.arg(format!("--user-data-dir={}", place.path().join("profile").display()));
    // Its sandbox does not work for root, and the page runs our own scripts only.
    if is_root() {
        command.arg("--no-sandbox");
    }
    match form {
        PrintedForm::Pdf => {
            command.args(["--no-pdf-header-footer".to_owned(), format!("--print-to-pdf={}", made.display())])
        }
        PrintedForm::Png => {
            command.args(["--window-size=1280,4000".to_owned(), format!("--screenshot={}", made.display())])
        }
    };
    command.arg(format!("file://{}", page.display()));
    let done = command.stdin(Stdio::null()).output();
    let done = done.with_context(|| format!("cannot start {}", browser.display()))?;
    std::fs::read(place.inside("printed")).with_context(|| {
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned();
        format!("{} printed nothing ({}): {last}; write -o FILE.html instead", browser.display(), done.status)
    })
}

/// Whether the browser refuses its sandbox, as it does to root on Linux.
fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    let is = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    #[cfg(not(target_os = "linux"))]
    let is = false;
    is
}
