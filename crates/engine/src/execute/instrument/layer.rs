//! The layer around a driver: its state, and what needs no call of the driver.

use samples::{VerifiedFacts, Warning};

use super::bracket::Bracket;
use super::guard::Guard;
use super::space_watch::{FileSystem, SpaceWatch};
use super::sparse::OpenedToRead;
use super::table::{Buffers, OpenFiles};
use super::under_way::Jobs;
use super::virtual_jobs::VirtualJobs;
use crate::buffers::Scratch;
use crate::collective::{HintsReadBack, MessageMemory, Preparations};
use crate::content::{Author, Catalogue, LastRead, Wrong};
use crate::driver::{Capabilities, Driver};
use crate::files::{Confinement, Ownership, Registry};
use clock::Clock;
use probes::Kernels;
use ranks::StopFlag;

/// What a rank's instrument is made of, besides its driver.
pub struct InstrumentSettings {
    /// The clock of the run.
    pub clock: Clock,
    /// Who writes, in which run.
    pub author: Author,
    /// What the rank creates.
    pub registry: Registry,
    /// What all ranks of the run made.
    pub ownership: Ownership,
    /// What the program may touch.
    pub confinement: Confinement,
    /// Operations of many calls end early once it says so.
    pub stop: StopFlag,
    /// Look for the causes of slow operations.
    pub causes: bool,
}

/// Everything about operations that is no call.
pub(super) struct Layer {
    pub(super) bracket: Bracket,
    pub(super) guard: Guard,
    pub(super) room: SpaceWatch,
    /// Where the file lies that was opened to write last, until that is kept with it.
    pub(super) opened_on: FileSystem,
    pub(super) files: OpenFiles,
    pub(super) buffers: Buffers,
    pub(super) scratch: Scratch,
    pub(super) author: Author,
    pub(super) catalogue: Catalogue,
    pub(super) stop: StopFlag,
    /// Transfers move bytes.
    pub(super) content: bool,
    pub(super) notes: Vec<Warning>,
    pub(super) opened_to_read: OpenedToRead,
    pub(super) last_read: LastRead,
    pub(super) verifying: bool,
    /// No other rank and no worker writes.
    pub(super) alone: bool,
    /// Other ranks or workers may copy between files.
    pub(super) others_copy: bool,
    /// Other ranks or workers may give files other names.
    pub(super) others_rename: bool,
    /// No two that append count by the same number.
    pub(super) appends_once: bool,
    /// The program writes files.
    pub(super) writes: bool,
    /// Other ranks or workers may cut files.
    pub(super) others_cut: bool,
    /// Several ranks or workers append: nobody knows before a write where it will lie.
    pub(super) others_append: bool,
    /// Of a read by pattern that was compared: where it was wrong, if it was.
    pub(super) wrong: Option<Option<Wrong>>,
    /// How much of what is being compared could be,
    pub(super) compared: VerifiedFacts,
    /// and of all verified reads since anybody asked.
    pub(super) verified: VerifiedFacts,
    /// Why the last write that was not begun would have taken too much.
    pub(super) kept_free: Option<(u64, String)>,
    pub(super) hints: HintsReadBack,
    pub(super) preparations: Preparations,
    pub(super) messages: MessageMemory,
    pub(super) kernels: Kernels,
    /// What is under way in an `async` block.
    pub(super) jobs: Option<Box<Jobs>>,
    pub(super) virtual_jobs: VirtualJobs,
}

impl Layer {
    pub(super) fn new(capabilities: Capabilities, settings: InstrumentSettings) -> Self {
        let guard = {
            let made = (settings.registry, settings.ownership);
            Guard::new(settings.confinement, made, capabilities.local_files, settings.author.ranks)
        };
        let mut bracket = Bracket::new(settings.clock, capabilities.virtual_time);
        if settings.causes {
            bracket.look_for_causes();
        }
        let layer = Self::around(bracket, guard, settings.author, capabilities.content);
        Self { stop: settings.stop, ..layer }
    }

    /// Nothing is open.
    pub(super) fn around(bracket: Bracket, guard: Guard, author: Author, content: bool) -> Self {
        Self {
            room: SpaceWatch::of(author.ranks, guard.ownership()),
            bracket,
            guard,
            opened_on: FileSystem::NOT_ASKED,
            files: OpenFiles::default(),
            buffers: Buffers::default(),
            scratch: Scratch::new(author.copies),
            author,
            catalogue: Catalogue::default(),
            stop: StopFlag::default(),
            content,
            notes: Vec::new(),
            opened_to_read: OpenedToRead::default(),
            last_read: LastRead::default(),
            verifying: false,
            alone: false,
            others_copy: false,
            others_rename: false,
            others_append: false,
            others_cut: false,
            writes: false,
            appends_once: false,
            wrong: None,
            kept_free: None,
            compared: VerifiedFacts::default(),
            verified: VerifiedFacts::default(),
            hints: HintsReadBack::default(),
            preparations: Preparations::default(),
            messages: MessageMemory::default(),
            kernels: Kernels::default(),
            jobs: None,
            virtual_jobs: VirtualJobs::default(),
        }
    }

    /// Nothing is under way: the driver's positions of files are those of the program again.
    pub(super) fn restore_positions(&mut self, driver: &mut dyn Driver) {
        for (handle, position) in self.files.take_moved() {
            driver.seek(handle, position as i64, libc::SEEK_SET);
        }
    }
}
