//! Derives which call of one strand must wait for which call of another.
//!
//! Causes are: the start of a process or thread, the wait for its end, the bytes of a pipe, the creation, removal and
//! renaming of a name, and the bytes of a file that another strand wrote. Calls that share none of these may overlap,
//! as in resource-oriented replay (Weiss et al., SOSP 2013).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::flags::{O_CREAT, O_TRUNC};
use crate::lanes::Lanes;
use crate::maps::{HashMap, HashSet};
use crate::model::column::{BYTES, ERRNO, FILE, FLAGS, OP, OTHER, PATH, THREAD};
use crate::model::{Call, CallReader, NONE, Op, Trace, Was, only_orders};
use crate::moments::CallMoments;
use crate::names::parent;

/// For each strand, the number of its calls that are known to have ended.
type Clock = BTreeMap<u32, u32>;

/// The waits between strands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// By index of the waiting call: strands, and the number of their calls that must have ended first.
    pub waits: HashMap<u32, Vec<(u32, u32)>>,
    /// For each strand, the numbers of calls after which it signals to others.
    pub tells: BTreeMap<u32, BTreeSet<u32>>,
    /// When each call took effect.
    pub moments: CallMoments,
}

impl Order {
    /// The number, from 1, of the signal by which a strand reports that `calls` of its calls are done.
    pub fn signal(&self, strand: u32, calls: u32) -> u64 {
        self.tells.get(&strand).map_or(0, |tells| tells.range(..=calls).count() as u64)
    }
}

/// The latest uses of a name, or of the bytes of its file.
#[derive(Default)]
struct Resource {
    /// The last call of each strand that changed it.
    changed: Clock,
    /// The last call of each strand that used it since.
    used: Clock,
}

/// Bytes in a pipe, and the calls known to have ended when they were written.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<(u64, Rc<Clock>)>,
    last: Option<Rc<Clock>>,
}

struct Causes<'a> {
    lanes: &'a Lanes,
    /// By thread: the calls of all strands that are known to have ended.
    known: Vec<Clock>,
    /// By strand: the waits it already has, and the call from which each holds.
    enforced: Vec<Vec<(u32, Clock)>>,
    /// By strand: the number of its calls so far.
    done: Vec<u32>,
    names: HashMap<u32, Resource>,
    contents: HashMap<u32, Resource>,
    pipes: HashMap<u32, Pipe>,
    /// By open file: the strand that opened it, and the number of its calls by then.
    open: HashMap<u32, (u32, u32)>,
    /// Open files, each with a strand that uses it without having opened it.
    handed_on: HashSet<(u32, u32)>,
    /// Names that an open created and that were not removed since.
    made: BTreeSet<u32>,
    order: Order,
}

/// The waits between strands that causes require.
pub fn order(trace: &Trace, lanes: &Lanes) -> Order {
    let mut walk = Causes {
        lanes,
        known: vec![Clock::new(); trace.threads.len()],
        enforced: vec![Vec::new(); lanes.strands.len()],
        done: vec![0; lanes.strands.len()],
        names: HashMap::default(),
        contents: HashMap::default(),
        pipes: HashMap::default(),
        open: HashMap::default(),
        handed_on: HashSet::default(),
        made: trace
            .sightings
            .iter()
            .filter(|(_, seen)| seen.was != Was::Nothing)
            .map(|(name, _)| *name)
            .collect(),
        order: Order::default(),
    };
    let moments = CallMoments::of(trace);
    if lanes.strands.len() < 2 {
        return Order { moments, ..walk.order };
    }
    let parents: Vec<u32> =
        trace.names.iter().map(|name| trace.names.find(parent(name)).unwrap_or(NONE)).collect();
    let mut reader = CallReader::of(&[THREAD, OP, ERRNO, FLAGS, FILE, PATH, OTHER, BYTES]);
    for at in moments.sort(trace, 0..trace.calls.len() as u32) {
        let call = reader.get(&trace.calls, at);
        match lanes.strand_of(at) {
            NONE => walk.event(&call),
            strand => walk.call(at, strand, &call, &parents),
        }
    }
    Order { moments, ..walk.order }
}

