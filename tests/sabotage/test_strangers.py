"""What strangers send: names that command a terminal, pages, spreadsheets, messages without end, numbers without measure."""

import base64
import hashlib
import json
import os
import re
import subprocess
import unicodedata
from pathlib import Path

import pytest

from filesystems.measured import Lastrank

OSC_52 = "\x1b]52;c;bHM=\x07"
TURNED = "\u202egnp.exe"
EIGHT_BIT = "\u009b31m"
NASTY = f"{OSC_52}{TURNED}{EIGHT_BIT}"


def run(lastrank: Lastrank, *arguments: str, seconds: int = 60, **keywords) -> subprocess.CompletedProcess:
    command = [str(lastrank.program), *map(str, arguments)]
    return subprocess.run(command, cwd=lastrank.folder, capture_output=True, timeout=seconds, check=False, **keywords)


def commands_in(output: bytes) -> list[str]:
    """Characters that a terminal would obey."""
    text = output.decode()
    return [c for c in text if (unicodedata.category(c) == "Cc" and c not in "\n\t") or unicodedata.bidirectional(c) in
            ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")]  # fmt: skip


@pytest.fixture
def nasty(lastrank: Lastrank) -> Lastrank:
    """A run whose program prints, and whose labels are, what commands a terminal."""
    text = f'print("{NASTY}");\nrepeat 30 {{ time["=cmd|{NASTY}"] write("f", 100); }}\ndelete("f");\n'
    (lastrank.folder / "a.ppl").write_text(text)
    return lastrank


def test_names_command_no_terminal(nasty: Lastrank) -> None:
    ways = [
        ("run", "a.ppl", "-o", "a.parquet"),
        ("run", "a.ppl", "-o", "b.parquet", "--json"),
        ("report", "a.parquet", "--text"),
        ("report", "a.parquet", "--json"),
        ("export", "a.parquet", "--to", "csv", "-o", "-"),
        ("fit", "a.parquet"),
        ("check", "a.ppl"),
        ("explain", "a.ppl"),
        (NASTY,),
        ("report", f"{NASTY}.parquet"),
        ("fit", "a.parquet", "--label", NASTY),
    ]
    for way in ways:
        done = run(nasty, *way)
        assert not commands_in(done.stdout), (way, done.stdout)
        # Clap shows what it was given on standard error, where a user has typed it.
        if way[0] != NASTY:
            assert not commands_in(done.stderr), (way, done.stderr)
        if "--json" in way:
            json.loads(done.stdout)
    print(f"{len(ways)} commands, nothing that a terminal obeys")


def test_a_page_runs_its_own_two_scripts_only(nasty: Lastrank) -> None:
    assert run(nasty, "run", "a.ppl", "-s", "-o", "a.parquet").returncode == 0
    page = (nasty.folder / "a.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    allowed = set(re.findall(r"sha256-[A-Za-z0-9+/=]+", policy))
    scripts = re.findall(r"<script(?: type=\"text/javascript\")?>(.*?)</script>", page, re.DOTALL)
    found = {"sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts}
    assert found == allowed, policy
    assert "unsafe-inline" not in policy.split("style-src")[0] and "default-src 'none'" in policy


def test_planted_links_are_not_followed(lastrank: Lastrank) -> None:
    """Under the names of the results, and under names that can be told from the number of the process."""
    (lastrank.folder / "a.ppl").write_text("repeat 30 getpid();\n")
    victim = lastrank.folder / "victim"
    victim.write_text("not yours")

    def plant() -> None:
        os.symlink(victim, "a.html")
        os.symlink(victim, "a.parquet")
        for name in ("a.html", "a.parquet"):
            os.symlink(victim, f".{name}.{os.getpid()}.partial")

    # It becomes lastrank, under the same number.
    done = run(lastrank, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "a.html", preexec_fn=plant)
    assert done.returncode == 0, done.stderr
    assert victim.read_text() == "not yours"
    assert (lastrank.folder / "a.html").read_text().lower().startswith("<!doctype html>")
    for name in ("a.html", "a.parquet"):
        assert (lastrank.folder / name).is_file() and not (lastrank.folder / name).is_symlink()


def test_exported_labels_are_no_formulas(nasty: Lastrank) -> None:
    run(nasty, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none")
    assert run(nasty, "export", "a.parquet", "--to", "csv", "-o", "a.csv").returncode == 0
    lines = (nasty.folder / "a.csv").read_text().splitlines()
    assert not [line for line in lines if line.lstrip('"')[:1] in "=+-@"]
    assert any("'=cmd" in line for line in lines)
    # In a file as well as on the screen: whoever looks at it with `cat` sees what there is.
    assert not commands_in((nasty.folder / "a.csv").read_bytes())


def test_redacted_files_name_nobody(nasty: Lastrank) -> None:
    place = nasty.folder / "secret-place"
    place.mkdir()
    (nasty.folder / "b.ppl").write_text(
        f'define place "dir" $dir "."\nwrite("$dir/f", 10); delete("$dir/f"); print("{place}");\n'
    )
    assert run(nasty, "run", "b.ppl", "-s", "-o", "b.parquet", "--set", f"dir={place}").returncode == 0
    assert b"secret-place" in (nasty.folder / "b.parquet").read_bytes()
    assert run(nasty, "report", "b.parquet", "--redact", "-o", "c.html").returncode == 0
    assert run(nasty, "run", "b.ppl", "-s", "-o", "d.parquet", "--set", f"dir={place}", "--redact").returncode == 0
    for name in ("c.html", "d.parquet", "d.html"):
        assert b"secret-place" not in (nasty.folder / name).read_bytes(), name


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ('$s = "x"; repeat 64 { $s = "$s$s"; }', "16 MiB"),
        ('$s = "x"; repeat 64 { $s = $s + $s; }', "16 MiB"),
        ("$l = [1]; repeat 64 { $l = $l + $l; }", "items"),
        ('write("f", 8000000TiB);', "nine tenths"),
        ('$f = fopen("f", "w"); fwrite($f, 4000000TiB); fclose($f);', "nine tenths"),
        ("def f($n) { return f($n + 1); } $x = f(0);", "deep"),
    ],
)
def test_numbers_without_measure_are_errors(lastrank: Lastrank, program: str, said: str) -> None:
    (lastrank.folder / "a.ppl").write_text(program)
    done = run(lastrank, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", preexec_fn=bounded_memory)
    assert done.returncode in (2, 3), done.stderr
    assert said in done.stderr.decode(), done.stderr


def bounded_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


@pytest.mark.parametrize(
    "frame",
    [
        b"Content-Length: 18446744073709551615\r\n\r\n{}",
        b"Content-Length: 999999999999\r\n\r\n{}",
        b"Content-Length: x\r\n\r\n{}",
        b"x" * (1 << 20),
        b"Content-Length: 2\r\n\r\n[]",
        b"",
    ],
)
def test_messages_of_an_editor_are_bounded(lastrank: Lastrank, frame: bytes) -> None:
    done = run(lastrank, "lsp", input=frame, preexec_fn=bounded_memory)
    assert 0 <= done.returncode <= 3, done.stderr
    assert b"panicked" not in done.stderr and b"bug of lastrank" not in done.stderr, done.stderr


def test_a_small_recording_takes_little_memory(lastrank: Lastrank) -> None:
    """Its page names a dictionary of 638 million entries; fuzzing found it."""
    seed = Path(__file__).parents[2] / "fuzz/seeds/recordings/dictionary.parquet"
    done = run(lastrank, "import", seed, preexec_fn=little_memory)
    assert done.returncode == 3 and b"dictionary" in done.stderr, done.stderr


def little_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
