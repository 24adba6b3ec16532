//! Opens to read.

use std::ffi::CStr;

use samples::Outcome;

use super::layer::Layer;
use super::opening::Way;
use super::table::OpenFile;
use crate::driver::{Driver, Handle};
use crate::execute::call::{Meaning, Timed};
use crate::files::{READ, Reached, Refusal};

impl Layer {
    /// Times a call that opens something to read, which `call` does in the way that it gets. Whether a link is at the end of the
    /// path is not asked before: the call says so. What that leads to is then held, and opened as what was checked.
    pub(super) fn reading<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        meaning: Meaning,
        call: impl Fn(&mut D, &CStr, Way) -> Outcome,
    ) -> Result<Timed, Refusal> {
        if self.guard.may_read_unfollowed(path)? {
            let reached = Reached::unchecked(path, self.guard.check(READ, path)?);
            self.guard.leave_special(READ, path, (&reached, false))?;
            let way = self.guard.way(&reached);
            let timed = self.bracket.time(driver, meaning, |driver| call(driver, path, way));
            if timed.outcome.errno != libc::ELOOP {
                return Ok(timed);
            }
        }
        let reached = self.guard.reach_to_read(path)?;
        self.guard.leave_special(READ, path, (&reached, true))?;
        Ok(self.bracket.time(driver, meaning, |driver| call(driver, &reached.path, Way::default())))
    }

    /// Times a call that lists a directory. That opens nothing else.
    pub(super) fn listing<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
    ) -> Result<Timed, Refusal> {
        let reached = self.guard.reach_to_list(path)?;
        Ok(self.bracket.time(driver, Meaning::Value, |driver| driver.readdir(&reached.path)))
    }

    /// Opens to read what was opened to read last. `None` of anything else, and where a link lies there now.
    #[inline(always)]
    pub(super) fn open_again<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        open_flags: i32,
    ) -> Option<Timed> {
        // What is a pipe now is refused in the ordinary way.
        if !self.guard.was_read_last(path) {
            return None;
        }
        let reached = Reached::unchecked(path, self.guard.check(READ, path).ok()?);
        self.guard.leave_special(READ, path, (&reached, false)).ok()?;
        let way = self.guard.way(&reached);
        let begun = self.bracket.begin(driver);
        let outcome = way.open(driver, path, open_flags, 0);
        let mut timed = self.bracket.end(driver, begun, Meaning::Value, outcome);
        match timed.outcome.errno {
            0 => {
                let handle = Handle(timed.outcome.value);
                let named = self.opened_name(path);
                timed.outcome.value = self.files.keep(OpenFile::new(Some(handle), named, 0)).into();
            }
            libc::ELOOP => return None,
            _ => {}
        }
        Some(timed)
    }

    /// Opens what is there, for reading.
    pub(super) fn open_to_read<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        (open_flags, mode): (i32, u32),
    ) -> Result<Timed, Refusal> {
        self.reading(driver, path, Meaning::Value, |driver, path, way| {
            way.open(driver, path, open_flags, mode)
        })
    }
}
