#!/usr/bin/env python3
"""Compares how long applications and their replays take: on the file system of the recording, on tmpfs, over NFS and by sshfs.

    python3 benches/trace/as_recorded.py [--bin target/release/lastrank] [--rounds 3] [--on DIR] [--seconds 300]
                                         [--places disk,tmpfs,ssh,nfs] [--recorder quiet|complete]
                                         [--causes] [--confined] [NAME …]

Each application is recorded in `--on`, a directory of the file system in question: quietly, which costs least, or completely
where the quiet recorder does not see enough (`--recorder complete`: always so). In `--rounds` rounds at most the application
itself (bare, without a recorder) runs in a place, is recorded there where that is a disk, and is replayed: pauses are those of
the machine as fast as it was then. In other places the replays are those of the same recordings. The medians are printed:

    recorded   how long the application took under the recorder, where it was recorded
    less       the same without what the recorder added, as the recording tells it
    bare       how long the application takes in this place
    paused     the replay as a closed loop: each call begins behind the one before and the pause of the application
    starts     the replay `--as-recorded`, an open loop: each call begins when it began in the recording, without what the
               recorder added; only where it was recorded, since elsewhere it asks another question

Times are medians. Ratios are those of one round each: their median, in brackets an interval that holds the median with
95 % (of order statistics; below six rounds the least and the largest):

    paused/bare, starts/bare    of both replays to the application, which ran some seconds before; the closed loop is the one to
                                judge by in another place
    starts/less                 of the open loop to what its recording says that the application took

Ext4 gives no inode away again for some minutes after its file was removed, and searches past them: in a directory where a
thousand files were removed, creating one takes up to a millisecond in place of 20 us. What is made on the disk is therefore
removed at the end of the comparison, and until then only emptied; files that were removed there less than six minutes
before, also by this program, make the rows of the disk mean little.

An application starts and ends outside of its calls on files (the dynamic linker, its exit), a replay does not: what the
recording says of these times, without the recorder, is added to the replays. sshfs has a server of its own on this machine
and waits for it at each write, at the machine's speed. The last column tells what `lastrank fidelity` finds of other
operations, bytes or failures. Nothing is asserted.

`nfs` makes two rows, both of User-Mode Linux (see tests/filesystems/nfs.py): `uml` is an ext4 file system of that machine,
where applications are recorded, and `nfs` replays these recordings. Those of this machine have its pauses, which are shorter
than what applications compute in User-Mode Linux, where a system call takes 15 us. The quiet recorder reads the
processor's counter there, since the clock is such a call. The complete recorder sees no call there, since that kernel has no
PTRACE_GET_SYSCALL_INFO.
"""

import argparse
import contextlib
import json
import math
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from traces import applications as known  # noqa: E402
from traces.applications import Application, missing  # noqa: E402

# Whether replays look for the causes of slow operations, which takes time that the application does not.
CAUSES = "--causes" in sys.argv
# Whether the kernel confines replays, which it does not do with applications.
CONFINED = "--confined" in sys.argv

# Where the quiet recorder saw less of the reads and writes, in percent, the replay would differ.
ENOUGH = 99.0

# Seconds between what prepares an application and its start.
REST = 0.5

THREADS = known.THREADS.replace("range(5)", "range(60)").replace("range(3)", "range(30)")
SMALL_INSERTS = "for i in $(seq 200); do echo \"INSERT INTO t(b) VALUES('row $i');\"; done"


def tree(home: Path) -> None:
    """A thousand files of up to 90 KB in twenty directories."""
    for folder in range(20):
        inner = home / "src" / f"d-{folder:02}"
        inner.mkdir(parents=True)
        for number in range(50):
            (inner / f"f-{number:03}").write_bytes(b"7\n" * (900 * number))


def archive(home: Path) -> None:
    tree(home)
    subprocess.run(["tar", "cf", "all.tar", "src"], cwd=home, check=True)
    shutil.rmtree(home / "src")


def repository(home: Path) -> None:
    work = home / "origin"
    work.mkdir()
    tree(work)
    known.git(work, "init", "-q")
    known.git(work, "add", ".")
    known.git(work, "commit", "-q", "-m", "all")


APPLICATIONS = [
    Application("sqlite bulk insert", ("sqlite3",), ("sqlite3", "t.db", known.SQL)),
    Application(
        "sqlite 200 transactions",
        ("sqlite3",),
        ("sh", "-c", f"(echo 'CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);'; {SMALL_INSERTS}) | sqlite3 t.db"),
    ),
    Application("tar c", ("tar",), ("tar", "cf", "all.tar", "src"), tree),
    Application("tar x", ("tar",), ("tar", "xf", "all.tar"), archive),
    Application("cp -r", ("cp",), ("cp", "-r", "src", "copy"), tree),
    Application("four threads", ("python3",), (sys.executable, "-S", "-c", THREADS)),
    Application("git clone", ("git",), ("git", "clone", "-q", "--no-local", "origin", "clone"), repository),
    Application("PostgreSQL under pgbench", ("psql", "pgbench", "setpriv"), known.pgbench(), known.database),
]


