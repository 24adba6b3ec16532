"""Runs a command under strace and reads what each process did to each file."""

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CALLS = "openat,openat2,close,read,write,pread64,pwrite64,lseek,fsync,fdatasync,unlink,rename,mkdir,rmdir,stat,newfstatat,io_submit,io_getevents,io_setup"
#: The calls that open a file: lastrank takes the second one where no link may be on the way.
OPENS = ("openat", "openat2")
LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
DESCRIPTOR = re.compile(r"^\d+<([^>]*?)(?: ?\(deleted\))?>")
RESULT = re.compile(r"\) += (-?\d+)")
BUFFER = r"""(?:\w+|"(?:[^"\\]|\\.)*"(?:\.\.\.)?)"""
SUBMITTED = re.compile(
    rf"aio_lio_opcode=IOCB_CMD_(\w+), aio_fildes=\d+<([^>]*)>(?:, aio_buf={BUFFER}, aio_nbytes=(\d+), aio_offset=(\d+))?"
)


@dataclass(frozen=True)
class Operation:
    """One transfer or sync: `read`, `write`, `fsync` or `fdatasync`."""

    kind: str
    offset: int = 0
    size: int = 0


@dataclass
class Stream:
    """What one process did to one file through one opening (lastrank) or all of them (fio)."""

    file: str
    flags: frozenset[str] = frozenset()
    process: int = 0
    operations: list[Operation] = field(default_factory=list)

    def transfers(self) -> list[Operation]:
        return [one for one in self.operations if one.size > 0]

    def syncs(self) -> dict[str, int]:
        kinds = [one.kind for one in self.operations if one.size == 0]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


@dataclass
class Call:
    process: int
    name: str
    words: str
    result: int


def trace(command: Sequence[object], directory: Path, log: Path, *, inject: str = "", calls: str = CALLS, environment: dict[str, str] | None = None) -> tuple[subprocess.CompletedProcess, list[Call]]:
    """The finished process, and its calls in their order."""
    words = ["strace", "-f", "-y", "-qq", "-s", "24", "-e", f"trace={calls}", "-o", str(log)]
    if inject:
        words += ["-e", f"inject={inject}"]
        words[words.index("-e") + 1] += ",io_uring_setup"
    done = subprocess.run([*words, *map(str, command)], cwd=directory, capture_output=True, text=True, timeout=120, env=os.environ | (environment or {}))
    return done, list(read_calls(log.read_text(errors="replace").splitlines()))


def read_calls(lines: Sequence[str]):
    """Calls where they ended, those cut in two by others put together."""
    open_calls: dict[tuple[int, str], str] = {}
    for line in lines:
        if found := RESUMED.match(line):
            process, name = int(found[1]), found[2]
            words = open_calls.pop((process, name), "") + found[3]
        elif found := LINE.match(line):
            process, name, words = int(found[1]), found[2], found[3]
            if words.endswith("<unfinished ...>"):
                open_calls[process, name] = words.removesuffix("<unfinished ...>").rstrip()
                continue
        else:
            continue
        results = RESULT.findall(words)
        yield Call(process, name, words, int(results[-1]) if results else -1)


def _operation(call: Call) -> tuple[str, Operation] | None:
    """The file and the operation of a synchronous call."""
    path = DESCRIPTOR.match(call.words)
    if path is None:
        return None
    if call.name in ("pread64", "pwrite64"):
        arguments = call.words[: call.words.rindex(")")].rsplit(", ", 2)
        kind = "read" if call.name == "pread64" else "write"
        return path[1], Operation(kind, int(arguments[-1]), int(arguments[-2]))
    if call.name in ("fsync", "fdatasync"):
        return path[1], Operation(call.name)
    return None


