//! Lays a file over several storage targets, where Lustre can.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

use samples::Warning;

/// The magic number of Lustre (`LL_SUPER_MAGIC`).
const LUSTRE: i64 = 0x0BD0_0BD0;

/// A layout that is to be set, made ready before that is timed. By default nothing is to be done.
#[derive(Debug, Default)]
pub struct Striping {
    tool: Option<Command>,
    output: Option<std::io::Result<Output>>,
}

impl Striping {
    /// Sets it: this is what is timed.
    pub fn set(&mut self) {
        self.output = self.tool.as_mut().map(Command::output);
    }

    /// Does it do anything? Only then can it make the file.
    pub fn sets(&self) -> bool {
        self.tool.is_some()
    }

    /// Why it failed, if it did.
    pub fn failure(self) -> Option<Warning> {
        let why = match self.output? {
            Ok(output) if output.status.success() => return None,
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let words: Vec<_> =
            self.tool.iter().flat_map(Command::get_args).map(OsStr::to_string_lossy).collect();
        Some(Warning {
            code: "stripe-failed".into(),
            text: format!("lfs {}: {why}", words.join(" ")),
            advice: "install Lustre's client tools, or set the stripes of the directory beforehand".into(),
        })
    }
}

/// The note of a driver that has no such thing.
pub(crate) fn not_of_this_back_end() -> Warning {
    Warning {
        code: "not-striped".into(),
        text: "the back end has no stripes: the layout was left to the server".into(),
        advice: "set the stripes with the file system's own tool where it has one".into(),
    }
}

/// Makes ready to have Lustre lay `path` (a new file, or a directory for its files) over `count` targets, in pieces
/// of `size` bytes. A note where the file system stripes by itself or not at all.
pub fn prepare(path: &CStr, count: u32, size: Option<u64>) -> Result<Striping, Warning> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let place = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    let kind = rustix::fs::statfs(place).map_or(0, |found| {
        #[allow(clippy::unnecessary_cast)] // the field's width differs between architectures
        let kind = found.f_type as i64;
        kind
    });
    if kind != LUSTRE {
        return Err(Warning {
            code: "not-striped".into(),
            text: format!(
                "{} does not lie on Lustre: its layout was left to the file system",
                path.display()
            ),
            advice: "set the stripes with the file system's own tool where it has one".into(),
        });
    }
    let mut tool = Command::new("lfs");
    tool.args(["setstripe", "-c", &count.to_string()]);
    tool.args(size.map(|size| format!("-S{size}"))).arg(path);
    Ok(Striping { tool: Some(tool), output: None })
}
