//! Which site does an operation belong to, given the labels around it now?

use std::collections::HashMap;
use std::io;

use samples::{Site, SiteKind};

use super::recorder::Recorder;

/// No number was given yet.
const UNKNOWN: u32 = u32::MAX;
/// So many different stacks of labels a rank may have; further labels are named [`MORE`].
const CONTEXT_LIMIT: usize = 100_000;
/// Stands for all labels past the limit.
pub const MORE: &str = "(further labels)";

/// A place in the program text, before labels are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
    /// `fwrite`, `barrier`, `time` …
    pub operation: String,
    /// Which kind of interval.
    pub kind: SiteKind,
}

/// Stacks of labels, interned; for each, the site number of every place.
///
/// Looking a site up is one vector index; only the first use of a place under a stack of labels
/// writes to the journal.
pub struct SiteTable {
    contexts: Vec<Context>,
    children: HashMap<(u32, String, String), u32>,
    current: usize,
    places: usize,
}

struct Context {
    parent: u32,
    labels: Vec<String>,
    group: String,
    sites: Vec<u32>,
    /// The child entered last, and its key: a loop enters the same one again and again.
    last: u32,
    key: (String, String),
}

impl Context {
    fn new(parent: u32, labels: Vec<String>, group: String, places: usize, key: (String, String)) -> Self {
        Self { parent, labels, group, sites: vec![UNKNOWN; places], last: UNKNOWN, key }
    }
}

impl SiteTable {
    /// A table for a program with `places` places.
    pub fn new(places: usize) -> Self {
        let root = Context::new(0, Vec::new(), String::new(), places, Default::default());
        Self { contexts: vec![root], children: HashMap::new(), current: 0, places }
    }

    /// The site number of `place`, whose description is `describe()`, under the current labels.
    ///
    /// Errors: the journal is full.
    #[inline(always)]
    pub fn site(
        &mut self,
        place: usize,
        recorder: &mut Recorder,
        describe: impl FnOnce() -> Place,
    ) -> io::Result<u32> {
        match self.contexts[self.current].sites.get(place) {
            Some(&site) if site != UNKNOWN => Ok(site),
            _ => self.register(place, recorder, describe()),
        }
    }

    /// Enters a labelled block.
    pub fn enter_label(&mut self, label: &str) {
        self.enter(label, "");
    }

    /// Enters a group's block.
    pub fn enter_group(&mut self, group: &str) {
        self.enter("", group);
    }

    fn enter(&mut self, label: &str, group: &str) {
        let here = &self.contexts[self.current];
        if let Some(child) = self.contexts.get(here.last as usize)
            && child.key.0 == label
            && child.key.1 == group
        {
            self.current = here.last as usize;
            return;
        }
        self.descend(label, group);
    }

    /// Leaves the block entered last.
    pub fn leave(&mut self) {
        self.current = self.contexts[self.current].parent as usize;
    }

    /// The group of the current block; empty for the world.
    pub fn group(&self) -> &str {
        &self.contexts[self.current].group
    }

    fn descend(&mut self, label: &str, group: &str) {
        let label = if self.contexts.len() >= CONTEXT_LIMIT { MORE } else { label };
        let key = (self.current as u32, label.to_owned(), group.to_owned());
        let child = match self.children.get(&key) {
            Some(&known) => known as usize,
            None => {
                let here = &self.contexts[self.current];
                let labels = here.labels.iter().cloned().chain((!label.is_empty()).then(|| label.to_owned()));
                let inner = if group.is_empty() { here.group.clone() } else { group.to_owned() };
                let own = (label.to_owned(), group.to_owned());
                let new = Context::new(self.current as u32, labels.collect(), inner, self.places, own);
                self.contexts.push(new);
                let number = self.contexts.len() - 1;
                self.children.insert(key, number as u32);
                number
            }
        };
        self.contexts[self.current].last = child as u32;
        self.current = child;
    }

    #[cold]
    #[inline(never)]
    fn register(&mut self, place: usize, recorder: &mut Recorder, what: Place) -> io::Result<u32> {
        let context = &mut self.contexts[self.current];
        let number = recorder.site(&Site {
            line: what.line,
            column: what.column,
            labels: context.labels.clone(),
            operation: what.operation,
            kind: what.kind,
            group: context.group.clone(),
        })?;
        if context.sites.len() <= place {
            context.sites.resize(place + 1, UNKNOWN);
        }
        context.sites[place] = number;
        Ok(number)
    }
}
