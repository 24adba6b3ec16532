//! What is owned.

/// A file, a directory or a link, whatever it is called.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// Major and minor number of the device.
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    /// When it was born; 0 where the file system does not tell, and a number may be used again.
    pub(super) born_ns: i64,
    /// Its last change: not part of what it is.
    pub(super) changed_ns: i64,
}

impl Object {
    /// Is it the same? Not what has its name or its number by now.
    pub fn is(&self, other: &Self) -> bool {
        (self.device, self.inode, self.born_ns) == (other.device, other.inode, other.born_ns)
    }

    /// Its number in its file system.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// When it was born, in nanoseconds; 0 where its file system does not tell.
    pub fn born_ns(&self) -> i64 {
        self.born_ns
    }

    /// Its device, as stat(2) has it.
    pub fn device(&self) -> u64 {
        rustix::fs::makedev(self.device.0, self.device.1)
    }
}
