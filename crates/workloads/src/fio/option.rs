//! Carries out one option of a job, or says why not.

use super::access::{Access, BlockSizes, Distribution, percent, positive};
use super::job::{Extent, Job, OpenSync, Rate};
use crate::Refusal;
use crate::quantity::{Prefixes, SECOND, bytes, count, nanoseconds};

/// Spellings of one option; the first is the one that is used below.
const ALIASES: &[&[&str]] = &[
    &["rw", "readwrite"],
    &["bs", "blocksize"],
    &["bsrange", "blocksize_range"],
    &["iodepth", "depth"],
    &["numjobs", "jobs"],
    &["runtime", "timeout"],
    &["number_ios", "ops"],
    &["io_size", "io_limit"],
    &["ramp_time", "warmup"],
    &["sync", "open_sync"],
    &["rwmixread", "mix"],
    &["offset", "fileoffset"],
    &["fsync_on_close", "close_fsync"],
];

/// Options that are carried out.
const CARRIED_OUT: &[&str] = &[
    "rw",
    "bs",
    "bsrange",
    "bssplit",
    "size",
    "filesize",
    "offset",
    "directory",
    "filename",
    "iodepth",
    "numjobs",
    "runtime",
    "time_based",
    "time",
    "ramp_time",
    "io_size",
    "number_ios",
    "direct",
    "buffered",
    "sync",
    "fsync",
    "fdatasync",
    "end_fsync",
    "fsync_on_close",
    "rate",
    "rate_iops",
    "rate_process",
    "thinktime",
    "rwmixread",
    "rwmixwrite",
    "random_distribution",
    "percentage_random",
    "overwrite",
    "invalidate",
    "fallocate",
    "unlink",
    "stonewall",
    "wait_for_previous",
    "ioengine",
    "thread",
    "loops",
    "nrfiles",
    "openfiles",
    "kb_base",
    "name",
    "description",
    "do_verify",
    "verify",
    "startdelay",
];

/// Options that do not change what is measured, or that ask for what happens anyway.
const WITHOUT_EFFECT: &[&str] = &[
    "group_reporting",
    "new_group",
    "norandommap",
    "randrepeat",
    "allrandrepeat",
    "randseed",
    "refill_buffers",
    "scramble_buffers",
    "zero_buffers",
    "buffer_pattern",
    "gtod_reduce",
    "clocksource",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw",
    "disable_bw_measurement",
    "lat_percentiles",
    "clat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "significant_figures",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "log_hist_msec",
    "log_max_value",
    "log_offset",
    "bwavgtime",
    "iopsavgtime",
    "per_job_logs",
    "unified_rw_reporting",
    "create_serialize",
    "create_on_open",
    "create_fsync",
    "create_only",
    "iodepth_batch",
    "iodepth_batch_submit",
    "iodepth_batch_complete",
    "iodepth_batch_complete_min",
    "iodepth_batch_complete_max",
    "iodepth_low",
    "random_generator",
    "use_os_rand",
    "softrandommap",
    "file_service_type",
    "fadvise_hint",
    "status_interval",
    "eta",
    "output",
    "output_format",
    "minimal",
    "hipri",
    "registerfiles",
    "fixedbufs",
    "sqthread_poll",
    "mem",
    "iomem",
    "iomem_align",
    "mem_align",
    "priority",
    "prioclass",
    "nice",
    "exitall",
    "filename_format",
    "unique_filename",
    "allow_file_create",
    "atomic",
    "stats",
    "ignore_error",
    "continue_on_error",
    "error_dump",
    "buffer_compress_percentage",
    "dedupe_percentage",
    "exec_prerun",
];

