//! What a recorder says of its recording before it begins.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
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
}

impl Manifest {
    /// Of a recording that begins now.
    pub fn new(command: &[OsString], output: &Path, directory: &Path) -> Self {
        let place = std::env::temp_dir();
        let place = std::path::absolute(&place).unwrap_or(place);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            began_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
            output: output.as_os_str().as_bytes().to_vec(),
            directory: directory.as_os_str().as_bytes().to_vec(),
            place: place.into_os_string().into_vec(),
        }
    }

    /// The file that the recording was to have.
    pub fn output(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.output))
    }
}
