//! Copies from one open file to another, by the kernel.

use samples::Warning;

use super::layer::Layer;
use super::transfer::short_read;
use crate::content::Destined;
use crate::driver::Driver;
use crate::execute::call::{Meaning, Timed};
use crate::files::Refusal;
use crate::flags::errno_text;

impl Layer {
    /// One call. What the kernel refuses fails: nothing is read and written in its place.
    #[inline(never)]
    pub(super) fn copy<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        (from, to): (u32, u32),
        length: u64,
        offsets: (Option<u64>, Option<u64>),
    ) -> Result<Timed, Refusal> {
        let (Some(source), Some(target)) = (self.files.get(from), self.files.get(to)) else {
            return Ok(self.bracket.failed(driver, libc::EBADF));
        };
        let (Some(source_handle), Some(target_handle)) = (source.handle, target.handle) else {
            return Ok(self.bracket.failed(driver, libc::EBADF));
        };
        let positions = (source.position, target.position);
        // The driver's position of a file that workers share is nobody's.
        let at = (
            offsets.0.or(source.shared.then_some(positions.0)),
            offsets.1.or(target.shared.then_some(positions.1)),
        );
        let destined =
            Destined { file: target.name, place: offsets.1.unwrap_or(positions.1), appended: false };
        // Of other files a program could compose whatever it likes; of these bytes are ours, or zeros.
        if !source.made {
            self.must_have_made("copy from", from, source_handle)?;
        }
        let looked = self.must_look_at(to, length);
        if looked && self.would_fill_file(to, length) {
            return Ok(self.bracket.failed(driver, libc::ENOSPC));
        }
        let bytes = usize::try_from(length).unwrap_or(usize::MAX);
        let begun = self.bracket.begin(driver);
        let outcome = driver.copy(source_handle, target_handle, bytes, at);
        let mut timed = self.bracket.end(driver, begun, Meaning::Bytes, outcome);
        if looked {
            self.wrote_looked(to, length);
        }
        let moved = timed.outcome.value;
        if offsets.0.is_none() {
            self.files.set_position(from, positions.0.saturating_add(moved));
        }
        if offsets.1.is_none() {
            // Of one file that is both, what was taken counts first.
            let position = if from == to && offsets.0.is_none() { positions.0 + moved } else { positions.1 };
            self.files.set_position(to, position.saturating_add(moved));
        }
        self.copied(destined, moved);
        let refused = [libc::EXDEV, libc::EINVAL, libc::EOPNOTSUPP, libc::ENOSYS];
        if refused.contains(&timed.outcome.errno) {
            self.says_how_to_do_without(timed.outcome.errno);
        }
        short_read(&mut timed.outcome, length);
        Ok(timed)
    }

    #[cold]
    fn says_how_to_do_without(&mut self, errno: i32) {
        self.note_once(Warning {
            code: "no-copy".into(),
            text: format!(
                "fcopy failed: {} (copy_file_range); nothing was read and written in its place",
                errno_text(errno)
            ),
            advice:
                "write fread and fwrite in place of fcopy; of a recording, import it with --read-and-write"
                    .into(),
        });
    }
}
