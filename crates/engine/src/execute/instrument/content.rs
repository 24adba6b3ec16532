//! What is written, what is known of it, and whether what is read is it.

use std::ffi::CStr;
use std::sync::Arc;

use samples::{Outcome, VerifiedFacts, Warning};

use super::doubts::{
    APPENDED, COPIED, END_UNKNOWN, HOLES, MAY_BE_CUT, NOTHING_READ, OF_EARLIER_RUN, RENAMED_BEFORE,
    RENAMED_BY_OTHERS, TOO_SHORT, of_other_name,
};
use super::layer::Layer;
use crate::buffers::SCRATCH_LIMIT;
use crate::content::{
    ContentKind, ContentStream, Destined, FileName, Found, Known, LastRead, Lying, Reader, Wrong, last_own,
    verify,
};
use crate::driver::{Driver, Handle};

/// What the content of a write of `length` bytes is counted by.
#[inline(always)]
fn kind(appended: bool, length: u64) -> ContentKind {
    match appended {
        true => ContentKind::Appended,
        false if length > SCRATCH_LIMIT as u64 => ContentKind::Repeated,
        false => ContentKind::Placed,
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

impl Layer {
    /// The number and name of a file. Looks its directory up when it comes for the first time.
    #[inline]
    pub(super) fn file_name(&mut self, path: &CStr) -> FileName {
        if !self.content {
            return FileName::default();
        }
        self.catalogue.file(path, self.guard.is_local())
    }

    /// As [`Layer::file_name`], of a file that is opened, with its path to keep.
    #[inline]
    pub(super) fn opened_name(&mut self, path: &CStr) -> (Arc<CStr>, FileName) {
        if !self.content {
            return (path.into(), FileName::default());
        }
        self.catalogue.opened(path, self.guard.is_local())
    }

    /// A file that was made in the directory `path`, and has no name.
    pub(super) fn nameless(&mut self, path: &CStr) -> FileName {
        if !self.content {
            return FileName::default();
        }
        self.catalogue.nameless(path, self.guard.is_local())
    }

    fn stream(&self, to: Destined, length: u64) -> ContentStream {
        self.author.stream(to.file, kind(to.appended, length))
    }

    /// Where a write of `length` bytes takes its bytes from: a buffer of the program, or our own memory, which holds at
    /// most SCRATCH_LIMIT and is filled with what belongs there.
    #[inline(always)]
    pub(super) fn source(
        &mut self,
        to: Destined,
        length: u64,
        buffer: Option<u32>,
    ) -> Result<*const u8, i32> {
        match buffer {
            _ if !self.content => Ok(std::ptr::dangling()),
            Some(number) => self.buffers.memory(number, length).map(<*mut u8>::cast_const),
            None => {
                let kind = kind(to.appended, length);
                let length = length.min(SCRATCH_LIMIT as u64) as usize;
                let author = self.author;
                self.scratch.outgoing((to.file.id, kind), (to.place, length), || {
                    author.stream(to.file, kind).written_by(author.rank)
                })
            }
        }
    }

    /// `moved` bytes of a file were read last, of which writes may take. Not of any file: of such a one a program could
    /// compose whatever it likes.
    pub(super) fn may_be_copied(&mut self, file: u32, moved: u64) {
        if moved > SCRATCH_LIMIT as u64 {
            return;
        }
        if let Some(open) = self.files.get_mut(file)
            && let Some(handle) = open.handle
        {
            let guard = &mut self.guard;
            let made = || open.made || guard.made_by_run("copy from", &open.path, handle).is_ok();
            if *open.copied.get_or_insert_with(made) {
                self.scratch.came_in(moved as usize);
            }
        }
    }

    /// Fills `memory` with what belongs there.
    pub(super) fn fill(&self, to: Destined, memory: &mut [u8]) {
        self.stream(to, memory.len() as u64).fill(self.author.rank, to.place, memory);
    }

    /// `moved` bytes were written there.
    #[inline(always)]
    pub(super) fn wrote(&mut self, to: Destined, moved: u64, buffer: Option<u32>) {
        if self.verifying && self.content {
            match to.appended {
                true => self.catalogue.of(to.file).was_appended(moved),
                false => self.remember(to, moved, buffer),
            }
        }
    }

    fn remember(&mut self, to: Destined, moved: u64, buffer: Option<u32>) {
        if buffer.is_some_and(|number| self.buffers.is_unfilled(number)) {
            return self.copied(to, moved);
        }
        let memory = buffer.and_then(|number| self.buffers.stream(number));
        let known = self.catalogue.of(to.file);
        known.wrote(to.place, to.place.saturating_add(moved));
        if let Some(stream) = memory {
            known.wrote_memory(to.place, moved, Lying { stream, shift: to.place });
        }
    }

    /// `moved` bytes were copied there from another file: what they are is not known.
    pub(super) fn copied(&mut self, to: Destined, moved: u64) {
        if self.verifying && self.content {
            self.catalogue.of(to.file).was_copied(to.place, to.place.saturating_add(moved));
        }
    }

    /// An open file was cut or grown to `length` bytes.
    pub(super) fn truncated(&mut self, file: u32, length: u64) {
        let Some(open) = self.files.get_mut(file) else { return };
        if open.appends {
            open.position = length;
        }
        let name = open.name;
        if self.verifying && self.content {
            self.catalogue.of(name).ends_at(length);
        }
    }

    /// `fallocate` of this mode changed an open file.
    pub(super) fn allocated(&mut self, file: u32, (offset, length): (u64, u64), mode: i32) {
        let Some(name) = self.files.get(file).map(|open| open.name) else { return };
        if !self.verifying || !self.content {
            return;
        }
        let known = self.catalogue.of(name);
        if mode & !libc::FALLOC_FL_KEEP_SIZE == 0 {
            if mode == 0 {
                known.least = known.least.max(offset.saturating_add(length));
            }
            return;
        }
        match mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) {
            // Behind it all content lies elsewhere.
            0 => known.was_moved(offset, length, mode & libc::FALLOC_FL_COLLAPSE_RANGE != 0),
            _ => known.zeros_at(offset, offset.saturating_add(length)),
        }
    }

    /// The file was made or emptied.
    pub(super) fn emptied(&mut self, file: FileName) {
        if self.verifying && self.content {
            *self.catalogue.of(file) = Known::of_empty();
        }
    }

    /// The file ends there, and is about to be appended to.
    pub(super) fn found_end(&mut self, file: FileName, length: u64) {
        if self.content && self.catalogue.least(file) > length {
            self.catalogue.of(file).found_end(length);
        }
    }

    /// The file was to be emptied and may have been, or may be so at any time: how long it is cannot be known.
    pub(super) fn may_be_short(&mut self, file: FileName) {
        if self.verifying && self.content {
            self.catalogue.of(file).unsteady = true;
        }
    }

    /// It was written while other writes were under way, of which nobody knows which was first. Operations on one name keep
    /// their order: of a file of which `all` was written, the length is known.
    pub(super) fn wrote_beside_others(&mut self, to: Destined, outcome: Outcome, all: bool) {
        if !self.verifying || !self.content {
            return;
        }
        let is_open = self.files.iter().flatten().any(|open| open.name == to.file);
        let known = self.catalogue.of(to.file);
        known.out_of_turn();
        if all && outcome.ok() && !is_open {
            (known.least, known.unsteady) = (to.place.saturating_add(outcome.value), false);
        }
    }

    /// Where the file ended, which `size` says, if a read got no further than to `end` and the file should go on.
    #[inline]
    pub(super) fn ended(
        &self,
        file: FileName,
        (end, ends): (u64, bool),
        size: impl FnOnce() -> Outcome,
    ) -> Option<u64> {
        if !ends || !self.verifying || !self.content || self.catalogue.least(file) <= end {
            return None;
        }
        let size = size();
        (size.ok() && size.value <= end).then_some(size.value)
    }

    /// The size of an open file is asked for if nothing is known of the file: an empty one is as one that was just made.
    pub(super) fn emptied_if_empty<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        file: FileName,
        handle: Handle,
    ) {
        if self.verifying && self.content && !self.catalogue.knows(file) {
            let size = driver.size(handle);
            if size.ok() && size.value == 0 {
                self.emptied(file);
            }
        }
    }

    /// `path` is gone.
    pub(super) fn content_removed(&mut self, path: &CStr) {
        if self.content {
            self.catalogue.removed(path, self.guard.is_local());
            self.forget_lost();
        }
    }

    /// What `from` was called is called `to`.
    pub(super) fn content_renamed(&mut self, from: &CStr, to: &CStr) {
        if self.content {
            self.catalogue.renamed(from, to, self.guard.is_local());
            self.forget_lost();
        }
    }

    /// What `from` is called is called `to` as well.
    pub(super) fn content_linked(&mut self, from: &CStr, to: &CStr) {
        if self.content {
            self.catalogue.linked(from, to, self.guard.is_local());
        }
    }

    /// `path` is a symbolic link that leads to `target`.
    pub(super) fn content_leads(&mut self, path: &CStr, target: &CStr) {
        if self.content {
            self.catalogue.leads(path, target, self.guard.is_local());
        }
    }

    fn forget_lost(&mut self) {
        if self.catalogue.is_crowded() {
            self.catalogue.forget_all_but(self.files.iter().flatten().map(|open| open.name));
        }
    }

    /// Compares what was read at `offset` with what belongs there; [`Layer::concluded`] counts how much that was.
    pub(super) fn differs(
        &mut self,
        file: FileName,
        (found, offset): (&[u8], u64),
        owner: Option<u32>,
    ) -> Option<Wrong> {
        let known = self.catalogue.of(file);
        let (others_rename, others_append) = (self.others_rename, self.others_append);
        let appends_once = self.appends_once;
        let reader = Reader { others_rename, others_append, appends_once, ..self.author.reader(owner) };
        let end = offset.saturating_add(found.len() as u64);
        let parts = known.copied.gaps(offset, end);
        let mut copied = parts != [(offset, end)] && !found.is_empty();
        let part = |(begin, end): (u64, u64)| &found[(begin - offset) as usize..(end - offset) as usize];
        let mut holes = 0;
        let mut compared = 0;
        let (mut unverified, mut wrong) = (false, None);
        for (begin, end) in parts {
            let hollow = known.hollow(begin, end, self.alone).into_iter().filter(|one| is_zero(part(*one)));
            let hollow: Vec<(u64, u64)> = hollow.collect();
            holes += hollow.iter().map(|(begin, end)| end - begin).sum::<u64>();
            let ends = hollow.iter().map(|hole| hole.1);
            let between =
                std::iter::once(begin).chain(ends).zip(hollow.iter().map(|hole| hole.0).chain([end]));
            let mut written = between.filter(|(begin, end)| begin < end || found.is_empty());
            wrong = written.find_map(|one| {
                let wrong = verify(reader, file, known, (part(one), one.0));
                match std::mem::take(&mut known.unverified) {
                    true => unverified = true,
                    false => compared += one.1 - one.0,
                }
                wrong
            });
            if wrong.is_some() {
                break;
            }
        }
        let written_as = known.written_as.map(|written| written.name);
        let renamed = std::mem::take(&mut known.renamed_by_others);
        let renamed_before = std::mem::take(&mut known.renamed_before);
        let of_earlier_run = std::mem::take(&mut known.of_earlier_run);
        // Zeros where nobody else writes are what belongs there.
        if self.alone {
            compared += holes;
        }
        // Others copied what this rank does not know of.
        if self.others_copy && wrong.take().is_some() {
            (copied, compared) = (true, 0);
        }
        let unknown_bytes = (found.len() as u64).saturating_sub(compared);
        self.compared.add(VerifiedFacts { operations: 0, bytes: compared, unknown_bytes });
        let unsure = [
            // Of several ranks another one may have written there, and its write may be lost.
            (holes > 0 && !self.alone, HOLES),
            (renamed, RENAMED_BY_OTHERS),
            (renamed_before, RENAMED_BEFORE),
            (of_earlier_run && self.writes, OF_EARLIER_RUN),
            (unverified && !others_append, TOO_SHORT),
            (unverified && others_append, APPENDED),
            (copied, COPIED),
        ];
        for (_, why) in unsure.into_iter().filter(|(is_so, _)| *is_so) {
            self.note_once(match written_as {
                Some(written) => of_other_name(why, &file.name, &written),
                None => why.into(),
            });
        }
        wrong
    }

    /// A read was compared: counts it, unless it was `wrong`.
    pub(super) fn concluded(&mut self, wrong: Option<Wrong>) -> Option<Wrong> {
        let compared = std::mem::take(&mut self.compared);
        if wrong.is_none() {
            self.verified.add(VerifiedFacts { operations: u64::from(compared.bytes > 0), ..compared });
        }
        wrong
    }

    /// Where verified data was wrong, if it was.
    pub(super) fn verify(&mut self) -> Option<Wrong> {
        if let Some(found) = self.wrong.take() {
            return self.concluded(found);
        }
        if !self.content {
            return None;
        }
        self.compared = VerifiedFacts::default();
        let LastRead { file, offset, length, ended, all } = std::mem::take(&mut self.last_read);
        if length == 0 && offset == 0 && ended.is_none() && !self.catalogue.of(file).emptied {
            self.note_once(NOTHING_READ.into());
        }
        let Some(back) = self.scratch.take_incoming() else {
            let wrong = self.was_cut(file, (&[], offset), ended);
            return self.concluded(wrong);
        };
        let limit = SCRATCH_LIMIT as u64;
        // SAFETY: the read is over, and the memory is of this rank alone.
        let found = unsafe { back.bytes(length.min(limit) as usize) };
        let wrong = if length <= limit {
            self.differs(file, (found, offset), None)
        } else {
            self.note_once(Warning {
                code: "verified-in-part".into(),
                text:
                    "of a read of more than 1 GiB the last GiB was verified: no more is in memory at a time"
                        .into(),
                advice: "read a GiB or less at a time to verify all of it".into(),
            });
            // The last piece lies over the beginning of the one before.
            let last = offset + length / limit * limit;
            let (end, before) = found.split_at((length % limit) as usize);
            let first = self.differs(file, (before, last - limit + end.len() as u64), None);
            first.or_else(|| self.differs(file, (end, last), None))
        };
        let wrong = wrong.or_else(|| self.was_cut(file, (found, offset), ended));
        self.scratch.give_incoming(back);
        if all {
            self.ends_there(file, offset.saturating_add(length));
        }
        self.concluded(wrong)
    }

    /// A read without a length took what is there, up to `end`: is it known that the file was to end there?
    pub(super) fn ends_there(&mut self, file: FileName, end: u64) {
        let is_known = self.catalogue.least(file) >= end
            || (self.alone && self.catalogue.of(file).emptied && !self.catalogue.of(file).unsteady);
        if !is_known {
            self.note_once(END_UNKNOWN.into());
        }
    }

    /// A read from `offset` found these bytes, and that the file had `ended`: does it lack what this rank wrote?
    pub(super) fn was_cut(
        &mut self,
        file: FileName,
        (found, offset): (&[u8], u64),
        ended: Option<u64>,
    ) -> Option<Wrong> {
        if let Some((ended, written)) = self.catalogue.of(file).lost.filter(|_| self.alone) {
            return Some(Wrong { at: ended, found: Found::End(written) });
        }
        let ended = ended?;
        let least = self.catalogue.least(file);
        let known = self.catalogue.of(file);
        let (first, last) = known.in_turn;
        // What this rank wrote in turn is there in part: nobody emptied the file in between.
        let own = || last_own(&self.author, found).filter(|own| offset + own >= first);
        let surely = if self.alone { Some(least) } else { own().map(|_| last).filter(|_| !self.others_cut) };
        if let Some(written) = surely.filter(|written| *written > ended) {
            return Some(Wrong { at: ended.max(offset), found: Found::End(written) });
        }
        self.note_once(MAY_BE_CUT.into());
        None
    }

    pub(super) fn note_once(&mut self, note: Warning) {
        if !self.notes.iter().any(|one| one.code == note.code) {
            self.notes.push(note);
        }
    }
}
