#!/usr/bin/env python3
"""Compares how long applications and their replays take: on the file system of the recording, on tmpfs, over NFS and by sshfs.

    python3 benches/trace/as_recorded.py [--bin target/release/lastrank] [--rounds 3] [--on DIR] [--seconds 300]
                                         [--places disk,tmpfs,ssh,nfs] [--recorder quiet|complete] [--causes] [--confined] [NAME …]

Each application is recorded in `--on`, a directory of the file system in question: quietly, which costs least, or completely
where the quiet recorder does not see enough (`--recorder complete`: always so). In `--rounds` rounds at most the application
itself (bare, without a recorder) runs in a place, is recorded there where that is the disk, and is replayed: pauses are those of
the machine as fast as it was then. In other places the replays are those of the same recordings. The medians are printed:

    recorded   how long the application took under the recorder, where it was recorded
    less       the same without what the recorder added, as the recording tells it
    bare       how long the application takes in this place
    paused     the replay as a closed loop: each call begins behind the one before and the pause of the application
    starts     the replay `--as-recorded`, an open loop: each call begins when it began in the recording, without what the
               recorder added; only where it was recorded, since elsewhere it asks another question
    ratio      of both replays to the bare application; the closed loop is the one to judge by in another place

bare, paused and starts are medians, followed by the ratio of the least times, which other work on the machine disturbs less.

Ext4 gives no inode away again for some minutes after its file was removed, and searches past them: in a directory where a
thousand files were removed, creating one takes up to a millisecond in place of 20 us. What is made on the disk is therefore
removed at the end of the comparison, and until then only emptied; files that were removed there less than five minutes
before, also by this program, make the rows of the disk mean little.

An application starts and ends outside of its calls on files (the dynamic linker, its exit), a replay does not: what the
recording says of these times, without the recorder, is added to the replays. Over NFS everything runs in User-Mode Linux,
whose system calls cost tens of microseconds (see tests/filesystems/nfs.py), and one round is enough. sshfs has a server of its
own on this machine and waits for it at each write, at the machine's speed. `differs` tells what
`lastrank fidelity` finds of other operations, bytes or failures. Nothing is asserted.
"""

import argparse
import contextlib
import json
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


class Here:
    """A directory of this machine; where it `keeps`, files are removed at the end of the comparison."""

    def __init__(self, base: Path, keeps: bool = False) -> None:
        self.base = base
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

    def run(self, words: list, home: Path) -> float:
        """Seconds of wall time."""
        begun = time.monotonic()
        done = subprocess.run(
            [str(word) for word in words], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )
        took = time.monotonic() - begun
        if done.returncode not in (0, 3):
            raise Failed(f"{shlex.join(map(str, words))}: {done.stderr.decode(errors='replace')[-600:]}")
        return took

    @contextlib.contextmanager
    def home(self, application: Application):
        with self.folder() as folder:
            home = folder / "home"
            home.mkdir()
            application.prepare(home)
            # So that writing back what was prepared is no part of what is measured.
            os.sync()
            yield home

    @contextlib.contextmanager
    def empty(self):
        with self.folder() as folder:
            yield folder / "replay"


class OverNfs:
    """The NFS mount of the tests: paths are those inside of its machine."""

    def __init__(self, client) -> None:
        self.client = client
        self.count = 0

    def run(self, words: list, home: Path) -> float:
        text = f'cd {home}; begun=$EPOCHREALTIME; {shlex.join(map(str, words))} >/dev/null 2>/dev/shm/err; status=$?; '
        text += '[ $status = 0 ] || [ $status = 3 ] || { cat /dev/shm/err >&2; exit 1; }; echo $begun $EPOCHREALTIME'
        done = self.client.run("bash", "-c", text, seconds=120)
        if done.returncode != 0:
            raise Failed(f"{shlex.join(map(str, words))}: {done.stderr[-600:]}")
        begun, ended = done.stdout.split()[-2:]
        return float(ended) - float(begun)

    @contextlib.contextmanager
    def home(self, application: Application):
        self.count += 1
        prepared = self.client.work / f"prepared-{self.count}"
        prepared.mkdir()
        application.prepare(prepared)
        home = self.client.path / f"home-{self.count}"
        inside = self.client.work_inside / prepared.name
        done = self.client.run("cp", "-a", inside, home, seconds=120)
        if done.returncode != 0:
            raise Failed(done.stderr[-600:])
        yield home
        self.client.run("rm", "-rf", home, seconds=120)
        shutil.rmtree(prepared)

    @contextlib.contextmanager
    def empty(self):
        self.count += 1
        folder = self.client.path / f"replay-{self.count}"
        yield folder
        self.client.run("rm", "-rf", folder, seconds=120)


