"""Starts the executable of the wheel and reads what it says.

Everything that measures runs there, and what has a documented JSON document on the command line is read from it, so that
Python shows the numbers and the words of the command line. The interpreter is free for other threads meanwhile.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from ._errors import Error, ProgramError

__all__ = ["OF_CONCLUSIONS", "Said", "executable", "call", "document", "run_to_end"]

_NAME = "lastrank.exe" if os.name == "nt" else "lastrank"


def executable() -> Path:
    """The program that this package starts: ``$LASTRANK_BIN``, that of its environment, or the first on the path.

    :raises Error: where there is none.
    """
    if named := os.environ.get("LASTRANK_BIN"):
        if not Path(named).is_file():
            raise Error(f"LASTRANK_BIN names {named}, which is no file")
        return Path(named)
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    package = Path(__file__).resolve().parent
    # `pip install --target DIR` puts scripts into DIR/bin.
    folders = [*schemes, str(package.parent / "bin"), str(Path(sys.executable).parent)]
    for folder in folders:
        found = Path(folder) / _NAME
        if found.is_file():
            return found
    if found_on_path := shutil.which(_NAME):
        return Path(found_on_path)
    raise Error(
        f"the program `{_NAME}` is not in {folders[0]}, nor on the path: install the wheel again, or let LASTRANK_BIN "
        "name it"
    )


class Said(NamedTuple):
    """What the program said: exit status, standard output, and the lines of standard error."""

    status: int
    out: str
    notes: list[str]


def _environment() -> dict[str, str]:
    # Its first screens are for a notebook: as wide everywhere.
    return {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}


def _start(arguments: Sequence[str], **keywords: Any) -> subprocess.Popen[bytes]:
    program = executable()
    try:
        return subprocess.Popen([str(program), *arguments], env=_environment(), **keywords)
    except OSError as error:
        raise Error(f"cannot start {program}: {error.strerror}") from error


def failed(said: Said) -> Error:
    """The exception for a call that did not do what was asked."""
    text = "\n".join(said.notes).strip()
    if said.status < 0:
        ended = f"lastrank was ended by signal {-said.status} ({signal.strsignal(-said.status)})"
        return Error(f"{ended}: {text}" if text else ended)
    # What the parser of arguments says of the command line helps nobody here.
    text = re.split(r"\n+(?:Usage: |For more information, try )", text)[0].rstrip()
    if re.search(r"^error\[E\d+\]", text, re.MULTILINE):
        return ProgramError(text)
    return Error(text.removeprefix("error: ") or f"lastrank ended with status {said.status}")


def call(arguments: Sequence[str], text: str | None = None, folder: Path | None = None, accept: Sequence[int] = (0,)) -> Said:
    """Runs the program and waits for it.

    :param text: its standard input.
    :param folder: its working directory.
    :param accept: exit statuses that are no error.
    :raises Error: with its words, for any other status.
    """
    given = subprocess.DEVNULL if text is None else subprocess.PIPE
    process = _start(arguments, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    with process:
        try:
            out, error = process.communicate(None if text is None else text.encode())
        except BaseException:
            process.kill()
            raise
    said = Said(process.returncode, out.decode(errors="replace"), error.decode(errors="replace").splitlines())
    # With 3 and an answer it says that a run is not sound, and the answer says so too; without one, that an input is broken.
    is_answer = said.status in accept and (said.status != 3 or bool(said.out.strip()))
    if not is_answer:
        raise failed(said)
    return said


#: Exit statuses of commands that draw conclusions from runs: 3 where a run is not sound, which their answer tells.
OF_CONCLUSIONS = (0, 3)


def document(arguments: Sequence[str], text: str | None = None, folder: Path | None = None, accept: Sequence[int] = (0,)) -> dict[str, Any]:
    """The JSON document that the program prints; parameters as of :func:`call`."""
    found = json.loads(call(arguments, text, folder, accept).out)
    assert isinstance(found, dict)
    return found


def _lines(process: subprocess.Popen[bytes], stream: IO[bytes], rest: bytearray) -> Iterator[str]:
    """Lines of a stream as they come, until the process has ended: a grandchild may hold the stream open for longer.

    :param rest: the begin of a line whose end did not come yet; kept by the caller in case that this is interrupted.
    """
    wait = select.poll()
    wait.register(stream, select.POLLIN)
    # It becomes readable when the process ends.
    watch = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
    if watch is not None:
        wait.register(watch, select.POLLIN)
    os.set_blocking(stream.fileno(), False)
    try:
        while True:
            ready = {number for number, _ in wait.poll()}
            piece = stream.read()
            rest += piece or b""
            while (end := rest.find(b"\n")) >= 0:
                line = rest[:end].decode(errors="replace")
                del rest[: end + 1]
                yield line
            if piece == b"" or (not piece and watch in ready):
                break
    finally:
        if watch is not None:
            os.close(watch)
    if rest:
        yield rest.decode(errors="replace")
        rest.clear()


def run_to_end(
    arguments: Sequence[str], text: str | None = None, look: Callable[[dict[str, Any]], None] | None = None
) -> Said:
    """Runs a measurement. Ctrl-C ends it as on the command line, and what was measured is kept; a second one gives up.

    :param text: its standard input.
    :param look: gets each line of its progress (schema lastrank.progress/1).
    :raises Error: on other systems than Linux, where nothing is measured.
    """
    if not sys.platform.startswith("linux"):
        raise Error(
            f"`lastrank {arguments[0]}` works on Linux only; on this system lastrank analyses what was measured there: "
            "load, fit, compare, plan, watch, Program.check, Program.explain"
        )
    with tempfile.TemporaryFile() as out:
        given = subprocess.DEVNULL if text is None else subprocess.PIPE
        # A session of its own, so that Ctrl-C reaches it once, from here, in a terminal and in a notebook.
        process = _start(arguments, stdin=given, stdout=out, stderr=subprocess.PIPE, start_new_session=True)
        assert process.stderr is not None
        notes: list[str] = []
        rest = bytearray()
        interrupted = False
        with process:
            if process.stdin is not None:
                try:
                    process.stdin.write((text or "").encode())
                    process.stdin.close()
                except BrokenPipeError:
                    pass
            try:
                while True:
                    try:
                        for line in _lines(process, process.stderr, rest):
                            if line.startswith('{"schema":"lastrank.progress/'):
                                if look is not None:
                                    look(json.loads(line))
                            else:
                                notes.append(line)
                        process.wait()
                        break
                    except KeyboardInterrupt:
                        if interrupted:
                            raise
                        interrupted = True
                        os.killpg(process.pid, signal.SIGINT)
            except BaseException:
                process.terminate()
                raise
        out.seek(0)
        return Said(process.returncode, out.read().decode(errors="replace"), notes)