fn merge(into: &mut Clock, from: &Clock) {
    for (strand, count) in from {
        let own = into.entry(*strand).or_default();
        *own = (*own).max(*count);
    }
}

impl Causes<'_> {
    /// Calls that are not in the program, but order those that are.
    fn event(&mut self, call: &Call) {
        let thread = call.thread as usize;
        match call.op {
            Op::Spawn => self.known[call.file as usize] = self.known[thread].clone(),
            Op::Wait => {
                let child = self.known[call.file as usize].clone();
                merge(&mut self.known[thread], &child);
            }
            Op::PipeWrite => {
                let known = Rc::new(self.known[thread].clone());
                let pipe = self.pipes.entry(call.file).or_default();
                if call.bytes > 0 {
                    pipe.bytes.push_back((call.bytes, Rc::clone(&known)));
                }
                pipe.last = Some(known);
            }
            Op::PipeRead => {
                let pipe = self.pipes.entry(call.file).or_default();
                let mut left = call.bytes;
                let mut tellers: Vec<Rc<Clock>> = Vec::new();
                if call.bytes == 0 {
                    tellers.extend(pipe.last.clone());
                }
                while left > 0 {
                    let Some((bytes, teller)) = pipe.bytes.front_mut() else { break };
                    tellers.push(Rc::clone(teller));
                    let taken = left.min(*bytes);
                    (*bytes, left) = (*bytes - taken, left - taken);
                    if *bytes == 0 {
                        pipe.bytes.pop_front();
                    }
                }
                for teller in tellers {
                    merge(&mut self.known[thread], &teller);
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, at: u32, strand: u32, call: &Call, parents: &[u32]) {
        let thread = call.thread as usize;
        let mut needs = Clock::new();
        let creates = call.op == Op::Create || call.op == Op::Open && call.flags & O_CREAT != 0;
        let makes = creates && call.errno == 0 && self.made.insert(call.path);
        if matches!(call.op, Op::Unlink | Op::Rename) && call.errno == 0 {
            self.made.remove(&call.path);
            self.made.insert(call.other);
        }
        let (mut names, content) = touches(call, parents, makes);
        self.needs_open_file(strand, call, &mut needs, &mut names);
        for (name, changes) in &names {
            if let Some(resource) = self.names.get(name) {
                merge(&mut needs, &resource.changed);
                if *changes {
                    merge(&mut needs, &resource.used);
                }
            }
        }
        if let Some((file, changes)) = content
            && let Some(resource) = self.contents.get(&file)
        {
            // Writers do not wait for each other; a reader, or a truncation, waits for all writers.
            if !changes || call.op == Op::Truncate {
                merge(&mut needs, &resource.changed);
            }
            // Those who met the end of the file would read on.
            if changes {
                merge(&mut needs, &resource.used);
            }
        }
        merge(&mut needs, &self.known[thread]);
        self.wait(at, strand, &needs);
        self.done[strand as usize] += 1;
        let now = self.done[strand as usize];
        self.known[thread].insert(strand, now);
        for (name, changes) in names {
            let resource = self.names.entry(name).or_default();
            if changes {
                resource.changed = Clock::from([(strand, now)]);
                resource.used.clear();
            } else {
                resource.used.insert(strand, now);
            }
        }
        if call.op == Op::Open && call.errno == 0 {
            self.open.insert(call.file, (strand, now));
        }
        match content {
            Some((file, true)) => {
                let resource = self.contents.entry(file).or_default();
                resource.changed.insert(strand, now);
                resource.used.clear();
            }
            Some((file, false)) if call.op == Op::Read && call.bytes == 0 => {
                self.contents.entry(file).or_default().used.insert(strand, now);
            }
            _ => {}
        }
    }

    /// Who uses a file that another strand opened waits for that. It opens it by its name, so that those who change the name wait
    /// for the first use.
    fn needs_open_file(&mut self, strand: u32, call: &Call, needs: &mut Clock, names: &mut Vec<Touch>) {
        if call.file == NONE || call.op == Op::Open {
            return;
        }
        if call.op == Op::Close {
            self.open.remove(&call.file);
            return;
        }
        let Some(&(opener, count)) = self.open.get(&call.file) else { return };
        if opener == strand || !self.handed_on.insert((call.file, strand)) {
            return;
        }
        merge(needs, &Clock::from([(opener, count)]));
        if call.path != NONE {
            names.push((call.path, false));
        }
    }

    /// Makes a call wait for what it depends on, except what its strand has already waited for.
    fn wait(&mut self, at: u32, strand: u32, needs: &Clock) {
        let own = &self.lanes.strands[strand as usize];
        let in_order = |other: u32| {
            let theirs = &self.lanes.strands[other as usize];
            theirs.rank == own.rank && (other == strand || theirs.segment != own.segment)
        };
        let has = |enforced: &Clock, other: &u32, count: &u32| {
            in_order(*other) || enforced.get(other).is_some_and(|known| known >= count)
        };
        let none = Clock::new();
        let enforced = self.enforced[strand as usize].last().map_or(&none, |(_, clock)| clock);
        // Most calls wait for nothing new.
        if needs.iter().all(|(other, count)| has(enforced, other, count)) {
            return;
        }
        let mut enforced = enforced.clone();
        let mut waits = Vec::new();
        for (other, count) in needs {
            if has(&enforced, other, count) {
                continue;
            }
            waits.push((*other, *count));
            enforced.insert(*other, *count);
            // Whatever the other strand had waited for by then has ended too.
            let history = &self.enforced[*other as usize];
            let by_then = history.partition_point(|(since, _)| since <= count);
            if let Some((_, clock)) = by_then.checked_sub(1).map(|last| &history[last]) {
                let clock = clock.clone();
                merge(&mut enforced, &clock);
            }
        }
        for (other, count) in &waits {
            self.order.tells.entry(*other).or_default().insert(*count);
        }
        self.order.waits.insert(at, waits);
        let since = self.done[strand as usize] + 1;
        self.enforced[strand as usize].push((since, enforced));
    }
}

/// A name, and whether a call creates, removes or renames it.
type Touch = (u32, bool);

/// The names and the file contents that a call uses or changes.
fn touches(call: &Call, parents: &[u32], makes: bool) -> (Vec<Touch>, Option<Touch>) {
    let above = |name: u32| parents.get(name as usize).copied().unwrap_or(NONE);
    let mut names: Vec<Touch> = Vec::new();
    let mut add = |name: u32, changes: bool| {
        if name != NONE {
            names.push((name, changes));
        }
    };
    let done = call.errno == 0;
    match call.op {
        Op::Open | Op::Create => {
            add(call.path, makes);
            add(above(call.path), false);
        }
        Op::Unlink | Op::Rmdir | Op::Mkdir | Op::Symlink => {
            add(call.path, done);
            add(above(call.path), false);
        }
        Op::Rename => {
            add(call.path, done);
            add(call.other, done);
            add(above(call.path), false);
            add(above(call.other), false);
        }
        Op::Link => {
            add(call.path, false);
            add(call.other, done);
            add(above(call.other), false);
        }
        Op::Stat | Op::Lookup | Op::Chmod | Op::Chown | Op::Utimes | Op::Readdir => add(call.path, false),
        Op::SetAttribute | Op::RemoveAttribute => add(call.path, false),
        Op::Read
        | Op::Write
        | Op::Seek
        | Op::Sync
        | Op::DataSync
        | Op::Truncate
        | Op::Allocate
        | Op::Close => {}
        only_orders!() => {}
    }
    let content = match call.op {
        Op::Write | Op::Truncate | Op::Allocate => Some((call.path, true)),
        Op::Read | Op::Sync | Op::DataSync => Some((call.path, false)),
        Op::Open if call.flags & O_TRUNC != 0 && done => Some((call.path, true)),
        Op::Stat if done => Some((call.path, false)),
        _ => None,
    };
    (names, content)
}
