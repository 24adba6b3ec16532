//! Follows the descriptors, working directories and positions of a traced application: system calls in, the calls of
//! the model out.

mod calls;
mod descriptors;
mod renames;
mod state;
mod unrepeated;

use crate::event::{Asked, Event, From, Given};
use crate::maps::HashMap;
use crate::model::{Call, NONE, NameTable, Op, Sighting, Thread, Trace, Was};
use crate::names::resolve;
use state::{Descriptions, Kind, Living, call};

pub use state::Follower;

/// Placeholder for a working directory that is not known yet.
const UNTOLD: &[u8] = b"/\x01";

impl Follower {
    /// Before the first call; `directory` is the working directory of the application, where known.
    pub fn new(format: &str, directory: Option<&[u8]>) -> Self {
        Self {
            trace: Trace { format: format.to_owned(), ..Trace::default() },
            living: HashMap::default(),
            tables: Vec::new(),
            users: Vec::new(),
            directories: Vec::new(),
            descriptions: Descriptions::default(),
            pipes: HashMap::default(),
            pipe_count: 0,
            unnamed: 0,
            exchanges: 0,
            start_directory: directory.map_or_else(|| UNTOLD.to_vec(), |known| resolve(b"/", known)),
            told: None,
            last_thread: HashMap::default(),
            held: 0,
            longer: 0,
        }
    }

    /// Whether a thread of that number is alive.
    pub fn knows(&self, id: u32) -> bool {
        self.living.contains_key(&id)
    }

    /// The number of a name in the model, absolute.
    pub fn name(&mut self, thread: u32, given: Given<'_>) -> Option<u32> {
        let living = self.living(thread);
        self.resolved(living, given)
    }

    /// Keeps what the recorder saw of a name before its first use.
    pub fn sight(&mut self, name: u32, sighting: Sighting) {
        self.trace.sightings.entry(name).or_insert(sighting);
    }

    /// A descriptor that is open when the trace begins.
    pub fn inherit(&mut self, thread: u32, descriptor: i32, leads_to: &[u8]) {
        let living = self.living(thread);
        self.open_untold(living, descriptor, leads_to);
    }

    /// A descriptor that is open, as a thread sees it: known where no earlier call told of it.
    pub fn inherit_missing(&mut self, thread: u32, descriptor: i32, leads_to: &[u8]) {
        let living = self.living(thread);
        if self.slot(living, descriptor).is_none() {
            self.open_untold(living, descriptor, leads_to);
        }
    }

    /// The trace, with all names absolute that can be.
    pub fn finish(mut self) -> Trace {
        let known = match &self.told {
            Some(told) => told.clone(),
            None => b"/cwd".to_vec(),
        };
        let untold = self.trace.names.iter().any(|name| name.starts_with(UNTOLD));
        if untold {
            rename_untold(&mut self.trace, &known);
            if self.told.is_none() {
                self.trace.notes.push(
                    "the working directory is not in the trace: relative names are taken to lie in /cwd; --cwd DIR \
                     says where they lie"
                        .to_owned(),
                );
            }
        }
        self.trace
    }

    fn living(&mut self, id: u32) -> Living {
        if let Some(known) = self.living.get(&id) {
            return *known;
        }
        self.directories.push(self.start_directory.clone());
        self.tables.push(HashMap::default());
        self.users.push(1);
        let thread = self.new_thread(id, None);
        let living = Living {
            thread,
            table: self.tables.len() as u32 - 1,
            directory: self.directories.len() as u32 - 1,
        };
        self.living.insert(id, living);
        living
    }

    fn new_thread(&mut self, id: u32, of: Option<u32>) -> u32 {
        let number = self.trace.threads.len() as u32;
        let (process, name) = match of {
            Some(other) => {
                let other = &self.trace.threads[other as usize];
                (other.process, other.name.clone())
            }
            None => (number, String::new()),
        };
        self.trace.threads.push(Thread { id, process, name, part: 0 });
        self.last_thread.insert(id, number);
        number
    }

    /// Notes that a thread begins to close a descriptor: the kernel may give its number to another file before the call
    /// has ended.
    pub fn begin_close(&mut self, thread: u32, descriptor: i32) {
        let table = self.living(thread).table as usize;
        if let Some(slot) = self.tables[table].remove(&descriptor) {
            self.tables[table].insert(closing(thread), slot);
        }
    }

