//! Descriptors: what opens, copies, passes on and closes them.

use super::state::{Follower, Kind, Living, OpenDescription, Slot, call};
use super::unrepeated::BELOW_UNKNOWN;
use crate::event::{Asked, Event, From};
use crate::flags::{O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_PATH, O_TMPFILE};
use crate::model::{AGAIN, Call, IMPLIED, NEAREST, NONE, Op, Sighting, UNKNOWN, Was};
use crate::names::resolve;

impl Follower {
    pub(super) fn slot(&self, living: Living, descriptor: i32) -> Option<u32> {
        self.tables[living.table as usize].get(&descriptor).map(|slot| slot.description)
    }

    /// The description of a descriptor; opens one that appears in the trace without an open.
    pub(super) fn description(&mut self, living: Living, event: &Event<'_>, descriptor: i32) -> Option<u32> {
        if let Some(at) = self.slot(living, descriptor) {
            return Some(at);
        }
        let leads_to = event.leads_to?;
        self.open_untold(living, descriptor, leads_to);
        self.slot(living, descriptor)
    }

    /// A descriptor whose file is known only because the trace names it.
    pub(super) fn open_untold(&mut self, living: Living, descriptor: i32, leads_to: &[u8]) {
        if leads_to.starts_with(b"/") {
            let name = self.trace.names.intern(&resolve(b"/", leads_to));
            self.bind(living, descriptor, Kind::File, name, 2);
        } else if leads_to.starts_with(b"pipe:") {
            let pipe = match self.pipes.get(leads_to) {
                Some(known) => *known,
                None => {
                    let pipe = self.new_pipe();
                    self.pipes.insert(leads_to.to_vec(), pipe);
                    pipe
                }
            };
            self.bind_pipe(living, descriptor, pipe);
        } else if leads_to.starts_with(b"socket:") || leads_to.starts_with(b"TCP") {
            self.bind(living, descriptor, Kind::Socket, NONE, 0);
        }
    }

    pub(super) fn new_pipe(&mut self) -> u32 {
        self.pipe_count += 1;
        self.pipe_count - 1
    }

    pub(super) fn bind_pipe(&mut self, living: Living, descriptor: i32, pipe: u32) {
        self.bind(living, descriptor, Kind::PipeEnd(pipe), NONE, 0);
    }

    pub(super) fn bind(&mut self, living: Living, descriptor: i32, kind: Kind, path: u32, flags: u32) -> u32 {
        let description = OpenDescription {
            kind,
            path,
            flags,
            position: 0,
            references: 1,
            listed: false,
            told: None,
            unnamed: false,
        };
        let number = self.descriptions.add(description);
        let slot = Slot { description: number, close_on_exec: flags & O_CLOEXEC != 0 };
        if let Some(old) = self.tables[living.table as usize].insert(descriptor, slot) {
            self.descriptions.release(old.description);
        }
        number
    }

    pub(super) fn open(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Open { path, flags, permissions, less } = event.asked else { return };
        // `strace -y` says where the new descriptor leads: names need no working directory then.
        let told = event.leads_to.filter(|to| event.result >= 0 && to.first() == Some(&b'/'));
        if let (Some(to), From::Here) = (told, path.from)
            && let Some(directory) = to.strip_suffix(path.name).and_then(|rest| rest.strip_suffix(b"/"))
        {
            self.told(living, if directory.is_empty() { b"/" } else { directory });
        }
        let Some(name) = self.resolved(living, path) else {
            return self.missed(living, event, BELOW_UNKNOWN);
        };
        if flags & O_TMPFILE == O_TMPFILE && event.result >= 0 {
            return self.open_unnamed(living, event, name);
        }
        let directory = flags & O_DIRECTORY != 0 || flags & O_PATH == O_PATH || self.is_directory(name);
        let (file, kind) = match event.result {
            0.. => {
                let kind = if directory { Kind::Directory } else { Kind::File };
                let file = self.bind(living, event.result as i32, kind, name, flags);
                (file, if directory { O_DIRECTORY } else { 0 })
            }
            _ => (NONE, 0),
        };
        let opened = Call {
            path: name,
            file,
            flags: flags | kind | if less { NEAREST } else { 0 },
            offset: u64::from(permissions & 0o7777),
            bytes: UNKNOWN,
            ..call(Op::Open, living, event)
        };
        self.push(opened);
    }

    /// A file without a name gets one for as long as it is open: a program has no other way to give it a name later.
    fn open_unnamed(&mut self, living: Living, event: &Event<'_>, directory: u32) {
        let Asked::Open { flags, permissions, .. } = event.asked else { return };
        self.unnamed += 1;
        let name = format!(".unnamed-{}", self.unnamed);
        let whole = resolve(self.trace.names.get(directory), name.as_bytes());
        let path = self.trace.names.intern(&whole);
        let flags = flags & !O_TMPFILE | O_CREAT | O_EXCL;
        let file = self.bind(living, event.result as i32, Kind::File, path, flags);
        self.descriptions[file].unnamed = true;
        let offset = u64::from(permissions & 0o7777);
        let flags = flags | NEAREST;
        self.push(Call { path, file, flags, offset, bytes: UNKNOWN, ..call(Op::Open, living, event) });
    }

