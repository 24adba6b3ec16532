//! Counts operations that did not end as the program says, and describes the first few of each site.

use std::ffi::CString;

use samples::{JudgementExample, JudgementKind, units};

use super::stop::{OnError, Stop};
use super::work::Session;
use crate::content::Wrong;
use crate::execute::call::{Call, Timed};
use crate::flags::{errno_name, failure_text};
use record::{Entry, FailureKey};

/// Failures of one site and kind that are told in words; the rest is counted.
const TOLD: u64 = 3;

/// An operation that did not end as the program says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failed {
    /// The positive errno; 0: it succeeded against expectation.
    pub errno: i32,
    /// The errno that the program expected.
    pub expected: Option<i32>,
    /// Bytes that it moved in spite of that.
    pub moved: u64,
    /// Where verified data was wrong, and what was there.
    pub wrong: Option<Wrong>,
}

/// What failed, in words; empty where none are wanted.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// The command with the names in it.
    pub operation: String,
    /// The file that it works on.
    pub file: String,
    /// Bytes that it was to write there, where that is known.
    pub to_write: Option<u64>,
}

impl Failed {
    fn kind(&self) -> JudgementKind {
        match (self.wrong, self.expected) {
            (Some(_), _) => JudgementKind::WrongContent,
            (None, Some(_)) => JudgementKind::ExpectationNotMet,
            (None, None) => JudgementKind::OperationFailed,
        }
    }

    fn key(&self, site: u32) -> FailureKey {
        FailureKey { site, kind: self.kind(), errno: self.errno, expected: self.expected }
    }

    /// What is said of `operation`, the command with the names in it; `more`: what a library says.
    pub(in crate::execute) fn words(&self, operation: &str, more: &str) -> String {
        let wrong = self.wrong.map(|wrong| format!(": {wrong}")).unwrap_or_default();
        // Of the call: a byte that is named is one of the file.
        let moved =
            if self.moved > 0 { format!(" after {} bytes of the call", self.moved) } else { String::new() };
        let name = operation.split('(').next().unwrap_or_default();
        let did = match (self.errno, &self.wrong) {
            (0, None) => " succeeded".to_owned(),
            (0, Some(_)) => "; it succeeded".to_owned(),
            // The call itself did not fail.
            (libc::EBADMSG, Some(_)) => format!(" (EBADMSG; the call read {} bytes)", self.moved),
            (errno, Some(_)) => format!("; it failed{moved}: {}", failure_text(errno, name)),
            (errno, None) => format!(" failed{moved}: {}", failure_text(errno, name)),
        };
        let but = match self.expected {
            None => String::new(),
            Some(0) => ", but success was expected".into(),
            Some(wanted) => {
                let name = errno_name(wanted).map_or(format!("errno {wanted}"), str::to_owned);
                format!(", but {name} was expected")
            }
        };
        format!("{operation}{wrong}{did}{more}{but}")
    }
}

/// Did a read get what there was, so that it can be compared? Also where that was less than it was to read.
pub(super) fn was_read(timed: Timed) -> bool {
    matches!(timed.outcome.errno, 0 | libc::ENODATA)
}

