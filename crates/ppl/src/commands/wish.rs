//! What commands ask for that a stranger's program is not simply given.

use super::{CommandSpec, Effect};

/// What a command asks for beyond files of the run's own below its directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wish {
    /// To start other programs.
    StartPrograms,
    /// To have Lustre's own program lay out files.
    LayOutFiles,
    /// To change permissions.
    ChangePermissions,
    /// To remove or rename files and directories.
    Remove,
    /// To empty the page cache of the machine.
    DropCaches,
    /// To have everything written back, of all programs.
    SyncAll,
}

impl CommandSpec {
    /// What it asks for beyond files of the run's own.
    pub fn wish(&self) -> Option<Wish> {
        match self.effect {
            Effect::Removes | Effect::Renames => Some(Wish::Remove),
            Effect::Nothing
            | Effect::Creates
            | Effect::MakesDirectory
            | Effect::Appends
            | Effect::Extends
            | Effect::Seeks
            | Effect::Closes
            | Effect::AnswersSize
            | Effect::Frees => self.asks,
        }
    }
}

/// The properties in brackets in a row of the table.
impl CommandSpec {
    pub(super) const fn starts_programs(mut self) -> Self {
        self.asks = Some(Wish::StartPrograms);
        self
    }

    pub(super) const fn changes_permissions(mut self) -> Self {
        self.asks = Some(Wish::ChangePermissions);
        self
    }

    pub(super) const fn lays_out_files(mut self) -> Self {
        self.asks = Some(Wish::LayOutFiles);
        self
    }

    pub(super) const fn drops_caches(mut self) -> Self {
        self.asks = Some(Wish::DropCaches);
        self
    }

    pub(super) const fn syncs_all(mut self) -> Self {
        self.asks = Some(Wish::SyncAll);
        self
    }
}
