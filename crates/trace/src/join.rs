//! Joins the recordings of the ranks of one job to one trace.

use std::collections::BTreeMap;

use crate::maps::HashMap;
use crate::model::{Call, NONE, Op, Sighting, Trace, Was};
use crate::recording::About;

/// One trace of the recordings of several ranks, whose clocks are taken to agree: each recording tells when it began.
/// Threads, files and pipes of different recordings are different ones; equal names are one file.
pub fn join(parts: Vec<(Trace, About)>) -> (Trace, About) {
    let began_ns = parts.iter().map(|(_, about)| about.began_ns).min().unwrap_or(0);
    let mut all = Joined { whole: About { began_ns, ..About::default() }, ..Joined::default() };
    for (part, about) in parts {
        all.add(part, about);
    }
    (all.trace, all.whole)
}

/// What was joined so far.
#[derive(Default)]
struct Joined {
    trace: Trace,
    whole: About,
    /// When the rank began to use a name whose sighting is kept.
    sighted: HashMap<u32, u64>,
    /// When the rank had ended that looked at a name afterwards.
    looked: HashMap<u32, u64>,
    /// How many recordings were joined.
    parts: u32,
    /// How many numbers of files and pipes are taken.
    files: u32,
    pipes: u32,
}

impl Joined {
    fn add(&mut self, part: Trace, about: About) {
        let later = about.began_ns.saturating_sub(self.whole.began_ns);
        let ended = later.saturating_add(about.elapsed_ns);
        let names: Vec<u32> = part.names.iter().map(|name| self.trace.names.intern(name)).collect();
        let named = |name: u32| names.get(name as usize).copied().unwrap_or(NONE);
        let uses = self.calls(&part, later, &named);
        let threads = self.trace.threads.len() as u32;
        self.trace.threads.extend(part.threads.into_iter().map(|mut thread| {
            thread.process += threads;
            thread.part = self.parts;
            thread
        }));
        let renamed = |sighting: Sighting| match sighting.was {
            Was::Link(target) => Sighting { was: Was::Link(named(target)), ..sighting },
            Was::File(_) | Was::Directory | Was::Nothing => sighting,
        };
        // The rank that used a name first tells what was there: others may have seen what it made.
        for (name, sighting) in part.sightings {
            let name = named(name);
            let used = uses.get(&name).copied().unwrap_or(u64::MAX);
            if self.sighted.get(&name).is_none_or(|known| used < *known) {
                self.sighted.insert(name, used);
                self.trace.sightings.insert(name, renamed(sighting));
            }
        }
        for (name, sighting) in part.after {
            let name = named(name);
            if self.looked.get(&name).is_none_or(|known| *known <= ended) {
                self.looked.insert(name, ended);
                self.trace.after.insert(name, renamed(sighting));
            }
        }
        for (why, count) in part.left_out {
            *self.trace.left_out.entry(why).or_default() += count;
        }
        for note in part.notes {
            if !self.trace.notes.contains(&note) {
                self.trace.notes.push(note);
            }
        }
        self.parts += 1;
        self.trace.format = part.format;
        self.trace.cost_ns = self.trace.cost_ns.max(part.cost_ns);
        self.trace.added_ns = self.trace.added_ns.max(part.added_ns);
        self.whole.elapsed_ns = self.whole.elapsed_ns.max(ended);
        self.whole.recorded += about.recorded;
        self.whole.counted += about.counted;
        self.whole.tree = self.whole.tree.max(about.tree);
        self.whole.command = about.command;
    }

    /// Adds the calls of a recording that began `later`; when each name was used first.
    fn calls(&mut self, part: &Trace, later: u64, named: &dyn Fn(u32) -> u32) -> BTreeMap<u32, u64> {
        let unrepeated: Vec<u32> =
            part.unrepeated.iter().map(|one| self.trace.unrepeated(&one.what, one.changes)).collect();
        let threads = self.trace.threads.len() as u32;
        let (mut files, mut pipes) = (self.files, self.pipes);
        let mut uses = BTreeMap::new();
        for call in part.calls.iter() {
            let file = match call.op {
                _ if call.file == NONE => NONE,
                Op::Spawn | Op::Wait => call.file.saturating_add(threads),
                Op::PipeRead | Op::PipeWrite => next(call.file, self.pipes, &mut pipes),
                _ => next(call.file, self.files, &mut files),
            };
            let (path, other) = (named(call.path), named(call.other));
            let start = call.start.saturating_add(later);
            for name in [path, other].into_iter().filter(|name| *name != NONE) {
                let first = uses.entry(name).or_insert(start);
                *first = start.min(*first);
            }
            let flags = match call.op {
                Op::Unrepeated => unrepeated.get(call.flags as usize).copied().unwrap_or(call.flags),
                _ => call.flags,
            };
            let thread = call.thread + threads;
            self.trace.calls.push(Call { start, thread, file, path, other, flags, ..call });
        }
        (self.files, self.pipes) = (files, pipes);
        uses
    }
}

/// The number of a file behind those that are taken; `most` becomes the lowest number that is free.
fn next(number: u32, taken: u32, most: &mut u32) -> u32 {
    let own = number.saturating_add(taken).min(NONE - 1);
    *most = (*most).max(own + 1);
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Thread;

    fn rank(name: &[u8], was: Was, began_ns: u64) -> (Trace, About) {
        let mut trace =
            Trace { format: "lastrank record".into(), cost_ns: Some(began_ns), ..Trace::default() };
        trace.threads.push(Thread { id: 7, process: 0, name: "app".into(), part: 0 });
        trace.names.intern(format!("/only/{began_ns}").as_bytes());
        let path = trace.names.intern(name);
        trace.sightings.insert(path, Sighting { was, permissions: None });
        trace.calls.push(Call { path, file: 3, ..Call::new(Op::Open, 0, 10, 1) });
        trace.calls.push(Call { path, file: 3, bytes: 5, offset: 0, ..Call::new(Op::Write, 0, 20, 1) });
        (trace, About { elapsed_ns: 100, recorded: 1, counted: 2, began_ns, ..About::default() })
    }

    #[test]
    fn ranks_keep_their_own_files_and_share_names() {
        let (trace, about) = join(vec![
            rank(b"/d/f", Was::File(5), 1_000),
            rank(b"/d/f", Was::Nothing, 900),
            rank(b"/d/g", Was::Nothing, 950),
        ]);
        let calls: Vec<Call> = trace.calls.iter().collect();
        let of = |call: &Call| (call.thread, call.file, call.start, trace.names.get(call.path).to_vec());
        assert_eq!(of(&calls[0]), (0, 3, 110, b"/d/f".to_vec()));
        assert_eq!(of(&calls[2]), (1, 7, 10, b"/d/f".to_vec()));
        assert_eq!(of(&calls[5]), (2, 11, 70, b"/d/g".to_vec()));
        let places: Vec<(u32, u32)> =
            trace.threads.iter().map(|thread| (thread.process, thread.part)).collect();
        assert_eq!(places, [(0, 0), (1, 1), (2, 2)]);
        // The second rank was there first, and found nothing.
        let name = trace.names.find(b"/d/f").unwrap();
        assert_eq!(trace.sightings[&name].was, Was::Nothing);
        assert_eq!((about.elapsed_ns, about.counted, trace.cost_ns), (200, 6, Some(1_000)));
    }
}
