//! Looks at what names refer to, before the application uses them and when it has ended.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trace::Trace;
use trace::model::{NameTable, Sighting, Was};

/// What a name refers to now.
pub fn look(name: &[u8], names: &mut NameTable) -> Sighting {
    let path = Path::new(OsStr::from_bytes(name));
    let Ok(found) = path.symlink_metadata() else {
        return Sighting { was: Was::Nothing, permissions: None };
    };
    let was = if found.is_dir() {
        Was::Directory
    } else if found.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        Was::Link(names.intern(target.as_os_str().as_bytes()))
    } else {
        Was::File(found.len())
    };
    Sighting { was, permissions: Some(found.mode() & 0o7777) }
}

/// Looks at all absolute names of a trace whose application has ended.
pub fn look_after(trace: &mut Trace) {
    for number in 0..trace.names.len() as u32 {
        let name = trace.names.get(number).to_vec();
        if name.first() == Some(&b'/') && !name.starts_with(b"/proc/") {
            let sighting = look(&name, &mut trace.names);
            trace.after.insert(number, sighting);
        }
    }
}
