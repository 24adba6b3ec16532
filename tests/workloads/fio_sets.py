"""Sets of fio's options: by hand where each matters, and drawn at random from a seed. Each is a small job file."""

import random
from dataclasses import dataclass

#: What is drawn from in a set at random: a name of an option and the values that it may have.
DRAWN = {
    "bs": ["4k", "8k", "16k", "64k"],
    "numjobs": ["1", "1", "2", "3"],
    "offset": ["0", "64k", "128k"],
    "overwrite": ["0", "1"],
    "invalidate": ["0", "1"],
    "fallocate": ["none", "native"],
    "end_fsync": ["0", "1"],
    "fsync": ["0", "0", "1", "3", "8"],
    "fdatasync": ["0", "0", "0", "2"],
    "sync": ["0", "0", "dsync", "sync"],
    "direct": ["0", "0", "1"],
    "io_size": ["", "", "100k", "1536k", "2m"],
    "number_ios": ["", "", "7", "1000"],
    "loops": ["1", "1", "1", "2"],
    "filesize": ["", "", "", "2m", "512k"],
    "filename": ["", "", "", "shared.dat", "one.dat:two.dat"],
    "nrfiles": ["1", "1", "1", "1", "4"],
    "norandommap": ["0", "0", "1"],
    "rwmixread": ["50", "80", "20"],
    "iodepth": ["1", "1", "8"],
    "ioengine": ["", "", "psync", "sync", "libaio"],
    "thread": ["0", "0", "1"],
    "group_reporting": ["1"],
    "randrepeat": ["0", "1"],
    "fadvise_hint": ["0", "1"],
    "startdelay": ["0"],
    "do_verify": [""],
    "gtod_reduce": ["0", "1"],
    "percentage_random": ["100"],
    "zero_buffers": ["0", "0", "0", "0", "0", "0", "0", "1"],
    "nice": ["", "", "", "", "", "", "", "", "5"],
    "iodepth_batch": ["1", "1", "1", "1", "1", "1", "16"],
}

ACCESS = ["read", "write", "randread", "randwrite", "rw", "randrw"]