def _positioned(call: Call, places: dict[tuple[int, str], int]) -> tuple[str, Operation] | None:
    """The file and the operation of `read` and `write`, whose places are those of the descriptor."""
    path = DESCRIPTOR.match(call.words)
    if path is None:
        return None
    key = (call.process, path[1])
    if call.name == "lseek":
        places[key] = max(call.result, 0)
    elif call.name in ("read", "write") and call.result > 0:
        at = places.get(key, 0)
        places[key] = at + call.result
        return path[1], Operation(call.name, at, call.result)
    return None


def _submitted(call: Call) -> list[tuple[str, Operation]]:
    """The files and operations of a call of `io_submit`, as many as the kernel took."""
    found = []
    for opcode, path, size, offset in SUBMITTED.findall(call.words)[: max(call.result, 0)]:
        kind = {"PREAD": "read", "PWRITE": "write", "FSYNC": "fsync", "FDSYNC": "fdatasync"}[opcode]
        found.append((path, Operation(kind, int(offset or 0), int(size or 0))))
    return found


FLAGS = {"O_DIRECT", "O_SYNC", "O_DSYNC"}


def _opened(call: Call, directory: Path) -> tuple[str, set[str]] | None:
    """The file and the flags of a successful `openat` or `openat2` below the directory."""
    found = re.match(r'^[^,]*, "?([^"]*)"?(?:\.\.\.)?, (?:\{flags=)?([A-Z_|0-9]+)', call.words)
    path = re.search(r"= \d+<([^>]*)>$", call.words)
    if found is None or path is None or call.result < 0 or not path[1].startswith(str(directory)):
        return None
    return path[1], set(found[2].split("|"))


def of_fio(calls: Sequence[Call], directory: Path) -> tuple[list[Stream], int]:
    """The streams of fio's jobs, which are processes of their own, and the most operations in flight of one."""
    first = calls[0].process if calls else 0
    return _streams([call for call in calls if call.process != first], directory)


def of_processes(calls: Sequence[Call], directory: Path) -> list[Stream]:
    """The streams of all processes, one for each file."""
    return _streams(calls, directory)[0]


def _streams(calls: Sequence[Call], directory: Path) -> tuple[list[Stream], int]:
    streams: dict[tuple[int, str], Stream] = {}
    flags: dict[tuple[int, str], set[str]] = defaultdict(set)
    flying: dict[int, int] = defaultdict(int)
    places: dict[tuple[int, str], int] = {}
    most = 0
    for call in calls:
        if call.name in OPENS and (opened := _opened(call, directory)):
            flags[call.process, opened[0]] |= opened[1] & FLAGS
            places[call.process, opened[0]] = 0
        if call.name == "io_submit":
            found = _submitted(call)
            flying[call.process] += len(found)
            most = max(most, flying[call.process])
        elif call.name == "io_getevents":
            flying[call.process] -= max(call.result, 0)
            found = []
        else:
            one = _operation(call) or _positioned(call, places)
            found = [one] if one else []
        for path, operation in found:
            if path.startswith(str(directory)):
                stream = streams.setdefault((call.process, path), Stream(path, process=call.process))
                stream.operations.append(operation)
    for key, stream in streams.items():
        stream.flags = frozenset(flags[key])
    used = [stream for stream in streams.values() if stream.transfers()]
    return used, most


def of_lastrank(calls: Sequence[Call], directory: Path, *, lays_out: bool = True) -> list[Stream]:
    """The streams of ranks, one for each opening; where a program lays files out, those that make one are none of them."""
    streams: list[Stream] = []
    current: dict[tuple[int, str], Stream | None] = {}
    for call in calls:
        if call.name in OPENS and (opened := _opened(call, directory)):
            path, flags = opened
            made = lays_out and "O_EXCL" in flags
            stream = None if made else Stream(path, frozenset(flags & FLAGS), call.process)
            current[call.process, path] = stream
            if stream is not None:
                streams.append(stream)
        elif one := _operation(call):
            stream = current.get((call.process, one[0]))
            if stream is not None:
                stream.operations.append(one[1])
    return [stream for stream in streams if stream.transfers()]
