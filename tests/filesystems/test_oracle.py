"""Tests that lastrank measures the injected delays, quantile by quantile, and fits the injected tail.

Each write is held for a draw from a known distribution, one light, one exponential, one heavy. The file system writes down
how long it really held each one on its own clock, from the arrival of the request to just before the reply, its own
oversleeping included: so only lastrank can be wrong, and both clocks are compared operation by operation.

lastrank and the file system run on processors of their own and before the machine's other work. What is left beside
what was injected is the way there and back, measured beforehand by a client that is not lastrank, and what lastrank
itself says was a wait for a processor (`queue_ns`): nobody injected it.
"""

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from collections.abc import Callable

import pytest

from . import delay
from .measured import PRIORITY, Lastrank, Run, client_processor, may_be_first
from .sandbox import Mounted

RANKS, STEPS = 12, 400
QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)

PROGRAM = f"""
define place "dir" $dir "."
define ranks {RANKS}
$data = alloc(4KiB);
$f = fopen("$dir/target-$$rank", "O_WRONLY|O_CREAT");
barrier;
repeat $step {STEPS} {{
    time["write"] fwrite($f, $data);
}}
fclose($f);
"""


@dataclass(frozen=True)
class Law:
    """An injected distribution (in milliseconds), the options of `lastrank fit`, and the expected result."""

    name: str
    injected: str
    options: tuple[str, ...]
    expected: dict[str, float]


# Their spread is many times what a hypervisor takes away at once, some ms, which neither side can see: were it not, the
# quantiles of such interruptions would be compared.
LAWS = (
    Law(
        "light", "gev(20ms,6ms,-0.15)", ("--model", "gev"),
        {"location": 20.0, "scale": 6.0, "shape": -0.15},
    ),
    Law(
        "exponential", "gpd(12ms,8ms,0)", ("--model", "gpd", "--threshold", "20ms"),
        {"scale": 8.0, "shape": 0.0},
    ),
    Law("heavy", "gev(20ms,6ms,0.3)", ("--model", "gev"), {"location": 20.0, "scale": 6.0, "shape": 0.3}),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """Both sides of each write, in nanoseconds, in the same order."""

    run: Run
    raw: list[float]
    queue: list[float]
    held: list[float]
    drawn: list[float]
    round_trip: float
    resolution: float

    @property
    def corrected(self) -> list[float]:
        return [took - waited for took, waited in zip(self.raw, self.queue, strict=True)]

    @property
    def without_oversleeping(self) -> list[float]:
        every = zip(self.corrected, self.held, self.drawn, strict=True)
        return [took - (held - drawn) for took, held, drawn in every]


def quantile(values: list[float], p: float) -> float:
    """The smallest value that at least a part p of the values does not exceed."""
    return sorted(values)[max(0, -int(-p * len(values) // 1) - 1)]


def round_trip(mounted: Mounted, repeat: int = 200) -> float:
    """Median time in nanoseconds of a write without its delay, for a client that runs like lastrank."""
    seen = []
    file = os.open(mounted.path / "round-trip", os.O_WRONLY | os.O_CREAT)
    before, processor = os.sched_getaffinity(0), client_processor()
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    if may_be_first():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        for _ in range(repeat):
            begin = time.monotonic_ns()
            os.pwrite(file, bytes(4096), 0)
            seen.append(time.monotonic_ns() - begin)
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, before)
    os.close(file)
    held = [write.held for write in delay.injected(mounted, "write")]
    return statistics.median(took - long for took, long in zip(seen, held, strict=True))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("oracle") / "oracle.ppl"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(params=LAWS, ids=lambda law: law.name)
def law(request: pytest.FixtureRequest) -> Law:
    return request.param


@pytest.fixture
def measured(law: Law, delayed: Callable[..., Mounted], lastrank: Lastrank, program: Path) -> Measured:
    mounted = delayed({"write": law.injected})
    floor = round_trip(mounted)
    run = lastrank.run(program, dir=mounted.path, first=True)
    assert run.status == 0, run
    writes, samples = delay.injected(mounted, "write"), run.operations("fwrite")
    raw, queue, held, drawn = [], [], [], []
    for rank in range(RANKS):
        inode = os.stat(mounted.path / f"target-{rank}").st_ino
        of_server = sorted((write for write in writes if write.file == inode), key=lambda write: write.begin)
        of_client = samples[samples["rank"] == rank]
        assert len(of_server) == len(of_client) == STEPS
        raw += (of_client.duration_ps / 1000).tolist()
        queue += of_client.queue_ns.tolist()
        held += [write.held for write in of_server]
        drawn += [write.drawn for write in of_server]
    resolution = max(1.0, run.facts["clock"]["quantum_ps"] / 1000)
    return Measured(run, raw, queue, held, drawn, floor, resolution)


def test_measured_is_injected_operation_by_operation_quantile_by_quantile_and_in_its_tail(
    measured: Measured, law: Law, lastrank: Lastrank
) -> None:
    # No write may be shorter than its delay; two clocks of one machine differ by less than 100 ppm.
    shorter = [
        (took, long)
        for took, long in zip(measured.raw, measured.held, strict=True)
        if took < long * (1 - 1e-4) - measured.resolution
    ]
    assert not shorter, f"{len(shorter)} writes took less than they were held: {shorter[:5]}"

    wrong = []
    for p in QUANTILES:
        took, held = quantile(measured.corrected, p), quantile(measured.held, p)
        allowed = 0.02 * held + measured.resolution
        if not -allowed <= took - held <= allowed + measured.round_trip:
            wrong.append(
                f"quantile {p}: measured {took / 1e6:.4f} ms, injected {held / 1e6:.4f} ms, "
                f"allowed {allowed / 1e6:.4f} ms and {measured.round_trip / 1e6:.4f} ms for the way"
            )
    assert not wrong, "\n".join(wrong)

    # What was held is what was drawn and some oversleeping. On a busy machine a few writes oversleep by more than the
    # whole law, and no longer have its tail: each one's own, which the file system wrote down, is taken off again. What
    # is left was drawn, and the way moves it along.
    later = measured.round_trip / 1e6
    values = lastrank.folder / "of-the-law.txt"
    values.write_text("".join(f"{value}\n" for value in measured.without_oversleeping))
    fitted = lastrank.fit(values, "--unit", "ns", *law.options)
    fit = fitted["gpd" if "gpd" in law.options else "gev"]
    errors = fit["standard_errors"]
    errors = errors if isinstance(errors, dict) else dict(zip(("scale", "shape"), errors, strict=True))
    for name, expected in law.expected.items():
        factor = 1 if name == "shape" else 1e3
        value, error = fit[name] * factor, errors[name] * factor
        high = expected + (later if name == "location" else 0)
        assert expected - 4 * error <= value <= high + 4 * error, (name, value, error, expected, high)