#: By hand: what a rule of fio's needs, one a line; `/` stands for the end of a line.
BY_HAND = """
rw=randread / bs=4k / iodepth=16 / size=1m / direct=1
rw=read / bs=64k / size=1m / filesize=4m
rw=read / bs=64k / size=4m / filesize=1m
rw=rw / bs=64k / size=4m
rw=rw / bs=16k / size=1m / rwmixread=90
rw=rw / bs=16k / size=1m / rwmixread=100
rw=rw / bs=16k / size=1m / rwmixwrite=100
rw=write / bs=64k / size=1m / create_only=1
rw=write / bs=64k / size=300k
rw=randread / bs=64k / size=300k
rw=read / bs=64k / size=256k / io_size=600k
rw=randread / bs=64k / size=512k / io_size=2m
rw=read / bs=64k / size=512k / io_size=128k
rw=read:64k / bs=64k / size=512k
rw=read:-8k / bs=4k / size=128k
rw=write:-12k / bs=4k / size=256k
rw=read:-8k / bs=4k / size=64k / io_size=192k
rw=read:-8k / bs=4k / size=64k / loops=2
rw=randread / bssplit=4k/50:8k/50 / size=4m / norandommap=1 / number_ios=2000
rw=read:-4k / bs=4k / size=64k
rw=read / bs=4k / size=256k / zonemode=strided / zonesize=16k / zoneskip=32k
rw=read / bs=4k / size=256k / zonemode=strided / zonesize=16k / zoneskip=28k / loops=2
rw=read / bs=4k / size=256k / zonemode=strided / zonesize=16k / zoneskip=28k / io_size=1m
rw=write / bs=4k / size=256k / zonemode=strided / zonesize=16k / zoneskip=32k / io_size=96k
rw=read / bs=4k / size=256k / zonemode=strided / zonesize=16k / zoneskip=44k
rw=read / bs=4k / size=256k / offset=64k / zonemode=strided / zonesize=16k / zoneskip=32k / io_size=64k
rw=randread / bs=4k / ba=16k / size=4m / norandommap=1 / number_ios=2000
rw=randwrite / bssplit=512/20:1k/30:4k/50 / ba=4k / size=4m / norandommap=1 / io_size=5m
rw=randrw / bssplit=4k/50:8k/50 / ba=8k / size=4m / norandommap=1 / io_size=8m / random_distribution=zoned:50/5:30/15:20/80
rw=read / bs=16k / size=1m / io_submit_mode=offload / rate_iops=500
rw=write:16k / bs=16k / size=1m / io_size=2m
rw=randread:4 / bs=4k / size=4m / io_size=8m
rw=randread:8 / bs=4k / size=2m / io_size=8m
rw=write / bs=64k / size=256k / number_ios=9
rw=write / bs=64k / size=1m / number_ios=4 / fsync=2
rw=read / bs=64k / size=512k / nrfiles=2
rw=randread / bs=16k / size=1m / nrfiles=4
rw=write / bs=64k / filesize=256k / nrfiles=3 / end_fsync=1
rw=read / bs=64k / size=512k / filename=a.dat:b.dat
rw=read / bs=64k / size=128k / loops=3
rw=randwrite / bs=16k / size=256k / loops=2 / end_fsync=1
rw=write / bs=64k / size=512k / fsync=1
rw=write / bs=64k / size=512k / fdatasync=3
rw=rw / bs=64k / size=2m / fsync=2 / end_fsync=1
rw=randrw / bs=16k / size=1m / fdatasync=1
rw=write / bs=64k / size=256k / fsync_on_close=1
rw=write / bs=64k / size=256k / overwrite=1 / end_fsync=1
rw=write / bs=64k / size=256k / verify=crc32c
rw=randwrite / bs=16k / size=512k / verify=md5 / loops=2
rw=randwrite / bs=16k / size=512k / verify=sha1 / do_verify=0
rw=write / bs=64k / size=512k / filename=shared.dat / numjobs=3 / offset_increment=512k
rw=read / bs=16k / size=256k / filename=shared.dat / numjobs=2
rw=write / bs=64k / size=256k / filename_format=x-$jobnum-$filenum / numjobs=2
rw=write / bs=64k / size=256k / filename_format=one.dat / numjobs=2
rw=write / bs=64k / size=256k / directory=da:db / numjobs=3
rw=read / bs=4k,64k / size=256k
rw=write / bs=4k,64k / size=256k
rw=randread / bsrange=4k-16k / size=4m / norandommap=1 / io_size=16m
rw=randread / bsrange=4k-18k / size=4m / norandommap=1 / io_size=16m
rw=write / bsrange=4k-16k / size=4m
rw=read / bssplit=4k/20:16k/80 / size=4m
rw=randwrite / bssplit=4k/20:16k/30:64k/ / size=4m / norandommap / io_size=16m
rw=randread / bssplit=4k/50:16k/50 / size=1m
rw=randread / bssplit=4k/50:16k/50 / size=1m / loops=2
rw=randwrite / bsrange=4k-16k / size=8m / end_fsync=1
rw=randrw / bssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10 / rwmixread=80 / size=4m
rw=randread / bssplit=4k/30:8k/30:32k/40 / size=2m / io_size=5m
rw=randread / bssplit=4k/30:8k/30:32k/40 / size=2m / io_size=512k
rw=randread / bssplit=8k/50:12k/50 / size=2m
rw=randread / bssplit=4k/50:16k/50 / size=1001k
rw=randread / bssplit=4k/50:16k/50 / size=256k / time_based / runtime=1 / rate_iops=100
rw=rw / bssplit=4k/50:16k/50 / size=4m
rw=randread / bs=4k / size=1m / norandommap / io_size=8m
rw=randread / bs=4k / size=1m / io_size=8m / random_distribution=zipf:1.2
rw=randread / bs=4k / size=1m / io_size=8m / random_distribution=zipf:0.6
rw=randread / bs=4k / size=1m / io_size=8m / random_distribution=pareto:0.3
rw=randread / bs=4k / size=1m / io_size=8m / random_distribution=normal:15
rw=randread / bs=4k / size=1m / io_size=8m / random_distribution=zoned:60/10:30/20:10/70
rw=randread / bs=4k / size=1m / io_size=8m / random_distribution=zoned:50/5:30/:20/
rw=randread / bs=4k / size=1m / io_size=8m / random_distribution=zoned:60/10:20/:20/
rw=randread / bs=4k / size=1000k / io_size=8000k / random_distribution=zipf:0.6
rw=randread / bs=16k / size=1000k / norandommap
rw=rw / bs=16k / size=1000k
rw=randread:2 / bs=16k / size=1000k
rw=read / bs=16k / size=1000k / io_size=1990k
rw=randread / bs=16k / size=512k / ioengine=libaio / iodepth=8 / direct=1
rw=write / bs=16k / size=512k / ioengine=libaio / iodepth=4 / direct=1
rw=randrw / bs=16k / size=1m / ioengine=libaio / iodepth=4 / direct=1
rw=read / bs=16k / size=1m / time_based / runtime=1 / rate_iops=40
rw=randread / bs=16k / size=256k / time_based / runtime=1 / rate_iops=60
rw=write / bs=64k / size=256k / time_based / runtime=1 / rate=640k
rw=read / bs=4k / size=1m / thinktime=50000 / thinktime_blocks=4 / number_ios=16
rw=write / bs=64k / size=256k / exec_prerun=true
rw=randread / bs=16k / size=256k / zonemode=strided
rw=read / bs=64k / size=50% / filesize=1m
rw=randread / bs=16k / size=30% / filesize=1000k
rw=write / bs=64k / size=25% / filesize=1m / nrfiles=2 / end_fsync=1
rw=randwrite / bs=4k / size=100% / filesize=512k / numjobs=2
rw=randrw / bssplit=4k/50:16k/50 / size=33% / filesize=4m
rw=read / bs=64k / size=50% / filesize=1m / offset=128k
rw=read / bs=64k / size=50%
rw=read / bs=64k / filesize=64k-1m / nrfiles=4 / size=2m
rw=randread / bs=4k / size=256k / ioengine=null
rw=trim / bs=16k / size=256k
rw=randread / bs=16k / size=256k / ioengine=mmap
rw=randread / bs=16k / size=256k / cpus_allowed=0
rw=randread / bs=16k / size=256k / percentage_random=50
rw=write / bs=16k / size=256k / buffer_compress_percentage=50
rw=randread / bs=16k / size=256k / ss=iops:5%
"""

