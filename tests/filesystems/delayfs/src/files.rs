//! Keeps the files of the directory in memory; there are no subdirectories.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::{SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo};

use crate::power::{Cut, Power};

/// The inode of the directory itself.
pub const ROOT: u64 = 1;
/// The inode of the file that holds the log.
pub const LOG: u64 = 2;
/// The name of the file that holds the log: reading it gives all delays so far.
pub const LOG_NAME: &str = ".delays.csv";
/// The inode of the file by which power is cut.
pub const POWER: u64 = 3;
/// Its name.
pub const POWER_NAME: &str = ".power";

/// The files by inode, and their names.
#[derive(Debug)]
pub struct Files {
    names: BTreeMap<OsString, u64>,
    contents: BTreeMap<u64, (Vec<u8>, SystemTime)>,
    next: u64,
    power: Power,
}

impl Files {
    pub fn new() -> Self {
        let names = BTreeMap::from([(LOG_NAME.into(), LOG), (POWER_NAME.into(), POWER)]);
        let mut power = Power::default();
        power.sync_names(&names);
        Self { names, contents: BTreeMap::new(), next: POWER + 1, power }
    }

    pub fn find(&self, name: &OsStr) -> Option<u64> {
        self.names.get(name).copied()
    }

    pub fn names(&self) -> impl Iterator<Item = (&OsString, u64)> {
        self.names.iter().map(|(name, inode)| (name, *inode))
    }

    /// Cuts the power later.
    pub fn arm(&mut self, cut: Cut) {
        self.power.arm(cut);
    }

    pub fn is_off(&self) -> bool {
        self.power.is_off()
    }

    /// Something is to be changed or synced: is there still power for it?
    pub fn may_change(&mut self) -> bool {
        self.power.change()
    }

    /// Power is there again, if it was cut: what was not synced is gone.
    pub fn restore(&mut self) {
        let content = |inode: u64| self.contents.get(&inode).map(|(content, _)| content.clone()).unwrap_or_default();
        if let Some((names, contents)) = self.power.restore(&self.names, content) {
            self.names = names;
            let now = SystemTime::now();
            self.contents = contents.into_iter().map(|(inode, content)| (inode, (content, now))).collect();
            self.contents.retain(|inode, _| *inode > POWER);
        }
    }

    pub fn sync_file(&mut self, inode: u64) {
        if let Some((content, _)) = self.contents.get(&inode) {
            self.power.sync_file(inode, content);
        }
    }

    pub fn sync_names(&mut self) {
        self.power.sync_names(&self.names);
    }

    /// Gives a file another name, in the place of a file of that name.
    pub fn rename(&mut self, from: &OsStr, to: &OsStr) -> bool {
        let Some(inode) = self.find(from).filter(|inode| *inode > POWER) else { return false };
        self.names.remove(from);
        self.names.insert(to.to_owned(), inode);
        true
    }

    /// Creates an empty file, replacing an existing one.
    pub fn create(&mut self, name: &OsStr) -> u64 {
        let inode = self.next;
        self.next += 1;
        self.names.insert(name.to_owned(), inode);
        self.contents.insert(inode, (Vec::new(), SystemTime::now()));
        inode
    }

    /// Removes a name. The content is kept, since an open file may still use it; the file system exists only
    /// during a test.
    pub fn unlink(&mut self, name: &OsStr) -> Option<u64> {
        let inode = self.find(name).filter(|inode| *inode > POWER)?;
        self.names.remove(name);
        if let Some((content, _)) = self.contents.get_mut(&inode) {
            *content = Vec::new();
        }
        Some(inode)
    }

    pub fn truncate(&mut self, inode: u64, size: u64) {
        if let Some((content, changed)) = self.contents.get_mut(&inode) {
            content.resize(size as usize, 0);
            *changed = SystemTime::now();
        }
    }

    pub fn write(&mut self, inode: u64, offset: u64, data: &[u8]) {
        if let Some((content, changed)) = self.contents.get_mut(&inode) {
            let begin = offset as usize;
            if content.len() < begin + data.len() {
                content.resize(begin + data.len(), 0);
            }
            content[begin..begin + data.len()].copy_from_slice(data);
            *changed = SystemTime::now();
        }
    }

    /// The bytes at `offset`, fewer at the end of the file.
    pub fn read(&self, inode: u64, offset: u64, size: u32) -> Vec<u8> {
        let Some((content, _)) = self.contents.get(&inode) else { return Vec::new() };
        let begin = (offset as usize).min(content.len());
        let end = (begin + size as usize).min(content.len());
        content[begin..end].to_vec()
    }

    /// The attributes for `stat`, or `None` if there is no such file.
    pub fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let (size, changed) = match (inode, self.contents.get(&inode)) {
            (ROOT | LOG, _) => (0, UNIX_EPOCH),
            (POWER, _) => (self.power.changes(), UNIX_EPOCH),
            (_, Some((content, changed))) => (content.len() as u64, *changed),
            (_, None) => return None,
        };
        let directory = inode == ROOT;
        Some(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: changed,
            mtime: changed,
            ctime: changed,
            crtime: changed,
            kind: if directory { FileType::Directory } else { FileType::RegularFile },
            perm: if directory { 0o777 } else { 0o666 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}
