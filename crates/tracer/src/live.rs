//! What the complete recorder leaves where it is killed: its calls until then, in files that grow with each.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use trace::Trace;
use trace::journal::{self, Journal};
use trace::model::Sighting;

use crate::folder::{self, CALLS, CUT, SpoolFolder};
use crate::manifest::Manifest;
use crate::spool;

/// The format of its traces.
pub const FORMAT: &str = "lastrank record";

/// So much stays in memory with names; what follows lies on a disk.
const IN_MEMORY: u64 = 64 << 20;

/// The calls of a recording that is under way.
pub struct Live {
    journal: Journal,
    /// Those that are not begun yet; the next one is the last.
    further: Vec<SpoolFolder>,
    begun: Vec<SpoolFolder>,
    file: Option<File>,
    /// Bytes in it.
    written: u64,
}

impl Live {
    /// Begins one that `recover` finds; `None` where there is no place for it.
    pub fn begin(manifest: &Manifest) -> Option<Self> {
        let text = serde_json::to_vec(manifest).ok()?;
        let random = folder::random().ok()?;
        let memory = Path::new(folder::MEMORY);
        let memory = folder::lies_in_memory(memory).then(|| memory.to_path_buf());
        let places = std::iter::once(std::env::temp_dir()).chain(memory);
        let further: Vec<SpoolFolder> = places
            .filter_map(|place| SpoolFolder::new(&place, &random).ok())
            .filter(|folder| folder.keep(&text).is_ok())
            .collect();
        let mut live =
            Self { journal: Journal::default(), further, begun: Vec::new(), file: None, written: 0 };
        live.go_on();
        live.file.is_some().then_some(live)
    }

    /// Goes on in the next place.
    fn go_on(&mut self) {
        self.file = None;
        while let Some(folder) = self.further.pop() {
            let made =
                File::options().write(true).create_new(true).mode(0o600).open(folder.path.join(CALLS)).ok();
            self.begun.push(folder);
            if made.is_some() {
                (self.file, self.written) = (made, 0);
                return;
            }
        }
        // A name takes no room.
        let cut =
            |folder: &SpoolFolder| std::fs::rename(folder.path.join(CALLS), folder.path.join(CUT)).is_ok();
        self.begun.iter().rev().any(cut);
    }

    /// What was seen of a name.
    pub fn sighted(&mut self, trace: &Trace, name: u32, sighting: Sighting) {
        if self.file.is_some() {
            self.journal.sighted(trace, name, sighting);
        }
    }

    /// Keeps what was added to the trace since. `again`: a thread may have another name.
    pub fn keep(&mut self, trace: &Trace, again: bool) {
        while let Some(file) = &mut self.file {
            let bytes = self.journal.since(trace, again);
            if bytes.is_empty() {
                return;
            }
            let is_full = self.written >= IN_MEMORY && !self.further.is_empty();
            if !is_full && file.write_all(bytes).is_ok() {
                self.written += bytes.len() as u64;
                return self.journal.kept();
            }
            // A part of them may be there.
            if !is_full {
                let _ = file.set_len(self.written);
            }
            self.go_on();
        }
    }

    /// The folders, which go when they are dropped.
    pub fn into_folders(mut self) -> Vec<SpoolFolder> {
        self.begun.append(&mut self.further);
        self.begun
    }
}

/// What lies in the folders of a recording, that on a disk first; and whether the last calls are missing.
pub fn read(folders: &[&Path]) -> io::Result<(Trace, bool)> {
    let (mut bytes, mut is_cut) = (Vec::new(), false);
    for folder in folders.iter().rev() {
        for name in [CALLS, CUT] {
            let mut options = File::options();
            options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
            match options.open(folder.join(name)) {
                Ok(file) if file.metadata()?.is_file() => {
                    let written = spool::files::first_part(&file)?;
                    is_cut |= name == CUT || (written.len() as u64) < file.metadata()?.len();
                    bytes.extend(written);
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok((journal::read(FORMAT, &bytes), is_cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::model::{Call, Op, Thread};

    fn live(places: [&Path; 2]) -> Live {
        let further = places.map(|place| SpoolFolder::new(place, &[7; 16]).unwrap()).into();
        let mut live =
            Live { journal: Journal::default(), further, begun: Vec::new(), file: None, written: 0 };
        live.go_on();
        live
    }

    fn add(trace: &mut Trace, live: &mut Live) {
        let path = trace.names.intern(trace.calls.len().to_string().as_bytes());
        trace.calls.push(Call { path, ..Call::new(Op::Stat, 0, trace.calls.len() as u64, 1) });
        live.keep(trace, false);
    }

    #[test]
    fn a_recording_goes_on_where_there_is_room_and_says_where_there_is_none() {
        let (disk, memory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut live = live([disk.path(), memory.path()]);
        let mut trace = Trace::default();
        trace.threads.push(Thread::default());
        let inner: Vec<_> =
            live.begun.iter().chain(&live.further).map(|folder| folder.path.clone()).collect();
        let inner: Vec<&Path> = inner.iter().rev().map(|path| path.as_path()).collect();
        let read =
            || read(&inner).map(|(trace, is_cut)| (trace.calls.len(), trace.names.len(), is_cut)).unwrap();
        add(&mut trace, &mut live);
        add(&mut trace, &mut live);
        assert_eq!(read(), (2, 2, false));
        live.written = IN_MEMORY;
        add(&mut trace, &mut live);
        assert_eq!((live.begun.len(), read()), (2, (3, 3, false)));
        // A file that cannot be written to.
        live.file = Some(File::open(inner[0].join(CALLS)).unwrap());
        add(&mut trace, &mut live);
        assert!(live.file.is_none());
        add(&mut trace, &mut live);
        assert_eq!(read(), (3, 3, true));
        drop(live.into_folders());
        assert_eq!(std::fs::read_dir(memory.path()).unwrap().count(), 0);
    }
}
