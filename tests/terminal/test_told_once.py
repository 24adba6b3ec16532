"""What ended a run stands on a terminal once, with the numbers that a reader needs."""

from pathlib import Path

from filesystems.directories import small_tmpfs

from .screen import assert_fits, show

FILLS = 'define place "dir" $dir ".";\nfor 60s { time["w"] append("$dir/f", 64k); }\n'


def test_a_full_disk_is_told_once_with_what_is_free(program: Path, tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "p.ppl").write_text(FILLS)
    with small_tmpfs(mounts / "told-once", 8 << 20) as disk:
        words = [program, "run", "p.ppl", "--set", f"dir={disk.path}", "--fill", "--report", "none", "-o", "r.parquet"]
        found = show(words, 80, tmp_path)
    assert_fits(found)
    said = " ".join(found.text.split())
    assert found.status == 3 and said.count("ENOSPC") == 1 and said.count("full disk") == 1, found.text
    assert "ENOSPC, no space left on device (64 KiB were to be written; 0 B are free there)" in said, found.text


def test_a_write_that_would_fill_the_disk_is_told_once_with_the_way_out(program: Path, tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "p.ppl").write_text(FILLS)
    with small_tmpfs(mounts / "would-fill", 64 << 20) as disk:
        words = [program, "run", "p.ppl", "--set", f"dir={disk.path}", "--report", "none", "-o", "r.parquet"]
        found = show(words, 80, tmp_path)
    said = " ".join(found.text.split())
    assert found.status == 3 and said.count("ENOSPC") == 1 and said.count("stays free") == 1, found.text
    assert "64 KiB were to be written; " in said and "stays free without --fill)" in said, found.text
    assert "was not begun" not in said, found.text


def test_ctrl_c_is_told_once(program: Path, tmp_path: Path) -> None:
    (tmp_path / "p.ppl").write_text('repeat 4000 { time["w"] create("f"); sleep(10ms); }\n')
    found = show([program, "run", "p.ppl", "--report", "none", "-o", "r.parquet"], 80, tmp_path, interrupt_after=1.5)
    assert found.status == 3, found.text
    screen = found.text[found.text.index("p: 1 rank") :]
    assert screen.count("Ctrl-C") == 1 and "✖ incomplete: stopped by Ctrl-C after" in screen, found.text
