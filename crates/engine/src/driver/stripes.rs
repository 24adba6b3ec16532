//! Lays a file over several storage targets, where Lustre can.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use samples::Warning;

/// The magic number of Lustre (`LL_SUPER_MAGIC`).
const LUSTRE: i64 = 0x0BD0_0BD0;

/// Why nothing was striped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotStriped {
    /// The file system stripes by itself or not at all: a note, no failure.
    OtherFileSystem(Warning),
    /// It is Lustre, and `lfs setstripe` failed.
    Failed(Warning),
}

impl NotStriped {
    /// The answer of a driver without stripes.
    pub(crate) fn of_back_end() -> Self {
        Self::OtherFileSystem(Warning {
            code: "not-striped".into(),
            text: "the back end has no stripes: the layout was left to the server".into(),
            advice: "set the stripes with the file system's own tool where it has one".into(),
        })
    }
}

/// Asks Lustre to lay `path` (a new file, or a directory for its files) over `count` targets, in pieces
/// of `size` bytes.
pub fn set(path: &CStr, count: u32, size: Option<u64>) -> Result<(), NotStriped> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let place = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    let kind = rustix::fs::statfs(place).map_or(0, |found| {
        #[allow(clippy::unnecessary_cast)] // the field's width differs between architectures
        let kind = found.f_type as i64;
        kind
    });
    if kind != LUSTRE {
        return Err(NotStriped::OtherFileSystem(Warning {
            code: "not-striped".into(),
            text: format!(
                "{} does not lie on Lustre: its layout was left to the file system",
                path.display()
            ),
            advice: "set the stripes with the file system's own tool where it has one".into(),
        }));
    }
    let failed = |why: String| {
        NotStriped::Failed(Warning {
            code: "stripe-failed".into(),
            text: format!("lfs setstripe -c {count} {}: {why}", path.display()),
            advice: "install Lustre's client tools, or set the stripes of the directory beforehand".into(),
        })
    };
    let output = Command::new("lfs")
        .args(["setstripe", "-c", &count.to_string()])
        .args(size.map(|size| format!("-S{size}")))
        .arg(path)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