class Failed(Exception):
    """A command of a trial failed: what it said."""


@dataclass
class Recorded:
    """A recording with its programs."""

    folder: Path
    quiet: bool
    # The directory of the application, and how many seconds it took.
    only: Path
    took: float

    def program(self, way: str) -> Path:
        return self.folder / f"{way}.ppl"


@dataclass
class Done:
    """A command that ended: seconds of wall time, exit status, what it wrote on its error output."""

    took: float
    status: int
    said: str


def call(words: list, folder: Path) -> Done:
    begun = time.monotonic()
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    return Done(time.monotonic() - begun, done.returncode, done.stderr.decode(errors="replace"))


def checked(words: list, done: Done) -> float:
    if done.status not in (0, 3):
        raise Failed(f"{shlex.join(map(str, words))}: {done.said[-600:]}")
    return done.took


class Place:
    """A directory of a file system; its `source` is the place, on the same machine, where what is replayed here is recorded."""

    def __init__(self, base: Path, source: "Place | None", shared: Path | None = None) -> None:
        self.base = base
        self.source = source or self
        # A directory of this machine in which the machine of the place also reads and writes.
        self.shared = shared

    def run(self, words: list, folder: Path) -> float:
        """Seconds of wall time."""
        return checked(words, self.call(words, folder))

    @contextlib.contextmanager
    def scratch(self):
        """A directory for recordings, programs and run files, by its path on this machine."""
        with tempfile.TemporaryDirectory(prefix="lastrank-traces-", dir=self.shared) as folder:
            os.chmod(folder, 0o755)
            yield Path(folder)


class Here(Place):
    """A directory of this machine; where it `keeps`, files are removed at the end of the comparison."""

    def __init__(self, base: Path, source: Place | None = None, keeps: bool = False) -> None:
        super().__init__(base, source)
        self.keeps = keeps
        self.kept: list[str] = []

    @contextlib.contextmanager
    def folder(self):
        folder = tempfile.mkdtemp(prefix="lastrank-traces-", dir=self.base)
        self.kept.append(folder)
        try:
            yield Path(folder)
        finally:
            if self.keeps:
                for file in Path(folder).rglob("*"):
                    if file.is_file() and not file.is_symlink():
                        os.chmod(file, 0o600)
                        os.truncate(file, 0)
            else:
                self.remove()

    def remove(self) -> None:
        while self.kept:
            shutil.rmtree(self.kept.pop())

    def call(self, words: list, folder: Path) -> Done:
        return call(words, folder)

    def named(self, path: Path) -> Path:
        return path

    @contextlib.contextmanager
    def home(self, application: Application):
        with self.folder() as folder:
            home = folder / "home"
            home.mkdir()
            application.prepare(home)
            # So that writing back what was prepared is no part of what is measured. The rest is for file systems where nothing
            # is written back: begun at once, `git clone` takes 5% less time on tmpfs than behind any pause.
            os.sync()
            time.sleep(REST)
            yield home

    @contextlib.contextmanager
    def empty(self):
        with self.folder() as folder:
            yield folder / "replay"


class Inside(Place):
    """A directory of the tests' machine with an NFS mount: on its disk, or on the mount. Paths are those inside of it."""

    def __init__(self, client, base: Path, source: Place | None = None) -> None:
        super().__init__(base, source, client.work)
        self.client = client
        self.count = 0

    def call(self, words: list, folder: Path) -> Done:
        text = f"cd {folder}; begun=$EPOCHREALTIME; {shlex.join(map(str, words))} >/dev/null 2>/dev/shm/err; status=$?; "
        text += "echo $begun $EPOCHREALTIME; cat /dev/shm/err >&2; exit $status"
        done = self.client.run("bash", "-c", text, seconds=120)
        begun, ended = (done.stdout.split() or ["0", "0"])[-2:]
        return Done(float(ended) - float(begun), done.returncode, done.stderr)

    def named(self, path: Path) -> Path:
        return self.client.work_inside / path.relative_to(self.client.work)

    def do(self, *words: object) -> None:
        done = self.client.run(*words, seconds=120)
        if done.returncode != 0:
            raise Failed(done.stderr[-600:])

    @contextlib.contextmanager
    def home(self, application: Application):
        # Once for all rounds: what is removed on this machine would delay the rows of its disk.
        prepared = self.client.work / f"prepared-{application.name.replace(' ', '-')}"
        if not prepared.exists():
            prepared.mkdir()
            application.prepare(prepared)
        self.count += 1
        home = self.base / f"home-{self.count}"
        # The machine writes back what it has after each command.
        self.do("cp", "-a", self.named(prepared), home)
        yield home
        self.do("rm", "-rf", home)

    @contextlib.contextmanager
    def empty(self):
        self.count += 1
        folder = self.base / f"replay-{self.count}"
        yield folder
        self.do("rm", "-rf", folder)


