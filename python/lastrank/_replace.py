"""Replaces files in one step."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

__all__ = ["replace"]


def replace(path: Path, content: bytes) -> None:
    """Whoever reads the file sees the old content or the whole new one. A link of that name is replaced, not followed.

    :raises OSError: where it cannot be written, or the name is that of a pipe, a socket or a device.
    """
    try:
        there = path.lstat().st_mode
    except FileNotFoundError:
        there = stat.S_IFREG
    if not (stat.S_ISREG(there) or stat.S_ISLNK(there) or stat.S_ISDIR(there)):
        raise FileExistsError(errno.EEXIST, "this is no ordinary file; give another name", os.fspath(path))
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
