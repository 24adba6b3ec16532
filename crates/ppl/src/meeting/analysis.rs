//! Follows every function from each kind of place it is called from, to a fixed point.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::code::{Code, GroupId, Slot};
use crate::diagnostic::Span;
use crate::plan::Plan;

use super::domain::{Cause, Control, Groups, Jumps, State, Taint, join_into};

/// A function is followed apart for so many kinds of calls; further ones are taken together.
const MAX_CONTEXTS: usize = 12;
/// Statements that are followed before the analysis gives up.
const MAX_STATEMENTS: u64 = 20_000_000;

/// Where a function returns: the slot of its value.
pub(super) const RESULT: Slot = Slot::NONE;

/// Why ranks may not meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Why {
    /// Workers of `parallel` come.
    Workers(Span),
    /// Ranks part before.
    Parted(Cause),
    /// Only the ranks of this group come (`None`: of a group that is not known) where those of `target` should.
    Group { only: Option<GroupId>, target: Option<GroupId>, place: Span },
}

/// A meeting that some ranks may miss.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub span: Span,
    /// What it is, for messages.
    pub what: String,
    pub why: Why,
    /// It is a meeting with some MPI libraries only.
    pub soft: bool,
}

/// A loop as it was followed last.
#[derive(Clone)]
pub(super) struct KnownLoop {
    /// In which pass over the function; functions that it calls may be known better since.
    pub pass: u64,
    /// What is known of the number of rounds and of the counter, for loops that count.
    pub counted: [Taint; 2],
    pub here: Control,
    pub head: State,
    /// Who comes behind those that left in an earlier round.
    pub left: Control,
    pub exit: Option<State>,
    pub jumps: Jumps,
}

/// A function, or the program, as it is called from one kind of place.
struct Context {
    procedure: Option<u32>,
    input: State,
    control: Control,
    output: Option<State>,
    callers: BTreeSet<usize>,
    loops: HashMap<u32, KnownLoop>,
}

pub(super) struct Analysis<'p> {
    pub plan: &'p Plan,
    pub code: &'p Code,
    /// Are the ranks of the groups those of the run?
    pub known: bool,
    pub findings: BTreeMap<(u32, u32), Finding>,
    /// Whether ranks meet somewhere depends on what only the run shows.
    pub open: bool,
    /// Too large to follow.
    pub given_up: bool,
    /// Which pass over a function this is.
    pub pass: u64,
    statements: u64,
    contexts: Vec<Context>,
    of_procedure: HashMap<u32, Vec<usize>>,
    work: Vec<usize>,
    current: usize,
}

impl<'p> Analysis<'p> {
    /// Follows the whole program.
    pub fn of(plan: &'p Plan, known: bool) -> Self {
        let mut analysis = Self {
            plan,
            code: &plan.code,
            known,
            findings: BTreeMap::new(),
            open: false,
            given_up: false,
            pass: 0,
            statements: 0,
            contexts: Vec::new(),
            of_procedure: HashMap::new(),
            work: Vec::new(),
            current: 0,
        };
        analysis.add_context(None, State::default(), Control::START);
        while let Some(context) = analysis.work.pop() {
            analysis.follow(context);
        }
        analysis
    }

    fn add_context(&mut self, procedure: Option<u32>, input: State, control: Control) -> usize {
        self.contexts.push(Context {
            procedure,
            input,
            control,
            output: None,
            callers: BTreeSet::new(),
            loops: HashMap::new(),
        });
        self.work.push(self.contexts.len() - 1);
        self.contexts.len() - 1
    }

    fn follow(&mut self, at: usize) {
        self.current = at;
        self.pass += 1;
        let Context { procedure, ref input, control, .. } = self.contexts[at];
        let input = input.clone();
        let body = match procedure {
            Some(number) => self.code.procedures[number as usize].body,
            None => self.code.main,
        };
        let mut jumps = Jumps::default();
        let mut output = self.block(body, input, control, &mut jumps);
        if let Some(end) = &mut output {
            // Without `return` the value is 0, but perhaps not for all.
            end.set(RESULT, jumps.behind(control).assigned(Taint::default()));
        }
        join_into(&mut output, jumps.returns.map(|jump| jump.state));
        let context = &mut self.contexts[at];
        if context.output != output {
            context.output = output;
            let callers: Vec<usize> = context.callers.iter().copied().collect();
            for caller in callers {
                self.again(caller);
            }
        }
    }

    fn again(&mut self, context: usize) {
        if !self.work.contains(&context) {
            self.work.push(context);
        }
    }

    /// What a function leaves behind when it is called so; `None` as long as that is not known to come back.
    pub fn called(&mut self, procedure: u32, input: State, control: Control) -> Option<State> {
        // Where in the text the group begins makes no other call of it.
        let control = Control { group_place: Span::default(), ..control };
        let known = self.of_procedure.entry(procedure).or_default().clone();
        let same = known.iter().copied().find(|at| {
            let context = &self.contexts[*at];
            context.control == control && context.input == input
        });
        let at = match same {
            Some(at) => at,
            None if known.len() < MAX_CONTEXTS => {
                let at = self.add_context(Some(procedure), input, control);
                self.of_procedure.entry(procedure).or_default().push(at);
                at
            }
            None => {
                let at = known[MAX_CONTEXTS - 1];
                let context = &mut self.contexts[at];
                let both = context.control.join(control);
                if context.input.join(&input) || both != context.control {
                    context.control = both;
                    context.loops.clear();
                    self.again(at);
                }
                at
            }
        };
        let current = self.current;
        let context = &mut self.contexts[at];
        context.callers.insert(current);
        context.output.clone()
    }

    /// The loop of step `at`, where it was followed before from here.
    pub fn known_loop(&mut self, at: u32) -> Option<KnownLoop> {
        self.contexts[self.current].loops.remove(&at)
    }

    pub fn keep_loop(&mut self, at: u32, known: KnownLoop) {
        self.contexts[self.current].loops.insert(at, known);
    }

    /// Counts a statement; is there room for it?
    pub fn count(&mut self) -> bool {
        self.statements += 1;
        self.given_up |= self.statements > MAX_STATEMENTS;
        !self.given_up
    }

    // --- meetings ---

    /// Are all ranks of `target` in `group`?
    fn holds(&self, target: Option<GroupId>, group: Option<GroupId>) -> bool {
        let (Some(target), Some(group)) = (target, group) else { return false };
        if target == group {
            return true;
        }
        let groups = &self.plan.groups;
        let (Some(target), Some(group)) = (groups.get(target.index()), groups.get(group.index())) else {
            return false;
        };
        self.known && target.ranks.iter().all(|rank| group.place(*rank).is_some())
    }

    /// Ranks of `target` (`None`: of a group that is not known) meet here.
    pub fn meet(
        &mut self,
        span: Span,
        what: &str,
        target: Option<GroupId>,
        (control, soft): (Control, bool),
    ) {
        self.open |= control.open;
        let outside = |only: Groups| only.iter().find(|group| !self.holds(target, *group));
        let why = match (control.workers, control.parted, outside(control.only)) {
            (Some(place), ..) => Why::Workers(place),
            (_, Some(cause), _) => Why::Parted(cause),
            (.., Some(only)) => Why::Group { only, target, place: control.group_place },
            (None, None, None) => return,
        };
        let finding = Finding { span, what: what.to_owned(), why, soft };
        self.findings.entry((span.start, span.end)).or_insert(finding);
    }
}
