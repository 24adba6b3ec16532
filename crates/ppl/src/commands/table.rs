//! Lists the commands by class: name, arguments, value, origin, `[properties]`, documentation, example.
//!
//! Long because: it is one table, a few lines for each command.

use super::Default::{Absent, Int, Many, Required};
use super::Kind::{
    Any, Buffer, Bytes, BytesOrBuffer, Count, Distance, File, Group, Integer, Microseconds, Mode, Path,
    PathOrFile, Pattern, Permissions, Text, Whence,
};
use super::{ArgumentSpec, Class, CommandSpec, Effect, Moves, Since, Yields};

macro_rules! commands {
    ($(
        $class:ident $group:ident $about:literal {
            $(
                $id:ident $name:literal ($($argument:literal $kind:ident $default:expr),*) $yields:ident $since:ident
                [$($property:ident $(($value:literal))?)*]
                $text:literal
                $(errors $errors:literal)?
                example $example:literal;
            )*
        }
    )*) => {
        /// A command of the language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Command {
            $($(#[doc = $text] $id,)*)*
        }

        $(
            #[doc = $about]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum $group {
                $(#[doc = $text] $id,)*
            }
        )*

        /// A command by its class. The component that executes a class matches its commands exhaustively.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CommandByClass {
            $(#[doc = $about] $class($group),)*
        }

        const ALL: &[Command] = &[$($(Command::$id,)*)*];

        const SPECS: &[CommandSpec] = &[$($(
            CommandSpec {
                name: $name,
                arguments: &[$(ArgumentSpec { name: $argument, kind: $kind, default: $default, bounds: super::Kind::bounds($kind) },)*],
                yields: Yields::$yields,
                class: Class::$class,
                moves: Moves::Nothing,
                effect: Effect::Nothing,
                dry_value: 0,
                submits: false,
                by_pattern: false,
                agrees: false,
                asks: None,
                since: Since::$since,
                text: $text,
                errors: None,
                example: $example,
            }$(.$property($($value)?))*$(.errors($errors))?,
        )*)*];

        impl Command {
            /// The command with this name, in lower case.
            pub fn find(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Command::$id),)*)*
                    _ => None,
                }
            }

            /// The command as one of its class.
            #[inline]
            pub fn by_class(self) -> CommandByClass {
                match self {
                    $($(Command::$id => CommandByClass::$class($group::$id),)*)*
                }
            }
        }
    };
}

impl Command {
    /// Whether it gives the signal that it names.
    pub(crate) fn gives_signal(self) -> bool {
        self == Self::Signal
    }

    /// Whether it waits for the signal that it names.
    pub(crate) fn awaits_signal(self) -> bool {
        self == Self::Await
    }

    /// All commands.
    pub fn all() -> impl Iterator<Item = Command> {
        ALL.iter().copied()
    }

    /// The command with this index in the table (`command as usize`).
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn from_index(index: usize) -> Self {
        ALL[index]
    }

    /// Its arguments and documentation.
    #[inline]
    pub fn spec(self) -> &'static CommandSpec {
        &SPECS[self as usize]
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Which component executes it.
    #[inline]
    pub fn class(self) -> Class {
        self.spec().class
    }

    /// Whether the ranks of a group execute it together. Some do so only at certain levels: see
    /// `CommandSpec::by_pattern`.
    #[inline]
    pub fn is_collective(self) -> bool {
        matches!(self.class(), Class::Collective | Class::Message) || self.spec().agrees
    }
}

/// The properties in brackets in a row of the table.
impl CommandSpec {
    const fn reads(mut self) -> Self {
        self.moves = match self.moves {
            Moves::Nothing | Moves::Reads => Moves::Reads,
            Moves::Writes | Moves::Both => Moves::Both,
        };
        self
    }

    const fn writes(mut self) -> Self {
        self.moves = match self.moves {
            Moves::Nothing | Moves::Writes => Moves::Writes,
            Moves::Reads | Moves::Both => Moves::Both,
        };
        self
    }

    const fn submits(mut self) -> Self {
        self.submits = true;
        self
    }

    const fn agrees(mut self) -> Self {
        self.agrees = true;
        self
    }

    const fn by_pattern(mut self) -> Self {
        self.by_pattern = true;
        self
    }

    const fn dry_value(mut self, value: i64) -> Self {
        self.dry_value = value;
        self
    }

    const fn errors(mut self, errors: &'static str) -> Self {
        self.errors = Some(errors);
        self
    }
}

/// The properties that name an effect.
impl CommandSpec {
    const fn creates(mut self) -> Self {
        self.effect = Effect::Creates;
        self
    }

    const fn makes_directory(mut self) -> Self {
        self.effect = Effect::MakesDirectory;
        self
    }

    const fn removes(mut self) -> Self {
        self.effect = Effect::Removes;
        self
    }

    const fn renames(mut self) -> Self {
        self.effect = Effect::Renames;
        self
    }

