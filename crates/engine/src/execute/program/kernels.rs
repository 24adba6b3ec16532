//! Turns a kernel command of the language into the kernel it asks for.

use std::path::PathBuf;

use ppl::commands::KernelCommand;
use ppl::interpret::Arguments;
use probes::{AtomicKind, Pass, Request, Transport};

/// The kernel that `command` asks for, and the operations in one sample; `None` where a word among the arguments
/// is unknown. The seed gives the order of memory accesses.
pub(super) fn request(command: KernelCommand, arguments: &Arguments, seed: u64) -> Option<(Request, u32)> {
    let bytes = |index: usize| arguments.size(index, 0);
    let count = |index: usize, otherwise: u64| {
        u32::try_from(arguments.size(index, otherwise)).unwrap_or(u32::MAX).max(1)
    };
    let huge = |index: usize| arguments.text(index) == "huge";
    let number = |index: usize| u32::try_from(arguments.size(index, 0)).unwrap_or(u32::MAX);
    let directory = || PathBuf::from(arguments.text(0));
    if !are_known(command, arguments) {
        return None;
    }
    Some(match command {
        KernelCommand::Empty => (Request::Empty, 1),
        KernelCommand::Chase => (Request::Chase { bytes: bytes(0), huge: huge(2), seed }, count(1, 1000)),
        KernelCommand::PageChase => {
            (Request::PageChase { bytes: bytes(0), huge: huge(2), seed }, count(1, 1000))
        }
        KernelCommand::LoadedChase => {
            (Request::LoadedChase { bytes: bytes(0), loaders: number(1), seed }, count(2, 1000))
        }
        KernelCommand::NumaChase => {
            let request = Request::NodeChase { bytes: bytes(0), from: number(1), to: number(2), seed };
            (request, count(3, 1000))
        }
        KernelCommand::Poke => (Request::Poke { bytes: bytes(0), huge: huge(2), seed }, count(1, 1000)),
        KernelCommand::Stream => {
            let (bytes, huge) = (bytes(1), huge(3));
            (Request::Stream { pass: pass(arguments.text(0))?, bytes, huge }, count(2, 1))
        }
        KernelCommand::Touch => (Request::Touch { bytes: bytes(0), huge: huge(2) }, count(1, 1)),
        KernelCommand::Getpid if arguments.text(1) == "libc" => (Request::LibraryGetpid, count(0, 1)),
        KernelCommand::Getpid => (Request::Getpid, count(0, 1)),
        KernelCommand::Getppid if arguments.text(1) == "libc" => (Request::LibraryGetppid, count(0, 1)),
        KernelCommand::Getppid => (Request::Getppid, count(0, 1)),
        KernelCommand::ReadNull if arguments.text(1) == "raw" => (Request::RawReadNull, count(0, 1)),
        KernelCommand::ReadNull => (Request::ReadNull, count(0, 1)),
        KernelCommand::WriteNull if arguments.text(1) == "raw" => (Request::RawWriteNull, count(0, 1)),
        KernelCommand::WriteNull => (Request::WriteNull, count(0, 1)),
        KernelCommand::Fstat if arguments.text(2) == "raw" => {
            (Request::RawFstat { directory: directory() }, count(1, 1))
        }
        KernelCommand::Fstat => (Request::Fstat { directory: directory() }, count(1, 1)),
        KernelCommand::OpenClose => (Request::OpenClose { directory: directory() }, count(1, 1)),
        KernelCommand::FopenFclose => (Request::FopenFclose { directory: directory() }, count(1, 1)),
        KernelCommand::CreateDelete => {
            let sync = arguments.text(2) == "O_SYNC";
            (Request::CreateDelete { directory: directory(), sync }, count(1, 1))
        }
        KernelCommand::FunctionCall => (Request::FunctionCall, count(0, 1000)),
        KernelCommand::Malloc => (Request::MallocFree { bytes: bytes(0) }, count(1, 1)),
        KernelCommand::MmapMunmap => (Request::MmapMunmap { bytes: bytes(0) }, count(1, 1)),
        KernelCommand::Fork => (Request::Fork { resident: bytes(0) }, 1),
        KernelCommand::Spawn => (Request::Spawn { program: arguments.text(0).into() }, 1),
        KernelCommand::Thread => (Request::Thread, 1),
        KernelCommand::PipePingpong => (Request::PipePingpong, count(0, 1)),
        KernelCommand::ContextSwitch => (Request::ContextSwitch, count(0, 2)),
        KernelCommand::CorePingpong => {
            (Request::CorePingpong { first: number(0), second: number(1) }, count(2, 2))
        }
        KernelCommand::Atomic => {
            let kind = match arguments.text(0) {
                "add" => AtomicKind::Add,
                "compare_exchange" => AtomicKind::CompareExchange,
                "exchange" => AtomicKind::Exchange,
                _ => return None,
            };
            (Request::Atomic { kind, others: number(2) }, count(1, 1))
        }
        KernelCommand::MutexHandover => (Request::MutexHandover, count(0, 2)),
        KernelCommand::SelfSignal => (Request::Signal, count(0, 1)),
        KernelCommand::NetPingpong => {
            let transport = match arguments.text(0) {
                "tcp" => Transport::Tcp,
                "udp" => Transport::Udp,
                "unix" => Transport::Unix,
                "connect" => Transport::Connect,
                "nfs_null" => Transport::NfsNull,
                "icmp" => Transport::Icmp,
                _ => return None,
            };
            let address = arguments.text(1).to_owned();
            (Request::NetPingpong { transport, address, bytes: arguments.size(2, 64) }, count(3, 1))
        }
    })
}

