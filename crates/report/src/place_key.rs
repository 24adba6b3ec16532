//! Names what samples have in common wherever in a program they come from.

use results::ResultRow;
use samples::{Site, SiteKind};
use serde::{Deserialize, Serialize};

/// What samples have in common wherever in a program they come from: innermost label, operation, kind of interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlaceKey {
    pub(crate) label: String,
    pub(crate) operation: String,
    pub(crate) kind: SiteKind,
}

impl PlaceKey {
    pub(crate) fn of(site: &Site) -> PlaceKey {
        PlaceKey {
            label: site.labels.last().cloned().unwrap_or_default(),
            operation: site.operation.clone(),
            kind: site.kind,
        }
    }

    pub(crate) fn of_row(row: &ResultRow) -> PlaceKey {
        PlaceKey {
            label: row.label.clone().unwrap_or_default(),
            operation: row.operation.clone(),
            kind: row.kind,
        }
    }

    /// The innermost label; empty where there is none.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// `fwrite`, …; of a block `time`, `ctime` or `phase`.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Whether it is one command or a wait, not a block.
    pub fn is_operation(&self) -> bool {
        matches!(self.kind, SiteKind::Operation | SiteKind::Barrier)
    }
}

impl std::fmt::Display for PlaceKey {
    /// `write / fwrite`, the label of a block, or an operation without a label.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.is_operation(), self.label.is_empty()) {
            (true, false) => write!(f, "{} / {}", self.label, self.operation),
            (_, true) => f.write_str(&self.operation),
            (false, false) => f.write_str(&self.label),
        }
    }
}
