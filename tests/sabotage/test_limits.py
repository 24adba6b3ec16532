"""Resources that run out: each time an error with a sentence, and a documented exit status."""

import json
import os
import re
import resource
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from filesystems.directories import small_tmpfs
from filesystems.measured import Lastrank

PROGRAM = 'define ranks 2;\nrepeat 20 write("f-$$rank", 1000);\ndelete("f-$$rank");\n'
DOCUMENTED = {0, 1, 2, 3, 101}


def run(
    lastrank: Lastrank,
    program: str,
    *options: str,
    limits: dict[int, int] | None = None,
    prepare: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess:
    (lastrank.folder / "a.ppl").write_text(program)

    def limited() -> None:
        for what, most in (limits or {}).items():
            resource.setrlimit(what, (most, most))
        if prepare:
            prepare()

    command = [lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none", *options]
    done = subprocess.run(
        list(map(str, command)), cwd=lastrank.folder, capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=limited,
    )  # fmt: skip
    assert "panicked" not in done.stderr and "this is a bug" not in done.stderr, done.stderr
    return done


def samples_in(file: Path) -> int:
    import pyarrow.parquet

    return pyarrow.parquet.read_table(file).num_rows


@pytest.mark.parametrize("kib", [64, 128, 512, 1023])
def test_a_small_stack_is_an_error_that_names_it(lastrank: Lastrank, kib: int) -> None:
    done = run(lastrank, PROGRAM, limits={resource.RLIMIT_STACK: kib << 10})
    assert (done.returncode, "ulimit -s" in done.stderr) == (2, True), done.stderr


def test_a_stack_that_may_grow_grows(lastrank: Lastrank) -> None:
    command = ["prlimit", f"--stack={64 << 10}:unlimited", lastrank.program, "--version"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_few_descriptors_are_an_error_or_enough(lastrank: Lastrank) -> None:
    ends = {}
    for most in range(5, 40):
        done = run(lastrank, PROGRAM, limits={resource.RLIMIT_NOFILE: most})
        if "error while loading shared libraries" in done.stderr:
            continue  # before the first instruction of ours
        ends[most] = done.returncode
        assert done.returncode in (0, 2, 3), (most, done.stderr)
        if done.returncode == 0:
            assert samples_in(lastrank.folder / "a.parquet") == 42, most
        else:
            assert "Too many open files" in done.stderr or "ulimit -n" in done.stderr, (most, done.stderr)
    assert ends[39] == 0 and 2 in ends.values(), ends
    left = subprocess.run([lastrank.program, "recover", "."], cwd=lastrank.folder, capture_output=True, text=True, check=False)
    assert "a:" not in left.stdout, ("what could not begin leaves nothing", left)


def test_little_address_space_is_an_error_or_enough(lastrank: Lastrank) -> None:
    tried = 0
    for mib in (48, 52, 60, 80, 120, 200, 400):
        # The loader may say that it cannot map what it loads, or die of it.
        with_version = [lastrank.program, "--version"]
        limit = (mib << 20, mib << 20)
        loaded = subprocess.run(
            with_version, capture_output=True, check=False, preexec_fn=lambda at=limit: resource.setrlimit(resource.RLIMIT_AS, at)
        )
        if loaded.returncode != 0:
            continue
        tried += 1
        done = run(lastrank, PROGRAM, limits={resource.RLIMIT_AS: mib << 20})
        # Where the library of the language finds no memory at all it says so and aborts; to unwind may take more than is left.
        aborted = done.returncode in (-6, -11) and "memory allocation" in done.stderr
        assert done.returncode in (0, 2, 3) or aborted, (mib, done.returncode, done.stderr)
    assert tried >= 4


@contextmanager
def memory_group(most: int) -> Iterator[Path]:
    """A control group whose processes may have so much memory; the kernel kills those that want more."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    of_memory = [line.split(":", 2)[2] for line in lines if line.split(":", 2)[1] == "memory"]
    around = Path("/sys/fs/cgroup/memory") / of_memory[0].lstrip("/") if of_memory else Path("/none")
    group, limit = around / f"lastrank-tests-{os.getpid()}", "memory.limit_in_bytes"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of memory can be made here ({error})")
    try:
        (group / limit).write_text(str(most))
        yield group
    finally:
        until_empty = time.monotonic() + 20
        while (group / "cgroup.procs").read_text() and time.monotonic() < until_empty:
            time.sleep(0.01)
        group.rmdir()


def test_a_rank_that_is_killed_for_memory_is_told_and_its_samples_are_kept(lastrank: Lastrank) -> None:
    program = "repeat 50 getpid(); $a = alloc(1GiB); repeat 50 getpid();"
    with memory_group(300 << 20) as group:
        def enter() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

        done = run(lastrank, program, prepare=enter)
    assert done.returncode == 3, done.stderr
    assert "SIGKILL" in done.stderr and "lack of memory" in done.stderr, done.stderr
    assert samples_in(lastrank.folder / "a.parquet") >= 50


@pytest.mark.parametrize("call", ["getrandom"])
def test_a_system_without_random_numbers_is_named(lastrank: Lastrank, call: str) -> None:
    (lastrank.folder / "a.ppl").write_text(PROGRAM)
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:error=ENOSYS:when=1+"]
    done = subprocess.run(
        [*command, lastrank.program, "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none"],
        cwd=lastrank.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "no random numbers" in done.stderr) == (2, True), done.stderr


def test_what_a_program_prints_is_limited(lastrank: Lastrank) -> None:
    line = "x" * 1000
    done = run(lastrank, f'repeat 40000 print("{line}");')
    assert done.returncode == 0, done.stderr
    assert 15 << 20 < len(done.stdout) <= 16 << 20
    assert "printed more than" in done.stderr, done.stderr


def test_a_program_whose_files_would_fill_the_disk_does_not_begin(lastrank: Lastrank) -> None:
    program = 'define ranks 4;\nrepeat $i 1000000 { $f = fopen("f-$$rank-$i", "w"); fwrite($f, 1GiB); fclose($f); }\n'
    done = run(lastrank, program)
    assert (done.returncode, "--fill" in done.stderr) == (2, True), done.stderr
    assert not list(lastrank.folder.glob("f-*"))
    dry = run(lastrank, program, "--dry-run")
    assert dry.returncode == 2 and "would not begin" in dry.stdout, dry.stdout
    found = json.loads(run(lastrank, program, "--dry-run", "--json").stdout)
    assert found["would_not_begin"] in done.stderr and " are free" in done.stderr, found
    assert json.loads(run(lastrank, 'write("f", 4k);', "--dry-run", "--json").stdout)["would_not_begin"] is None


def test_whoever_looks_at_a_program_says_that_the_disk_is_too_small(lastrank: Lastrank, place: Path) -> None:
    with small_tmpfs(place, 8 << 20) as disk:
        for size, status in (("1MiB", 0), ("64MiB", 2)):
            (disk.path / "a.ppl").write_text(f'write("f", {size});\n')
            ways = {
                "run": ["-o", "a.parquet", "--report", "none", "--dry-run"],
                "check": [],
                "explain": [],
            }  # fmt: skip
            for command, options in ways.items():
                words = [lastrank.program, command, "a.ppl", *options]
                done = subprocess.run(words, cwd=disk.path, capture_output=True, text=True, check=False)
                said = " ".join((done.stdout + done.stderr).split())
                assert (done.returncode, "would not begin" in said) == (status, status == 2), (command, size, said)
                as_json = ["--format", "json"] if command == "check" else ["--json"]
                found = json.loads(subprocess.run([*words, *as_json], cwd=disk.path, capture_output=True, text=True, check=False).stdout)
                assert (found["would_not_begin"] is None) == (status == 0), (command, found)


def test_a_loop_of_writes_leaves_a_tenth_of_the_disk(lastrank: Lastrank, place: Path) -> None:
    """How much is not known before: the loop ends by the clock. New files, one that grows, and space that is reserved."""
    ways = {
        "new files": 'write("{at}/f-$i", 1MiB);',
        "a file that grows": 'append("{at}/f", 1MiB);',
        "by descriptor": 'fwrite($f, 1MiB);',
        "reserved": 'fallocate($f, 1MiB, $i * 1MiB);',
        "many small": 'write("{at}/f-$i", 1);',
        "at once": 'async depth=4 write("{at}/f-$i", 1MiB);',
    }  # fmt: skip
    with small_tmpfs(place, 256 << 20) as disk:
        for name, statement in ways.items():
            opened = f'$f = fopen("{disk.path}/f", "w");\n' if "$f," in statement else ""
            program = f'define place "dir" $dir ".";\n{opened}$i = 0;\nfor 100s {{ $i = $i + 1; {statement} }}\n'
            done = run(lastrank, program.replace("{at}", str(disk.path)), "--set", f"dir={disk.path}")
            free = os.statvfs(disk.path)
            share = free.f_bavail / free.f_blocks
            assert done.returncode == 3, (name, done.returncode, done.stderr)
            assert "--fill" in done.stderr, (name, done.stderr)
            left = list(disk.path.iterdir())
            assert not left, (name, "a run that broke off removes what it made", left)
            assert share > 0.9, name


def test_a_run_that_may_fill_the_disk_does(lastrank: Lastrank, place: Path) -> None:
    with small_tmpfs(place, 64 << 20) as disk:
        program = f'define place "dir" $dir ".";\n$i = 0;\nfor 100s {{ $i = $i + 1; write("{disk.path}/f-$i", 1MiB); }}\n'
        done = run(lastrank, program, "--set", f"dir={disk.path}", "--fill")
    assert done.returncode == 3 and "no space left" in done.stderr, done.stderr
    assert "--fill" not in done.stderr, done.stderr


def test_two_runs_that_begin_at_once_under_one_name_do_not_mix(lastrank: Lastrank) -> None:
    (lastrank.folder / "a.ppl").write_text('repeat 200 write("f", 10);\ndelete("f");\n')
    (lastrank.folder / "b.ppl").write_text("repeat 7 getpid();")
    for _ in range(10):
        runs = [
            subprocess.Popen(
                [lastrank.program, "run", name, "-s", "-o", "raced.parquet", "--report", "none"],
                cwd=lastrank.folder, stderr=subprocess.PIPE, text=True,
            )
            for name in ("a.ppl", "b.ppl")
        ]  # fmt: skip
        ends = [(run.communicate(timeout=120)[1], run.returncode) for run in runs]
        assert all(status == 0 or (status == 2 and "another run" in said) for said, status in ends), ends
        assert any(status == 0 for _, status in ends), ends
        assert samples_in(lastrank.folder / "raced.parquet") in (201, 7)
        assert not list(lastrank.folder.glob(".raced*"))


def test_what_clean_could_not_remove_is_named(lastrank: Lastrank) -> None:
    """The directory in which it lies becomes a mount that cannot be written, when the program has ended its work."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    (lastrank.folder / "s").mkdir()
    program = 'create("s/f");\ncreate("done");\nfor 60s { if len(glob("go*")) > 0 break; sleep(10ms); }\n'
    (lastrank.folder / "a.ppl").write_text(program)
    command = [lastrank.program, "run", "a.ppl", "-c", "-s", "-o", "a.parquet", "--report", "none"]
    # In a mount namespace of its own, which the run shares: nobody else sees the mount.
    script = (
        f"{shlex.join(map(str, command))} & while [ ! -e done ]; do sleep 0.02; done;"
        "mount --bind s s && mount -o remount,ro,bind s && touch go; wait $!"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], cwd=lastrank.folder, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"this machine forbids mounts ({done.stderr.strip()})")
    assert "s/f could not be removed" in done.stderr, done.stderr
    assert (lastrank.folder / "s/f").exists() and not (lastrank.folder / "done").exists()


def test_a_run_file_that_cannot_be_written_anywhere_waits_in_memory(lastrank: Lastrank, place: Path) -> None:
    """Folder, TMPDIR and HOME are on a disk that is full by then: status 3, and `recover` has the samples."""
    with small_tmpfs(place, 1 << 20) as disk:
        (lastrank.folder / "a.ppl").write_text('repeat 5000 getpid();\ncreate("done");\nsleep(2s);\ndelete("done");\n')
        environment = os.environ | {"TMPDIR": str(disk.path), "HOME": str(disk.path)}
        command = [lastrank.program, "run", "a.ppl", "-s", "-o", disk.path / "a.parquet", "--report", "none"]
        with subprocess.Popen(
            list(map(str, command)), cwd=lastrank.folder, stderr=subprocess.PIPE, text=True, env=environment
        ) as run:
            deadline = time.monotonic() + 60
            while not (lastrank.folder / "done").exists():
                assert time.monotonic() < deadline and run.poll() is None, "it did not begin"
                time.sleep(0.01)
            with (disk.path / "filler").open("wb", buffering=0) as filler, suppress(OSError):
                while filler.write(bytes(4096)):
                    pass
            said = run.communicate(timeout=60)[1]
        assert (run.returncode, "lastrank recover" in said) == (3, True), said
        assert not list(disk.path.glob("*.parquet"))
        (disk.path / "filler").unlink()
    recover = [lastrank.program, "recover", "."]
    done = subprocess.run(list(map(str, recover)), cwd=lastrank.folder, capture_output=True, text=True, check=False)
    # Folders of other sessions may be strange.
    assert re.search(r"a\.parquet\s+5,002 samples of 1 rank", done.stdout), done
    assert samples_in(lastrank.folder / "a.parquet") == 5002


def test_every_exit_status_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "safety.md").read_text().split("# Exit statuses")[1]
    named = {int(row.split("|")[1]) for row in page.splitlines() if row.startswith("| ") and row.split("|")[1].strip().isdigit()}
    assert named == DOCUMENTED