impl Session<'_> {
    /// Will this failure at `place` be reported in words? Otherwise none need be made.
    pub fn words_wanted_at(&mut self, place: usize, failed: &Failed) -> bool {
        let Ok(site) = self.site(place) else { return true };
        self.words_wanted(site, failed)
    }

    /// The same of the site with this number.
    pub(super) fn words_wanted(&self, site: u32, failed: &Failed) -> bool {
        self.is_fatal(failed.errno) || self.failures.get(&failed.key(site)).is_none_or(|count| *count < TOLD)
    }

    fn is_fatal(&self, errno: i32) -> bool {
        self.on_error == OnError::Stop || matches!(errno, libc::ENOSPC | libc::EDQUOT)
    }

    /// What was read at `call`, if it reads inside `verify`, is compared with what was written there: a sample of other
    /// content has an errno of its own. The clock was read before.
    #[inline(always)]
    pub(super) fn verified(&mut self, call: &Call<'_>, timed: Timed) -> Timed {
        let reads = matches!(call, Call::Read { .. } | Call::ReadFile { .. });
        if self.verify && reads && was_read(timed) { self.compared(timed) } else { timed }
    }

    /// The same of something that was read.
    #[inline(never)]
    pub(super) fn compared(&mut self, mut timed: Timed) -> Timed {
        self.wrong = self.instrument.verify();
        self.count_verified();
        if self.wrong.is_some() {
            timed.outcome.errno = libc::EBADMSG;
        }
        timed
    }

    /// Counts what was compared and right, where it survives the death of the rank.
    pub(super) fn count_verified(&mut self) {
        self.recorder.count_verified(self.instrument.take_verified());
    }

    /// A command was not tried: its sample takes no time.
    #[cold]
    #[inline(never)]
    pub fn untried(&mut self, place: usize, errno: i32) -> Result<(), Stop> {
        let site = self.site(place)?;
        let now = self.instrument.now();
        let outcome = samples::Outcome::error(errno);
        self.store(site, Timed { begin: now, end: now, outcome, ..Timed::default() })
    }

    /// Counts the failure of the operation at `place`, tells the first few of a site in words, and
    /// decides whether to go on.
    #[cold]
    #[inline(never)]
    pub fn failed(&mut self, place: usize, named: &Named, failed: &Failed) -> Result<(), Stop> {
        self.blocks.mark(failed.errno);
        let site = self.site(place)?;
        self.failed_at((place, site), named, failed)
    }

    /// The same of an operation at this place and site, whose blocks know of it.
    pub(super) fn failed_at(
        &mut self,
        (place, site): (usize, u32),
        named: &Named,
        failed: &Failed,
    ) -> Result<(), Stop> {
        self.recorder.count_failure();
        // Drop the MPI error text of an earlier, unreported failure.
        let collective = self.command(place).0.is_some_and(|command| command.is_collective());
        let said = crate::collective::take_error().filter(|_| collective);
        let of = failed.key(site);
        let count = self.failures.entry(of).or_default();
        *count += 1;
        let fatal = self.on_error == OnError::Stop || matches!(failed.errno, libc::ENOSPC | libc::EDQUOT);
        if *count > TOLD && !fatal {
            return Ok(());
        }
        let said = said.map(|words| format!(" ({words})")).unwrap_or_default();
        let room = if failed.errno == libc::ENOSPC { self.room_for(named) } else { String::new() };
        let text = format!("line {}: {}{room}", self.line(place), failed.words(&named.operation, &said));
        let mut example = JudgementExample { text: text.clone(), ..JudgementExample::default() };
        if let Some(wrong) = &failed.wrong {
            example.file.clone_from(&named.file);
            (example.byte, example.content) = (Some(wrong.at), wrong.found.to_string());
        }
        self.recorder.note(&Entry::Failure { of, example })?;
        if !fatal {
            return Ok(());
        }
        let by = match failed.errno {
            libc::ENOSPC | libc::EDQUOT => "a full disk",
            _ => "the first failed operation",
        };
        Err(Stop::Cut { text, by })
    }

    /// ` (64 KiB were to be written; 4 KiB are free there)`: of an operation for which a file system had no room.
    fn room_for(&mut self, named: &Named) -> String {
        let path = CString::new(named.file.as_str()).unwrap_or_default();
        let (Some(free), kept) = self.instrument.free_for(&path) else { return String::new() };
        let wanted = named
            .to_write
            .map_or(String::new(), |wanted| format!("{} were to be written; ", units::bytes(wanted)));
        format!(" ({wanted}{} are free there{})", units::bytes(free), kept.unwrap_or_default())
    }

    /// An operation failed as the program expects, which no constant of the program says: it is counted, so that its
    /// sample is none of an error.
    pub(in crate::execute) fn failed_as_expected(&mut self, place: usize, errno: i32) -> Result<(), Stop> {
        if errno == 0 || self.places.get(place).is_some_and(|place| place.expects == Some(errno)) {
            return Ok(());
        }
        let site = self.site(place)?;
        let kind = JudgementKind::FailedAsExpected;
        *self.failures.entry(FailureKey { site, kind, errno, expected: None }).or_default() += 1;
        Ok(())
    }
}