#: Job files of several sections.
FILES = {
    "exitall": "[global]\nbs=4k\nexitall\n[short]\nrw=write\nsize=256k\nstartdelay=0\n[long]\nrw=randread\nsize=1m\ntime_based\nruntime=4\nrate_iops=200\n",
    "two sizes, one file": "[w]\nfilename=shared.dat\nrw=write\nbs=64k\nsize=1m\n[r]\nstonewall\nfilename=shared.dat\nrw=read\nbs=64k\nsize=4m\n",
    "write, then read": "[global]\nbs=16k\nsize=512k\n[w]\nrw=write\nfilename=one.dat\nend_fsync=1\n[r]\nstonewall\nrw=randread\nfilename=one.dat\nnumjobs=2\n",
    "side by side": "[global]\nbs=16k\nsize=256k\n[a]\nrw=write\nnumjobs=2\n[b]\nrw=randread\n[c]\nrw=rw\nsize=1m\n",
    "exit_what": "[global]\nbs=4k\nexitall\nexit_what=stonewall\n[short]\nrw=write\nsize=256k\n[long]\nnew_group\nrw=randread\nsize=1m\ntime_based\nruntime=4\nrate_iops=200\n[next]\nstonewall\nrw=write\nsize=512k\n",
    "new_group with exitall": "[global]\nbs=4k\nexitall\n[short]\nrw=write\nsize=256k\n[long]\nnew_group\nrw=randread\nsize=1m\n",
    "wait_for": "[global]\nthreads=1\nbs=16k\nsize=256k\n[w]\nrw=write\nnumjobs=2\n[x]\nrw=rw\nsize=1m\n[r]\nwait_for=w\nrw=read\nsize=512k\n[s]\nwait_for=r\nrw=write\nsize=128k\n",
    "globals between": "[global]\nbs=16k\nsize=256k\n[a]\nrw=write\n[global]\nbs=64k\n[b]\nstonewall\nrw=read\n",
}


@dataclass(frozen=True)
class JobSet:
    """One job file."""

    name: str
    text: str

    @property
    def options(self) -> dict[str, str]:
        """Those of a file with one section."""
        pairs = [line.partition("=") for line in self.text.splitlines() if line and not line.startswith("[")]
        return {name: value if sign else "1" for name, sign, value in pairs}


def _of_line(number: int, line: str) -> JobSet:
    # `/` alone ends an option, so that it may stand within one.
    options = [option.strip() for option in line.replace("/ ", "\n").replace(" \n", "\n").split("\n")]
    text = "[job]\n" + "".join(f"{option}\n" for option in options if option) + "unlink=0\n"
    return JobSet(f"{number:03} {line.strip()}", text)


def _drawn(number: int, draw: random.Random) -> JobSet:
    options = {"rw": draw.choice(ACCESS), "size": draw.choice(["256k", "512k", "1m", "1000k"])}
    for name in draw.sample(sorted(DRAWN), 7):
        value = draw.choice(DRAWN[name])
        if value:
            options[name] = value
    line = " / ".join(f"{name}={value}" for name, value in options.items())
    return _of_line(number, line)


def all_sets(drawn: int, seed: int = 33) -> list[JobSet]:
    """Those by hand, the files, and so many at random."""
    lines = [line for line in BY_HAND.splitlines() if line]
    sets = [_of_line(number, line) for number, line in enumerate(lines)]
    sets += [JobSet(name, text.replace("]\n", "]\nunlink=0\n")) for name, text in FILES.items()]
    draw = random.Random(seed)
    return sets + [_drawn(number, draw) for number in range(len(sets), len(sets) + drawn)]