    /// Takes one system call.
    pub fn take(&mut self, event: &Event<'_>) {
        // Where an empty name means an open file, such a call does not fail so.
        const ENOENT: u16 = 2;
        match event.errno == ENOENT && event.asked.has_an_empty_name() {
            true => self.trace.leave_out("calls with an empty name, which fail in any case"),
            false => self.take_meaningful(event),
        }
    }

    fn take_meaningful(&mut self, event: &Event<'_>) {
        let living = self.living(event.thread);
        let failed = event.result < 0;
        match &event.asked {
            Asked::Open { .. } => self.open(living, event),
            Asked::Close { descriptor } if !failed => {
                let begun = closing(event.thread);
                let is_begun = self.tables[living.table as usize].contains_key(&begun);
                self.close(living, event, if is_begun { begun } else { *descriptor }, 0);
            }
            Asked::CloseRange { .. } if !failed => self.close_range(living, event),
            Asked::Duplicate { descriptor, close_on_exec } if !failed => {
                self.duplicate(living, event, *descriptor, *close_on_exec);
            }
            Asked::CloseOnExec { descriptor, on } => {
                if let Some(slot) = self.tables[living.table as usize].get_mut(descriptor) {
                    slot.close_on_exec = *on;
                }
            }
            Asked::Spawn { .. } if event.result > 0 => self.spawn(living, event),
            Asked::Exec { path } if !failed => self.exec(living, event, path),
            Asked::Exit => self.exit(living, event),
            Asked::Wait if event.result > 0 => {
                if let Some(child) = self.last_thread.get(&(event.result as u32)) {
                    let child = *child;
                    self.push(Call { file: child, ..call(Op::Wait, living, event) });
                }
            }
            Asked::Chdir { path } if !failed => {
                if let Some(name) = self.absolute(living, *path) {
                    self.directories[living.directory as usize] = name;
                }
            }
            Asked::ChdirOpen { descriptor } if !failed => {
                if let Some(at) = self.slot(living, *descriptor) {
                    let name = self.trace.names.get(self.descriptions[at].path).to_vec();
                    self.directories[living.directory as usize] = name;
                }
            }
            Asked::WorkingDirectory { path } => self.told(living, path),
            Asked::Pipe { read, write } if !failed => {
                let pipe = self.new_pipe();
                self.bind_pipe(living, *read, pipe);
                self.bind_pipe(living, *write, pipe);
            }
            Asked::Socket if !failed => drop(self.bind(living, event.result as i32, Kind::Socket, NONE, 0)),
            Asked::SocketPair { one, other } if !failed => {
                self.bind(living, *one, Kind::Socket, NONE, 0);
                self.bind(living, *other, Kind::Socket, NONE, 0);
            }
            Asked::Unrepeated { .. } | Asked::Lost { .. } => self.unrepeated(living, event),
            Asked::Close { .. }
            | Asked::CloseRange { .. }
            | Asked::Duplicate { .. }
            | Asked::Spawn { .. }
            | Asked::Exec { .. }
            | Asked::Wait
            | Asked::Chdir { .. }
            | Asked::ChdirOpen { .. }
            | Asked::Pipe { .. }
            | Asked::Socket
            | Asked::SocketPair { .. } => {}
            Asked::Read { descriptor, offset, .. } => {
                self.transfer(living, event, *descriptor, (*offset, false));
            }
            Asked::Write { descriptor, offset, .. } => {
                self.transfer(living, event, *descriptor, (*offset, true));
            }
            Asked::TruncateName { .. } => self.truncate_by_name(living, event),
            Asked::Bind { .. } => self.bound(living, event),
            Asked::Submit { .. } => self.submitted(living, event),
            Asked::Copy { .. } => self.copy(living, event),
            Asked::Clone { .. } => self.cloned(living, event),
            Asked::Extended { .. } => self.extended(living, event),
            Asked::Rename { .. } => self.rename(living, event),
            Asked::Exchange { .. } => self.exchange(living, event),
            Asked::LinkOpen { .. } => self.link_open(living, event),
            Asked::Seek { .. }
            | Asked::Sync { .. }
            | Asked::Truncate { .. }
            | Asked::Allocate { .. }
            | Asked::StatOpen { .. }
            | Asked::ChangeOpen { .. }
            | Asked::Readdir { .. }
            | Asked::Map { .. } => self.on_open_file(living, event),
            Asked::Stat { .. }
            | Asked::Lookup { .. }
            | Asked::Unlink { .. }
            | Asked::Rmdir { .. }
            | Asked::Mkdir { .. }
            | Asked::Link { .. }
            | Asked::Symlink { .. }
            | Asked::Readlink { .. }
            | Asked::Change { .. } => self.on_name(living, event),
        }
    }

