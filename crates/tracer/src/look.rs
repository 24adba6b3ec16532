//! Looks at what names refer to, before the application uses them and when it has ended.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trace::Trace;
use trace::model::{NameTable, Op, Sighting, Was};

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

/// What is a symbolic link when the application has ended, and was not made or moved there by a call, was one before. For a
/// recorder that does not look at each name before its first use.
pub fn links_before(trace: &mut Trace) {
    let made: HashSet<u32> = trace
        .calls
        .having(|op| matches!(op, Op::Symlink | Op::Rename | Op::Link))
        .filter(|(_, call)| call.errno == 0)
        .map(|(_, call)| if call.op == Op::Symlink { call.path } else { call.other })
        .collect();
    for (name, sighting) in &trace.after {
        if matches!(sighting.was, Was::Link(_)) && !made.contains(name) {
            trace.sightings.entry(*name).or_insert(*sighting);
        }
    }
}
