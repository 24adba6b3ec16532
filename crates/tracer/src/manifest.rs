//! What a recorder says of its recording before it begins.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What a recording is, for whom its recorder is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The command, lossily.
    pub command: Vec<String>,
    /// Since 1970.
    pub began_ns: u64,
    output: Vec<u8>,
    /// Where the application began.
    pub(crate) directory: Vec<u8>,
    /// Where directories on a disk are.
    pub(crate) place: Vec<u8>,
    /// What a call of the complete recorder cost, in nanoseconds; `None` of the quiet one.
    #[serde(default)]
    pub(crate) complete: Option<u64>,
}

impl Manifest {
    /// Of a recording that begins now; `complete`: what a call costs, where the recorder is the complete one.
    pub(crate) fn new(command: &[OsString], output: &Path, directory: &Path, complete: Option<u64>) -> Self {
        let place = std::env::temp_dir();
        let place = std::path::absolute(&place).unwrap_or(place);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            began_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
            output: output.as_os_str().as_bytes().to_vec(),
            directory: directory.as_os_str().as_bytes().to_vec(),
            place: place.into_os_string().into_vec(),
            complete,
        }
    }

    /// Whether the application ended with its recorder.
    pub fn is_of_complete_recorder(&self) -> bool {
        self.complete.is_some()
    }

    /// The file that the recording was to have.
    pub fn output(&self) -> PathBuf {
        self.directory().join(OsStr::from_bytes(&self.output))
    }

    /// Where the application began.
    pub fn directory(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.directory))
    }
}
