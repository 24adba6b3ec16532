"""What ends at once when it is asked to, and what is told before it begins."""

import os
import signal
import subprocess

import pytest

from filesystems.measured import Lastrank

from .test_lost import until

KERNELS = ["getppid(4000000000)", "chase(64MiB, 4000000000)", 'stream("copy", 64MiB, 4000000000)', 'create_delete(".", 4000000000)',
           "pipe_pingpong(4000000000)"]  # fmt: skip
"""Loops of operations that would take minutes to hours, in one statement each."""
PATIENCE = 60
"""Less than they take, and more than a busy machine needs for the end of a run."""


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.split("(")[0])
def test_a_loop_of_a_kernel_obeys_a_signal(lastrank: Lastrank, kernel: str) -> None:
    (lastrank.folder / "a.ppl").write_text(f'create("begun-$$rank");\n{kernel};\ncreate("over");\n')
    command = [str(lastrank.program), "run", "a.ppl", "-n", "2", "-s", "-o", "a.parquet", "--report", "none"]
    with subprocess.Popen(command, cwd=lastrank.folder, stderr=subprocess.PIPE, text=True) as run:
        until(lambda: all((lastrank.folder / f"begun-{rank}").exists() for rank in range(2)), "it did not begin")
        run.send_signal(signal.SIGTERM)
        said = run.communicate(timeout=PATIENCE)[1]
    assert run.returncode == 3 and "stopped by SIGTERM" in said, said
    assert (lastrank.folder / "a.parquet").exists() and not (lastrank.folder / "over").exists()


def test_a_folder_for_temporary_files_that_cannot_be_used_is_named(lastrank: Lastrank) -> None:
    (lastrank.folder / "a.ppl").write_text('create("f");')
    (lastrank.folder / "file").touch()
    for place in ("/nowhere", "/proc", str(lastrank.folder / "file")):
        command = [str(lastrank.program), "run", "a.ppl", "-s", "-o", "a.parquet", "--report", "none"]
        done = subprocess.run(
            command, cwd=lastrank.folder, env=os.environ | {"TMPDIR": place}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and place in done.stderr and "set TMPDIR" in done.stderr, done.stderr
        assert not (lastrank.folder / "f").exists()


def test_an_expression_without_end_takes_no_stack_and_little_time(lastrank: Lastrank) -> None:
    """A program of 200,000 terms a line, in each way that expressions grow; on a stack of 256 KiB."""
    many = 200_000
    lines = {
        "sum": "$x = " + "1 + " * many + "1;",
        "product and sum": "$x = 1; $y = " + "$x * 2 + " * many + "1;",
        "comparison": "$x = " + "1 < " * many + "1;",
        "conjunction": "$x = " + "1 && " * many + "1;",
        "list": "$x = [" + "1, " * many + "1];",
        "arguments": "print(" + "1, " * many + "1);",
        "strings": '$x = "a"; $y = "' + "$x" * many + '";',
    }
    for how, line in lines.items():
        (lastrank.folder / "a.ppl").write_text(line)
        script = f"ulimit -s 256; exec '{lastrank.program}' check a.ppl"
        done = subprocess.run(["sh", "-c", script], cwd=lastrank.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode in (0, 2), (how, done.stderr[-300:])
    (lastrank.folder / "a.ppl").write_text("print(" + '"a" . ' * 40_000 + '"b");')
    done = subprocess.run(
        [str(lastrank.program), "check", "a.ppl"], cwd=lastrank.folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2 and len(done.stderr) < 1 << 20, done.stderr[:300]


if __name__ == "__main__":
    pytest.main([__file__])
