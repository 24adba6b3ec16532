//! The meaning of each system call: what it opens, moves, or does to names.

use super::line::Call;
use super::replay::{Process, Replay};
use crate::commands::import::trace::{NameCommand, Op, TwoNamesCommand};

impl Replay<'_> {
    /// Takes one call of the trace; a call that has nothing to do with files changes nothing.
    pub fn call(&mut self, call: &Call<'_>) {
        let process = self.process(call.process);
        let failed = call.result < 0;
        match call.name {
            "open" | "creat" | "openat" => self.opens(&process, call),
            "close" => {
                if let Some(number) = call.descriptor(0) {
                    self.close(&process, call, number);
                }
            }
            "stat" | "lstat" | "newfstatat" | "statx" | "access" | "faccessat" | "faccessat2" | "unlink"
            | "rmdir" | "mkdir" | "unlinkat" | "mkdirat" | "rename" | "link" | "renameat" | "renameat2" => {
                self.names(&process, call);
            }
            "mmap" => {
                if call.descriptor(4).is_some_and(|number| process.has_file(number)) {
                    self.leave_out("mmap of a file (reads and writes of memory are not in a trace)");
                }
            }
            "io_uring_enter" | "io_submit" => self.leave_out(call.name),
            // Other calls that failed are left out of the program.
            _ if failed => {}
            "dup" | "dup2" | "dup3" => {
                if let Some(old) = call.descriptor(0) {
                    self.duplicate(&process, call, old);
                }
            }
            "fcntl" => {
                if let (Some("F_DUPFD" | "F_DUPFD_CLOEXEC"), Some(old)) =
                    (call.argument(1), call.descriptor(0))
                {
                    self.duplicate(&process, call, old);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" if call.result > 0 => self.clone_process(&process, call),
            "chdir" => {
                if let Some(path) = process.path(call, None, 0) {
                    process.change_directory(path);
                }
            }
            "getdents64" if call.result > 0 => {
                let path = call.descriptor(0).and_then(|number| process.path_of(number));
                self.name(&process, call, NameCommand::Readdir, path);
            }
            "symlink" | "symlinkat" | "truncate" | "fallocate" | "chmod" | "fchmodat" => {
                self.leave_out(call.name);
            }
            _ => self.transfers(&process, call),
        }
    }

    fn opens(&mut self, process: &Process, call: &Call<'_>) {
        let (base, name, flags) = match call.name {
            "openat" => (Some(0), 1, call.argument(2).unwrap_or("O_RDONLY")),
            "creat" => (None, 0, "O_WRONLY|O_CREAT|O_TRUNC"),
            _ => (None, 0, call.argument(1).unwrap_or("O_RDONLY")),
        };
        if let Some(path) = process.path(call, base, name) {
            self.open(process, call, path, flags);
        }
    }

    /// Successful calls on open files.
    fn transfers(&mut self, process: &Process, call: &Call<'_>) {
        let (rank, bytes) = (process.rank, call.amount());
        let (from, to) = match call.name {
            "sendfile" => (1, 0),
            "copy_file_range" => (0, 2),
            _ => (0, 0),
        };
        let op = |file: usize| match call.name {
            "read" | "readv" | "copy_file_range" | "sendfile" => Some(Op::Read { file, bytes, at: None }),
            "pread64" | "preadv" | "preadv2" => Some(Op::Read { file, bytes, at: call.number(3) }),
            "write" | "writev" if bytes > 0 => Some(Op::Write { file, bytes, at: None }),
            "pwrite64" | "pwritev" | "pwritev2" if bytes > 0 => {
                Some(Op::Write { file, bytes, at: call.number(3) })
            }
            "lseek" => Some(Op::Seek { file, to: bytes }),
            "fsync" => Some(Op::Sync { file, data_only: false }),
            "fdatasync" => Some(Op::Sync { file, data_only: true }),
            "ftruncate" => call.number(1).map(|length| Op::Truncate { file, length }),
            _ => None,
        };
        let copies = matches!(call.name, "copy_file_range" | "sendfile");
        // Whether the call is one of these, before its file is opened on this rank.
        if op(0).is_none() || (copies && bytes == 0) {
            return;
        }
        if let Some(op) = self.file(process, call, from).and_then(op) {
            self.push(rank, call, op);
        }
        if copies && let Some(file) = self.file(process, call, to) {
            self.push(rank, call, Op::Write { file, bytes, at: None });
        }
    }

    /// Calls on names, also those that failed.
    fn names(&mut self, process: &Process, call: &Call<'_>) {
        let one = |base: Option<usize>, name: usize| process.path(call, base, name);
        let (command, path) = match call.name {
            "rename" | "link" => {
                let command =
                    if call.name == "link" { TwoNamesCommand::Link } else { TwoNamesCommand::Rename };
                return self.two_names(process, call, command, [one(None, 0), one(None, 1)]);
            }
            "renameat" | "renameat2" => {
                return self.two_names(
                    process,
                    call,
                    TwoNamesCommand::Rename,
                    [one(Some(0), 1), one(Some(2), 3)],
                );
            }
            // With an empty name the call is about an open file.
            "newfstatat" | "statx" if call.argument(1) == Some("\"\"") => return,
            "newfstatat" | "statx" => (NameCommand::Stat, one(Some(0), 1)),
            "stat" | "lstat" => (NameCommand::Stat, one(None, 0)),
            "access" => (NameCommand::Lookup, one(None, 0)),
            "faccessat" | "faccessat2" => (NameCommand::Lookup, one(Some(0), 1)),
            "unlink" => (NameCommand::Unlink, one(None, 0)),
            "rmdir" => (NameCommand::Rmdir, one(None, 0)),
            "mkdir" => (NameCommand::Mkdir, one(None, 0)),
            "mkdirat" => (NameCommand::Mkdir, one(Some(0), 1)),
            "unlinkat" => {
                let directory = call.argument(2).is_some_and(|flags| flags.contains("AT_REMOVEDIR"));
                (if directory { NameCommand::Rmdir } else { NameCommand::Unlink }, one(Some(0), 1))
            }
            _ => return,
        };
        self.name(process, call, command, path);
    }
}
