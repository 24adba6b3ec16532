//! Defines the abstract domain of the analysis: taints of values, control of places, states of variables.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::code::{GroupId, Slot};
use crate::diagnostic::Span;

/// A set of groups. Groups from the 127th on share one bit, which stands for an unknown group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Groups(u128);

impl Groups {
    const LAST: u32 = 127;

    #[must_use]
    pub fn with(self, group: GroupId) -> Self {
        match group {
            GroupId::WORLD => self,
            GroupId(number) => Self(self.0 | 1 << number.min(Self::LAST)),
        }
    }

    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The groups; `None` for the shared bit.
    pub fn iter(self) -> impl Iterator<Item = Option<GroupId>> {
        (1..=Self::LAST)
            .filter(move |bit| self.0 >> bit & 1 != 0)
            .map(|bit| (bit < Self::LAST).then_some(GroupId(bit)))
    }
}

/// The group that opened a file together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Opener {
    /// Not a group file.
    #[default]
    None,
    /// This one.
    Group(GroupId),
    /// Unknown.
    Unknown,
}

/// Possible differences of a value between ranks that reach the same place together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Taint {
    /// The value is equal only within each of these groups.
    pub within: Groups,
    /// The value can differ within them too.
    pub differs: bool,
    /// Whether only a run shows it: a result, a time, a random number.
    pub open: bool,
    /// Whether it comes from an environment variable, which each rank has of its own.
    pub environment: bool,
    /// If it is a file: the group that opened it.
    pub opener: Opener,
}

impl Taint {
    pub const DIFFERS: Taint =
        Taint { within: Groups(0), differs: true, open: false, environment: false, opener: Opener::None };
    /// The taint of a command's result or of a clock.
    pub const RESULT: Taint = Taint { open: true, ..Taint::DIFFERS };
    /// The taint of an environment variable.
    pub const ENVIRONMENT: Taint = Taint { environment: true, ..Taint::RESULT };

    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let opener = match (self.opener, other.opener) {
            (Opener::None, opener) | (opener, Opener::None) => opener,
            (a, b) if a == b => a,
            _ => Opener::Unknown,
        };
        Self {
            within: self.within.union(other.within),
            differs: self.differs || other.differs,
            open: self.open || other.open,
            environment: self.environment || other.environment,
            opener,
        }
    }
}

/// Cause of divergence between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Divergence {
    /// `master`
    Master(Span),
    /// A condition, count or list.
    Differs(Span),
    /// The same, which depends on an environment variable.
    Environment(Span),
    /// The loops inside a stonewall.
    Stonewall(Span),
}

/// The ranks that reach a place, and whether they reach it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Control {
    /// For each of these groups, either all ranks reach the place or none.
    pub only: Groups,
    /// The innermost enclosing group; `None` if it is one of several.
    pub group: Option<GroupId>,
    /// The position of that group.
    pub group_place: Span,
    /// Ranks can diverge before this place.
    pub diverged: Option<Divergence>,
    /// Whether only a run shows if they reach this place.
    pub open: bool,
    /// The enclosing `parallel`.
    pub workers: Option<Span>,
    /// The enclosing stonewall, which ends loops early.
    pub stonewall: Option<Span>,
}

impl Control {
    pub const START: Control = Control {
        only: Groups(0),
        group: Some(GroupId::WORLD),
        group_place: Span { start: 0, end: 0 },
        diverged: None,
        open: false,
        workers: None,
        stonewall: None,
    };

    /// The control under a condition, count or list.
    #[must_use]
    pub fn under(self, taint: Taint, place: Span) -> Self {
        let cause = if taint.environment { Divergence::Environment } else { Divergence::Differs };
        let diverged = self.diverged.or(taint.differs.then_some(cause(place)));
        Self { only: self.only.union(taint.within), diverged, open: self.open || taint.open, ..self }
    }