/// Options that are known and refused, with what to do.
const REFUSED: &[(&str, &str)] = &[
    ("include", "put the lines of the other file in this one"),
    ("rate_min", "state a bound in the program with `assert`"),
    ("rate_iops_min", "state a bound in the program with `assert`"),
    ("latency_target", "state a bound in the program with `assert`"),
    ("steadystate", "the result says how the rate changed"),
    ("read_iolog", "import the log itself: lastrank import LOG"),
    ("write_iolog", "import the log itself: lastrank import LOG"),
    ("flow", "flows between jobs are not possible"),
    ("zonemode", "zoned devices are not possible"),
    ("zonesize", "zoned devices are not possible"),
    ("ioscheduler", "set it before the run"),
    ("cpus_allowed", "use `lastrank run --pin cores`"),
    ("cpumask", "use `lastrank run --pin cores`"),
    ("numa_cpu_nodes", "start lastrank under numactl"),
    ("cgroup", "start lastrank in the control group"),
    ("trim_percentage", "there is no trim"),
    ("offset_increment", "give each job its own section with an offset"),
    ("bs_unaligned", "blocks begin at multiples of the smallest size"),
    ("bs_is_seq_rand", "give one size"),
    ("rw_sequencer", "accesses are in order or at random"),
    ("lockfile", "files are not locked"),
    ("opendir", "name the files"),
    ("mmap_range", "use the command `mmap` in a program"),
];

impl Job {
    /// The job of options as fio has them, without the dashes: `("bs", "4k")`. Switches have the value `1`.
    ///
    /// # Errors
    /// An option that is unknown, unsupported or has no right value; options that do not go together.
    pub fn of_options(name: &str, options: &[(&str, &str)], prefixes: Prefixes) -> Result<Self, Refusal> {
        let mut job = Self::named(name);
        for (option, value) in options {
            set(&mut job, option, value, prefixes)?;
        }
        job.check()?;
        Ok(job)
    }
}

/// Sets one option.
pub(super) fn set(job: &mut Job, written: &str, value: &str, prefixes: Prefixes) -> Result<(), Refusal> {
    let plain = written.trim_start_matches('-').replace('-', "_");
    let name =
        ALIASES.iter().find(|group| group.contains(&plain.as_str())).map_or(plain.as_str(), |group| group[0]);
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(Refusal::Unsupported { tool: "fio", option: written.into(), why });
    }
    if WITHOUT_EFFECT.contains(&name) {
        return Ok(());
    }
    let one = Setting { written, value: value.trim(), prefixes };
    match name {
        "rw" => job.access = Access::of_word(one.value)?,
        "bs" | "bsrange" | "bssplit" => job.sizes = one.block_sizes(name)?,
        "rwmixread" => job.read_share = percent(written, one.value)?,
        "rwmixwrite" => job.read_share = 100 - percent(written, one.value)?,
        "random_distribution" => job.distribution = Distribution::of_words(one.value)?,
        "size" | "filesize" | "offset" | "directory" | "filename" => one.set_file(job, name)?,
        "runtime" | "time" | "time_based" | "ramp_time" | "io_size" | "number_ios" | "loops" => {
            one.set_extent(job, name)?;
        }
        "rate" | "rate_iops" | "rate_process" | "thinktime" => one.set_pace(job, name)?,
        "sync" | "fsync" | "fdatasync" | "end_fsync" | "fsync_on_close" | "direct" | "buffered" => {
            one.set_safety(job, name)?;
        }
        "iodepth" => job.depth = one.number(1, 4096, "a number from 1 to 4096")?,
        "numjobs" => job.jobs = one.number(1, 65_536, "a number from 1 to 65536")?,
        "overwrite" => job.overwrite = one.switch()?,
        "invalidate" => job.invalidate = one.switch()?,
        "unlink" => job.keep = !one.switch()?,
        "stonewall" | "wait_for_previous" => job.stonewall = one.switch()?,
        "fallocate" => job.fallocate = one.fallocate()?,
        "ioengine" => one.set_engine(job)?,
        "name" | "description" => {}
        "thread" => {
            if one.switch()? {
                job.notes.push("Threads of fio are ranks here, which are processes.".into());
            }
        }
        _ => one.only_usual(name)?,
    }
    Ok(())
}

/// An option as it was written.
struct Setting<'a> {
    written: &'a str,
    value: &'a str,
    prefixes: Prefixes,
}

