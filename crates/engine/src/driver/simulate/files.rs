//! The files of a simulation: names and sizes.

use std::collections::HashMap;

use samples::Outcome;

/// A file system of names and sizes, without content and without a disk.
///
/// Each rank has its own. What another rank may have written is taken to be there: with more than one
/// rank, a name that this rank never touched is a file as long as whatever is asked of it.
#[derive(Clone, Debug, Default)]
pub struct Files {
    names: HashMap<Vec<u8>, Node>,
    open: Vec<Option<Open>>,
    alone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    File(u64),
    Directory,
    Gone,
}

#[derive(Clone, Debug)]
struct Open {
    path: Vec<u8>,
    position: u64,
    flags: i32,
}

impl Files {
    /// An empty file system; `alone` where the run has one rank only.
    pub fn new(alone: bool) -> Self {
        Self { alone, ..Self::default() }
    }

    fn node(&self, path: &[u8]) -> Option<Node> {
        match self.names.get(path) {
            Some(Node::Gone) => None,
            Some(node) => Some(*node),
            None if self.alone => None,
            None => Some(Node::File(u64::MAX)),
        }
    }

    /// As `open(2)`; the value is a handle.
    pub fn open(&mut self, path: &[u8], flags: i32) -> Outcome {
        match (self.node(path), flags & libc::O_CREAT != 0) {
            (Some(Node::Directory), _) if crate::flags::writes(flags) => {
                return Outcome::error(libc::EISDIR);
            }
            (Some(_), true) if flags & libc::O_EXCL != 0 && self.names.contains_key(path) => {
                return Outcome::error(libc::EEXIST);
            }
            (None, false) => return Outcome::error(libc::ENOENT),
            (None, true) => {
                self.names.insert(path.into(), Node::File(0));
            }
            (Some(Node::File(u64::MAX)), true) => {
                self.names.insert(path.into(), Node::File(0));
            }
            _ => {}
        }
        if flags & libc::O_TRUNC != 0 {
            self.names.insert(path.into(), Node::File(0));
        }
        self.open.push(Some(Open { path: path.into(), position: 0, flags }));
        Outcome::value(self.open.len() as u64 - 1)
    }

    /// As `close(2)`.
    pub fn close(&mut self, handle: u64) -> Outcome {
        match self.open.get_mut(handle as usize).and_then(Option::take) {
            Some(_) => Outcome::default(),
            None => Outcome::error(libc::EBADF),
        }
    }

    /// Writes at `offset`, or at the position, which then moves.
    pub fn write(&mut self, handle: u64, length: u64, offset: Option<u64>) -> Outcome {
        let Some(Some(open)) = self.open.get(handle as usize).cloned() else {
            return Outcome::error(libc::EBADF);
        };
        if open.flags & libc::O_ACCMODE == libc::O_RDONLY {
            return Outcome::error(libc::EBADF);
        }
        let size = self.size_of(&open.path);
        let start = if open.flags & libc::O_APPEND != 0 { size } else { offset.unwrap_or(open.position) };
        let end = start.saturating_add(length);
        if size != u64::MAX {
            self.names.insert(open.path, Node::File(size.max(end)));
        }
        self.advance(handle, offset, end);
        Outcome::value(length)
    }

    /// Reads at `offset`, or at the position, which then moves; less at the end of the file.
    pub fn read(&mut self, handle: u64, length: u64, offset: Option<u64>) -> Outcome {
        let Some(Some(open)) = self.open.get(handle as usize).cloned() else {
            return Outcome::error(libc::EBADF);
        };
        if open.flags & libc::O_ACCMODE == libc::O_WRONLY {
            return Outcome::error(libc::EBADF);
        }
        let start = offset.unwrap_or(open.position);
        let moved = length.min(self.size_of(&open.path).saturating_sub(start));
        self.advance(handle, offset, start + moved);
        Outcome::value(moved)
    }

    /// As `copy_file_range(2)`: from a handle at an offset, or the position, to another; less at the end of the first.
    pub fn copy(&mut self, from: (u64, Option<u64>), to: (u64, Option<u64>), length: u64) -> Outcome {
        let writable = self.open.get(to.0 as usize).and_then(Option::as_ref).is_some_and(|open| {
            open.flags & libc::O_ACCMODE != libc::O_RDONLY && open.flags & libc::O_APPEND == 0
        });
        if !writable {
            return Outcome::error(libc::EBADF);
        }
        let got = self.read(from.0, length, from.1);
        if got.ok() && got.value > 0 { self.write(to.0, got.value, to.1) } else { got }
    }

    /// As `lseek(2)`.
    pub fn seek(&mut self, handle: u64, offset: i64, whence: i32) -> Outcome {
        let size = match self.open.get(handle as usize) {
            Some(Some(open)) => self.size_of(&open.path),
            _ => return Outcome::error(libc::EBADF),
        };
        let Some(Some(open)) = self.open.get_mut(handle as usize) else { return Outcome::error(libc::EBADF) };
        let base = match whence {
            libc::SEEK_CUR => open.position,
            libc::SEEK_END => size.min(i64::MAX as u64),
            _ => 0,
        };
        match base.checked_add_signed(offset) {
            Some(position) => {
                open.position = position;
                Outcome::value(position)
            }
            None => Outcome::error(libc::EINVAL),
        }
    }

