"""Whether a load measured a device or memory is told from what the kernel counted."""

import json
import subprocess
from pathlib import Path

import pytest

ACCOUNTED = {"ext2", "ext3", "ext4", "xfs"}


def load(program: Path, folder: Path, *options: str) -> tuple[dict, str]:
    """The JSON of a load of random reads and its first screen."""
    words = [program, "io", "randread", "--size", "8MiB", "--ops", "6000", "--norandommap", "--no-causes", *options]
    run = [*words, "-o", "run.parquet", "--report", "none", "--json"]
    found = json.loads(subprocess.run(run, cwd=folder, check=True, capture_output=True, text=True).stdout)
    again = [program, "report", "run.parquet", "-o", "page.html"]
    screen = subprocess.run(again, cwd=folder, check=True, capture_output=True, text=True).stdout
    return found, " ".join(screen.split())


def test_a_load_that_memory_served_says_so_and_one_of_the_device_does_not(program: Path, tmp_path: Path) -> None:
    """The same reads through the page cache, of a file that is in it, and past it."""
    cached, screen = load(program, tmp_path, "--invalidate", "0")
    on = cached["facts"]["file_systems"]
    if not all(one["file_system"] in ACCOUNTED and one["device"] for one in on):
        pytest.skip("the kernel does not account reads of this file system")
    assert cached["facts"]["device_read_bytes"] < 6000 * 4096 / 10
    assert [one["code"] for one in cached["warnings"]][0] == "page-cache"
    assert "This measured memory, not the device: the page cache served" in screen and "Fix: --direct" in screen
    # Who reads two lines must not take memory for the device: it is told before the rate.
    assert screen.index("⚠ This measured memory") < screen.index("Fix: --direct") < screen.index("reads/s") < screen.index("✔"), screen
    direct, screen = load(program, tmp_path, "--direct")
    assert direct["facts"]["device_read_bytes"] >= 6000 * 4096
    assert "page-cache" not in [one["code"] for one in direct["warnings"]] and "measured memory" not in screen


def test_reads_faster_than_any_device_are_those_of_memory(program: Path, tmp_path: Path) -> None:
    """Read ahead hides them from the bytes that the kernel accounts; their times and their number tell."""
    words = ["io", "randread", "--ops", "20000", "--size", "64MiB", "--depth", "16", "--report", "none", "--json"]
    ran = subprocess.run([program, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    (on,) = found["facts"]["file_systems"]
    if on["file_system"] not in ACCOUNTED or not on["device"]:
        pytest.skip("no device below this file system")
    asked = found["facts"]["device_reads"][on["device"]["name"]]
    (part,) = found["numbers"]["parts"]
    fast = part["quantiles_seconds"]["p50"] < 4e-6
    is_told = "page-cache" in [one["code"] for one in found["warnings"]]
    assert is_told or not (fast or asked <= 10_000), (asked, part["quantiles_seconds"])


def test_verifying_what_memory_returns_proves_nothing_of_the_storage(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('define ranks 1;\nwrite("blk", 4m);\nverify read("blk");\n')
    words = [program, "run", "p.ppl", "--report", "none", "-o", "p.parquet"]
    ran = subprocess.run([*words, "--json"], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    on = found["facts"]["file_systems"]
    if not all(one["file_system"] in ACCOUNTED and one["device"] for one in on):
        pytest.skip("the kernel does not account reads of this file system")
    assert found["numbers"]["verified"]["bytes"] == 4 << 20
    (told,) = [one["text"] for one in found["warnings"] if one["code"] == "page-cache"]
    assert "proves nothing of the storage" in told
    screen = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "proves nothing of the storage" in " ".join(screen.split())


@pytest.mark.parametrize("flags, count, safe", [("", 60_000, False), ("|O_DSYNC", 200, True)])
def test_a_sync_of_another_file_does_not_make_writes_safe(
    program: Path, tmp_path: Path, flags: str, count: int, safe: bool
) -> None:
    """Wherever a `fsync` stands, the times of plain writes are those of memory."""
    text = (
        f'$g = fopen("y", "O_RDWR|O_CREAT{flags}"); $k = fopen("z", "O_RDWR|O_CREAT");\n'
        f'time["w"] repeat {count} fwrite($g, 4k, 0);\nfsync($k);\nfclose($g); fclose($k); delete("y"); delete("z");\n'
    )
    (tmp_path / "p.ppl").write_text(text)
    run = [program, "run", "p.ppl", "--no-causes", "--report", "none", "-o", "p.parquet", "--json"]
    found = json.loads(subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    if any(one["in_memory"] or not one["device"] for one in found["facts"]["file_systems"]):
        pytest.skip("no device below this file system")
    told = [one["text"] for one in found["warnings"] if one["code"] == "page-cache"]
    assert bool(told) != safe, (told, found["numbers"]["parts"])
    assert not told or "ended in memory (the page cache); the device's part is in `fsync`" in told[0]
    screen = subprocess.run([program, "report", "p.parquet", "-q"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not told or "✔" not in screen.stdout, screen.stdout


@pytest.mark.parametrize("record", ["samples", "histogram"])
def test_a_run_whose_table_is_its_answer_tells_of_memory_too(program: Path, tmp_path: Path, record: str) -> None:
    (tmp_path / "p.ppl").write_text(
        'write("data", 1MiB); $f = fopen("data", "r");\nrepeat 20000 fread($f, 4k, 0);\nfclose($f); delete("data");\n'
    )
    run = [program, "run", "p.ppl", "--no-causes", "--report", "none", "-o", "p.parquet", "--json", "--record", record]
    found = json.loads(subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    if any(one["in_memory"] or not one["device"] for one in found["facts"]["file_systems"]):
        pytest.skip("no device below this file system")
    assert "page-cache" in [one["code"] for one in found["warnings"]], found["warnings"]
