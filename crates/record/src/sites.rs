//! The site of an operation: its static site under the labels that are in force.

use std::collections::HashMap;
use std::io;

use ppl::commands::Command;
use samples::{Site, SiteKind};

use crate::recorder::Recorder;

/// No number was given yet.
const UNKNOWN: u32 = u32::MAX;
/// Of a place that has a number, and no operation yet. Sites are fewer: their entries fill the journal before.
const NOT_YET: u32 = 1 << 31;
/// So many different stacks of labels a rank may have; further labels are named [`MORE`].
const CONTEXT_LIMIT: usize = 100_000;
/// Stands for all labels past the limit.
pub const MORE: &str = "(further labels)";

/// A site as the program text has it, before labels are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StaticSite {
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
    /// `fwrite`, `barrier`, `time` …
    pub operation: String,
    /// The command, where it is one.
    pub command: Option<Command>,
    /// Which kind of interval.
    pub kind: SiteKind,
    /// The group around it; empty for the world.
    pub group: String,
    /// The errno with which the program expects it to fail, where that is a constant.
    pub expects: Option<i32>,
}

/// A worker starts with a copy of its rank's table.
///
/// Stacks of labels, interned; for each, the site number of every place.
///
/// Looking a site up is one vector index; only the first use of a place under a stack of labels
/// writes to the journal.
#[derive(Clone)]
pub struct SiteTable {
    contexts: Vec<Context>,
    children: HashMap<(u32, String), u32>,
    current: usize,
    places: usize,
}

#[derive(Clone)]
struct Context {
    parent: u32,
    labels: Vec<String>,
    /// The label by which it was entered; empty for a block without one.
    own: String,
    sites: Vec<u32>,
    /// The child entered last: a loop enters the same one again and again.
    last: u32,
}

impl SiteTable {
    /// A table for a program with `places` places.
    pub fn new(places: usize) -> Self {
        let sites = vec![UNKNOWN; places];
        let root = Context { parent: 0, labels: Vec::new(), own: String::new(), sites, last: UNKNOWN };
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
        describe: impl FnOnce() -> StaticSite,
    ) -> io::Result<u32> {
        match self.contexts[self.current].sites.get(place) {
            Some(&site) if site < NOT_YET => Ok(site),
            known => self.first((place, known.copied().unwrap_or(UNKNOWN)), recorder, describe),
        }
    }

    /// Enters a block with a label, or with an empty one.
    pub fn enter(&mut self, label: &str) {
        let here = &self.contexts[self.current];
        match self.contexts.get(here.last as usize) {
            Some(child) if child.own == label => self.current = here.last as usize,
            _ => self.descend(label),
        }
    }

    /// Leaves the block entered last.
    pub fn leave(&mut self) {
        self.current = self.contexts[self.current].parent as usize;
    }

    fn descend(&mut self, label: &str) {
        let label = if self.contexts.len() >= CONTEXT_LIMIT { MORE } else { label };
        let key = (self.current as u32, label.to_owned());
        let child = match self.children.get(&key) {
            Some(&known) => known as usize,
            None => {
                let mut labels = self.contexts[self.current].labels.clone();
                labels.extend((!label.is_empty()).then(|| label.to_owned()));
                let (parent, own) = (self.current as u32, label.to_owned());
                let sites = vec![UNKNOWN; self.places];
                self.contexts.push(Context { parent, labels, own, sites, last: UNKNOWN });
                self.children.insert(key, self.contexts.len() as u32 - 1);
                self.contexts.len() - 1
            }
        };
        self.contexts[self.current].last = child as u32;
        self.current = child;
    }

    /// Gives `place` its number under the current labels before there is an operation.
    ///
    /// # Errors
    /// The journal is full.
    pub fn prepare(&mut self, place: usize, recorder: &mut Recorder, what: StaticSite) -> io::Result<()> {
        let number = self.register(place, recorder, what)?;
        self.contexts[self.current].sites[place] = number | NOT_YET;
        Ok(())
    }

    /// The number of a place, of which nothing but a number is `known`.
    #[cold]
    #[inline(never)]
    fn first(
        &mut self,
        (place, known): (usize, u32),
        recorder: &mut Recorder,
        describe: impl FnOnce() -> StaticSite,
    ) -> io::Result<u32> {
        let number = match known {
            UNKNOWN => self.register(place, recorder, describe())?,
            prepared => prepared & !NOT_YET,
        };
        self.contexts[self.current].sites[place] = number;
        recorder.comes_to(number);
        Ok(number)
    }

    fn register(&mut self, place: usize, recorder: &mut Recorder, what: StaticSite) -> io::Result<u32> {
        let context = &mut self.contexts[self.current];
        let site = Site {
            line: what.line,
            column: what.column,
            labels: context.labels.clone(),
            operation: what.operation,
            kind: what.kind,
            group: what.group,
            expects: what.expects,
        };
        let number = recorder.site(&site)?;
        if context.sites.len() <= place {
            context.sites.resize(place + 1, UNKNOWN);
        }
        context.sites[place] = number;
        Ok(number)
    }
}
