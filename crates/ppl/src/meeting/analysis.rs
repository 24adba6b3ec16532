//! Analyses every function in each of its calling contexts, to a fixed point.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::code::{Code, GroupId, Slot};
use crate::commands::Command;
use crate::diagnostic::Span;
use crate::plan::Plan;

use super::domain::{Control, Divergence, Groups, Jumps, State, Taint, join_into};

/// The largest number of contexts in which a function is analysed separately; further ones are joined.
const MAX_CONTEXTS: usize = 12;
/// The number of statements after which the analysis gives up.
const MAX_STATEMENTS: u64 = 20_000_000;

/// The slot of a function's result.
pub(super) const RESULT: Slot = Slot::NONE;

/// Reason why ranks may fail to meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MissReason {
    /// Workers of `parallel` reach it.
    Workers(Span),
    /// Ranks diverge before it.
    Diverged(Divergence),
    /// Only the ranks of group `only` (`None`: of an unknown group) reach it, but those of `target` should.
    Group { only: Option<GroupId>, target: Option<GroupId>, place: Span },
}

/// A meeting that some ranks may miss.
#[derive(Clone, Debug)]
pub(super) struct PossibleMiss {
    pub span: Span,
    /// The meeting in words, for messages.
    pub what: String,
    pub why: MissReason,
    /// Whether ranks meet there with some MPI libraries only.
    pub soft: bool,
}

/// A loop as last analysed.
#[derive(Clone)]
pub(super) struct KnownLoop {
    /// The pass over the function. The results of functions that it calls may have changed since.
    pub pass: u64,
    /// The taints of the number of rounds and of the counter, for counting loops.
    pub counted: [Taint; 2],
    pub here: Control,
    pub head: State,
    /// The control after the jumps that left the loop in an earlier round.
    pub left: Control,
    pub exit: Option<State>,
    pub jumps: Jumps,
}

/// A function, or the program, in one calling context.
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
    /// Whether the groups have the ranks of the run.
    pub known: bool,
    pub findings: BTreeMap<(u32, u32), PossibleMiss>,
    /// Commands of one rank that get a file of a group, by their span.
    pub misused: BTreeMap<(u32, u32), Command>,
    /// Whether some meeting depends on what only a run shows.
    pub open: bool,
    /// Whether the program is too large to analyse.
    pub given_up: bool,
    /// The number of the current pass over a function.
    pub pass: u64,
    statements: u64,
    contexts: Vec<Context>,
    of_procedure: HashMap<u32, Vec<usize>>,
    work: Vec<usize>,
    current: usize,
}

impl<'p> Analysis<'p> {
    /// Analyses the whole program.
    pub fn of(plan: &'p Plan, known: bool) -> Self {
        let mut analysis = Self {
            plan,
            code: &plan.code,
            known,
            findings: BTreeMap::new(),
            misused: BTreeMap::new(),
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
            // Without `return` the value is 0, but some ranks may have executed a `return`.
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

    /// The state after a function is called in this context; `None` while it is not known to return.
    pub fn called(&mut self, procedure: u32, input: State, control: Control) -> Option<State> {
        // The position of the group in the text does not distinguish contexts.
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

    /// The loop of step `at`, if it was analysed before in this context.
    pub fn known_loop(&mut self, at: u32) -> Option<KnownLoop> {
        self.contexts[self.current].loops.remove(&at)
    }

    pub fn keep_loop(&mut self, at: u32, known: KnownLoop) {
        self.contexts[self.current].loops.insert(at, known);
    }

    /// Counts a statement and returns whether the limit permits it.
    pub fn count(&mut self) -> bool {
        self.statements += 1;
        self.given_up |= self.statements > MAX_STATEMENTS;
        !self.given_up
    }

    // --- meetings ---

    /// Whether all ranks of `target` are in `group`.
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

    /// Records a meeting of the ranks of `target` (`None`: of an unknown group).
    pub fn meet(
        &mut self,
        span: Span,
        what: &str,
        target: Option<GroupId>,
        (control, soft): (Control, bool),
    ) {
        self.open |= control.open;
        let outside = |only: Groups| only.iter().find(|group| !self.holds(target, *group));
        let why = match (control.workers, control.diverged, outside(control.only)) {
            (Some(place), ..) => MissReason::Workers(place),
            (_, Some(cause), _) => MissReason::Diverged(cause),
            (.., Some(only)) => MissReason::Group { only, target, place: control.group_place },
            (None, None, None) => return,
        };
        let finding = PossibleMiss { span, what: what.to_owned(), why, soft };
        self.findings.entry((span.start, span.end)).or_insert(finding);
    }
}
