"""Runs sets of options with fio and with lastrank's import of them, and compares what the kernel was asked for.

A set is equal, refused by the import with a reason, or different, which fails. The table of all is printed (`pytest -s`), and
written to the file that LASTRANK_WORKLOADS_TABLE names.
"""

import math
import os
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from workloads.fio_sets import JobSet, all_sets
from workloads.traced import Operation, Stream, of_fio, of_lastrank, trace

SETS = all_sets(drawn=45)

#: Without io_uring, operations run one after the other and strace sees their places.
NO_RING = "io_uring_setup:error=ENOSYS"


def far(first: list[int], second: list[int]) -> float:
    """The distance of Kolmogorov and Smirnov between two samples."""
    steps = sorted(set(first) | set(second))
    ones, twos, a, b, most = Counter(first), Counter(second), 0, 0, 0.0
    for step in steps:
        a, b = a + ones[step], b + twos[step]
        most = max(most, abs(a / len(first) - b / len(second)))
    return most


def alike(first: list[int], second: list[int]) -> bool:
    """Whether two samples may be of one distribution: the test of Kolmogorov and Smirnov with an error of 1 in 100,000."""
    if not first or not second:
        return first == second
    limit = math.sqrt(-math.log(1e-5 / 2) / 2 * (len(first) + len(second)) / (len(first) * len(second)))
    return far(first, second) <= limit


def wanted_share(operations: list[Operation], blocks: int) -> list[float]:
    """The share of accesses of the most wanted 1, 2, 4, 8 … blocks: the same however blocks are scattered."""
    counts = sorted(Counter(one.offset for one in operations).values(), reverse=True)
    return [sum(counts[: 1 << power]) / len(operations) for power in range(int(math.log2(blocks)))]


SCATTERED = ("zipf", "pareto", "normal")


def difference(options: dict[str, str], fio: Stream, ours: Stream) -> str:
    """How two streams differ; an empty text where they do not."""
    if fio.flags != ours.flags:
        return f"flags {sorted(fio.flags)} and {sorted(ours.flags)}"
    theirs, mine = fio.transfers(), ours.transfers()
    kinds = [Counter(one.kind for one in operations) for operations in (theirs, mine)]
    share = int(options.get("rwmixread", 100 - int(options.get("rwmixwrite", "50"))))
    is_mix = options["rw"] in ("rw", "randrw") and 0 < share < 100
    sizes = "bssplit" in options or "bsrange" in options
    is_timed = "runtime" in options
    if not is_mix and kinds[0].keys() != kinds[1].keys():
        return f"operations {dict(kinds[0])} and {dict(kinds[1])}"
    count = [len(theirs), len(mine)]
    if not sizes and not is_timed and count[0] != count[1]:
        return f"{count[0]} operations and {count[1]}"
    if is_timed and abs(count[0] - count[1]) > max(10, max(count) / 3):
        return f"{count[0]} operations and {count[1]} in the same time"
    if is_mix and abs(kinds[0]["read"] / count[0] - kinds[1]["read"] / count[1]) > 4 * math.sqrt(0.5 / min(count)):
        return f"{kinds[0]['read']} reads of {count[0]} and {kinds[1]['read']} of {count[1]}"
    if sizes and abs(count[0] / count[1] - 1) > 5 / math.sqrt(min(count)):
        return f"{count[0]} operations and {count[1]}"
    if not alike([one.size for one in theirs], [one.size for one in mine]):
        return "sizes"
    return order_differs(options, fio, ours, is_mix=is_mix) or sync_differs(options, fio, ours, is_mix=is_mix)


def order_differs(options: dict[str, str], fio: Stream, ours: Stream, *, is_mix: bool) -> str:
    """How the places of operations differ, and their order where there is one."""
    theirs, mine = fio.transfers(), ours.transfers()
    access = options["rw"]
    is_random = access.startswith("rand")
    has_map = is_random and options.get("norandommap", "0") == "0" and "random_distribution" not in options and ":" not in access
    sizes = "bssplit" in options or "bsrange" in options
    if options.get("random_distribution", "").startswith(SCATTERED):
        blocks = 1 + max(one.offset for one in theirs) // theirs[0].size
        pairs = list(zip(wanted_share(theirs, blocks), wanted_share(mine, blocks), strict=True))
        most = max(abs(one - other) for one, other in pairs)
        return f"most wanted blocks differ by {most:.2f} of all accesses: {pairs}" if most > 0.08 else ""
    if is_random and not has_map:
        return "" if alike([one.offset for one in theirs], [one.offset for one in mine]) else "places"
    if sizes and is_random:
        return covers_otherwise(theirs, mine)
    if sizes:
        return next((f"{kind} is not in order" for kind in ("read", "write") if not in_order(mine, kind)), "")
    if is_mix and not is_random:
        return next((f"{kind} is not in order" for kind in ("read", "write") if not in_order(mine, kind)), "")
    if is_random and "runtime" not in options:
        places = [Counter((one.offset, one.size) for one in operations) for operations in (theirs, mine)]
        return "" if abs_same(places, fio, ours) else "places, though each block comes once a pass"
    if is_random:
        return "" if alike([one.offset for one in theirs], [one.offset for one in mine]) else "places"
    shorter = min(len(theirs), len(mine))
    return "" if theirs[:shorter] == mine[:shorter] else "order"