/// The kind of a pass over memory; `None` of an unknown word.
fn pass(word: &str) -> Option<Pass> {
    Some(match word {
        "read" => Pass::Read,
        "write" => Pass::Write,
        "copy" => Pass::Copy,
        "scale" => Pass::Scale,
        "add" => Pass::Add,
        "triad" => Pass::Triad,
        _ => return None,
    })
}

/// Are the words among the arguments of a kernel those that it knows, and its number of switches even: one to the other
/// process and one back?
fn are_known(command: KernelCommand, arguments: &Arguments) -> bool {
    let way = |at: usize| matches!(arguments.text(at), "" | "raw" | "libc");
    let pages = |at: usize| matches!(arguments.text(at), "" | "small" | "huge");
    match command {
        KernelCommand::Getpid
        | KernelCommand::Getppid
        | KernelCommand::ReadNull
        | KernelCommand::WriteNull => way(1),
        KernelCommand::Fstat => way(2),
        KernelCommand::Chase | KernelCommand::PageChase | KernelCommand::Poke | KernelCommand::Touch => {
            pages(2)
        }
        KernelCommand::Stream => pages(3),
        KernelCommand::CreateDelete => matches!(arguments.text(2), "" | "O_SYNC"),
        KernelCommand::ContextSwitch | KernelCommand::MutexHandover => arguments.size(0, 2).is_multiple_of(2),
        KernelCommand::CorePingpong => arguments.size(2, 2).is_multiple_of(2),
        KernelCommand::Empty
        | KernelCommand::OpenClose
        | KernelCommand::FopenFclose
        | KernelCommand::FunctionCall
        | KernelCommand::Malloc
        | KernelCommand::MmapMunmap
        | KernelCommand::Fork
        | KernelCommand::Spawn
        | KernelCommand::Thread
        | KernelCommand::PipePingpong
        | KernelCommand::LoadedChase
        | KernelCommand::NumaChase
        | KernelCommand::Atomic
        | KernelCommand::SelfSignal
        | KernelCommand::NetPingpong => true,
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
            of(KernelCommand::Chase, std::slice::from_ref(&size)),
            Some((Request::Chase { bytes: 32 << 10, huge: false, seed: 7 }, 1000))
        );
        let huge = Value::Text("huge".into());
        assert_eq!(
            of(KernelCommand::Poke, &[size, Value::Int(5), huge]),
            Some((Request::Poke { bytes: 32 << 10, huge: true, seed: 7 }, 5))
        );
        let word = |word: &str| Value::Text(word.into());
        assert_eq!(of(KernelCommand::Chase, &[Value::Int(64), Value::Int(5), word("hueg")]), None);
        assert_eq!(of(KernelCommand::Getpid, &[Value::Int(1), word("rwa")]), None);
        assert_eq!(of(KernelCommand::ContextSwitch, &[Value::Int(5)]), None);
        let create = |flags: &str| of(KernelCommand::CreateDelete, &[word("."), Value::Int(3), word(flags)]);
        let wanted = Request::CreateDelete { directory: ".".into(), sync: true };
        assert_eq!((create("O_SYNC"), create("O_SINK")), (Some((wanted, 3)), None));
        assert_eq!(of(KernelCommand::Stream, &[Value::Text("sideways".into()), Value::Int(64)]), None);
    }
}