    /// Adds a call that changes no state.
    pub fn push(&mut self, call: Call) {
        let duration = call.duration.saturating_sub(self.longer);
        self.trace.calls.push(Call { held: self.held, duration, ..call });
    }

    /// The thread of a number in the model, made where it is new.
    pub fn thread(&mut self, id: u32) -> u32 {
        self.living(id).thread
    }

    fn told(&mut self, living: Living, path: &[u8]) {
        let here = &mut self.directories[living.directory as usize];
        if here.starts_with(UNTOLD) && path.first() == Some(&b'/') {
            if here.as_slice() == UNTOLD && self.told.is_none() {
                self.told = Some(path.to_vec());
            }
            *here = resolve(b"/", path);
            if self.start_directory == UNTOLD {
                self.start_directory = resolve(b"/", path);
            }
        }
    }

    fn absolute(&self, living: Living, given: Given<'_>) -> Option<Vec<u8>> {
        if given.name.first() == Some(&b'/') {
            return Some(
                self.behind_descriptor(living, given.name).unwrap_or_else(|| resolve(b"/", given.name)),
            );
        }
        let from: &[u8] = match given.from {
            From::Here => &self.directories[living.directory as usize],
            From::Descriptor(number) => {
                let at = self.slot(living, number)?;
                self.trace.names.get(self.descriptions[at].path)
            }
        };
        Some(resolve(from, given.name))
    }

    /// What a name below `/proc/self/fd` means: C libraries make such names to change what they hold open.
    fn behind_descriptor(&self, living: Living, name: &[u8]) -> Option<Vec<u8>> {
        let below = name.strip_prefix(b"/proc/self/fd/")?;
        let digits = below.iter().position(|byte| *byte == b'/').unwrap_or(below.len());
        let number = std::str::from_utf8(&below[..digits]).ok()?.parse().ok()?;
        let description = &self.descriptions[self.slot(living, number)?];
        let rest = below[digits..].strip_prefix(b"/").unwrap_or(b"");
        match description.kind {
            Kind::File | Kind::Directory if rest.is_empty() => {
                Some(self.trace.names.get(description.path).to_vec())
            }
            Kind::Directory => Some(resolve(self.trace.names.get(description.path), rest)),
            _ => None,
        }
    }

    fn resolved(&mut self, living: Living, given: Given<'_>) -> Option<u32> {
        let name = self.absolute(living, given)?;
        Some(self.trace.names.intern(&name))
    }
}

/// Resolves names relative to a working directory that became known later.
fn rename_untold(trace: &mut Trace, directory: &[u8]) {
    let mut names = NameTable::default();
    let rest_of =
        |name: &[u8]| name.strip_prefix(UNTOLD).map(|rest| resolve(directory, &[b"./", rest].concat()));
    let map: Vec<u32> = trace
        .names
        .iter()
        .map(|name| match rest_of(name) {
            Some(whole) => names.intern(&whole),
            None => names.intern(name),
        })
        .collect();
    trace.calls.rename(&map);
    trace.sightings = std::mem::take(&mut trace.sightings)
        .into_iter()
        .map(|(name, mut sighting)| {
            if let Was::Link(target) = sighting.was {
                sighting.was = Was::Link(map[target as usize]);
            }
            (map[name as usize], sighting)
        })
        .collect();
    trace.names = names;
}

/// The number under which a table keeps what a thread is closing: negative numbers are no descriptors.
fn closing(thread: u32) -> i32 {
    i32::MIN + (thread & 0x3fff_ffff) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_recorder_added_to_a_call_is_not_in_its_duration() {
        let mut follower = Follower::new("test", Some(b"/home"));
        (follower.held, follower.longer) = (700, 30);
        follower.take(&Event {
            thread: 7,
            start: 1000,
            duration: 100,
            result: 0,
            errno: 0,
            leads_to: None,
            asked: Asked::Lookup { path: Given { from: From::Here, name: b"name" } },
        });
        let call = follower.finish().calls.get(0);
        assert_eq!((call.start, call.duration, call.held), (1000, 70, 700));
    }
}
