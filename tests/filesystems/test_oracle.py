"""Is what lastrank measures what was injected, quantile by quantile, and is the fitted tail the injected one?

Each write is held for a draw from a generalized extreme-value distribution. The file system knows how long it
really held each one, its own oversleeping included, so that only lastrank can be wrong; the way there and back is
measured beforehand by a client that is not lastrank. What lastrank itself says was a wait for a processor
(`queue_ns`) is taken off: nobody injected it, and on a busy machine it is in every clock.
"""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import delay
from .measured import PRIORITY, Lastrank, Run, may_be_first
from .sandbox import Mounted

RANKS, STEPS = 4, 1200
LOCATION, SCALE, SHAPE = 4.0, 2.0, 0.2  # milliseconds; the shape has no unit
QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)
ATTEMPTS = 3

PROGRAM = f"""
define param "dir" $dir "."
define ranks {RANKS}
$data = alloc(4KiB);
$f = fopen("$dir/target-$$rank", "O_WRONLY|O_CREAT");
repeat $step {STEPS} {{
    time["write"] fwrite($f, $data);
}}
fclose($f);
"""


@dataclass(frozen=True)
class Attempt:
    run: Run
    measured: list[float]
    held: list[float]
    round_trip: float
    resolution: float

    def misses(self) -> list[str]:
        """The quantiles at which measured and injected differ by more than is allowed, in words."""
        wrong = []
        for p in QUANTILES:
            measured, held = quantile(self.measured, p), quantile(self.held, p)
            allowed = 0.02 * held + self.resolution + self.round_trip
            if not self.round_trip - allowed <= measured - held <= allowed:
                wrong.append(
                    f"quantile {p}: measured {measured / 1e6:.4f} ms, injected {held / 1e6:.4f} ms, "
                    f"allowed {allowed / 1e6:.4f} ms more, {(allowed - self.round_trip) / 1e6:.4f} ms less"
                )
        return wrong


def quantile(values: list[float], p: float) -> float:
    """The smallest value that at least a part p of the values does not exceed."""
    return sorted(values)[max(0, -int(-p * len(values) // 1) - 1)]


def round_trip(mounted: Mounted, repeat: int = 200) -> float:
    """Nanoseconds (median) that a write takes besides being held, for a client of lastrank's priority."""
    seen = []
    file = os.open(mounted.path / "round-trip", os.O_WRONLY | os.O_CREAT)
    if may_be_first():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        for _ in range(repeat):
            begin = time.monotonic_ns()
            os.pwrite(file, bytes(4096), 0)
            seen.append(time.monotonic_ns() - begin)
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.close(file)
    held = [write.held for write in delay.injected(mounted, "write")]
    return statistics.median(took - long for took, long in zip(seen, held, strict=True))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("oracle") / "oracle.ppl"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def attempt(delayed: Callable[..., Mounted], lastrank: Lastrank, program: Path) -> Callable[[int], Attempt]:
    def measure(seed: int) -> Attempt:
        mounted = delayed({"write": f"gev({LOCATION}ms,{SCALE}ms,{SHAPE})"}, seed=seed)
        floor = round_trip(mounted)
        before = len(delay.injected(mounted, "write"))
        run = lastrank.run(program, dir=mounted.path, first=True)
        assert run.status == 0, run
        writes = delay.injected(mounted, "write")[before:]
        samples = run.operations("fwrite")
        measured = (samples.duration_ps / 1000 - samples.queue_ns).tolist()
        assert len(measured) == len(writes) == RANKS * STEPS
        resolution = max(1.0, run.facts["clock"]["quantum_ps"] / 1000)
        return Attempt(run, measured, [write.held for write in writes], floor, resolution)

    return measure


def test_measured_quantiles_are_the_injected_ones(
    attempt: Callable[[int], Attempt], lastrank: Lastrank
) -> None:
    # Other work on the machine can only be seen to be slow, never to be fast: one clean attempt is enough.
    for seed in range(1, ATTEMPTS + 1):
        tried = attempt(seed)
        wrong = tried.misses()
        if not wrong:
            break
    assert not wrong, "\n".join(wrong)

    gev = lastrank.fit(tried.run.file, "--label", "write/fwrite")["gev"]
    errors = gev["standard_errors"]
    way = tried.round_trip / 1e9
    for name, low, high in (
        ("location", LOCATION / 1e3, LOCATION / 1e3 + way),
        ("scale", SCALE / 1e3, SCALE / 1e3),
        ("shape", SHAPE, SHAPE),
    ):
        assert low - 4 * errors[name] <= gev[name] <= high + 4 * errors[name], (name, gev[name], low, high)
