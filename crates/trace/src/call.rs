//! One call of a trace.

/// Stands where a call has no name, file or offset.
pub const NONE: u32 = u32::MAX;
/// Stands where an offset or a size is not known.
pub const UNKNOWN: u64 = u64::MAX;

macro_rules! ops {
    (
        replayed { $($(#[$doc:meta])* $name:ident $word:literal $command:literal)* }
        only_orders { $($(#[$order_doc:meta])* $order:ident $order_word:literal)* }
    ) => {
        /// What a call did.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $name,)* $($(#[$order_doc])* $order,)* }

        impl Op {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Op] = &[$(Op::$name,)* $(Op::$order,)*];

            /// Its word in recordings and tables.
            pub fn word(self) -> &'static str {
                match self { $(Op::$name => $word,)* $(Op::$order => $order_word,)* }
            }

            /// The command of the language that repeats it; `None` for what is in no program, and only orders the calls
            /// that are.
            pub fn command(self) -> Option<&'static str> {
                match self { $(Op::$name => Some($command),)* $(Op::$order => None,)* }
            }
        }

        /// The pattern of what is in no program.
        macro_rules! only_orders {
            () => { $($crate::call::Op::$order)|* };
        }
        pub(crate) use only_orders;
    };
}

ops! {
    replayed {
        /// `path` was opened as `file`; `bytes`: its size then, `offset`: permissions, `flags`: how.
        Open "open" "fopen"
        /// The last descriptor of `file` was closed.
        Close "close" "fclose"
        /// `bytes` came from `offset`; with [`EXPLICIT`] in `flags` the call named the offset.
        Read "read" "fread"
        /// `bytes` went to `offset`.
        Write "write" "fwrite"
        /// The position of `file` became `offset`.
        Seek "seek" "fseek"
        /// `fsync`
        Sync "fsync" "fsync"
        /// `fdatasync`
        DataSync "fdatasync" "fdatasync"
        /// `file` became `bytes` long.
        Truncate "ftruncate" "ftruncate"
        /// `bytes` from `offset` on were reserved, or what `flags` (the mode of `fallocate`) says was done with them.
        Allocate "fallocate" "fallocate"
        /// Attributes of `path`; `bytes`: its size, `offset`: its mode (`st_mode`).
        Stat "stat" "stat"
        /// Whether `path` exists (`access`).
        Lookup "lookup" "lookup"
        /// The file `path` was removed.
        Unlink "unlink" "unlink"
        /// The directory `path` was removed.
        Rmdir "rmdir" "rmdir"
        /// The directory `path` was made; `offset`: permissions.
        Mkdir "mkdir" "mkdir"
        /// The entries of `path` were read; `bytes`: as the system gave them.
        Readdir "readdir" "readdir"
        /// `path` became `other`.
        Rename "rename" "rename"
        /// `other` became a second name of `path`.
        Link "link" "link"
        /// `path` became a symbolic link to the text `other`.
        Symlink "symlink" "symlink"
        /// Permissions of `path` became `offset`.
        Chmod "chmod" "chmod"
        /// The owner or the group of `path` was set.
        Chown "chown" "chown"
        /// The times of `path` were set.
        Utimes "utimes" "utimes"
        /// The extended attribute `other` of `path` got a value of `bytes`.
        SetAttribute "setxattr" "setxattr"
        /// The extended attribute `other` of `path` was removed.
        RemoveAttribute "removexattr" "removexattr"
        /// The file `path` was made, and is not open.
        Create "create" "create"
    }
    only_orders {
        /// Where the symbolic link `path` leads was read: to `other`.
        Readlink "readlink"
        /// `bytes` of `file` were mapped; what is read and written there is in no trace.
        Map "mmap"
        /// The thread started another: `file` is its number.
        Spawn "spawn"
        /// The thread ended.
        Exit "exit"
        /// The thread waited for the end of thread `file`.
        Wait "wait"
        /// `bytes` came from pipe `file`; 0: no writer is left.
        PipeRead "pipe-read"
        /// `bytes` went into pipe `file`.
        PipeWrite "pipe-write"
        /// `bytes` came from a socket.
        Receive "receive"
        /// `bytes` went to a socket.
        Send "send"
        /// `offset` calls, which `bytes` were moved or changed by, that no program repeats; `flags`: why, as an index into
        /// [`crate::Trace::unrepeated`].
        Unrepeated "not repeated"
    }
}

/// In [`Call::flags`] of a read or write: the call named its offset.
pub const EXPLICIT: u32 = 1;
/// In [`Call::flags`] of a read or write that was submitted and completed later: from this bit on, how many were in flight.
pub const DEPTH_SHIFT: u32 = 8;
/// In [`Call::flags`] of a stat, or of a change of attributes: it meant the link itself, not what that leads to.
pub const NO_FOLLOW: u32 = 2;
/// In [`Call::flags`] of a stat, or of a change of attributes: it meant an open file, not a name.
pub const BY_FILE: u32 = 4;
/// In [`Call::flags`] of a readdir: a further call of one reading of a directory, which is one command; of a rename, a link or an
/// unlink: a further one of several that stand for one call.
pub const AGAIN: u32 = 8;
/// In [`Call::flags`] of a read and of the write behind it: one call of the system copied these bytes from file to file.
pub const COPY: u32 = 16;

/// In [`Call::flags`] of an open, a read, a write or a rename: the application's call was another one, of which this is the
/// nearest. No flag of `open` has this bit.
pub const NEAREST: u32 = 32;

/// In [`Call::flags`] of a close: the system closed the file, by `execve`, `dup2` or at the end of the process.
pub const IMPLIED: u32 = 1;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it began, in nanoseconds since an origin that the trace shares.
    pub start: u64,
    /// How long it took, in nanoseconds; at most 4.29 s are kept exactly, longer ones in steps of 2²⁰ ns.
    pub duration: u64,
    /// Index into [`Trace::threads`].
    pub thread: u32,
    /// What it did.
    pub op: Op,
    /// The errno with which it failed, 0 where it succeeded.
    pub errno: u16,
    /// By `op`.
    pub flags: u32,
    /// Number of the open file, pipe or thread, or [`NONE`].
    pub file: u32,
    /// Name, as an index into [`Trace::names`], or [`NONE`].
    pub path: u32,
    /// Second name, or [`NONE`].
    pub other: u32,
    /// Bytes moved, or by `op`.
    pub bytes: u64,
    /// Offset, or by `op`; [`UNKNOWN`].
    pub offset: u64,
    /// For how long the recorder had kept the thread from its work since its start until the call began, in nanoseconds.
    pub held: u64,
}

impl Call {
    /// A call without anything but its times.
    pub fn new(op: Op, thread: u32, start: u64, duration: u64) -> Self {
        Self {
            start,
            duration,
            thread,
            op,
            errno: 0,
            flags: 0,
            file: NONE,
            path: NONE,
            other: NONE,
            bytes: 0,
            offset: UNKNOWN,
            held: 0,
        }
    }

    /// Whether it is the read, or the write, of a copy from file to file by one call of the system.
    pub fn is_copy(&self, half: Op) -> bool {
        self.op == half && matches!(half, Op::Read | Op::Write) && self.flags & COPY != 0
    }

    /// Its second name, where that is one of a file.
    pub fn second(&self) -> u32 {
        match self.op {
            Op::Symlink | Op::SetAttribute | Op::RemoveAttribute => NONE,
            _ => self.other,
        }
    }

    /// The command of the language that repeats it. That of the read of a copy does the write as well.
    pub fn command(&self) -> Option<&'static str> {
        if self.is_copy(Op::Read) { Some("fcopy") } else { self.op.command() }
    }

    /// Whether it stands for one call of the application together with another one: the write of a copy, or a further rename.
    pub fn is_further(&self) -> bool {
        match self.op {
            Op::Rename | Op::Link | Op::Unlink => self.flags & AGAIN != 0,
            _ => self.is_copy(Op::Write),
        }
    }

    /// When it ended, in nanoseconds.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}
