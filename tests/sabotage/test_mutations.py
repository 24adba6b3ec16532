"""Files that are damaged by chance: each is read or refused, within bounded memory and time, and never a crash."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from filesystems.measured import Lastrank

from .test_lost import killed, take_what_was_left

SEED = 14
TRIALS = 2000 if os.environ.get("LASTRANK_LONG_TESTS") == "1" else 60
SEEDS = Path(__file__).parents[2] / "fuzz" / "seeds"
PROGRAM = 'repeat 20 write("f", 1000);\ndelete("f");\n'
WITHIN = ["prlimit", f"--as={2 << 30}"]
SECONDS = 60
"""A file of some kilobytes takes far less; this ends a hang."""


def mutated(whole: bytes, chance: random.Random) -> bytes:
    """With one to eight places that are changed, filled, cut out or doubled."""
    content = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(max(len(content), 1))
        match chance.randrange(4):
            case 0:
                content[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                content[at : at + 4] = b"\xff\xff\xff\x7f"
            case 2:
                del content[at : at + chance.randint(1, 100)]
            case 3:
                content[at:at] = content[: chance.randint(1, 1000)]
    return bytes(content)


def refused_of(
    lastrank: Lastrank, whole: bytes, arguments: list[str], name: str | None, accepted: tuple[int, ...] = (0, 2, 3)
) -> int:
    """How many of the mutated files a command refuses; `name` is the file it reads, None is standard input."""
    chance = random.Random(SEED)
    refused = 0
    for trial in range(TRIALS):
        content = mutated(whole, chance)
        if name is not None:
            (lastrank.folder / name).write_bytes(content)
        done = subprocess.run(
            [*WITHIN, str(lastrank.program), *arguments], cwd=lastrank.folder, input=None if name else content,
            stdin=subprocess.DEVNULL if name else None, capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        said = done.stderr.decode(errors="replace")
        if done.returncode not in accepted or "panicked" in said or "bug of lastrank" in said:
            kept = lastrank.folder / f"trial-{trial}"
            kept.write_bytes(content)
            pytest.fail(f"status {done.returncode} of {kept}: {said}")
        refused += done.returncode != 0
    return refused


def test_run_files(lastrank: Lastrank) -> None:
    (lastrank.folder / "a.ppl").write_text(PROGRAM)
    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none"]
    subprocess.run(command, cwd=lastrank.folder, check=True)
    whole = (lastrank.folder / "a.parquet").read_bytes()
    refused = refused_of(lastrank, whole, ["export", "m.parquet", "--to", "csv", "-o", "m.csv"], "m.parquet")
    assert refused > TRIALS / 2
    print(f"{TRIALS} mutated run files, {refused} refused, no crash")


def test_tables_of_numbers(lastrank: Lastrank) -> None:
    chance = random.Random(SEED)
    rows = "".join(f"{n},{chance.gauss(100, 5):.3f},{chance.choice('ab')}\n" for n in range(200))
    whole = f"time,value,arm\n{rows}".encode()
    refused = refused_of(lastrank, whole, ["fit", "m.csv", "--column", "value"], "m.csv", (0, 1, 2, 3))
    print(f"{TRIALS} mutated CSV files, {refused} refused, no crash")


@pytest.mark.parametrize("seed", ["traces/small.strace", "recordings/shell.parquet"])
def test_traces(lastrank: Lastrank, seed: str) -> None:
    name = f"m{Path(seed).suffix}"
    refused = refused_of(lastrank, (SEEDS / seed).read_bytes(), ["import", name, "--all", "-o", "m.ppl"], name)
    print(f"{TRIALS} mutated traces ({seed}), {refused} refused, no crash")


def test_messages_of_an_editor(lastrank: Lastrank) -> None:
    def frame(**message: object) -> bytes:
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return b"Content-Length: %d\r\n\r\n" % len(text) + text

    document = {"uri": "file:///a.ppl", "languageId": "ppl", "version": 1, "text": 'repeat 3 write("f", 4KiB);\n'}
    place = {"textDocument": {"uri": "file:///a.ppl"}, "position": {"line": 0, "character": 10}}
    whole = b"".join(
        [
            frame(id=1, method="initialize", params={"capabilities": {}, "processId": None}),
            frame(method="initialized", params={}),
            frame(method="textDocument/didOpen", params={"textDocument": document}),
            frame(id=2, method="textDocument/hover", params=place),
            frame(id=3, method="textDocument/completion", params=place),
            frame(id=4, method="shutdown", params=None),
            frame(method="exit", params=None),
        ]
    )
    refused = refused_of(lastrank, whole, ["lsp"], None, (0, 1, 2, 3))
    print(f"{TRIALS} mutated dialogues with an editor, {refused} refused, no crash")


def test_what_a_killed_run_left(lastrank: Lastrank) -> None:
    folder = lastrank.folder / "work"
    killed(lastrank, folder, [], "-o", "a.parquet")
    template = lastrank.folder / "left"
    take_what_was_left(folder, template)
    brought = folder / ".a.lastrank-live-1"
    chance = random.Random(SEED)
    ends: dict[int, int] = {}
    for trial in range(TRIALS):
        shutil.rmtree(brought, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", template, brought], check=True)
        file = brought / chance.choice(["manifest.json", "rank-0.live", "rank-1.live"])
        change(file, chance)
        done = subprocess.run(
            [*WITHIN, lastrank.program, "recover", "."], cwd=folder, capture_output=True, text=True, errors="replace",
            timeout=SECONDS, check=False,
        )  # fmt: skip
        where = (trial, file.name, done.returncode, done.stderr)
        assert done.returncode in (0, 2, 3), where
        assert "panicked" not in done.stderr and "bug of lastrank" not in done.stderr, where
        assert (folder / "log-0").exists(), where
        for made in folder.glob("*.parquet"):
            made.unlink()
        ends[done.returncode] = ends.get(done.returncode, 0) + 1
    print(f"{TRIALS} mutated folders of killed runs, exit statuses {ends}, no crash, nothing removed")


def change(file: Path, chance: random.Random) -> None:
    """A manifest as any file; a region, which is mapped, mostly within its first pages, or cut."""
    if file.name == "manifest.json":
        file.write_bytes(mutated(file.read_bytes(), chance))
        return
    length = file.stat().st_size
    with file.open("r+b") as content:
        for _ in range(chance.randint(1, 8)):
            content.seek(chance.randrange(min(length, chance.choice([256, 8192, length]))))
            content.write(chance.choice([b"\xff\xff\xff\x7f", b"\xff" * 8, bytes(8), bytes([chance.randrange(256)])]))
    if chance.random() < 0.1:
        os.truncate(file, chance.randrange(length))
