//! Counts failed operations and describes the first few of each site.

use super::stop::{OnError, Stop};
use super::work::Session;
use crate::flags::errno_text;
use record::Entry;

/// Failures of one site that are told in words; the rest is counted.
const TOLD: u64 = 3;

impl Session<'_> {
    /// Will the next failure at `place` be reported in words? Otherwise none need be made.
    pub fn words_wanted_at(&mut self, place: usize, errno: i32) -> bool {
        let Ok(site) = self.site(place) else { return true };
        self.words_wanted(site, errno)
    }

    /// The same of the site with this number.
    pub(super) fn words_wanted(&self, site: u32, errno: i32) -> bool {
        self.is_fatal(errno) || self.failures.get(site as usize).is_none_or(|count| *count < TOLD)
    }

    fn is_fatal(&self, errno: i32) -> bool {
        self.on_error == OnError::Stop || matches!(errno, libc::ENOSPC | libc::EDQUOT)
    }

    /// Counts the failure of the operation at `place`, tells the first few of a site in words, and
    /// decides whether to go on: `operation` is the command with the names in it.
    #[cold]
    #[inline(never)]
    pub fn failed(&mut self, place: usize, operation: &str, errno: i32, moved: u64) -> Result<(), Stop> {
        self.blocks.mark(errno);
        let site = self.site(place)?;
        self.failed_at((place, site), operation, errno, moved)
    }

    /// The same of an operation at this place and site, whose blocks know of it.
    pub(super) fn failed_at(
        &mut self,
        (place, site): (usize, u32),
        operation: &str,
        errno: i32,
        moved: u64,
    ) -> Result<(), Stop> {
        self.recorder.count_failure();
        // Drop the MPI error text of an earlier, unreported failure.
        let collective = self.command(place).0.is_some_and(|command| command.is_collective());
        let said = crate::collective::take_error().filter(|_| collective);
        if self.failures.len() <= site as usize {
            self.failures.resize(site as usize + 1, 0);
        }
        self.failures[site as usize] += 1;
        let fatal = self.is_fatal(errno);
        if self.failures[site as usize] > TOLD && !fatal {
            return Ok(());
        }
        let moved = if moved > 0 { format!(" after {moved} bytes") } else { String::new() };
        let why = match errno {
            0 => "it worked".to_owned(),
            libc::ENODATA => "the file ended early".to_owned(),
            errno => errno_text(errno),
        };
        let said = said.map(|words| format!(" ({words})")).unwrap_or_default();
        let text = format!("line {}: {operation} failed{moved}: {why}{said}", self.line(place));
        self.recorder.note(&Entry::Failure { site, errno, text: text.clone() })?;
        if fatal { Err(Stop::Failed(text)) } else { Ok(()) }
    }
}