    const fn appends(mut self) -> Self {
        self.effect = Effect::Appends;
        self
    }

    const fn extends(mut self) -> Self {
        self.effect = Effect::Extends;
        self
    }

    const fn seeks(mut self) -> Self {
        self.effect = Effect::Seeks;
        self
    }

    const fn closes(mut self) -> Self {
        self.effect = Effect::Closes;
        self
    }

    const fn answers_size(mut self) -> Self {
        self.effect = Effect::AnswersSize;
        self
    }

    const fn frees(mut self) -> Self {
        self.effect = Effect::Frees;
        self
    }
}

commands! {
Language LanguageCommand "A command that the interpreter executes, through a separate method of the machine; makes no sample." {
    Print "print" ("value" Any Many) Nothing Paper []
        "Prints the values, separated by blanks, after the rank: `[0] a b c`."
        example "print(\"hello\", 1 + 1);";
    Sleep "sleep" ("time" Microseconds Required) Nothing Paper []
        "Waits. An integer counts microseconds; `sleep(5ms)` names its unit. `--skip-sleep` leaves it out."
        example "sleep(10us);";
    Glob "glob" ("pattern" Text Required) List Lastrank []
        "The names that match a pattern with `*` and `?`, sorted."
        example "for $f in glob(\"*.none\") delete($f);";
    Signal "signal" ("name" Text Required) Nothing Lastrank []
        "Tells the ranks and workers that `await` the name, once more each time. Operations that an `async` block started are done before. Between ranks that an MPI launcher started it is a message to each other rank."
        example "signal(\"ready\"); await(\"ready\");";
    Await "await" ("name" Text Required, "count" Count Int(1)) Nothing Lastrank []
        "Waits until all ranks and workers together gave the signal so often. The wait is no part of a sample."
        example "signal(\"go\"); signal(\"go\"); await(\"go\", 2);";
    Largest "largest" ("number" Integer Required) Int Lastrank [agrees]
        "The largest of the numbers that the ranks of the enclosing group bring, the same on each of them. All of them meet in it, as in a barrier; the wait is no sample of its own. After loops that ended at a stonewall, ranks go on until each has done as many rounds as the one that had done the most."
        example "$i = 0; for 1ms { append(\"a-$$rank\", 4k); $i = $i + 1; } for $k in $i..largest($i) append(\"a-$$rank\", 4k); delete(\"a-$$rank\");";
}

File FileCommand "A command that a driver executes: one call, or open, transfer and close." {
    Fcreat "fcreat" ("name" Path Required) File Paper []
        "Creates a file for writing (`O_CREAT|O_WRONLY|O_TRUNC`)."
        errors "EACCES, ENOENT (a directory is missing), ENOSPC"
        example "$f = fcreat(\"a.dat\"); fclose($f); delete(\"a.dat\");";
    Fopen "fopen" ("name" Path Required, "mode" Mode Required, "permissions" Permissions Int(420)) File Paper []
        "Opens a file. Modes `r w a r+ w+ a+` as in C, or `O_…` names joined by a bar, such as `O_WRONLY|O_CREAT|O_SYNC`. On failure the value is the negative errno, so that `if $f < 0` works. With `O_DIRECT`, buffers are aligned."
        errors "ENOENT, EACCES, EISDIR, EINVAL (`O_DIRECT` on a file system without it)"
        example "$f = fopen(\"a.dat\", \"O_RDWR|O_CREAT\"); fwrite($f, 4k); fclose($f); delete(\"a.dat\");";
    Fclose "fclose" ("file" File Required) Nothing Paper [closes]
        "Closes a file; an error of the close is reported."
        errors "EBADF, EIO, ENOSPC, EDQUOT (late write errors)"
        example "$f = fcreat(\"a.dat\"); fclose($f); delete(\"a.dat\");";
    Fsync "fsync" ("file" File Required) Nothing Paper [submits]
        "Waits until data and metadata of the file are on the device."
        errors "EBADF, EIO, ENOSPC"
        example "$f = fcreat(\"a.dat\"); fwrite($f, 1k); fsync($f); fclose($f); delete(\"a.dat\");";
    Fdatasync "fdatasync" ("file" File Required) Nothing Lastrank [submits]
        "Waits until the data of the file, and what is needed to read it again, are on the device."
        errors "EBADF, EIO, ENOSPC"
        example "$f = fcreat(\"a.dat\"); fwrite($f, 1k); fdatasync($f); fclose($f); delete(\"a.dat\");";
    Fread "fread" ("file" File Required, "size" Bytes Absent("the whole file from 0"), "offset" Bytes Absent("current position")) Bytes Paper [reads submits]
        "Reads. A short read counts as failed. The value is the number of bytes."
        errors "EBADF, EIO, EISDIR"
        example "write(\"a.dat\", 4k); $f = fopen(\"a.dat\", \"r\"); fread($f, 1k); fread($f, 1k, 2k); fread($f); fclose($f); delete(\"a.dat\");";
    Fwrite "fwrite" ("file" File Required, "size" BytesOrBuffer Required, "offset" Bytes Absent("current position")) Bytes Paper [writes submits]
        "Writes `size` bytes of generated content that encodes run, file, offset and rank, or the content of a buffer. A short write is completed by further calls and marked. The value is the number of bytes."
        errors "EBADF, ENOSPC, EDQUOT, EFBIG, EIO"
        example "$f = fcreat(\"a.dat\"); fwrite($f, 4k); fwrite($f, 1k, 64k); fclose($f); delete(\"a.dat\");";
    Fcopy "fcopy" ("from" File Required, "to" File Required, "size" Bytes Required, "offset" Bytes Absent("current position of from"), "to_offset" Bytes Absent("current position of to")) Bytes Lastrank [writes]
        "Has the kernel copy up to `size` bytes from one open file to another by one call of `copy_file_range`: file systems may share the blocks (a reflink), servers copy on their own. `offset` is that in `from`. A copy of fewer bytes, as at the end of `from`, or of more than 2 GiB, has failed (ENODATA). The value is the number of bytes, which are added to those written. Nothing is read and written in its place where the kernel refuses. The program must have made `from` in this run, or be allowed its directory (`--allow`)."
        errors "EXDEV (another file system), EOPNOTSUPP, ENOSYS, EINVAL (no regular files, or ranges of one file that overlap), EBADF (not opened for it, or `to` to append), ENOSPC"
        example "write(\"a.dat\", 4k); $a = fopen(\"a.dat\", \"r\"); $b = fcreat(\"b.dat\"); fcopy($a, $b, 4k); fcopy($a, $b, 1k, 0, 8k); fclose($a); fclose($b); delete(\"a.dat\"); delete(\"b.dat\");";
    Fseek "fseek" ("file" File Required, "offset" Distance Required, "whence" Whence Absent("SEEK_SET")) Int Paper [seeks]
        "Moves the position in the file. The value is the new position."
        errors "EBADF, EINVAL"
        example "write(\"a.dat\", 4k); $f = fopen(\"a.dat\", \"r\"); fseek($f, 1k); fread($f, 1k); fclose($f); delete(\"a.dat\");";
    Ftruncate "ftruncate" ("file" File Required, "size" Bytes Required) Nothing Lastrank [extends]
        "Truncates or extends the file."
        errors "EBADF, EINVAL, EFBIG"
        example "$f = fcreat(\"a.dat\"); ftruncate($f, 1MiB); fclose($f); delete(\"a.dat\");";
    Fallocate "fallocate" ("file" File Required, "size" Bytes Required, "offset" Bytes Int(0), "mode" Text Absent("reserve, and grow the file")) Nothing Lastrank [submits extends]
        "Reserves space for the file, or does with a range of it what `mode` says, words of `keep_size punch_hole zero_range collapse_range insert_range unshare_range` joined by `|`: `keep_size` reserves and leaves the size, `punch_hole` frees the range, which reads as zeros, `collapse_range` takes it out, `insert_range` puts zeros in. Linux wants whole blocks for the last two."
        errors "EBADF, ENOSPC, EOPNOTSUPP (the file system has no such mode), EINVAL (no whole blocks, or a range beyond the end)"
        example "$f = fcreat(\"a.dat\"); fallocate($f, 1MiB); fallocate($f, 64KiB, 0, \"punch_hole\"); fclose($f); delete(\"a.dat\");";
    Fadvise "fadvise" ("file" File Required, "advice" Text Required, "size" Bytes Int(0), "offset" Bytes Int(0)) Nothing Lastrank []
        "Announces how the file will be used: `normal sequential random willneed dontneed noreuse`. A size of 0 means to the end."
        errors "EBADF, EINVAL"
        example "write(\"a.dat\", 4k); $f = fopen(\"a.dat\", \"r\"); fadvise($f, \"random\"); fclose($f); delete(\"a.dat\");";
    Cachestat "cachestat" ("file" File Required) Int Lastrank []
        "Queries how many bytes of a file are in the page cache. The value is that number; 0 proves that reads will be cold."
        errors "EBADF, ENOSYS (neither `cachestat` nor `mincore` is available)"
        example "write(\"a.dat\", 4k); $f = fopen(\"a.dat\", \"r\"); $held = cachestat($f); fclose($f); delete(\"a.dat\");";
    Odirect "odirect" ("file" File Required) Int Lastrank [dry_value(512)]
        "Queries the alignment that `O_DIRECT` requires of sizes and offsets. The value is in bytes; 0 means that `O_DIRECT` is not supported here."
        errors "EBADF"
        example "write(\"a.dat\", 4k); $f = fopen(\"a.dat\", \"r\"); $step = odirect($f); fclose($f); delete(\"a.dat\");";
    Write "write" ("name" Path Required, "size" BytesOrBuffer Required, "offset" Bytes Int(0)) Bytes Paper [writes submits]
        "Opens (creates, truncates), writes, closes."
        errors "ENOENT (a directory is missing), EACCES, ENOSPC"
        example "write(\"a.dat\", 1024); delete(\"a.dat\");";
    Append "append" ("name" Path Required, "size" BytesOrBuffer Required) Bytes Paper [writes submits appends]
        "Opens for appending (creates), writes, closes."
        errors "ENOENT (a directory is missing), EACCES, ENOSPC"
        example "append(\"a.dat\", 1024); append(\"a.dat\", 1024); delete(\"a.dat\");";
    Read "read" ("name" Path Required, "size" Bytes Absent("the whole file"), "offset" Bytes Int(0)) Bytes Paper [reads submits]
        "Opens, reads, closes. A short read counts as failed."
        errors "ENOENT, EACCES, EISDIR"
        example "write(\"a.dat\", 1024); read(\"a.dat\"); read(\"a.dat\", 512, 100); delete(\"a.dat\");";
    Dread "dread" ("name" Path Required) Bytes Grammar [reads submits]
        "Opens with `O_DIRECT`, reads the whole file, closes."
        errors "ENOENT, EINVAL (no `O_DIRECT` here)"
        example "write(\"a.dat\", 4k); dread(\"a.dat\"); delete(\"a.dat\");";
    Dwrite "dwrite" ("name" Path Required, "size" Bytes Required) Bytes Grammar [writes submits]
        "Opens with `O_DIRECT` (creates, truncates), writes, closes."
        errors "EINVAL (no `O_DIRECT` here, or a size that is not a multiple of the block), ENOSPC"
        example "dwrite(\"a.dat\", 4k); delete(\"a.dat\");";
    Create "create" ("name" Path Required) Nothing Paper [submits creates]
        "Creates an empty file."
        errors "ENOENT (a directory is missing), EACCES, ENOSPC"
        example "create(\"a.dat\"); delete(\"a.dat\");";
    Delete "delete" ("name" Path Required) Nothing Paper [submits removes]
        "Removes a file, or an empty directory."
        errors "ENOENT, ENOTEMPTY, EACCES"
        example "create(\"a.dat\"); delete(\"a.dat\");";
    Unlink "unlink" ("name" Path Required) Nothing Lastrank [submits removes]
        "Removes a file; a directory fails."
        errors "ENOENT, EISDIR, EACCES"
        example "create(\"a.dat\"); unlink(\"a.dat\");";
    Rename "rename" ("from" Path Required, "to" Path Required) Nothing Paper [renames]
        "Renames a file or directory."
        errors "ENOENT, EXDEV, EACCES"
        example "create(\"a.dat\"); rename(\"a.dat\", \"b.dat\"); delete(\"b.dat\");";
    Link "link" ("from" Path Required, "to" Path Required) Nothing Lastrank []
        "Creates a hard link to a file."
        errors "ENOENT, EEXIST, EXDEV"
        example "create(\"a.dat\"); link(\"a.dat\", \"b.dat\"); delete(\"a.dat\"); delete(\"b.dat\");";
    Symlink "symlink" ("target" Path Required, "name" Path Required) Nothing Lastrank []
        "Creates a symbolic link."
        errors "EEXIST, ENOENT"
        example "create(\"a.dat\"); symlink(\"a.dat\", \"b.dat\"); delete(\"b.dat\"); delete(\"a.dat\");";
    Mkdir "mkdir" ("name" Path Required, "permissions" Permissions Int(493)) Nothing Paper [submits makes_directory]
        "Creates a directory."
        errors "EEXIST, ENOENT (the parent is missing), EACCES"
        example "mkdir(\"d\"); rmdir(\"d\");";
    Rmdir "rmdir" ("name" Path Required) Nothing Paper [submits removes]
        "Removes an empty directory."
        errors "ENOENT, ENOTEMPTY, ENOTDIR"
        example "mkdir(\"d\"); rmdir(\"d\");";
    Readdir "readdir" ("name" Path Required) Int Lastrank []
        "Reads all entries of a directory. The value is their number, without `.` and `..`."
        errors "ENOENT, ENOTDIR"
        example "mkdir(\"d\"); readdir(\"d\"); rmdir(\"d\");";
    Stat "stat" ("name" PathOrFile Required) Int Paper [submits answers_size]
        "Reads the attributes of a file, by its name (`stat`) or of an open one (`fstat`). The value is its size in bytes."
        errors "ENOENT, EACCES; of an open file EBADF"
        example "create(\"a.dat\"); stat(\"a.dat\"); $f = fopen(\"a.dat\", \"r\"); stat($f); fclose($f); delete(\"a.dat\");";
    Lookup "lookup" ("name" Path Required) Nothing Paper []
        "Tests whether a file exists (`access` with `F_OK`)."
        errors "ENOENT"
        example "create(\"a.dat\"); lookup(\"a.dat\"); delete(\"a.dat\");";
    Chmod "chmod" ("name" PathOrFile Required, "permissions" Permissions Required) Nothing Lastrank [changes_permissions]
        "Changes the permissions of a file, by its name (`chmod`) or of an open one (`fchmod`); `0o644` is `rw-r--r--`."
        errors "ENOENT, EPERM; of an open file EBADF"
        example "create(\"a.dat\"); chmod(\"a.dat\", 0o600); delete(\"a.dat\");";
    Chown "chown" ("name" PathOrFile Required) Nothing Lastrank []
        "Gives a file to the user and the group of the run, by its name (`chown`) or an open one (`fchown`). What the run made is theirs already and stays so; the file system does its work all the same."
        errors "ENOENT, EPERM; of an open file EBADF"
        example "create(\"a.dat\"); chown(\"a.dat\"); delete(\"a.dat\");";
    Utimes "utimes" ("name" PathOrFile Required) Nothing Lastrank []
        "Sets the times of a file's last access and change to now, by its name (`utimensat`) or of an open one (`futimens`)."
        errors "ENOENT, EPERM; of an open file EBADF"
        example "create(\"a.dat\"); utimes(\"a.dat\"); delete(\"a.dat\");";
    Setxattr "setxattr" ("name" PathOrFile Required, "key" Text Required, "size" Bytes Int(16)) Nothing Lastrank []
        "Gives an extended attribute of a file a value of `size` bytes, by the file's name (`setxattr`) or of an open one (`fsetxattr`). Keys begin with `user.`: others give rights, and end the program."
        errors "ENOENT, EOPNOTSUPP (the file system has none), E2BIG, ENOSPC (ext4 keeps about 4 KiB); of an open file EBADF"
        example "create(\"a.dat\"); setxattr(\"a.dat\", \"user.kind\", 64); delete(\"a.dat\");";
    Removexattr "removexattr" ("name" PathOrFile Required, "key" Text Required) Nothing Lastrank []
        "Removes an extended attribute of a file, by its name (`removexattr`) or of an open one (`fremovexattr`). Keys begin with `user.`."
        errors "ENODATA (there is none), ENOENT, EOPNOTSUPP; of an open file EBADF"
        example "create(\"a.dat\"); setxattr(\"a.dat\", \"user.kind\"); removexattr(\"a.dat\", \"user.kind\"); delete(\"a.dat\");";
    Getxattr "getxattr" ("name" PathOrFile Required, "key" Text Required) Int Lastrank []
        "Asks for an extended attribute of a file, by its name (`getxattr`) or of an open one (`fgetxattr`). The value is its size. Keys begin with `user.`."
        errors "ENODATA (there is none), ENOENT, EOPNOTSUPP; of an open file EBADF"
        example "create(\"a.dat\"); setxattr(\"a.dat\", \"user.kind\"); $size = getxattr(\"a.dat\", \"user.kind\"); delete(\"a.dat\");";
    Sync "sync" () Nothing Lastrank [syncs_all]
        "Writes all dirty data of the system, of all programs, to the devices."
        example "sync();";
    DropCaches "drop_caches" () Nothing Lastrank [drops_caches]
        "Empties the page cache of the machine; needs root."
        errors "EACCES, EPERM"
        example "drop_caches();";
    Alloc "alloc" ("size" Bytes Required, "memory" Text Absent("filled")) Buffer Lastrank []
        "Allocates page-aligned memory and fills it with incompressible content that encodes its origin; `untouched` it is, as of `calloc`, mapped when a write first reads it, and what such a write contains (zeros) is not verified."
        errors "ENOMEM, EINVAL"
        example "$b = alloc(1MiB); free($b);";
    Free "free" ("buffer" Buffer Required) Nothing Lastrank [frees]
        "Frees memory of `alloc`."
        errors "EBADF (freed already)"
        example "$b = alloc(1MiB); free($b);";
    Stripe "stripe" ("name" Path Required, "count" Integer Required, "size" Bytes Absent("the file system's")) Nothing Lastrank [lays_out_files]
        "Sets over how many targets of a Lustre file system new files are striped (`lfs setstripe`). On other file systems it does nothing and adds a note."
        errors "ENOENT, EINVAL"
        example "mkdir(\"d\"); stripe(\"d\", 4); rmdir(\"d\");";
    Mmap "mmap" ("name" Path Required, "size" Bytes Absent("the whole file"), "offset" Bytes Int(0)) Bytes Lastrank [reads]
        "Maps a file and reads one byte of each page. The value is the number of bytes."
        errors "ENOENT, EACCES, ENODEV"
        example "write(\"a.dat\", 64k); mmap(\"a.dat\"); delete(\"a.dat\");";
}

Collective CollectiveCommand "A command of MPI-IO, executed by the ranks of a group together." {
    Pfopen "pfopen" ("name" Path Required, "mode" Mode Required, "group" Group Absent("the enclosing group")) File Paper []
        "Opens a file with MPI-IO on the communicator of the group; any of `c r w`. Collective."
        errors "ENOENT, EACCES"
        example "define groups {\"all\"};\ngroup \"all\" { $f = pfopen(\"a.dat\", \"crw\"); pfclose($f); }\nbarrier; master delete(\"a.dat\");";
    Pfclose "pfclose" ("file" File Required) Nothing Paper [closes]
        "Closes a file of `pfopen`. Collective."
        errors "EBADF, EIO"
        example "define groups {\"all\"};\ngroup \"all\" { $f = pfopen(\"a.dat\", \"crw\"); pfclose($f); }\nbarrier; master delete(\"a.dat\");";
    Pfread "pfread" ("file" File Required, "pattern" Pattern Required, "offset" Bytes Absent("0")) Bytes Paper [reads by_pattern]
        "Reads with MPI-IO as the pattern says. The whole pattern begins at the offset; where one is given, levels 2 and 3 set the view again in each call."
        errors "EBADF, EIO"
        example "define groups {\"all\"};\ndefine pattern {\"p\", 4, 1k, 1};\ngroup \"all\" { $f = pfopen(\"a.dat\", \"crw\"); pfwrite($f, \"p\"); pfread($f, \"p\"); pfclose($f); }\nbarrier; master delete(\"a.dat\");";
    Pfwrite "pfwrite" ("file" File Required, "pattern" Pattern Required, "offset" Bytes Absent("0")) Bytes Paper [writes by_pattern]
        "Writes with MPI-IO as the pattern says. The whole pattern begins at the offset; where one is given, levels 2 and 3 set the view again in each call."
        errors "EBADF, EIO, ENOSPC"
        example "define groups {\"all\"};\ndefine pattern {\"p\", 4, 1k, 1};\ngroup \"all\" { $f = pfopen(\"a.dat\", \"crw\"); pfwrite($f, \"p\"); pfwrite($f, \"p\", 1m); pfclose($f); }\nbarrier; master delete(\"a.dat\");";
    Pread "pread" ("name" Path Required, "pattern" Pattern Required, "group" Group Absent("the pattern's or the enclosing one")) Bytes Paper [reads]
        "MPI-IO: opens, sets the view, reads, closes. Collective in opening and closing."
        errors "ENOENT, EIO"
        example "define pattern {\"p\", 4, 1k, 3};\npwrite(\"a.dat\", \"p\"); pread(\"a.dat\", \"p\"); pdelete(\"a.dat\");";
    Pwrite "pwrite" ("name" Path Required, "pattern" Pattern Required, "group" Group Absent("the pattern's or the enclosing one")) Bytes Paper [writes]
        "MPI-IO: opens, sets the view, writes, closes. Collective in opening and closing."
        errors "ENOENT, ENOSPC, EIO"
        example "define pattern {\"p\", 4, 1k, 2};\npwrite(\"a.dat\", \"p\"); pdelete(\"a.dat\");";
    Pdelete "pdelete" ("name" Path Required) Nothing Paper [removes]
        "Removes a file with MPI-IO: rank 0 of the enclosing group does so, then all continue."
        errors "ENOENT, EACCES"
        example "define pattern {\"p\", 4, 1k, 2};\npwrite(\"a.dat\", \"p\"); pdelete(\"a.dat\");";
}

Message MessageCommand "A call of MPI in which the ranks of a group send each other bytes. All begin together, what came is compared after the call, and without MPI `run` refuses the program." {
    Broadcast "broadcast" ("size" Bytes Required, "root" Integer Int(0), "group" Group Absent("the enclosing group")) Bytes Lastrank [reads writes]
        "`MPI_Bcast`: the rank `root` of the group sends `size` bytes to all. The value is the number of bytes."
        errors "EINVAL (no such root, 2 GiB or more), ENOMEM, EBADMSG (other bytes came), ENOTSUP (no MPI)"
        example "broadcast(4k);";
    Allreduce "allreduce" ("size" Bytes Required, "group" Group Absent("the enclosing group")) Bytes Lastrank [reads writes]
        "`MPI_Allreduce`: every rank gets the sums over all ranks of `size` bytes of numbers of 64 bits. The value is the number of bytes."
        errors "EINVAL (no multiple of 8, 2 GiB or more), ENOMEM, EBADMSG (other sums came), ENOTSUP (no MPI)"
        example "allreduce(8);";
    Alltoall "alltoall" ("size" Bytes Required, "group" Group Absent("the enclosing group")) Bytes Lastrank [reads writes]
        "`MPI_Alltoall`: each rank sends `size` bytes to each rank. The value is what a rank sends: `size` times the ranks."
        errors "EINVAL (2 GiB or more), ENOMEM, EBADMSG (other bytes came), ENOTSUP (no MPI)"
        example "alltoall(4k);";
    Exchange "exchange" ("size" Bytes Required, "group" Group Absent("the enclosing group")) Bytes Lastrank [reads writes]
        "`MPI_Sendrecv`, twice: each rank exchanges `size` bytes with the next rank and with the one before, in a ring. The value is what a rank sends: twice `size`."
        errors "EINVAL (2 GiB or more), ENOMEM, EBADMSG (other bytes came), ENOTSUP (no MPI)"
        example "exchange(64k);";
}

Kernel KernelCommand "A native kernel: a loop of one operation, of which a sample may be a batch." {
    Chase "chase" ("size" Bytes Required, "loads" Count Int(1000), "pages" Text Absent("small")) Nothing Lastrank []
        "Follows a random cycle of pointers through all cache lines of `size` bytes: each load depends on the one before. A sample is a batch of `loads` loads. Pages: `small` or `huge`."
        errors "ENOMEM"
        example "chase(32k);";
    PageChase "page_chase" ("size" Bytes Required, "loads" Count Int(1000), "pages" Text Absent("small")) Nothing Lastrank []
        "As `chase`, through one cache line of each page: beyond the reach of the TLB every load walks the page table. A sample is a batch of `loads` loads."
        errors "ENOMEM"
        example "page_chase(1MiB);";
    LoadedChase "loaded_chase" ("size" Bytes Required, "loaders" Integer Required, "loads" Count Int(1000)) Nothing Lastrank []
        "As `chase`, while `loaders` other threads (0 is allowed) read 32 MiB each as fast as they can: loaded latency. The threads work while loads are timed only."
        errors "ENOMEM, EAGAIN"
        example "loaded_chase(1MiB, 1);";
    NumaChase "numa_chase" ("size" Bytes Required, "from" Integer Required, "to" Integer Required, "loads" Count Int(1000)) Nothing Lastrank []
        "As `chase`, by a processor of the NUMA node `from` in memory of the node `to`: one cell of the NUMA matrix."
        errors "ENODEV, ENOMEM"
        example "numa_chase(1MiB, 0, 0);";
    Poke "poke" ("size" Bytes Required, "count" Count Int(1000), "pages" Text Absent("small")) Nothing Lastrank []
        "Reads and writes independent random words in `size` bytes. A sample is a batch of `count` accesses."
        errors "ENOMEM"
        example "poke(32k, 100);";
    Stream "stream" ("kind" Text Required, "size" Bytes Required, "passes" Count Int(1), "pages" Text Absent("small")) Bytes Lastrank [reads writes]
        "Passes over memory in order: `read`, `write`, `copy` (one half to the other), and with numbers `scale`, `add` (two thirds into the last) or `triad`, as STREAM does. A sample is a batch of `passes` passes; the value is the number of bytes read and written."
        errors "ENOMEM, EINVAL"
        example "stream(\"copy\", 1MiB);";
    Touch "touch" ("size" Bytes Required, "count" Count Int(1), "pages" Text Absent("small")) Nothing Lastrank []
        "Touches the pages of `size` bytes of fresh memory for the first time, one after the other; when all are touched, they are discarded and it starts again. A sample is a batch of `count` pages."
        errors "ENOMEM"
        example "touch(1MiB);";
    Empty "empty" () Nothing Lastrank []
        "Does nothing: its samples show the cost of reading the clock."
        example "empty();";
    Getpid "getpid" ("count" Count Int(1), "way" Text Absent("raw")) Nothing Lastrank []
        "The cheapest system call. A sample is a batch of `count` calls, made directly (`raw`) or through the C library (`libc`)."
        example "getpid();";
    Getppid "getppid" ("count" Count Int(1), "way" Text Absent("raw")) Nothing Lastrank []
        "A system call that looks up the parent: lmbench's \"null\". A sample is a batch of `count` calls, made directly (`raw`) or through the C library (`libc`)."
        example "getppid();";
    ReadNull "read_null" ("count" Count Int(1), "way" Text Absent("libc")) Nothing Lastrank []
        "Reads one byte of `/dev/zero`. A sample is a batch of `count` calls, through the C library (`libc`) or directly (`raw`)."
        errors "ENOENT"
        example "read_null(100);";
    WriteNull "write_null" ("count" Count Int(1), "way" Text Absent("libc")) Nothing Lastrank []
        "Writes one byte to `/dev/null`. A sample is a batch of `count` calls, through the C library (`libc`) or directly (`raw`)."
        errors "ENOENT"
        example "write_null(100);";
    Fstat "fstat" ("directory" Path Required, "count" Count Int(1), "way" Text Absent("libc")) Nothing Lastrank []
        "Reads the attributes of an open file that it keeps in the directory. A sample is a batch of `count` calls, through the C library (`libc`) or directly (`raw`)."
        errors "ENOENT, EACCES"
        example "fstat(\".\", 100);";
    OpenClose "open_close" ("directory" Path Required, "count" Count Int(1)) Nothing Lastrank []
        "Opens (`O_RDWR|O_SYNC|O_CREAT`) and closes a file that it keeps in the directory. A sample is a batch of `count` pairs."
        errors "ENOENT, EACCES"
        example "open_close(\".\");";
    FopenFclose "fopen_fclose" ("directory" Path Required, "count" Count Int(1)) Nothing Lastrank []
        "The C library's `fopen` and `fclose` of a file that it keeps in the directory. A sample is a batch of `count` pairs."
        errors "ENOENT, EACCES"
        example "fopen_fclose(\".\");";
    CreateDelete "create_delete" ("directory" Path Required, "count" Count Int(1), "flags" Text Absent("")) Nothing Lastrank []
        "Creates, closes and deletes an empty file in the directory; with the flags `O_SYNC` it is opened so. A sample is a batch of `count` triples."
        errors "ENOENT, EACCES, ENOSPC"
        example "create_delete(\".\");";
    FunctionCall "function_call" ("count" Count Int(1000)) Nothing Lastrank []
        "Calls a function of one argument that returns it. A sample is a batch of `count` calls; each waits for the one before."
        example "function_call();";
    MmapMunmap "mmap_munmap" ("size" Bytes Required, "count" Count Int(1)) Nothing Lastrank []
        "Maps `size` bytes, touches the first page and unmaps them. A sample is a batch of `count` repetitions."
        errors "ENOMEM"
        example "mmap_munmap(4k);";
    Fork "fork" ("resident" Bytes Int(0)) Nothing Lastrank []
        "Creates a process that exits immediately, and waits for it; `resident` bytes of extra touched memory make the page tables to copy larger."
        errors "EAGAIN, ENOMEM"
        example "fork();";
    Spawn "spawn" ("program" Text Required) Int Lastrank [starts_programs]
        "Starts a program, words separated by blanks, and waits for it. The value is its exit status."
        errors "ENOENT, EACCES"
        example "spawn(\"true\");";
    Thread "thread" () Nothing Lastrank []
        "Creates a thread that ends immediately, and waits for it."
        errors "EAGAIN"
        example "thread();";
    Malloc "malloc" ("size" Bytes Required, "count" Count Int(1)) Nothing Lastrank []
        "Allocates memory and frees it, untouched. A sample is a batch of `count` pairs."
        errors "ENOMEM"
        example "malloc(4k);";
    PipePingpong "pipe_pingpong" ("count" Count Int(1)) Nothing Lastrank []
        "Sends a byte to another process and back. A sample is a batch of `count` round trips."
        errors "EMFILE"
        example "pipe_pingpong(10);";
    ContextSwitch "context_switch" ("count" Count Int(2)) Nothing Lastrank []
        "Switches between two processes on one processor, through pipes. A sample is a batch of `count` switches, an even number."
        errors "EMFILE"
        example "context_switch(10);";
    CorePingpong "core_pingpong" ("first" Integer Required, "second" Integer Required, "count" Count Int(2)) Nothing Lastrank []
        "Two threads on the processors `first` and `second` write one word in turn: how long a cache line takes from one processor to the other. A sample is a batch of `count` ways, an even number."
        errors "ENODEV, EAGAIN"
        example "core_pingpong(0, 1, 100);";
    Atomic "atomic" ("kind" Text Required, "count" Count Int(1), "others" Integer Int(0)) Nothing Lastrank []
        "An atomic operation on one word: `add`, `exchange` or `compare_exchange`, while `others` threads do the same to the same word. A sample is a batch of `count` operations."
        errors "EINVAL, EAGAIN"
        example "atomic(\"add\", 1000);";
    MutexHandover "mutex_handover" ("count" Count Int(2)) Nothing Lastrank []
        "Two threads hand a lock to each other, each asleep until it is its turn. A sample is a batch of `count` hand-overs, an even number."
        errors "EAGAIN"
        example "mutex_handover(10);";
    SelfSignal "self_signal" ("count" Count Int(1)) Nothing Lastrank []
        "The thread sends a signal to itself, and its handler runs. A sample is a batch of `count` signals."
        example "self_signal(10);";
    NetPingpong "net_pingpong" ("transport" Text Required, "address" Text Required, "size" Bytes Int(64), "count" Count Int(1)) Bytes Lastrank [reads writes]
        "Sends `size` bytes to an echo and waits until they are back: a round trip through the network alone. Transport: `tcp`, `udp` or `unix`; the address, `NUMBER:PORT` or the path of a socket, must be given as a parameter. The other end is `lastrank echo`. To servers that run anyway: `connect` makes a TCP connection and closes it, `nfs_null` calls a server of NFS to do nothing, `icmp` sends an echo request, where this user may. A sample is a batch of `count` round trips."
        errors "ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH"
        example "define param \"echo\" $echo \"\";\nif ($echo != \"\") net_pingpong(\"tcp\", $echo, 64);";
}
}
