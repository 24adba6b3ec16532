//! What a worker of `parallel` takes over from its rank.

use std::sync::Arc;

use super::Instrument;
use super::bracket::Bracket;
use super::guard::Guard;
use super::layer::Layer;
use super::space_watch::SpaceWatch;
use super::table::{Buffers, OpenFile, OpenFiles};
use crate::content::{Author, Catalogue};
use crate::driver::{AnyDriver, Handle};
use crate::flags::errno_text;
use clock::Clock;
use ranks::StopFlag;

/// What a worker's instrument is made of, on the worker's own thread.
pub struct Seed {
    /// `None` once an instrument has it.
    driver: Option<AnyDriver>,
    files: OpenFiles,
    buffers: Buffers,
    guard: Option<Guard>,
    room: SpaceWatch,
    clock: Clock,
    author: Author,
    catalogue: Catalogue,
    content: bool,
    verifying: bool,
    others_copy: bool,
    others_rename: bool,
    others_append: bool,
    others_cut: bool,
    writes: bool,
    watching: bool,
    stop: StopFlag,
}

impl Instrument {
    /// What one of `count` workers needs. Files that are open stay so for the worker, with handles and positions of its own; buffers
    /// are shared. Files of a group stay with the rank, which is not watched until its next operation.
    ///
    /// # Errors
    /// Why the driver cannot serve another thread.
    pub fn seed(&mut self, count: u32) -> Result<Seed, String> {
        let mut worker = self.driver.for_worker()?;
        // Until they are gone the rank itself does nothing.
        self.layer.bracket.rest();
        let guard = self.layer.guard.of_worker();
        let layer = &self.layer;
        let own = &mut self.driver;
        let mut failed = None;
        let mut copy = |open: &OpenFile| {
            let shared = own.share(open.handle?, &open.path, &mut worker);
            if !shared.ok() {
                failed.get_or_insert_with(|| (Arc::clone(&open.path), shared.errno));
                return None;
            }
            let copy =
                OpenFile::new(Some(Handle(shared.value)), (Arc::clone(&open.path), open.name), open.position);
            Some(OpenFile { shared: true, appends: open.appends, ..copy })
        };
        let files = layer.files.iter().map(|file| file.and_then(&mut copy)).collect();
        // Dropped, it closes what it has.
        let seed = Seed {
            driver: Some(worker),
            files: OpenFiles::of_worker(files),
            buffers: layer.buffers.clone(),
            guard: Some(guard),
            room: layer.room.of_worker(count),
            clock: layer.bracket.clock,
            author: layer.author,
            catalogue: layer.catalogue.clone(),
            content: layer.content,
            verifying: layer.verifying,
            others_copy: layer.others_copy,
            others_rename: layer.others_rename,
            others_append: layer.others_append,
            others_cut: layer.others_cut,
            writes: layer.writes,
            watching: layer.bracket.is_watching(),
            stop: layer.stop,
        };
        match failed {
            None => Ok(seed),
            Some((path, errno)) => Err(format!(
                "\"{}\", which is open, cannot be opened for each of them: {}",
                path.to_string_lossy(),
                errno_text(errno)
            )),
        }
    }
}

impl Seed {
    /// The instrument, made on the thread that will use it; `None` for the second one.
    pub fn grow(mut self) -> Option<Instrument> {
        let (driver, guard) = (self.driver.take()?, self.guard.take()?);
        let bracket = Bracket::new(self.clock, false);
        let mut layer = Layer::around(bracket, guard, self.author, self.content);
        layer.room = std::mem::take(&mut self.room);
        layer.files = std::mem::take(&mut self.files);
        layer.buffers = std::mem::take(&mut self.buffers);
        layer.verifying = self.verifying;
        layer.others_copy = self.others_copy;
        layer.others_rename = self.others_rename;
        layer.others_append = self.others_append;
        layer.others_cut = self.others_cut;
        layer.writes = self.writes;
        layer.catalogue = std::mem::take(&mut self.catalogue);
        layer.stop = self.stop;
        if self.watching {
            layer.bracket.look_for_causes();
        }
        Some(Instrument { driver, layer })
    }
}

impl Drop for Seed {
    /// Of a worker that never came to be.
    fn drop(&mut self) {
        if let Some(driver) = &mut self.driver {
            let driver = driver.as_dyn();
            for handle in self.files.handles() {
                driver.close(handle);
            }
        }
    }
}
