//! Makes the file of a group by a call of the run, so that only what the run made is taken for the run's.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, Hasher};

use confine::Held;
use samples::Outcome;

use crate::collective::{FileMaker, REFUSED};
use crate::driver::{Driver, Handle};
use crate::execute::instrument::judge::is_ours;
use crate::files::{FoundFile, Moment, Object, Ownership, look, look_at};

/// As often as somebody else makes and removes it in between.
const MOST: u32 = 100;

/// A file that ranks of a group are about to open to write, and to make where it is missing.
pub(in super::super) struct GroupMaker {
    own: Ownership,
    /// Its name in the directory that was checked; where a link leads that has the name.
    at: CString,
    /// The directory of that, as long as the name is used.
    _held: Option<Held>,
    /// Something was there when it was checked.
    there: bool,
    /// What is there may be written to, whoever made it.
    any: bool,
    /// The file that the user named by this name.
    named: Option<Object>,
    mark: Cell<Option<u64>>,
}

/// What tells the object from any other, on every machine that can open it: below 2^63, and not 0. Odd where this call made it.
fn mark_of(found: &FoundFile, made: bool) -> u64 {
    let mut hash = ahash::RandomState::with_seeds(4, 3, 2, 1).build_hasher();
    hash.write_u64(found.object().inode());
    hash.write_i64(found.object().born_ns());
    hash.finish() >> 1 & !1 | 1 << 62 | u64::from(made)
}

impl GroupMaker {
    pub(super) fn new(
        own: Ownership,
        (at, held): (CString, Option<Held>),
        (there, any): (bool, bool),
        named: Option<Object>,
    ) -> Self {
        Self { own, at, _held: held, there, any, named, mark: Cell::default() }
    }

    /// Is it what rank 0 made, or found as the run's? Whether it made it.
    pub(super) fn knows(&self, found: &FoundFile) -> Option<bool> {
        let mark = self.mark.get()?;
        let made = mark & 1 == 1;
        (mark_of(found, made) == mark).then_some(made)
    }

    pub(super) fn may_write_to(&self, found: &FoundFile) -> bool {
        let named = self.named.is_some_and(|named| named.is(found.object()));
        self.any || named || is_ours(&self.own, found)
    }

    /// By a call that fails where something is there.
    fn make_new(&self, driver: &mut dyn Driver, access: i32) -> Outcome {
        let how = access | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let opened = driver.open(&self.at, how, 0o666);
        if opened.ok() {
            let Some(found) = look_at(opened.value as i32) else {
                driver.close(Handle(opened.value));
                return Outcome::error(libc::EIO);
            };
            self.own.made(found.object());
        }
        opened
    }
}

impl FileMaker for GroupMaker {
    fn open(&self, driver: &mut dyn Driver, access: i32, makes: bool) -> Outcome {
        if !makes {
            return driver.open(&self.at, access | libc::O_NOFOLLOW, 0);
        }
        let mut there = self.there;
        let mut opened = Outcome::error(libc::EEXIST);
        for _ in 0..MOST {
            if there {
                opened = driver.open(&self.at, access | libc::O_NOFOLLOW, 0);
                if opened.errno != libc::ENOENT {
                    break;
                }
            }
            opened = self.make_new(driver, access);
            if opened.errno != libc::EEXIST {
                break;
            }
            there = true;
        }
        opened
    }

    fn make(
        &self,
        driver: &mut dyn Driver,
        library: Option<&dyn Fn(&CStr) -> Outcome>,
    ) -> Result<u64, Outcome> {
        let mut made = Outcome::error(libc::EEXIST);
        for _ in 0..MOST {
            match look(&self.at) {
                Some(found) if found.is_link() => return Err(Outcome::error(libc::ELOOP)),
                Some(found) if self.may_write_to(&found) => return Ok(mark_of(&found, false)),
                Some(_) => return Err(Outcome::error(REFUSED)),
                None => {}
            }
            let since = Moment::now();
            made = match library {
                Some(make) => make(&self.at),
                None => self.make_new(driver, libc::O_WRONLY),
            };
            if made.errno == libc::EEXIST {
                continue;
            }
            if !made.ok() {
                break;
            }
            let found = match library {
                // The library does not say what it opened.
                Some(_) => look(&self.at).filter(|found| !found.tells_birth() || found.is_born_since(since)),
                None => look_at(made.value as i32),
            };
            if library.is_none() {
                driver.close(Handle(made.value));
            }
            let Some(found) = found else { return Err(Outcome::error(REFUSED)) };
            self.own.made(found.object());
            return Ok(mark_of(&found, true));
        }
        Err(made)
    }

    fn is_made(&self, mark: u64) -> Outcome {
        self.mark.set(Some(mark));
        // Where nothing is seen yet, as another machine may have it, the library finds that out.
        match look(&self.at).filter(|found| self.knows(found).is_none()) {
            Some(_) => Outcome::error(REFUSED),
            None => Outcome::default(),
        }
    }
}