impl Setting<'_> {
    fn bad(&self, want: &'static str) -> Refusal {
        match self.value {
            "" => Refusal::NoValue { option: self.written.into(), want },
            value => Refusal::BadValue { option: self.written.into(), value: value.into(), want },
        }
    }

    fn unsupported(&self, why: &'static str) -> Refusal {
        let option = format!("{}={}", self.written, self.value);
        Refusal::Unsupported { tool: "fio", option, why }
    }

    fn number(&self, least: u64, most: u64, want: &'static str) -> Result<u64, Refusal> {
        count(self.value).filter(|number| (least..=most).contains(number)).ok_or_else(|| self.bad(want))
    }

    fn switch(&self) -> Result<bool, Refusal> {
        match self.value {
            "1" | "true" | "yes" => Ok(true),
            "0" | "false" | "no" => Ok(false),
            _ => Err(self.bad("0 or 1")),
        }
    }

    fn time(&self, plain: u64) -> Result<u64, Refusal> {
        nanoseconds(self.value, plain)
            .ok_or_else(|| self.bad("a time such as 10s, 500ms or 2m; without a unit as fio reads it"))
    }

    /// `4k`; of `4k,8k` for reads and writes only equal ones.
    fn block_sizes(&self, name: &str) -> Result<BlockSizes, Refusal> {
        let parts: Vec<&str> = self.value.split(',').filter(|part| !part.is_empty()).collect();
        let Some((&first, others)) = parts.split_first() else {
            return Err(self.bad("a size of at least 1 byte, such as 4k or 1MiB"));
        };
        if others.iter().any(|other| *other != first) {
            return Err(self.unsupported("reads and writes have the same sizes; write two jobs"));
        }
        match name {
            "bsrange" => BlockSizes::range(self.written, first, self.prefixes),
            "bssplit" => BlockSizes::split(first, self.prefixes),
            _ => BlockSizes::one(self.written, first, self.prefixes),
        }
    }

    fn set_file(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        match name {
            "size" | "filesize" if self.value.ends_with('%') => {
                return Err(self.unsupported("give the size in bytes, such as 1GiB"));
            }
            "size" | "filesize" => job.size = Some(positive(self.written, self.value, self.prefixes)?),
            "offset" => {
                let want = "a number of bytes, such as 1GiB";
                job.offset = bytes(self.value, self.prefixes).ok_or_else(|| self.bad(want))?;
            }
            _ if self.value.is_empty() => return Err(self.bad("a name")),
            "directory" => job.directory = Some(self.value.into()),
            _ if self.value.contains(':') => {
                return Err(self.unsupported("one file a job; write a job for each"));
            }
            _ => job.file = Some(self.value.into()),
        }
        Ok(())
    }

    fn set_extent(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        match name {
            "runtime" | "time" => {
                job.time = Some(self.time(SECOND)?).filter(|time| *time > 0);
                job.time_based |= name == "time";
                if job.time.is_none() && name == "time" {
                    return Err(self.bad("a time above 0, such as 10s"));
                }
            }
            "time_based" => job.time_based = self.switch()?,
            "ramp_time" => job.ramp = Some(self.time(SECOND)?).filter(|time| *time > 0),
            "io_size" => job.extent = Extent::Bytes(positive(self.written, self.value, self.prefixes)?),
            "number_ios" => {
                job.extent = Extent::Operations(self.number(1, i64::MAX as u64, "a number of at least 1")?);
            }
            _ => {
                let loops = self.number(1, 1 << 32, "a number of at least 1")?;
                if loops > 1 {
                    return Err(self.unsupported("give io_size, or a runtime with time_based"));
                }
            }
        }
        Ok(())
    }

    fn set_pace(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        let want = "a rate above 0: operations as 1000/s, or bytes a second as 10m";
        match name {
            "rate_process" => match self.value {
                "linear" => job.poisson = false,
                "poisson" => job.poisson = true,
                _ => return Err(self.bad("linear or poisson")),
            },
            "thinktime" => job.think = self.time(1_000)?,
            _ if self.value.contains(',') => {
                return Err(self.unsupported("give one rate"));
            }
            "rate_iops" => {
                job.rate = Some(Rate::EachDirection(self.number(1, 1 << 40, want)?));
            }
            _ => {
                job.rate = Some(match self.value.strip_suffix("/s") {
                    Some(number) => {
                        let number = count(number).filter(|number| (1..=1 << 40).contains(number));
                        Rate::Operations(number.ok_or_else(|| self.bad(want))?)
                    }
                    None => Rate::Bytes(
                        positive(self.written, self.value, self.prefixes).map_err(|_| self.bad(want))?,
                    ),
                });
            }
        }
        Ok(())
    }

    fn set_safety(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        let want = "a number of writes, 0 for none";
        match name {
            "direct" => job.direct = self.switch()?,
            "buffered" => job.direct = !self.switch()?,
            "fsync" => job.fsync = self.number(0, 1 << 40, want)?,
            "fdatasync" => job.fdatasync = self.number(0, 1 << 40, want)?,
            "end_fsync" | "fsync_on_close" => job.end_fsync = self.switch()?,
            _ => {
                job.sync = match self.value {
                    "0" | "none" => OpenSync::None,
                    "1" | "sync" => OpenSync::Sync,
                    "dsync" => OpenSync::DataSync,
                    _ => return Err(self.bad("0, 1, sync or dsync")),
                }
            }
        }
        Ok(())
    }

    fn fallocate(&self) -> Result<bool, Refusal> {
        match self.value {
            "none" | "0" => Ok(false),
            "native" | "posix" | "1" => Ok(true),
            "keep" | "truncate" => Err(self.unsupported("none and native are")),
            _ => Err(self.bad("none or native")),
        }
    }

    fn set_engine(&self, job: &mut Job) -> Result<(), Refusal> {
        match self.value {
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => {
                job.synchronous = true;
                Ok(())
            }
            "libaio" | "io_uring" | "posixaio" => {
                job.synchronous = false;
                Ok(())
            }
            "mmap" | "splice" | "null" | "sg" | "io_uring_cmd" | "net" | "netsplice" | "cpuio" | "rdma"
            | "falloc" | "filecreate" | "filestat" | "filedelete" | "libhdfs" | "mtd" | "dev-dax"
            | "libpmem" | "nfs" | "rbd" | "http" | "exec" | "e4defrag" | "ftruncate" | "gfapi"
            | "gfapi_async" | "rados" => {
                Err(self.unsupported("sync, psync, libaio, io_uring and their like are"))
            }
            _ => Err(self.bad("one of sync, psync, pvsync, libaio, io_uring, posixaio")),
        }
    }

    /// Options of which only the value without effect is accepted, and unknown options.
    fn only_usual(&self, name: &str) -> Result<(), Refusal> {
        let usual: &[&str] = match name {
            "nrfiles" | "openfiles" => &["1"],
            "percentage_random" => &["100"],
            "verify" | "do_verify" | "startdelay" => &["0", "null"],
            "kb_base" => &["1024"],
            _ => {
                let known = CARRIED_OUT.iter().chain(ALIASES.iter().copied().flatten());
                let near = known
                    .map(|known| (strsim::jaro_winkler(known, name), *known))
                    .filter(|(likeness, _)| *likeness > 0.85)
                    .max_by(|a, b| a.0.total_cmp(&b.0));
                let nearest = near.map(|(_, known)| known.to_owned());
                return Err(Refusal::Unknown { tool: "fio", option: self.written.into(), nearest });
            }
        };
        if usual.contains(&self.value) {
            return Ok(());
        }
        Err(self.unsupported(match name {
            "nrfiles" | "openfiles" => "one file a job; write a job for each",
            "percentage_random" => "accesses are in order or at random",
            "kb_base" => "write sizes by 1024",
            "startdelay" => "jobs begin together",
            _ => "in a program, `verify` compares what is read with what was written",
        }))
    }
}
