"""The content that lastrank writes, made anew from its description in `docs/content.md`: what each byte of a file must be."""

import os
from pathlib import Path

SECTOR = 512
FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xA0761D6478BD642F)
SPREAD = 0xD6E8FEB86659FD93
ALL = 2**64 - 1


def mix(a: int, b: int) -> int:
    """One number made of two."""
    both = ((a << 23 | a >> 41) & ALL) * FACTORS[0] & ALL ^ b
    both = (both ^ both >> 30) * FACTORS[1] & ALL
    both = (both ^ both >> 27) * FACTORS[2] & ALL
    return both ^ both >> 31


WORDS = [mix(FACTORS[3], at) for at in range(128 + SECTOR // 8)]


def masks(key: int) -> list[int]:
    """What the words of the sector with this key are combined with."""
    own = (key * FACTORS[3] & ALL ^ key >> 32, mix(key, 1))
    return [word ^ own[at % 2] for at, word in enumerate(WORDS[key >> 57 :][: SECTOR // 8])]


def run_of(sector: bytes) -> int:
    """The number of the run that wrote a sector."""
    key = int.from_bytes(sector[:8], "little")
    return int.from_bytes(sector[8:16], "little") ^ masks(key)[1]


class Content:
    """What one run writes into one file."""

    def __init__(self, run: int, path: Path) -> None:
        whole = os.path.realpath(path).encode()
        number = 0xCBF29CE484222325
        for byte in whole[1:] + b"/":
            number = (number ^ byte) * 0x100000001B3 & ALL
        name = [int.from_bytes(whole[-32:].rjust(32, b"\0")[at : at + 8], "little") for at in range(0, 32, 8)]
        self.facts = [0, run, number, 0, 0, 0, *name]
        of_name = 0
        for word in name:
            of_name = mix(of_name, word)
        self.root = mix(mix(mix(run, number), of_name), 0)

    def sector(self, number: int, rank: int) -> bytes:
        """A whole sector as `rank` writes it."""
        key = mix(self.root, number)
        mask = masks(key)
        words = list(mask)
        for at, fact in enumerate(self.facts):
            words[at] = fact ^ mask[at]
        words[0], words[3] = key, number ^ mask[3]
        plain = mask[5] ^ (rank | (mix(key, rank) & 0xFFFFFFFF) << 32)
        spread = plain * SPREAD & ALL
        words[5] = (spread ^ spread >> 32) * SPREAD & ALL
        return b"".join(word.to_bytes(8, "little") for word in words)

    def file(self, owners: list[tuple[int, int, int]]) -> bytes:
        """The file whose bytes from an offset on, so many, are of a rank; the others are zeros."""
        found = bytearray(max((offset + size for offset, size, _ in owners), default=0))
        for offset, size, rank in owners:
            for number in range(offset // SECTOR, -(-(offset + size) // SECTOR)):
                begin, end = max(offset, number * SECTOR), min(offset + size, (number + 1) * SECTOR)
                found[begin:end] = self.sector(number, rank)[begin % SECTOR : (end - 1) % SECTOR + 1]
        return bytes(found)
