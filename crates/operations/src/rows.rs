//! The operations.

/// What an operation reads or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// What a file contains, or how long it is: reads it.
    Reads,
    /// What a file contains, or how long it is: changes it.
    Changes,
    /// Names: makes, moves or removes them.
    Names,
    /// Attributes: asks for them, or for names.
    Asks,
    /// Whether what was written is safe: nothing that can be read.
    Safety,
    /// Attributes: changes them.
    Attributes,
    /// Descriptors, directories and processes alone: what other calls mean.
    Nothing,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it is.
    pub operation: Operation,
    /// What it is called where it is not repeated.
    pub words: &'static str,
    /// The command of the language that repeats it.
    pub command: Option<&'static str>,
    /// What it reads or changes.
    pub touches: Touches,
}

macro_rules! rows {
    ($($(#[$doc:meta])* $operation:ident $words:literal $touches:ident $($command:literal)?;)*) => {
        /// What an application does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Operation { $($(#[$doc])* $operation,)* }

        /// All of them, in the order of their numbers.
        pub const ROWS: &[Row] = &[$(Row {
            operation: Operation::$operation,
            words: $words,
            command: rows!(@ $($command)?),
            touches: Touches::$touches,
        },)*];
    };
    (@ $command:literal) => { Some($command) };
    (@) => { None };
}

rows! {
    /// A file is opened.
    Open "open" Names "fopen";
    /// A file is opened by a handle, which is no name.
    OpenHandle "open_by_handle_at" Names;
    /// A descriptor is closed.
    Close "close" Nothing "fclose";
    /// A range of descriptors is closed.
    CloseRange "close_range" Nothing;
    /// A range of descriptors is closed by the next `execve`.
    CloseRangeOnExec "close_range with CLOSE_RANGE_CLOEXEC" Nothing;
    /// Bytes are read.
    Read "read" Reads "fread";
    /// Bytes are written.
    Write "write" Changes "fwrite";
    /// Bytes go from one file to another.
    Copy "copy_file_range" Changes "fcopy";
    /// A request of `ioctl`: two of them let files share what they hold.
    Control "ioctl" Changes "fcopy";
    /// The position changes.
    Seek "lseek" Nothing "fseek";
    /// What was written becomes safe.
    Sync "fsync" Safety "fsync";
    /// What was written becomes safe, without times.
    DataSync "fdatasync" Safety "fdatasync";
    /// A range begins to be written back.
    SyncRange "sync_file_range" Safety;
    /// A whole file system becomes safe.
    SyncAll "syncfs" Safety;
    /// A file gets another length.
    Truncate "ftruncate" Changes "ftruncate";
    /// A file gets another length, by its name.
    TruncateName "truncate" Changes "ftruncate";
    /// Room is reserved, and the file may become longer.
    Allocate "fallocate" Changes "fallocate";
    /// Room is reserved, and the file keeps its length.
    Reserve "fallocate with FALLOC_FL_KEEP_SIZE" Changes "fallocate";
    /// A range becomes a hole.
    Punch "fallocate with FALLOC_FL_PUNCH_HOLE" Changes "fallocate";
    /// A range is taken out.
    Collapse "fallocate with FALLOC_FL_COLLAPSE_RANGE" Changes "fallocate";
    /// A range becomes zeros.
    Zero "fallocate with FALLOC_FL_ZERO_RANGE" Changes "fallocate";
    /// A range is put in.
    Insert "fallocate with FALLOC_FL_INSERT_RANGE" Changes "fallocate";
    /// Shared blocks become the file's own.
    Unshare "fallocate with FALLOC_FL_UNSHARE_RANGE" Changes "fallocate";
    /// A descriptor gets a second number.
    Duplicate "dup" Nothing;
    /// A descriptor gets a second number, which `execve` may close.
    DuplicateOnExec "dup3" Nothing;
    /// A request of `fcntl`.
    Descriptor "fcntl" Nothing;
    /// Attributes of a name.
    Stat "stat" Asks "stat";
    /// Attributes of an open file.
    StatOpen "fstat" Asks "stat";
    /// Whether a name exists.
    Lookup "access" Asks "lookup";
    /// A file is removed.
    Unlink "unlink" Names "unlink";
    /// A directory is removed.
    Rmdir "rmdir" Names "rmdir";
    /// A directory is made.
    Mkdir "mkdir" Names "mkdir";
    /// A pipe, a socket or a device is made.
    MakeNode "mknod" Names;
    /// The entries of a directory are read.
    Readdir "getdents64" Asks "readdir";
    /// A name becomes another one.
    Rename "rename" Names "rename";
    /// A name becomes another one that nothing has.
    RenameNew "renameat2 with RENAME_NOREPLACE" Names "rename";
    /// Two names change places.
    Exchange "renameat2 with RENAME_EXCHANGE" Names;
    /// A file gets a second name.
    Link "link" Names "link";
    /// An open file gets a name.
    LinkOpen "linkat with AT_EMPTY_PATH" Names "link";
    /// A symbolic link is made.
    Symlink "symlink" Names "symlink";
    /// Where a symbolic link leads.
    Readlink "readlink" Asks;
    /// Permissions change.
    Chmod "chmod" Attributes "chmod";
    /// Permissions of an open file change.
    ChmodOpen "fchmod" Attributes "chmod";
    /// An owner changes.
    Chown "chown" Attributes "chown";
    /// The owner of an open file changes.
    ChownOpen "fchown" Attributes "chown";
    /// Times change.
    Utimes "utimensat" Attributes "utimes";
    /// An extended attribute is set.
    SetAttribute "setxattr" Attributes "setxattr";
    /// An extended attribute of an open file is set.
    SetAttributeOpen "fsetxattr" Attributes "setxattr";
    /// An extended attribute is removed.
    RemoveAttribute "removexattr" Attributes "removexattr";
    /// An extended attribute of an open file is removed.
    RemoveAttributeOpen "fremovexattr" Attributes "removexattr";
    /// Extended attributes are read.
    GetAttribute "getxattr" Asks;
    /// Extended attributes of an open file are read.
    GetAttributeOpen "fgetxattr" Asks;
    /// A file is mapped into memory.
    Map "mmap" Reads;
    /// The working directory changes.
    Chdir "chdir" Nothing;
    /// The working directory becomes an open one.
    ChdirOpen "fchdir" Nothing;
    /// The working directory is asked for.
    WorkingDirectory "getcwd" Nothing;
    /// A thread or a process begins.
    Spawn "clone" Nothing;
    /// A process becomes another program.
    Exec "execve" Nothing;
    /// A process waits for the end of another.
    Wait "wait4" Nothing;
    /// A pipe is made.
    Pipe "pipe" Nothing;
    /// A descriptor that is no file of a file system is made.
    Socket "socket" Nothing;
    /// Two sockets are made.
    SocketPair "socketpair" Nothing;
    /// A socket gets a name.
    Bind "bind" Names;
    /// A ring of io_uring is made.
    RingSetup "io_uring_setup" Nothing;
    /// Submissions to io_uring.
    RingEnter "submissions to io_uring" Changes;
    /// Submissions of AIO.
    Submit "io_submit" Changes;
    /// Completions of AIO are taken.
    Reap "io_getevents" Nothing;
}

impl Touches {
    /// Whether other files are there afterwards, or they hold something else.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Changes | Self::Names)
    }
}

impl Operation {
    /// Its row.
    pub const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}
