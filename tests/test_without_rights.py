"""Tests lastrank without privileges: as an unprivileged user, in a container, without perf events."""

import ctypes
import json
import os
import platform
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filesystems.measured import Lastrank

NOBODY = 65534
CPU = Path("/sys/fs/cgroup/cpu")
CPU2 = Path("/sys/fs/cgroup")

PROGRAM = """
define place "dir" $dir "."
$f = fopen("$dir/data", "O_RDWR|O_CREAT|O_TRUNC");
time["write"] repeat 400 { fwrite($f, 4k, 0); fsync($f); }
time["call"] repeat 2000 getpid();
time["busy"] repeat 2000 chase(4MiB, 2000);
fclose($f);
delete("$dir/data");
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A world-writable folder with the program in it."""
    folder = Path(tempfile.mkdtemp(prefix="lastrank-rights-"))
    folder.chmod(0o777)
    (folder / "small.ppl").write_text(PROGRAM)
    (folder / "small.ppl").chmod(0o644)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def everybodys(lastrank: Lastrank, place: Path) -> Path:
    """The program under test, executable by every user."""
    program = place / "lastrank"
    shutil.copy(lastrank.program, program)
    program.chmod(0o755)
    return program


def run(command: list[object], place: Path, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        list(map(str, command)), cwd=place, capture_output=True, text=True, timeout=120, **options
    )


def facts(file: Path) -> dict:
    import pyarrow.parquet

    return json.loads(pyarrow.parquet.read_metadata(file).metadata[b"lastrank.facts"])


def measure(
    program: Path, place: Path, before: tuple[object, ...] = (), **options: object
) -> tuple[dict, subprocess.CompletedProcess]:
    """Runs the small program; returns its facts and output."""
    done = run([*before, program, "run", "small.ppl", "-o", "run.parquet", "-v"], place, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return facts(place / "run.parquet"), done


def require_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("giving rights up for a test needs root")


def without_perf_events() -> None:
    """Lets `perf_event_open` fail with EACCES for this process and its children, as containers do."""
    number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    # Load the number of the system call; return EACCES (13) for perf_event_open, otherwise allow.
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 13), (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    kept = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0  # PR_SET_SECCOMP, a filter


def test_an_ordinary_user_sees_switches_and_is_told_about_interrupts(everybodys: Path, place: Path) -> None:
    require_root()
    as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    seen, done = measure(everybodys, place, as_nobody)
    sight = seen["sight"]
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    assert sight["tier"] == ("events" if paranoid <= 2 else "accounting"), sight
    assert "device" not in sight["sees"] and "timer" not in sight["sees"]
    blind = " ".join(sight["blind"])
    assert "interrupts" in blind and "device" in blind and "hypervisor" in blind
    assert "Could not be seen" in done.stdout or "not seen" in done.stdout, done.stdout


def test_without_perf_events_it_measures_and_says_what_it_could_not_see(everybodys: Path, place: Path) -> None:
    seen, _ = measure(everybodys, place, preexec_fn=without_perf_events)
    sight = seen["sight"]
    assert sight["tier"] == "accounting"
    assert any("no perf events" in line for line in sight["blind"]), sight
    shown = run([everybodys, "machine"], place, preexec_fn=without_perf_events)
    assert shown.returncode in (0, 1), shown.stderr
    assert "system calls filtered (seccomp)" in " ".join(shown.stdout.split())


def test_in_a_container_it_works_without_the_rights_of_root(everybodys: Path, place: Path) -> None:
    before = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--mount-proc", "--net")
    if run([*before, "true"], place).returncode != 0:
        pytest.skip("this machine forbids user namespaces")
    seen, _ = measure(everybodys, place, before)
    assert seen["complete"] and seen["sight"]["blind"]
    # If tracefs is mounted on the machine, root of the container may read the numbers of tracepoints.
    if run([*before, "cat", "/sys/kernel/tracing/events/irq_vectors/local_timer_entry/format"], place).returncode != 0:
        assert "timer" not in seen["sight"]["sees"]
    shown = run([*before, everybodys, "machine", ".", "--json"], place)
    assert shown.returncode in (0, 1), shown.stderr
    assert json.loads(shown.stdout)["places"][0]["file_system"]


def test_the_tour_of_an_ordinary_user_reaches_the_disk(everybodys: Path, place: Path) -> None:
    require_root()
    as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    done = run([*as_nobody, everybodys, "try", ".", "--limit", "30", "--json"], place)
    assert done.returncode == 0, done.stderr
    tour = json.loads(done.stdout)
    codes = [rung["code"] for rung in tour["rungs"]]
    # Steps for which a busy machine leaves no time are listed.
    left_out = " ".join(tour["skipped"])
    assert {"l1", "memory"} <= set(codes), (codes, left_out)
    for code, name in (("getpid", "getpid"), ("page_cache", "Page cache"), ("fsync", "write + fsync")):
        assert code in codes or name in left_out, (codes, left_out)
    assert tour["sight"]["blind"]


@pytest.fixture
def quota() -> Iterator[Callable[[], None]]:
    """Puts the calling process into a control group limited to a fifth of a processor."""
    require_root()
    name = f"lastrank-tests-{os.getpid()}"
    if (CPU / "cgroup.procs").exists():
        group = CPU / name
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("20000")
    elif "cpu" in _read(CPU2 / "cgroup.subtree_control").split():
        group = CPU2 / name
        group.mkdir()
        (group / "cpu.max").write_text("20000 100000")
    else:
        pytest.skip("this machine has no control group for processors")
    yield lambda: (group / "cgroup.procs").write_text(str(os.getpid())) and None
    group.rmdir()


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_throttling_by_a_control_group_is_seen_where_it_happens(
    everybodys: Path, place: Path, quota: Callable[[], None]
) -> None:
    seen, done = measure(everybodys, place, preexec_fn=quota)
    import pandas

    samples = pandas.read_parquet(place / "run.parquet")
    throttled = samples[samples.causes & 256 != 0]
    assert len(throttled) > 0, done.stdout
    # The thread was runnable and waited: up to 80 ms, and little where others took the processor before, so that its
    # share ended with the period.
    assert (throttled.queue_ns > 0).all()
    assert throttled.queue_ns.max() >= 1_000_000
    codes = {warning["code"] for warning in seen["warnings"]}
    assert {"throttled", "cgroup-processor"} <= codes, codes
    assert "throttled" in done.stdout + done.stderr
