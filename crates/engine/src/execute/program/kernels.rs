//! Turns a kernel command of the language into the kernel it asks for.

use std::path::PathBuf;

use ppl::commands::Command;
use ppl::interpret::Arguments;
use probes::Request;

/// The kernel that `command` asks for, and the operations in one sample; `None` of a command that is
/// no kernel. The seed gives the order of memory accesses.
pub(super) fn request(command: Command, arguments: &Arguments, seed: u64) -> Option<(Request, u32)> {
    let bytes = |index: usize| arguments.size(index, 0);
    let count = |index: usize, otherwise: u64| {
        u32::try_from(arguments.size(index, otherwise)).unwrap_or(u32::MAX).max(1)
    };
    let huge = |index: usize| arguments.text(index) == "huge";
    let directory = || PathBuf::from(arguments.text(0));
    if !are_known(command, arguments) {
        return None;
    }
    Some(match command {
        Command::Empty => (Request::Empty, 1),
        Command::Chase => (Request::Chase { bytes: bytes(0), huge: huge(2), seed }, count(1, 1000)),
        Command::Poke => (Request::Poke { bytes: bytes(0), huge: huge(2), seed }, count(1, 1000)),
        Command::Stream => {
            let (bytes, huge) = (bytes(1), huge(3));
            let request = match arguments.text(0) {
                "read" => Request::StreamRead { bytes, huge },
                "write" => Request::StreamWrite { bytes, huge },
                "copy" => Request::StreamCopy { bytes, huge },
                _ => return None,
            };
            (request, count(2, 1))
        }
        Command::Touch => (Request::Touch { bytes: bytes(0), huge: huge(2) }, count(1, 1)),
        Command::Getpid if arguments.text(1) == "libc" => (Request::LibraryGetpid, count(0, 1)),
        Command::Getpid => (Request::Getpid, count(0, 1)),
        Command::Getppid if arguments.text(1) == "libc" => (Request::LibraryGetppid, count(0, 1)),
        Command::Getppid => (Request::Getppid, count(0, 1)),
        Command::ReadNull if arguments.text(1) == "raw" => (Request::RawReadNull, count(0, 1)),
        Command::ReadNull => (Request::ReadNull, count(0, 1)),
        Command::WriteNull if arguments.text(1) == "raw" => (Request::RawWriteNull, count(0, 1)),
        Command::WriteNull => (Request::WriteNull, count(0, 1)),
        Command::Fstat if arguments.text(2) == "raw" => {
            (Request::RawFstat { directory: directory() }, count(1, 1))
        }
        Command::Fstat => (Request::Fstat { directory: directory() }, count(1, 1)),
        Command::OpenClose => (Request::OpenClose { directory: directory() }, count(1, 1)),
        Command::FopenFclose => (Request::FopenFclose { directory: directory() }, count(1, 1)),
        Command::CreateDelete => (Request::CreateDelete { directory: directory() }, count(1, 1)),
        Command::Malloc => (Request::MallocFree { bytes: bytes(0) }, count(1, 1)),
        Command::MmapMunmap => (Request::MmapMunmap { bytes: bytes(0) }, count(1, 1)),
        Command::Fork => (Request::Fork { resident: bytes(0) }, 1),
        Command::Spawn => (Request::Spawn { program: arguments.text(0).into() }, 1),
        Command::Thread => (Request::Thread, 1),
        Command::PipePingpong => (Request::PipePingpong, count(0, 1)),
        Command::ContextSwitch => (Request::ContextSwitch, count(0, 2)),
        Command::Print
        | Command::Sleep
        | Command::Fcreat
        | Command::Fopen
        | Command::Fclose
        | Command::Fsync
        | Command::Fdatasync
        | Command::Fread
        | Command::Fwrite
        | Command::Fseek
        | Command::Ftruncate
        | Command::Fallocate
        | Command::Fadvise
        | Command::Cachestat
        | Command::Odirect
        | Command::Write
        | Command::Append
        | Command::Read
        | Command::Dread
        | Command::Dwrite
        | Command::Create
        | Command::Delete
        | Command::Unlink
        | Command::Rename
        | Command::Link
        | Command::Symlink
        | Command::Mkdir
        | Command::Rmdir
        | Command::Readdir
        | Command::Stat
        | Command::Lookup
        | Command::Chmod
        | Command::Sync
        | Command::DropCaches
        | Command::Alloc
        | Command::Free
        | Command::Stripe
        | Command::Mmap
        | Command::Pfopen
        | Command::Pfclose
        | Command::Pfread
        | Command::Pfwrite
        | Command::Pread
        | Command::Pwrite
        | Command::Pdelete
        | Command::Glob => return None,
    })
}

/// Are the words among the arguments of a kernel those that it knows, and its number of switches even: one to the other
/// process and one back?
fn are_known(command: Command, arguments: &Arguments) -> bool {
    let way = |at: usize| matches!(arguments.text(at), "" | "raw" | "libc");
    let pages = |at: usize| matches!(arguments.text(at), "" | "small" | "huge");
    match command {
        Command::Getpid | Command::Getppid | Command::ReadNull | Command::WriteNull => way(1),
        Command::Fstat => way(2),
        Command::Chase | Command::Poke | Command::Touch => pages(2),
        Command::Stream => pages(3),
        Command::ContextSwitch => arguments.size(0, 2).is_multiple_of(2),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl::value::Value;

    #[test]
    fn a_command_becomes_a_kernel_with_its_defaults() {
        let of = |command, values: &[Value]| request(command, &Arguments::of(values), 7);
        let size = Value::Int(32 << 10);
        assert_eq!(
            of(Command::Chase, std::slice::from_ref(&size)),
            Some((Request::Chase { bytes: 32 << 10, huge: false, seed: 7 }, 1000))
        );
        let huge = Value::Text("huge".into());
        assert_eq!(
            of(Command::Poke, &[size, Value::Int(5), huge]),
            Some((Request::Poke { bytes: 32 << 10, huge: true, seed: 7 }, 5))
        );
        let word = |word: &str| Value::Text(word.into());
        assert_eq!(of(Command::Chase, &[Value::Int(64), Value::Int(5), word("hueg")]), None);
        assert_eq!(of(Command::Getpid, &[Value::Int(1), word("rwa")]), None);
        assert_eq!(of(Command::ContextSwitch, &[Value::Int(5)]), None);
        assert_eq!(of(Command::Fwrite, &[]), None);
        assert_eq!(of(Command::Stream, &[Value::Text("sideways".into()), Value::Int(64)]), None);
    }
}
