//! What a rank prints, warns of and asserts, and its last words.

use std::sync::atomic::{AtomicU64, Ordering};

use ppl::interpret::Times;
use samples::{Site, Warning, sites_called, units, visible};

use super::stop::Stop;
use super::work::Session;
use record::{Entry, FailedAssertion};

/// What a rank and its workers may print: whoever keeps it in a file shall not find the disk full.
const PRINT_LIMIT: u64 = 16 << 20;

/// Is there room for so many bytes more? They then count as printed.
fn within_print_limit(printed: &AtomicU64, bytes: usize) -> bool {
    let more = |before: u64| before.checked_add(bytes as u64).filter(|all| *all <= PRINT_LIMIT);
    printed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

impl Session<'_> {
    /// Prints whole lines. A simulated rank leaves them to the parent, which knows the order. Lines that
    /// standard output does not take, and those beyond the limit, are lost with a warning: what is measured is worth
    /// more.
    pub fn print(&mut self, lines: &[u8]) -> Result<(), Stop> {
        if !within_print_limit(&self.printed, lines.len()) {
            return self.warn(Warning {
                code: "print-limit".into(),
                text: format!(
                    "a rank printed more than {}, the most it may; further lines were left out",
                    units::bytes(PRINT_LIMIT)
                ),
                advice: "the measurement is whole; print less".into(),
            });
        }
        if self.instrument.is_virtual() {
            let text = String::from_utf8_lossy(lines).into_owned();
            let at = self.instrument.picoseconds(0, self.instrument.now());
            self.recorder.note(&Entry::Print { at, text })?;
            return Ok(());
        }
        // What a program prints is shown by the terminal of whoever runs it.
        match ranks::print(visible(&String::from_utf8_lossy(lines)).as_bytes()) {
            Ok(()) => Ok(()),
            Err(error) => self.warn(Warning {
                code: "print-lost".into(),
                text: format!("standard output did not take what the program printed: {error}"),
                advice: "the measurement is whole; to see the lines, send standard output elsewhere".into(),
            }),
        }
    }

    /// Times in seconds of this rank's samples so far whose label or operation is `name`, spilled ones
    /// included.
    ///
    /// # Errors
    /// Where the file of spilled samples cannot be read.
    pub fn durations(&self, name: &str, times: Times) -> Result<Vec<f64>, Stop> {
        if self.recorder.counts_samples() {
            return Err(Stop::Program(format!(
                "the program asks for the durations of {name:?}, but samples are counted in histograms and not \
                 kept: run it with --record samples"
            )));
        }
        let (wanted, _) = sites_called(&self.recorder.sites(), name);
        let mut found = Vec::new();
        self.recorder.each(|sample| {
            // As in the rows of results: how long something that failed took is not how long it takes.
            let counts = sample.batch > 0 && !sample.failed();
            if counts && wanted.get(sample.site as usize).is_some_and(|wanted| *wanted) {
                found.push(times.seconds(sample));
            }
        })?;
        Ok(found)
    }

    /// The sites of this rank's samples so far.
    pub fn sites(&self) -> Vec<Site> {
        self.recorder.sites()
    }

    /// Whether this rank has a sample with that label or operation that failed.
    pub fn has_failed(&self, name: &str) -> bool {
        let (wanted, _) = sites_called(&self.recorder.sites(), name);
        let mut failed = false;
        let read = self.recorder.each(|sample| {
            failed |= sample.failed() && wanted.get(sample.site as usize).is_some_and(|wanted| *wanted);
        });
        read.is_ok() && failed
    }

    /// Keeps a warning, once.
    pub fn warn(&mut self, warning: Warning) -> Result<(), Stop> {
        if !self.noted.contains(&warning.code) {
            self.noted.push(warning.code.clone());
            self.recorder.note(&Entry::Warning(warning))?;
        }
        Ok(())
    }

    /// Keeps an assertion that did not hold.
    pub fn assertion_failed(&mut self, failed: FailedAssertion) -> Result<(), Stop> {
        Ok(self.recorder.note(&Entry::Assertion(failed))?)
    }

    /// Keeps an assertion that was not evaluated.
    pub(in crate::execute) fn assertion_unevaluated(&mut self, one: FailedAssertion) -> Result<(), Stop> {
        Ok(self.recorder.note(&Entry::Unevaluated(one))?)
    }

    /// Keeps an assertion that the samples of all ranks decide.
    pub(in crate::execute) fn claimed(&mut self, claim: ppl::claim::Claim) -> Result<(), Stop> {
        if self.recorder.counts_samples() {
            return Err(Stop::Program(
                "the program asserts something about samples, but they are counted in histograms and not kept: \
                 run it with --record samples"
                    .into(),
            ));
        }
        // Operations in flight belong to the statements before.
        let done = self.complete_all();
        // Of a run that was ended, what is done counts.
        if !self.is_interrupted() {
            done?;
        }
        let at_ns = self.instrument.since_epoch_ns(self.instrument.now());
        Ok(self.recorder.note(&Entry::Claim { claim, at_ns })?)
    }

    /// The program is over: says when.
    pub fn over(&mut self) {
        let span = self.span(self.instrument.since_epoch_ns(self.instrument.now()));
        drop(self.recorder.note(&Entry::Span(span)));
    }

    /// Says what a finished or stopped rank still has to say, and how it ended.
    pub fn end(&mut self, result: &Result<(), Stop>) {
        // The program broke off: store what is done, wait for what is in flight.
        drop(self.complete_all());
        drop(self.recorder.note_order());
        let mut failures: Vec<_> = std::mem::take(&mut self.failures).into_iter().collect();
        failures.sort_unstable();
        for (of, count) in failures {
            drop(self.recorder.note(&Entry::Failures { of, count }));
        }
        if let Some(sight) = self.instrument.sight() {
            drop(self.recorder.note(&Entry::Sight(sight)));
        }
        for hints in self.instrument.take_hints() {
            drop(self.recorder.note(&Entry::Hints(hints)));
        }
        self.instrument.look_for_sparse_files();
        for note in self.instrument.take_notes() {
            // A full journal has been reported already.
            drop(self.warn(note));
        }
        match result {
            Ok(()) => self.recorder.finish(record::RecordState::Finished),
            Err(stop) => {
                let entry = Entry::Stop { text: stop.to_string(), usage: stop.usage(), by: stop.by().into() };
                drop(self.recorder.note(&entry));
                self.recorder.finish(record::RecordState::Stopped);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_prints_is_limited() {
        let printed = AtomicU64::new(0);
        assert!(within_print_limit(&printed, PRINT_LIMIT as usize - 1));
        assert!(!within_print_limit(&printed, 2), "a line is printed whole or not at all");
        assert!(within_print_limit(&printed, 1));
        assert!(!within_print_limit(&printed, 1) && !within_print_limit(&printed, usize::MAX));
    }
}
