"""What lastrank writes neither compresses nor repeats, as real compressors see it."""

import lzma
import zlib
from pathlib import Path
from subprocess import run

import pytest

PIECE = 64 << 10


@pytest.mark.parametrize("block", ["4KiB", "1000", "1MiB"])
def test_written_bytes_do_not_compress(program: Path, tmp_path: Path, block: str) -> None:
    text = f'repeat $i 1MiB / {block} {{ fwrite($f, {block}, $i * {block}); }}'
    (tmp_path / "write.ppl").write_text(f'$f = fopen("data", "w"); {text} fclose($f);')
    run([program, "run", "write.ppl", "-o", "run.parquet"], cwd=tmp_path, check=True, capture_output=True)
    data = (tmp_path / "data").read_bytes()
    assert len(data) > 1_000_000
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    assert all(len(zlib.compress(piece, 9)) >= len(piece) for piece in pieces)
    # Over all of it, with a dictionary that holds all of it.
    assert len(lzma.compress(data, preset=1)) >= len(data)
    sectors = [data[at : at + 512] for at in range(0, len(data) - 511, 512)]
    assert len(set(sectors)) == len(sectors)
