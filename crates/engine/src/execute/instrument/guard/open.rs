//! How a name is opened, so that it leads to what was checked, and nothing is done to pipes and devices.

use std::ffi::CStr;

use super::{ELSEWHERE, Guard};
use crate::execute::instrument::judge::OpenJudge;
use crate::execute::instrument::opening::Way;
use crate::files::{Looked, READ, Reached, Reason, Refusal, is_ordinary, special};

impl Guard {
    /// Opens files of this directory, and lets through what the program may change. `looked`: what is there is nothing to
    /// be left alone.
    pub(in super::super) fn judge(&self, path: &CStr, reached: &Reached<'_>, looked: bool) -> OpenJudge<'_> {
        let judges = self.judges();
        OpenJudge {
            own: judges.then_some(&self.own),
            around: reached.around,
            named: self.confinement.named(path).filter(|_| judges),
            way: self.way(reached),
            looked,
            was_there: &self.was_there,
            verdict: std::cell::Cell::default(),
            device: std::cell::Cell::default(),
        }
    }

    /// How to open it: no link at the end is followed, nor one on the way where there may be another in the next moment.
    #[inline]
    pub(in super::super) fn way(&self, reached: &Reached<'_>) -> Way {
        let straight = self.local && !reached.is_held() && self.confinement.opens_straight(reached.around);
        Way { no_follow: self.no_follow(), straight }
    }

    /// Is the name that is opened to be made there already, as the last one was? Then it is opened as such first.
    pub(in super::super) fn expects_it_there(&self) -> bool {
        self.was_there.get()
    }

    /// Leaves alone what is a pipe, a socket or a device, if neither the run made it nor the user named it. Asked before what is
    /// called `path` is opened, as `reached`.
    #[inline]
    pub(in super::super) fn leave_special(
        &mut self,
        what: &'static str,
        path: &CStr,
        (reached, follow): (&Reached<'_>, bool),
    ) -> Result<(), Refusal> {
        // A link that the run made may lead to one, and a name may lead elsewhere than when the run made something of that name;
        // not so where it is opened without links.
        let leads_the_same = self.names_stay || self.confinement.is_concurrent() && !reached.is_held();
        let is_own = !follow && leads_the_same && self.registry.knows(path);
        let was_ordinary = self.names_stay && !follow && self.ordinary == path.to_bytes();
        if is_own || was_ordinary { Ok(()) } else { self.leave_special_there(what, path, (reached, follow)) }
    }

    /// As [`Guard::leave_special`], where something is known to be there that the rank did not make.
    pub(in super::super) fn leave_special_there(
        &mut self,
        what: &'static str,
        path: &CStr,
        (reached, follow): (&Reached<'_>, bool),
    ) -> Result<(), Refusal> {
        // What the program may start could open them as well.
        let is_free = self.confinement.spawns() || !follow && reached.around.trusted;
        if !self.judges() || is_free || reached.mode().is_some_and(is_ordinary) {
            return Ok(());
        }
        match special(&reached.path, follow, !reached.is_held()) {
            Looked::Special(found)
                if !(self.own.is_ours(found.object()) || self.confinement.is_place(what, path)) =>
            {
                Err(self.confinement.refusal(what, path, Reason::Special))
            }
            Looked::Ordinary if self.names_stay && !follow => {
                self.ordinary.clear();
                self.ordinary.extend_from_slice(path.to_bytes());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// May the program open it to read? By which path: what a link at its end leads to is held.
    pub(in super::super) fn reach_to_read<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        match self.local {
            true => self.confinement.reach_to_read(path),
            false => Ok(Reached::unchecked(path, ELSEWHERE)),
        }
    }

    /// As [`Guard::reach_to_read`], of a directory.
    pub(in super::super) fn reach_to_list<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        match self.local {
            true => self.confinement.reach_to_list(path),
            false => Ok(Reached::unchecked(path, ELSEWHERE)),
        }
    }

    /// May the program open this very name to read, if what it names is no link? Where not, [`Guard::reach_to_read`] says
    /// why, or by which path.
    #[inline]
    pub(in super::super) fn may_read_unfollowed(&mut self, path: &CStr) -> Result<bool, Refusal> {
        if self.local { self.confinement.may_read_unfollowed(path) } else { Ok(false) }
    }

    /// Is it the name that [`Guard::may_read_unfollowed`] allowed last?
    #[inline(always)]
    pub(in super::super) fn was_read_last(&self, path: &CStr) -> bool {
        self.local && self.confinement.was_read_last(path)
    }

    /// As [`Guard::reach_to_read`], of a call that fails where a link is at the end.
    pub(in super::super) fn reach_unfollowed<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        self.reach_fixed(READ, path)
    }

    /// As [`Guard::reach_to_read`], of a file that a library opens.
    pub(in super::super) fn may_read_followed(&self, path: &CStr) -> Result<(), Refusal> {
        if self.local && !self.confinement.is_free() {
            self.confinement.check_followed(READ, path)?;
        }
        Ok(())
    }
}