@contextlib.contextmanager
def one_processor():
    """Meanwhile what is started stays on one processor.

    User-Mode Linux runs a program in another process than its kernel, and changes between them at each system call: that takes
    15 us on one processor, and 50 to 75 across two.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def told(lastrank: Path, folder: Path, only: Path, run_file: Path) -> dict:
    words = [lastrank, "fidelity", folder / "app.parquet", run_file, "--only", only, "--json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise Failed(done.stderr[-600:])
    return json.loads(done.stdout)


def recorded_once(lastrank: Path, application: Application, how: tuple[Place, Path, bool]) -> tuple[float, Path] | None:
    """Seconds of a recording, and the directory of the application; `None` where the quiet recorder saw too little."""
    place, recording, quiet = how
    with place.home(application) as home:
        quietly = ["--quiet"] if quiet else []
        words = [lastrank, "record", *quietly, "-o", place.named(recording), "--", *application.command]
        done = place.call(words, home)
    if quiet:
        share = re.search(r"([0-9.]+) % \(", done.said)
        if done.status != 0 or "cannot be preloaded" in done.said or not share or float(share[1]) < ENOUGH:
            return None
    return checked(words, done), home


def record(lastrank: Path, application: Application, how: tuple[Place, Path, str]) -> Recorded:
    place, folder, recorder = how
    folder.mkdir(mode=0o755)
    for quiet in [True, False] if recorder == "quiet" else [False]:
        once = recorded_once(lastrank, application, (place, folder / "app.parquet", quiet))
        if once is None:
            continue
        took, home = once
        for way, option in (("paused", ["--least-gap-us", "1"]), ("starts", ["--as-recorded"])):
            words = [lastrank, "import", "app.parquet", "-o", f"{way}.ppl", "--only", home, *option]
            # A program is the same wherever it is made; here that is quickest.
            checked(words, call(words, folder))
        return Recorded(folder, quiet, home, took)
    raise Failed("not recorded")


def replay(lastrank: Path, way: str, place: Place, recorded: Recorded) -> Path:
    """The run file of a replay."""
    run_file = recorded.folder / f"{way}.parquet"
    run_file.unlink(missing_ok=True)
    with place.empty() as target:
        # By short names, as most applications write them: each directory of a long one takes a look.
        words = [lastrank, "replay", place.named(recorded.program(way)), "-o", place.named(run_file)]
        words += ["--set", f"dir={target.name}"]
        words += [] if CAUSES else ["--no-causes"]
        words += [] if CONFINED else ["--unconfined"]
        if way == "starts":
            words.append("--as-recorded")
        place.run(words, target.parent)
    return run_file


def ratio(times: list[float], bare: list[float]) -> str:
    """The median of the rounds' ratios, and what holds that of all rounds with 95%."""
    ratios = sorted(time / alone for time, alone in zip(times, bare, strict=True))
    # How many of the ratios fall on either side of the median is distributed as heads of coins.
    below, chance = 0, 0.0
    while (chance := chance + math.comb(len(ratios), below) / 2 ** len(ratios)) <= 0.025:
        below += 1
    low = max(below - 1, 0)
    return f"{statistics.median(ratios):.2f} ({ratios[low]:.2f}–{ratios[-1 - low]:.2f})"


