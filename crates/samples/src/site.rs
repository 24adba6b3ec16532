//! Defines sites: where in the program a sample comes from.

use serde::{Deserialize, Serialize};

/// Kind of interval of the samples of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteKind {
    /// One command of the program: a system call, an allocation, a kernel.
    #[default]
    Operation,
    /// A `time` block: wall time from its first statement to its last.
    Time,
    /// A `ctime` block: the sum of the times inside its commands.
    CommandTime,
    /// Waiting for other ranks.
    Barrier,
    /// A `phase`: a rank's own work between two barriers, without the waits at them.
    Phase,
}

/// A place in the program that produces samples: position, enclosing labels, operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Site {
    /// Line in the program text, from 1.
    pub line: u32,
    /// Column in that line, from 1, in characters.
    pub column: u32,
    /// Labels of the enclosing `time` blocks, outermost first, with variables substituted.
    pub labels: Vec<String>,
    /// `fwrite`, `fsync`, `barrier`, …; for a block `time`, `ctime` or `phase`.
    pub operation: String,
    /// Kind of interval.
    pub kind: SiteKind,
    /// The group the operation belongs to; empty for the world.
    pub group: String,
    /// The errno with which the program expects it to fail (`expect errno == …`), where that is a constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expects: Option<i32>,
}

impl Site {
    /// The name in tables: the innermost label, or the operation if there is none.
    pub fn name(&self) -> String {
        match (self.kind, self.labels.last()) {
            (SiteKind::Operation | SiteKind::Barrier, Some(label)) => format!("{label} / {}", self.operation),
            (_, Some(label)) => label.clone(),
            (_, None) => format!("{}:{}", self.operation, self.line),
        }
    }

    /// Whether `wanted` names this site: its innermost label, its operation, or `label/operation`.
    pub fn matches(&self, wanted: &str) -> bool {
        let label = self.labels.last().map(String::as_str).unwrap_or_default();
        match self.kind {
            SiteKind::Operation | SiteKind::Barrier => {
                wanted == self.operation
                    || wanted
                        .rsplit_once('/')
                        .is_some_and(|(l, o)| l.trim() == label && o.trim() == self.operation)
            }
            _ => wanted == label,
        }
    }
}
/// Which of these sites `wanted` names, and whether they are blocks. A label of the program's own goes before an operation of
/// the same name: `time["fwrite"] fwrite(…)` is the block, not block and operation together.
pub fn sites_called(sites: &[Site], wanted: &str) -> (Vec<bool>, bool) {
    let is_block = |site: &Site| !matches!(site.kind, SiteKind::Operation | SiteKind::Barrier);
    let has_block = sites.iter().any(|site| is_block(site) && site.matches(wanted));
    (sites.iter().map(|site| site.matches(wanted) && is_block(site) == has_block).collect(), has_block)
}