def told(lastrank: Path, folder: Path, only: Path, run_file: Path) -> dict:
    words = [lastrank, "fidelity", folder / "app.parquet", run_file, "--only", only, "--json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise Failed(done.stderr[-600:])
    return json.loads(done.stdout)


def recorded_once(lastrank: Path, application: Application, how: tuple[Here, Path, bool]) -> tuple[float, Path] | None:
    """Seconds of a recording, and the directory of the application; `None` where the quiet recorder saw too little."""
    place, recording, quiet = how
    with place.home(application) as home:
        words = [lastrank, "record", *(["--quiet"] if quiet else []), "-o", recording, "--", *application.command]
        begun = time.monotonic()
        done = subprocess.run([str(word) for word in words], cwd=home, capture_output=True, text=True, check=False)
        took = time.monotonic() - begun
    if quiet:
        share = re.search(r"([0-9.]+) % \(", done.stderr)
        if done.returncode != 0 or "cannot be preloaded" in done.stderr or not share or float(share[1]) < ENOUGH:
            return None
    if done.returncode not in (0, 3):
        raise Failed(f"{shlex.join(map(str, words))}: {done.stderr[-600:]}")
    return took, home


def record(lastrank: Path, application: Application, place: Here, how: tuple[Path, str]) -> Recorded:
    folder, recorder = how
    folder.mkdir(mode=0o755)
    for quiet in [True, False] if recorder == "quiet" else [False]:
        once = recorded_once(lastrank, application, (place, folder / "app.parquet", quiet))
        if once is None:
            continue
        took, home = once
        for way, option in (("paused", ["--least-gap-us", "1"]), ("starts", ["--as-recorded"])):
            words = [lastrank, "import", "app.parquet", "-o", f"{way}.ppl", "--only", home, *option]
            place.run(words, folder)
        return Recorded(folder, quiet, home, took)
    raise Failed("not recorded")


def replay(lastrank: Path, way: str, place, run_file: tuple[Path, Path]) -> None:
    outside, inside = run_file
    outside.unlink(missing_ok=True)
    with place.empty() as target:
        # By short names, as most applications write them: each directory of a long one takes a look.
        words = [lastrank, "replay", inside.parent / f"{way}.ppl", "-o", inside, "--set", f"dir={target.name}"]
        words += [] if CAUSES else ["--no-causes"]
        words += [] if CONFINED else ["--unconfined"]
        if way == "starts":
            words.append("--as-recorded")
        place.run(words, target.parent)


def rows(lastrank: Path, application: Application, places: dict, limits: tuple, shared: Path | None) -> None:
    rounds, share, until, recorder = limits
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lastrank-traces-") as scratch:
        folder = Path(scratch)
        os.chmod(folder, 0o755)
        recordings = []
        for number, (name, place) in enumerate(places.items(), 1):
            if time.monotonic() > until:
                print(f"{application.name:24} {name:6} skipped: the time is over (--seconds)")
                continue
            # The database has a user of its own, who can do nothing there.
            if name in ("ssh", "nfs") and application.name.startswith("PostgreSQL"):
                continue
            ways = ["paused", "starts"] if name == "disk" else ["paused"]
            bare, told_each, found = [], [], {way: [] for way in ways}
            differs = set()
            # Of User-Mode Linux one round is enough: it is slow, and rough anyway.
            for again in range(1 if isinstance(place, OverNfs) else rounds):
                if again and time.monotonic() - begun > share * number / len(places):
                    break
                with place.home(application) as home:
                    bare.append(place.run(list(application.command), home))
                if len(recordings) <= again and (name == "disk" or not recordings):
                    how = (folder / f"take-{again}", recorder)
                    recordings.append(record(lastrank, application, places["disk"], how))
                recorded = recordings[again % len(recordings)]
                folder_here = inside = recorded.folder
                if isinstance(place, OverNfs):
                    # Its only round takes the recording in the middle.
                    recorded = sorted(recordings, key=lambda one: one.took)[len(recordings) // 2]
                    shutil.copy(recorded.program("paused"), shared / "paused.ppl")
                    folder_here, inside = shared, place.client.work_inside
                for way, times in found.items():
                    files = (folder_here / f"{way}.parquet", inside / f"{way}.parquet")
                    replay(lastrank, way, place, files)
                    one = told(lastrank, recorded.folder, recorded.only, files[0])
                    own = one["application"]
                    times.append(one["replays"][0]["elapsed_s"] + own["ran_s"] - own["elapsed_s"])
                    differs |= {
                        word for word in ("same_calls", "same_bytes") if not one[word]
                    } | {word for word in ("more_failures", "more_successes") if one[word]}
                told_each.append(own)
            alone = statistics.median(bare)
            ms = [statistics.median(own[what] for own in told_each) for what in ("recorded_s", "ran_s")]
            ms += [alone, *(statistics.median(times) for times in found.values())]
            ratios = [text for times in found.values() for text in (
                f"{statistics.median(times) / alone:.2f}", f"{min(times) / min(bare):.2f}")]
            cells = [f"{value * 1e3:.1f}" for value in ms] + [""] * (5 - len(ms)) + ratios + [""] * (4 - len(ratios))
            print(
                f"{application.name:24} {'quiet' if recorded.quiet else 'complete':9}{name:6}"
                + "".join(f"{cell:>9}" for cell in cells) + f"  {', '.join(sorted(differs)) or 'the same'}",
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
        disk = Here(args.on, keeps=True)
        stack.callback(disk.remove)
        places: dict = {"disk": disk}
        if "tmpfs" in wanted:
            places["tmpfs"] = Here(Path("/dev/shm"))
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
                places["ssh"] = Here(stack.enter_context(ssh_mount(folder)).path, keeps=True)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                print(f"no sshfs: {error}")
        shared = None
        if "nfs" in wanted:
            from filesystems.nfs import nfs_client

            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lastrank-nfs-")))
            try:
                client = stack.enter_context(nfs_client(folder, memory="1G"))
                places["nfs"], shared = OverNfs(client), client.work
            except BaseException as error:  # pytest's skip is no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                print(f"no NFS: {error}")
        heads = ("recorded", "less", "bare", "paused", "starts", "paused", "of least", "starts", "of least")
        print(f"{'times in ms, ratios':24} {'recorder':9}{'place':6}" + "".join(f"{word:>9}" for word in heads))
        for application in chosen:
            if absent := missing(application):
                print(f"{application.name:24} skipped: {', '.join(absent)} is not installed")
                continue
            try:
                rows(lastrank, application, places, (args.rounds, share, until, args.recorder), shared)
            except (Failed, RuntimeError, subprocess.SubprocessError) as error:
                print(f"{application.name:24} failed: {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