def rows(lastrank: Path, application: Application, places: dict[str, Place], limits: tuple) -> None:
    rounds, share, until, recorder = limits
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        sources = dict.fromkeys(place.source for place in places.values())
        folders = {source: stack.enter_context(source.scratch()) for source in sources}
        recordings: dict[Place, list[Recorded]] = {source: [] for source in sources}
        for number, (name, place) in enumerate(places.items(), 1):
            if time.monotonic() > until:
                print(f"{application.name:24} {name:6} skipped: the time is over (--seconds)")
                continue
            # The database has a user of its own, who can do nothing there.
            if name == "ssh" and application.name.startswith("PostgreSQL"):
                continue
            source, made = place.source, recordings[place.source]
            ways = ["paused", "starts"] if place is source else ["paused"]
            bare, told_each, found = [], [], {way: [] for way in ways}
            differs = set()
            for again in range(rounds):
                if again and time.monotonic() - begun > share * number / len(places):
                    break
                with place.home(application) as home:
                    bare.append(place.run(list(application.command), home))
                if len(made) <= again and (place is source or not made):
                    made.append(record(lastrank, application, (source, folders[source] / f"take-{again}", recorder)))
                recorded = made[again % len(made)]
                for way, times in found.items():
                    one = told(lastrank, recorded.folder, recorded.only, replay(lastrank, way, place, recorded))
                    own = one["application"]
                    times.append(one["replays"][0]["elapsed_s"] + own["ran_s"] - own["elapsed_s"])
                    differs |= {
                        word for word in ("same_calls", "same_bytes") if not one[word]
                    } | {word for word in ("more_failures", "more_successes") if one[word]}
                told_each.append(own)
            alone = statistics.median(bare)
            ms = [statistics.median(own[what] for own in told_each) for what in ("recorded_s", "ran_s")]
            ms += [alone, *(statistics.median(times) for times in found.values())]
            cells = [f"{value * 1e3:9.1f}" for value in ms] + [" " * 9] * (5 - len(ms))
            ratios = [ratio(times, bare) for times in found.values()]
            if "starts" in found:
                ratios.append(ratio(found["starts"], [own["ran_s"] for own in told_each]))
            cells += [f"{text:>18}" for text in ratios + [""] * (3 - len(ratios))]
            print(
                f"{application.name:24} {'quiet' if recorded.quiet else 'complete':9}{name:6}"
                + "".join(cells) + f"  {', '.join(sorted(differs)) or 'the same'}",
                flush=True,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="applications whose name contains one of these words")
    parser.add_argument("--bin", type=Path, default=ROOT / "target" / "release" / "lastrank")
    parser.add_argument("--on", type=Path, default=Path("/var/tmp"), help="where applications are recorded")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=300, help="no place is begun after so long")
    parser.add_argument("--places", default="disk,tmpfs,ssh,nfs")
    parser.add_argument("--causes", action="store_true", help="replays look for the causes of slow operations")
    parser.add_argument("--confined", action="store_true", help="replays are confined, as they are by default")
    parser.add_argument("--recorder", choices=["quiet", "complete"], default="quiet")
    args = parser.parse_args()
    wanted = args.places.split(",")
    until = time.monotonic() + args.seconds
    chosen = [one for one in APPLICATIONS if not args.names or any(word in one.name for word in args.names)]
    # A place whose share of the time is over gets no further round, so that the last ones get one.
    share = args.seconds / max(len(chosen), 1)
    lastrank = args.bin.resolve()
    with contextlib.ExitStack() as stack:
        places: dict[str, Place] = {}
        if {"disk", "tmpfs", "ssh"} & set(wanted):
            disk = Here(args.on, keeps=True)
            stack.callback(disk.remove)
            places["disk"] = disk
        if "tmpfs" in wanted:
            places["tmpfs"] = Here(Path("/dev/shm"), disk)
        if "ssh" in wanted:
            from filesystems.sandbox import make_session_mounts_private, unmount_below
            from filesystems.ssh import ssh_mount

            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lastrank-ssh-")))
            # The database's user goes there.
            os.chmod(folder, 0o755)
            try:
                make_session_mounts_private(folder)
                stack.callback(unmount_below, folder)
                # What the server removes delays it as much as it does a disk of ours.
                places["ssh"] = Here(stack.enter_context(ssh_mount(folder)).path, disk, keeps=True)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                print(f"no sshfs: {error}")
        if "nfs" in wanted:
            from filesystems.nfs import nfs_client

            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lastrank-nfs-", dir=args.on)))
            os.chmod(folder, 0o755)
            try:
                with one_processor():
                    client = stack.enter_context(nfs_client(folder, memory="1G", disk="1G"))
                places["uml"] = Inside(client, client.disk)
                places["nfs"] = Inside(client, client.path, places["uml"])
            except BaseException as error:  # pytest's skip is no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                print(f"no NFS: {error}")
        heads = "".join(f"{word:>9}" for word in ("recorded", "less", "bare", "paused", "starts"))
        heads += "".join(f"{word:>18}" for word in ("paused/bare", "starts/bare", "starts/less"))
        print(f"{'times in ms, ratios':24} {'recorder':9}{'place':6}{heads}")
        for application in chosen:
            if absent := missing(application):
                print(f"{application.name:24} skipped: {', '.join(absent)} is not installed")
                continue
            try:
                rows(lastrank, application, places, (args.rounds, share, until, args.recorder))
            except (Failed, RuntimeError, subprocess.SubprocessError) as error:
                print(f"{application.name:24} failed: {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
