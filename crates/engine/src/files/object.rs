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
    /// Its device, as stat(2) has it.
    pub fn device(&self) -> u64 {
        rustix::fs::makedev(self.device.0, self.device.1)
    }
}