    /// The size of an open file.
    pub fn size(&self, handle: u64) -> Outcome {
        match self.open.get(handle as usize) {
            Some(Some(open)) => Outcome::value(self.size_of(&open.path)),
            _ => Outcome::error(libc::EBADF),
        }
    }

    /// The size of a named file; a name without a file fails.
    pub fn stat(&self, path: &[u8]) -> Outcome {
        match self.node(path) {
            Some(Node::File(u64::MAX)) => Outcome::default(),
            Some(Node::File(size)) => Outcome::value(size),
            Some(_) => Outcome::default(),
            None => Outcome::error(libc::ENOENT),
        }
    }

    /// Removes a file or a directory.
    pub fn remove(&mut self, path: &[u8]) -> Outcome {
        if self.node(path).is_none() {
            return Outcome::error(libc::ENOENT);
        }
        self.names.insert(path.into(), Node::Gone);
        Outcome::default()
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, path: &[u8]) -> Outcome {
        if matches!(self.names.get(path), Some(Node::File(_) | Node::Directory)) {
            return Outcome::error(libc::EEXIST);
        }
        self.names.insert(path.into(), Node::Directory);
        Outcome::default()
    }

    /// Renames.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) -> Outcome {
        match self.node(from) {
            Some(node) => {
                self.names.insert(from.into(), Node::Gone);
                self.names.insert(to.into(), node);
                Outcome::default()
            }
            None => Outcome::error(libc::ENOENT),
        }
    }

    /// A second name for a file: from now on one of its own.
    pub fn link(&mut self, from: &[u8], to: &[u8]) -> Outcome {
        let found = self.stat(from);
        if !found.ok() {
            return found;
        }
        let opened = self.open(to, libc::O_WRONLY | libc::O_CREAT);
        self.truncate(opened.value, found.value);
        self.close(opened.value)
    }

    /// Sets the length of an open file.
    pub fn truncate(&mut self, handle: u64, length: u64) -> Outcome {
        match self.open.get(handle as usize) {
            Some(Some(open)) => {
                self.names.insert(open.path.clone(), Node::File(length));
                Outcome::default()
            }
            _ => Outcome::error(libc::EBADF),
        }
    }

    fn size_of(&self, path: &[u8]) -> u64 {
        match self.node(path) {
            Some(Node::File(size)) => size,
            _ => 0,
        }
    }

    fn advance(&mut self, handle: u64, offset: Option<u64>, end: u64) {
        if let (None, Some(Some(open))) = (offset, self.open.get_mut(handle as usize)) {
            open.position = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_can_be_read() {
        let mut files = Files::new(true);
        let handle = files.open(b"f", libc::O_RDWR | libc::O_CREAT).value;
        assert_eq!(files.write(handle, 100, None).value, 100);
        assert_eq!(files.write(handle, 50, Some(200)).value, 50);
        assert_eq!(files.read(handle, 1000, Some(0)).value, 250);
        assert_eq!(files.seek(handle, -10, libc::SEEK_END).value, 240);
        assert_eq!(files.read(handle, 1000, None).value, 10);
        assert!(files.close(handle).ok());
        assert_eq!(files.close(handle).errno, libc::EBADF);
    }

    #[test]
    fn a_copy_ends_where_its_source_does_and_moves_both_positions() {
        let mut files = Files::new(true);
        let from = files.open(b"f", libc::O_RDWR | libc::O_CREAT).value;
        let to = files.open(b"g", libc::O_WRONLY | libc::O_CREAT).value;
        files.write(from, 100, Some(0));
        assert_eq!(files.copy((from, None), (to, None), 70).value, 70);
        assert_eq!(files.copy((from, None), (to, None), 70).value, 30);
        assert_eq!(files.copy((from, None), (to, None), 70), Outcome::value(0));
        assert_eq!(files.copy((from, Some(90)), (to, Some(200)), 70).value, 10);
        assert_eq!(files.stat(b"g").value, 210);
        assert_eq!(files.copy((to, None), (from, None), 70).errno, libc::EBADF);
        let end = files.open(b"g", libc::O_WRONLY | libc::O_APPEND).value;
        assert_eq!(files.copy((from, Some(0)), (end, None), 70).errno, libc::EBADF);
    }

    #[test]
    fn names_come_and_go() {
        let mut files = Files::new(true);
        assert_eq!(files.stat(b"f").errno, libc::ENOENT);
        files.open(b"f", libc::O_WRONLY | libc::O_CREAT);
        assert!(files.rename(b"f", b"g").ok());
        assert_eq!((files.stat(b"f").errno, files.stat(b"g").errno), (libc::ENOENT, 0));
        assert!(files.remove(b"g").ok());
        assert_eq!(files.remove(b"g").errno, libc::ENOENT);
    }

    #[test]
    fn among_many_ranks_an_untouched_name_is_a_file_of_another_rank() {
        let mut files = Files::new(false);
        let handle = files.open(b"theirs", libc::O_RDONLY).value;
        assert_eq!(files.read(handle, 1 << 40, Some(5)).value, 1 << 40);
    }
}
