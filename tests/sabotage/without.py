"""What a machine may lack."""

import ctypes
import struct


def without_landlock() -> None:
    """As in a container that forbids it: the call that makes a rule set fails with EPERM."""
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 1), (0x06, 0, 0, 0x7FFF0000)]
    kept = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    filters = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(kept))
    assert libc.prctl(22, 2, ctypes.c_char_p(filters), 0, 0) == 0  # PR_SET_SECCOMP, a filter