    /// A range of descriptors is closed, at once or by the next `execve`.
    pub(super) fn close_range(&mut self, living: Living, event: &Event<'_>) {
        let Asked::CloseRange { first, last, on_exec, unshares } = event.asked else { return };
        let living = if unshares { self.own_table(living, event.thread) } else { living };
        let in_range = |number: &i32| *number >= 0 && (first..=last).contains(&(*number as u32));
        let table = &mut self.tables[living.table as usize];
        if on_exec {
            table
                .iter_mut()
                .filter(|(number, _)| in_range(number))
                .for_each(|(_, slot)| slot.close_on_exec = true);
            return;
        }
        let mut numbers: Vec<i32> = table.keys().copied().filter(in_range).collect();
        numbers.sort_unstable();
        for number in numbers {
            self.close(living, event, number, IMPLIED);
        }
    }

    /// A table of descriptors that other threads share becomes this thread's own.
    fn own_table(&mut self, mut living: Living, thread: u32) -> Living {
        if self.users[living.table as usize] > 1 {
            self.users[living.table as usize] -= 1;
            let copy = self.tables[living.table as usize].clone();
            for slot in copy.values() {
                self.descriptions[slot.description].references += 1;
            }
            self.tables.push(copy);
            self.users.push(1);
            living.table = self.tables.len() as u32 - 1;
            self.living.insert(thread, living);
        }
        living
    }

    pub(super) fn is_directory(&self, name: u32) -> bool {
        matches!(self.trace.sightings.get(&name), Some(Sighting { was: Was::Directory, .. }))
    }

    pub(super) fn close(&mut self, living: Living, event: &Event<'_>, descriptor: i32, flags: u32) {
        let Some(slot) = self.tables[living.table as usize].remove(&descriptor) else { return };
        let at = slot.description;
        let unnamed = self.descriptions.is_unnamed(at);
        let (kind, path, last) = self.descriptions.release(at);
        match kind {
            Kind::File | Kind::Directory if last => {
                if unnamed {
                    let flags = AGAIN;
                    self.push(Call { path, flags, duration: 0, ..call(Op::Unlink, living, event) });
                }
                self.push(Call { file: at, path, flags, ..call(Op::Close, living, event) });
            }
            Kind::File if flags == 0 => self.trace.leave_out("closes of copies of a descriptor"),
            Kind::PipeEnd(pipe) if last => {
                // The end of the last writer is what a read of 0 bytes waits for.
                self.push(Call { file: pipe, ..call(Op::PipeWrite, living, event) });
            }
            Kind::File | Kind::Directory | Kind::PipeEnd(_) | Kind::Socket => {}
        }
    }

    pub(super) fn duplicate(&mut self, living: Living, event: &Event<'_>, old: i32, close_on_exec: bool) {
        let new = event.result as i32;
        let Some(at) = self.description(living, event, old) else { return };
        if old == new {
            return;
        }
        self.descriptions[at].references += 1;
        self.close(living, event, new, IMPLIED);
        self.tables[living.table as usize].insert(new, Slot { description: at, close_on_exec });
    }

    pub(super) fn spawn(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Spawn { shares_memory, shares_descriptors, shares_directory } = event.asked else {
            return;
        };
        let id = event.result as u32;
        let table = if shares_descriptors {
            self.users[living.table as usize] += 1;
            living.table
        } else {
            let copy = self.tables[living.table as usize].clone();
            for slot in copy.values() {
                self.descriptions[slot.description].references += 1;
            }
            self.tables.push(copy);
            self.users.push(1);
            self.tables.len() as u32 - 1
        };
        let directory = if shares_directory {
            living.directory
        } else {
            self.directories.push(self.directories[living.directory as usize].clone());
            self.directories.len() as u32 - 1
        };
        let thread = self.new_thread(id, shares_memory.then_some(living.thread));
        if !shares_memory {
            self.trace.threads[thread as usize].name =
                self.trace.threads[living.thread as usize].name.clone();
        }
        self.living.insert(id, Living { thread, table, directory });
        self.push(Call { file: thread, ..call(Op::Spawn, living, event) });
    }

    pub(super) fn exec(&mut self, living: Living, event: &Event<'_>, path: &[u8]) {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        self.trace.threads[living.thread as usize].name = String::from_utf8_lossy(name).into_owned();
        let living = self.own_table(living, event.thread);
        let mut closed: Vec<i32> = self.tables[living.table as usize]
            .iter()
            .filter(|(_, slot)| slot.close_on_exec)
            .map(|(number, _)| *number)
            .collect();
        closed.sort_unstable();
        for number in closed {
            self.close(living, event, number, IMPLIED);
        }
    }

    pub(super) fn exit(&mut self, living: Living, event: &Event<'_>) {
        let users = &mut self.users[living.table as usize];
        *users = users.saturating_sub(1);
        if *users == 0 {
            let mut open: Vec<i32> = self.tables[living.table as usize].keys().copied().collect();
            open.sort_unstable();
            for number in open {
                self.close(living, event, number, IMPLIED);
            }
        }
        self.push(call(Op::Exit, living, event));
        self.living.remove(&event.thread);
    }
}
