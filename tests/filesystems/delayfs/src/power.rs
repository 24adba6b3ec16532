//! What of the files survives a power cut: only what was synced, and perhaps more.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::str::FromStr;

/// What a cut leaves beyond what was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nothing: neither names nor content.
    All,
    /// Names, whose files are as long as they were at their last fsync.
    Content,
    /// Names, and half of what was written since.
    Half,
}

/// When power is cut, and what is on the disk.
#[derive(Debug, Default)]
pub struct Power {
    off: Option<Loss>,
    changes: u64,
    cut: Option<(u64, Loss)>,
    names: BTreeMap<OsString, u64>,
    contents: BTreeMap<u64, Vec<u8>>,
}

/// `17 content`: after that many changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    after: u64,
    loss: Loss,
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (after, loss) = text.trim().split_once(' ').ok_or("NUMBER all|content|half")?;
        let loss = match loss {
            "all" => Loss::All,
            "content" => Loss::Content,
            "half" => Loss::Half,
            other => return Err(format!("unknown loss {other}")),
        };
        Ok(Self { after: after.parse().map_err(|_| "no number")?, loss })
    }
}

impl Power {
    /// Counts from 0 again, and cuts after so many changes.
    pub fn arm(&mut self, cut: Cut) {
        (self.changes, self.cut) = (0, Some((cut.after, cut.loss)));
    }

    /// Changes since it was armed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    pub fn is_off(&self) -> bool {
        self.off.is_some()
    }

    /// Something is to be changed or synced: is there still power for it?
    pub fn change(&mut self) -> bool {
        if let Some((after, loss)) = self.cut
            && self.changes >= after
        {
            self.off.get_or_insert(loss);
        }
        self.changes += u64::from(self.off.is_none());
        self.off.is_none()
    }

    pub fn sync_file(&mut self, inode: u64, content: &[u8]) {
        self.contents.insert(inode, content.to_vec());
    }

    pub fn sync_names(&mut self, names: &BTreeMap<OsString, u64>) {
        self.names.clone_from(names);
    }

    /// Power is there again: what is left of these names and this content.
    pub fn restore(
        &mut self,
        names: &BTreeMap<OsString, u64>,
        content: impl Fn(u64) -> Vec<u8>,
    ) -> Option<(BTreeMap<OsString, u64>, BTreeMap<u64, Vec<u8>>)> {
        let loss = self.off.take()?;
        self.cut = None;
        let names = if loss == Loss::All { self.names.clone() } else { names.clone() };
        let left = |inode: u64| {
            let synced = self.contents.get(&inode).cloned().unwrap_or_default();
            let now = content(inode);
            if loss == Loss::Half && now.len() > synced.len() {
                let kept = synced.len() + (now.len() - synced.len()) / 2;
                return now[..kept].to_vec();
            }
            synced
        };
        let contents = names.values().map(|inode| (*inode, left(*inode))).collect();
        Some((names, contents))
    }
}