def abs_same(places: list[Counter], fio: Stream, ours: Stream) -> bool:
    """Whether both came to the same blocks equally often; of a pass that is cut, to as many blocks."""
    if places[0] == places[1]:
        return True
    blocks = len(places[0].keys() | places[1].keys())
    rest = len(fio.transfers()) % blocks
    spread = [sorted(counter.values()) for counter in places]
    return rest > 0 and sum(spread[0]) == sum(spread[1]) and max(spread[0]) == max(spread[1])


def covers_otherwise(theirs: list[Operation], mine: list[Operation]) -> str:
    """How the blocks of the smallest size are covered otherwise: each once a pass, but for those of a pass that is cut."""
    unit = min(one.size for one in theirs)
    covered = [Counter(at // unit for one in side for at in range(one.offset, one.offset + one.size, unit)) for side in (theirs, mine)]
    times = [(max(counter.values()) - min(counter.values()), max(counter.values())) for counter in covered]
    if times[0][1] != times[1][1] or max(times[0][0], times[1][0]) > 1:
        return f"blocks are used {times[0][1]} and {times[1][1]} times, with differences of {times[0][0]} and {times[1][0]}"
    blocks = [sum(counter.values()) for counter in covered]
    # The operation that comes to the last byte is a whole one.
    if abs(blocks[0] - blocks[1]) > max(one.size for one in theirs) // unit:
        return f"{blocks[0]} and {blocks[1]} blocks"
    return "" if alike([one.offset for one in theirs], [one.offset for one in mine]) else "places"


def in_order(operations: list[Operation], kind: str) -> bool:
    """Whether the operations of a kind follow each other from the first place on, beginning again at the end."""
    ones = [one for one in operations if one.kind == kind]
    first = min((one.offset for one in operations), default=0)
    at = first
    for one in ones:
        if one.offset not in (at, first):
            return False
        at = one.offset + one.size
    return not ones or ones[0].offset == first


def sync_differs(options: dict[str, str], fio: Stream, ours: Stream, *, is_mix: bool) -> str:
    """How fsync and fdatasync differ: in number, and in place where the order of operations is the same."""
    if is_mix:
        # Which of the operations write is drawn, and with that where a sync is due.
        return "" if fio.syncs().keys() == ours.syncs().keys() else f"syncs {fio.syncs()} and {ours.syncs()}"
    if "runtime" in options or "bssplit" in options or "bsrange" in options:
        return ""
    if fio.syncs() != ours.syncs():
        return f"syncs {fio.syncs()} and {ours.syncs()}"
    kinds = [[one.kind for one in stream.operations] for stream in (fio, ours)]
    is_deep = options.get("iodepth", "1") != "1"
    return "" if kinds[0] == kinds[1] or is_deep else "order of syncs"


def left(directory: Path) -> dict[str, int]:
    """The files that are left with their sizes, but for what a tool writes about its run."""
    paths = (path for path in directory.rglob("*") if path.is_file())
    files = {str(path.relative_to(directory)): path.stat().st_size for path in paths}
    return {name: size for name, size in files.items() if not name.endswith((".state", ".parquet", ".ppl", ".fio"))}


def options_of_streams(one: JobSet) -> dict[str, str]:
    """The options that all sections have, or that tell how to compare."""
    return {"rw": "read"} | one.options


class Pair:
    """One set run by both."""

    def __init__(self, one: JobSet, program: Path, room: Path) -> None:
        self.set, self.program, self.room = one, program, room
        self.theirs, self.ours = room / "fio", room / "lastrank"
        for directory in (self.theirs, self.ours):
            directory.mkdir(parents=True)
            for name in one.options.get("directory", "").split(":"):
                (directory / name).mkdir(exist_ok=True)
            (directory / "job.fio").write_text(one.text)

    def outcome(self) -> tuple[str, str]:
        """`equal`, `refused` or `different`, and why."""
        imported = subprocess.run(
            [self.program, "import", "job.fio", "-o", "job.ppl"], cwd=self.ours, capture_output=True, text=True, check=False
        )
        if imported.returncode == 2:
            return "refused", imported.stderr.strip().splitlines()[-1]
        if imported.returncode != 0:
            return "different", f"import ended with {imported.returncode}: {imported.stderr.strip()}"
        done, calls = trace(["fio", "--output=/dev/null", "job.fio"], self.theirs, self.room / "fio.log")
        if done.returncode != 0:
            return "refused", f"by fio: {done.stderr.strip()}"
        theirs, depth = of_fio(calls, self.theirs)
        run = [self.program, "run", "job.ppl", "--quiet", "--report", "none", "--no-causes", "-o", "run.parquet"]
        done, calls = trace(run, self.ours, self.room / "lastrank.log", inject=NO_RING)
        if done.returncode != 0:
            return "different", f"the run ended with {done.returncode}: {done.stderr.strip()}"
        ours = of_lastrank(calls, self.ours)
        why = self.compared(theirs, ours) or self.files_differ() or self.depth_differs(depth)
        return ("different", why) if why else ("equal", "")

    def compared(self, theirs: list[Stream], ours: list[Stream]) -> str:
        def key(stream: Stream, root: Path) -> tuple:
            kinds = Counter(one.kind for one in stream.transfers())
            places = [one.offset for one in stream.transfers()]
            return os.path.relpath(stream.file, root), sorted(kinds), len(kinds) == 1 and len(places), min(places)

        options = options_of_streams(self.set)
        theirs = [one for one in theirs if not one.file.endswith(".state")]
        if "exitall" in self.set.text:
            # How far a job came that another one ended is a matter of time.
            theirs, ours = ([one for one in side if "/long." not in one.file] for side in (theirs, ours))
        pairs = [(key(one, self.theirs), one) for one in theirs], [(key(one, self.ours), one) for one in ours]
        if self.set.options.get("verify"):
            return verified_differ(theirs, ours)
        theirs_sorted, ours_sorted = (sorted(side, key=lambda pair: pair[0]) for side in pairs)
        names = [[pair[0][0] for pair in side] for side in (theirs_sorted, ours_sorted)]
        if names[0] != names[1]:
            return f"processes and files {names[0]} and {names[1]}"
        for (_, fio), (_, our) in zip(theirs_sorted, ours_sorted, strict=True):
            section = options if self.set.text.count("[") < 3 else options_of(self.set, fio)
            if why := difference(section, fio, our):
                return f"{os.path.basename(fio.file)}: {why}"
        return ""

    def files_differ(self) -> str:
        theirs, ours = left(self.theirs), left(self.ours)
        return "" if theirs == ours else f"files left {theirs} and {ours}"

    def depth_differs(self, depth: int) -> str:
        """How the most operations in flight differ, where fio had several."""
        asked = int(self.set.options.get("iodepth", "1"))
        program = (self.ours / "job.ppl").read_text()
        has_depth = "async depth=" in program
        if (depth > 1) != has_depth and asked > 1 and depth > 0:
            return f"{depth} in flight, and the program {'asks' if has_depth else 'does not ask'} for several"
        return "" if depth == 0 or not has_depth or depth <= asked else f"{depth} in flight of {asked}"


def options_of(one: JobSet, stream: Stream) -> dict[str, str]:
    """The options that hold for a stream of a file with several sections: by what it did."""
    kinds = {operation.kind for operation in stream.transfers()}
    places = [operation.offset for operation in stream.transfers()]
    word = "rw" if len(kinds) == 2 else kinds.pop()
    is_random = word == "read" and places != sorted(places)
    options = {"rw": f"rand{word}" if is_random else word}
    return options | ({"runtime": "1"} if "runtime" in one.text and word == "read" else {})


def verified_differ(theirs: list[Stream], ours: list[Stream]) -> str:
    """Writing and verifying: the same transfers of each file, whatever their order."""
    def sums(streams: list[Stream]) -> Counter:
        return Counter((os.path.basename(one.file), *operation_of(one, at)) for one in streams for at in range(len(one.transfers())))

    def operation_of(stream: Stream, at: int) -> tuple:
        operation = stream.transfers()[at]
        return operation.kind, operation.offset, operation.size

    first, second = sums(theirs), sums(ours)
    return "" if first == second else f"transfers {first - second} and {second - first}"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, program: Path) -> dict[str, tuple[str, str]]:
    for tool in ("fio", "strace"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not there")
    room = tmp_path_factory.mktemp("beside-fio")
    with ThreadPoolExecutor(6) as pool:
        pairs = {one.name: Pair(one, program, room / str(number)) for number, one in enumerate(SETS)}
        found = dict(zip(pairs, pool.map(Pair.outcome, pairs.values()), strict=True))
    table = shown(found)
    print(table)
    if path := os.environ.get("LASTRANK_WORKLOADS_TABLE"):
        Path(path).write_text(table + "\n")
    return found


def shown(found: dict[str, tuple[str, str]]) -> str:
    lines = [f"{state:9} {name}{f'  [{why}]' if why else ''}" for name, (state, why) in found.items()]
    counts = Counter(state for state, _ in found.values())
    total = ", ".join(f"{state} {counts[state]}" for state in ("equal", "refused", "different"))
    return "\n".join([*lines, f"{len(found)} sets: {total}"])


def test_no_set_does_something_else(outcomes: dict[str, tuple[str, str]]) -> None:
    different = {name: why for name, (state, why) in outcomes.items() if state == "different"}
    assert not different, different


def test_most_sets_are_carried_out_and_every_refusal_has_a_way_out(outcomes: dict[str, tuple[str, str]]) -> None:
    equal = [name for name, (state, _) in outcomes.items() if state == "equal"]
    assert len(equal) > len(outcomes) / 2
    for name, (state, why) in outcomes.items():
        assert state != "refused" or len(why) > 20, name


@pytest.mark.parametrize(("engine", "depth"), [("libaio", 8), ("psync", 1)])
def test_as_many_operations_are_in_flight(program: Path, tmp_path: Path, engine: str, depth: int) -> None:
    for tool in ("fio", "strace"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not there")
    text = f"[job]\nrw=randread\nbs=16k\nsize=4m\ndirect=1\niodepth=8\nioengine={engine}\n"
    (tmp_path / "job.fio").write_text(text)
    _, calls = trace(["fio", "--output=/dev/null", "job.fio"], tmp_path, tmp_path / "log")
    streams, most = of_fio(calls, tmp_path)
    assert len(streams[0].transfers()) == 256
    assert max(most, 1) == depth
    # What fio left is not written over.
    (tmp_path / "job.0.0").unlink()
    subprocess.run([program, "import", "job.fio", "-o", "job.ppl"], cwd=tmp_path, check=True, capture_output=True)
    run = [program, "run", "job.ppl", "--quiet", "--report", "none", "-c", "-o", "run.parquet"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    table = parquet.read_table(tmp_path / "run.parquet").to_pandas()
    reads = table[table.operation == "fread"]
    assert len(reads) == 256
    begins = [(begin, 1) for begin in reads.start_ns]
    ends = [(begin + lasted, -1) for begin, lasted in zip(reads.start_ns, reads.duration_ps // 1000, strict=True)]
    flying = highest = 0
    for _, step in sorted(begins + ends, key=lambda event: (event[0], event[1])):
        flying += step
        highest = max(highest, flying)
    assert highest == depth


def test_a_job_begins_when_the_one_that_it_waits_for_has_ended(program: Path, tmp_path: Path) -> None:
    sections = {"w": "rw=write\nnumjobs=2", "x": "rw=read\nsize=1m\ntime_based\nruntime=1\nrate_iops=100", "r": "wait_for=w\nrw=read"}
    text = "[global]\nbs=16k\nsize=256k\n" + "".join(f"[{name}]\n{options}\n" for name, options in sections.items())
    (tmp_path / "job.fio").write_text(text)
    subprocess.run([program, "import", "job.fio", "-o", "job.ppl"], cwd=tmp_path, check=True, capture_output=True)
    run = [program, "run", "job.ppl", "--quiet", "--report", "none", "-c", "-o", "run.parquet"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    table = parquet.read_table(tmp_path / "run.parquet").to_pandas()
    table = table[table.kind == "operation"].assign(end_ns=lambda all: all.start_ns + all.duration_ps // 1000)
    begin, end = table.groupby("label").start_ns.min(), table.groupby("label").end_ns.max()
    assert begin["r"] >= end["w"] and end["x"] > begin["r"]
    (tmp_path / "job.fio").write_text(text.replace("wait_for=w", "wait_for=z"))
    refused = subprocess.run([program, "import", "job.fio"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "wait_for=z names no job before this one" in refused.stderr


def test_every_option_of_fio_has_a_class(program: Path, tmp_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not there")
    told = subprocess.run(["fio", "--cmdhelp=all"], capture_output=True, text=True, check=True).stdout
    engines = ["libaio", "io_uring"]
    told += "".join(subprocess.run(["fio", f"--enghelp={one}"], capture_output=True, text=True, check=True).stdout for one in engines)
    names = [line.split(":")[0].strip() for line in told.splitlines() if ":" in line]
    assert len(names) > 200
    # All mistakes are told at once, so one file asks for all.
    (tmp_path / "job.fio").write_text("[job]\nrw=read\nsize=1m\n" + "".join(f"{name}=\n" for name in names))
    refused = subprocess.run([program, "import", "job.fio"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    unknown = [line for line in refused.stderr.splitlines() if "not known here" in line]
    assert not unknown