    /// The control after a place from which some ranks jumped elsewhere.
    #[must_use]
    pub fn behind(self, jump: Self) -> Self {
        Self {
            only: self.only.union(jump.only),
            diverged: self.diverged.or(jump.diverged),
            open: self.open || jump.open,
            ..self
        }
    }

    /// The join over different calls of a function.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self {
            group: if self.group == other.group { self.group } else { None },
            workers: self.workers.or(other.workers),
            stonewall: self.stonewall.or(other.stonewall),
            ..self.behind(other)
        }
    }

    /// The taint of a value assigned under this control.
    pub fn assigned(self, value: Taint) -> Taint {
        Taint {
            within: self.only.union(value.within),
            differs: value.differs || self.diverged.is_some(),
            open: value.open || self.open,
            ..value
        }
    }
}

/// The taints of all variables at a place. Variables that are not listed are equal on all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    variables: Rc<BTreeMap<u32, Taint>>,
    /// The sequence of `$$crand`.
    pub common: Taint,
}

impl State {
    pub fn get(&self, slot: Slot) -> Taint {
        self.variables.get(&slot.0).copied().unwrap_or_default()
    }

    pub fn set(&mut self, slot: Slot, taint: Taint) {
        if self.get(slot) == taint {
            return;
        }
        let variables = Rc::make_mut(&mut self.variables);
        if taint == Taint::default() {
            variables.remove(&slot.0);
        } else {
            variables.insert(slot.0, taint);
        }
    }

    /// Joins with another state and returns whether this one changed.
    pub fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            for (&slot, &taint) in other.variables.iter() {
                let own = self.get(Slot(slot));
                let both = own.join(taint);
                if both != own {
                    self.set(Slot(slot), both);
                    changed = true;
                }
            }
        }
        let common = self.common.join(other.common);
        changed |= common != self.common;
        self.common = common;
        changed
    }

    /// The global variables only.
    pub fn globals(&self) -> Self {
        if self.variables.range(Slot::LOCAL..).next().is_none() {
            return self.clone();
        }
        let globals = self.variables.range(..Slot::LOCAL).map(|(slot, taint)| (*slot, *taint));
        Self { variables: Rc::new(globals.collect()), common: self.common }
    }

    /// These global variables, with the local variables of `caller`.
    pub fn back_in(&self, caller: &Self) -> Self {
        let mut state = self.globals();
        for (&slot, &taint) in caller.variables.range(Slot::LOCAL..) {
            state.set(Slot(slot), taint);
        }
        state
    }
}

/// Joins a state into one that may be unreached so far.
pub(super) fn join_into(place: &mut Option<State>, state: Option<State>) {
    match (place.as_mut(), state) {
        (Some(known), Some(state)) => {
            known.join(&state);
        }
        (None, Some(state)) => *place = Some(state),
        (_, None) => {}
    }
}

/// A jump: the state there, and the control of the ranks that make it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Jump {
    pub state: State,
    pub control: Control,
}

/// The jumps out of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Jumps {
    pub breaks: Option<Jump>,
    pub continues: Option<Jump>,
    pub returns: Option<Jump>,
}

impl Jumps {
    pub fn add(place: &mut Option<Jump>, state: State, control: Control) {
        match place {
            Some(known) => {
                known.state.join(&state);
                known.control = known.control.behind(control);
            }
            None => *place = Some(Jump { state, control }),
        }
    }

    pub fn join(&mut self, other: Self) {
        let pairs = [
            (&mut self.breaks, other.breaks),
            (&mut self.continues, other.continues),
            (&mut self.returns, other.returns),
        ];
        for (place, jump) in pairs {
            if let Some(jump) = jump {
                Self::add(place, jump.state, jump.control);
            }
        }
    }

    /// The control after these jumps.
    pub fn behind(&self, control: Control) -> Control {
        [&self.breaks, &self.continues, &self.returns]
            .into_iter()
            .flatten()
            .fold(control, |control, jump| control.behind(jump.control))
    }
}
