//! Carries out one option of a job, or says why not.

use super::access::{Access, BlockSizes, Distribution, percent, positive};
use super::classes::{Class, canonical, class, nearest};
use super::job::{ExitWhat, Extent, Job, OpenSync, Rate, Verify};
use super::names::divided;
use super::steady::Criterion;
use crate::Refusal;
use crate::quantity::{Prefixes, SECOND, bytes, count, nanoseconds};

impl Job {
    /// The job of options as fio has them, without the dashes: `("bs", "4k")`. Switches have the value `1`.
    ///
    /// # Errors
    /// Options that are unknown, unsupported or have no right value, all of them; options that do not go together.
    pub fn of_options(name: &str, options: &[(&str, &str)], prefixes: Prefixes) -> Result<Self, Refusal> {
        let mut job = Self::named(name);
        let mut found = Vec::new();
        for (option, value) in options {
            found.extend(set(&mut job, option, value, prefixes).err());
        }
        found.extend(job.of_direction().err());
        if found.is_empty() {
            found.extend(job.check().err());
        }
        Refusal::of_all(found)?;
        Ok(job)
    }

    /// Keeps of what was said for reads and for writes what it needs.
    ///
    /// # Errors
    /// A mix in which they differ.
    pub(super) fn of_direction(&mut self) -> Result<(), Refusal> {
        let (sizes, rate) = (self.write_sizes.take(), self.write_rate.take());
        if self.only_reads() {
            return Ok(());
        }
        if !self.is_mix() {
            self.sizes = sizes.unwrap_or_else(|| self.sizes.clone());
            self.rate = rate.unwrap_or(self.rate);
            return Ok(());
        }
        let differ =
            sizes.is_some_and(|sizes| sizes != self.sizes) || rate.is_some_and(|rate| rate != self.rate);
        let words =
            "reads and writes of a mix have one bs and one rate: write a job that reads and one that writes";
        if differ { Err(Refusal::Together(words.into())) } else { Ok(()) }
    }
}

/// Sets one option.
pub(super) fn set(job: &mut Job, written: &str, value: &str, prefixes: Prefixes) -> Result<(), Refusal> {
    let plain = written.trim_start_matches('-').replace('-', "_");
    let name = canonical(&plain);
    let one = Setting { written, value: value.trim(), prefixes };
    match class(name, one.value) {
        Class::CarriedOut => {}
        Class::Reporting => return Ok(()),
        Class::Refused(why) => {
            return Err(Refusal::Unsupported { tool: "fio", option: written.into(), why });
        }
        Class::Unknown => {
            let nearest = nearest(name);
            return Err(Refusal::Unknown { tool: "fio", option: written.into(), nearest });
        }
    }
    match name {
        "rw" => (job.access, job.sequence) = Access::with_sequence(one.value, prefixes)?,
        "bs" | "bsrange" | "bssplit" => one.set_sizes(job, name)?,
        "ba" => job.align = Some(positive(written, one.value, prefixes)?),
        "rwmixread" => job.read_share = percent(written, one.value)?,
        "rwmixwrite" => job.read_share = 100 - percent(written, one.value)?,
        "random_distribution" => job.distribution = Distribution::of_words(one.value)?,
        "zonemode" | "zonesize" | "zonerange" | "zoneskip" => one.set_zones(job, name)?,
        "norandommap" => job.random_map = !one.switch()?,
        "size" | "filesize" | "offset" | "offset_increment" => one.set_size(job, name)?,
        "directory" | "filename" | "filename_format" | "nrfiles" | "openfiles" => one.set_names(job, name)?,
        "runtime" | "time" | "time_based" | "ramp_time" | "io_size" | "number_ios" | "loops"
        | "startdelay" => {
            one.set_extent(job, name)?;
        }
        "ss" | "ss_dur" | "ss_ramp" | "ss_interval" => one.set_steady(job, name)?,
        "rate" | "rate_iops" | "rate_process" | "thinktime" | "thinktime_blocks" => {
            one.set_pace(job, name)?
        }
        "sync" | "fsync" | "fdatasync" | "end_fsync" | "fsync_on_close" | "direct" | "buffered" => {
            one.set_safety(job, name)?;
        }
        "iodepth" => job.depth = one.number(1, 4096, "a number from 1 to 4096")?,
        "numjobs" => job.jobs = one.number(1, 65_536, "a number from 1 to 65536")?,
        "verify" | "do_verify" => one.set_verify(job, name)?,
        "ioengine" => one.set_engine(job)?,
        "wait_for" => job.wait_for = Some(one.value.to_owned()).filter(|name| !name.is_empty()),
        "exit_what" => job.exit_what = one.exit_what()?,
        _ => one.set_switch(job, name)?,
    }
    Ok(())
}

/// Engines of fio that are not here.
const OTHER_ENGINES: &[&str] = &[
    "mmap",
    "splice",
    "sg",
    "io_uring_cmd",
    "net",
    "netsplice",
    "cpuio",
    "rdma",
    "falloc",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
    "libhdfs",
    "mtd",
    "dev-dax",
    "libpmem",
    "libpmem2",
    "pmemblk",
    "librpma_apm_client",
    "librpma_apm_server",
    "librpma_gpspm_client",
    "librpma_gpspm_server",
    "nfs",
    "nbd",
    "rbd",
    "http",
    "exec",
    "e4defrag",
    "ftruncate",
    "gfapi",
    "gfapi_async",
    "rados",
    "libblkio",
    "libcufile",
    "libhipfile",
    "libzbc",
    "libiscsi",
    "dfs",
    "ime_psync",
    "ime_psyncv",
    "ime_aio",
    "xnvme",
    "windowsaio",
    "solarisaio",
    "guasi",
    "external",
    "binject",
    "fusion-aw-sync",
];

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

    /// Values for reads and for writes: `4k`, `4k,8k`, `,8k`. The second is `None` where it is not said apart.
    fn parts(&self) -> (Option<&str>, Option<&str>) {
        let mut parts = self.value.split(',').map(str::trim);
        let some = |part: Option<&'_ str>| part.filter(|part| !part.is_empty()).map(str::to_owned).is_some();
        let (reads, writes) = (parts.next(), parts.next());
        (reads.filter(|part| some(Some(part))), writes.filter(|part| some(Some(part))))
    }

    fn set_sizes(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        let sizes = |text: &str| match name {
            "bsrange" => BlockSizes::range(self.written, text, self.prefixes),
            "bssplit" => BlockSizes::split(text, self.prefixes),
            _ => BlockSizes::one(self.written, text, self.prefixes),
        };
        let (reads, writes) = self.parts();
        if reads.is_none() && writes.is_none() {
            return Err(self.bad("a size of 1 byte to 1 EiB, such as 4k or 1MiB"));
        }
        job.write_sizes = writes.map(sizes).transpose()?;
        if let Some(reads) = reads {
            job.sizes = sizes(reads)?;
        }
        Ok(())
    }

    fn set_size(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        let offset = || {
            let bytes = bytes(self.value, self.prefixes);
            bytes.ok_or_else(|| self.bad("a number of bytes, such as 1GiB"))
        };
        match name {
            "size" if self.value.ends_with('%') && !job.is_imported => {
                return Err(self.unsupported("give the size in bytes, such as 1GiB"));
            }
            "size" if self.value.ends_with('%') => {
                let share = percent(self.written, self.value)?;
                (job.size, job.size_share) = (None, Some(share));
            }
            "size" => {
                let size = positive(self.written, self.value, self.prefixes)?;
                (job.size, job.size_share) = (Some(size), None);
            }
            "filesize" if self.value.contains(['-', ',', ':']) => {
                return Err(self.unsupported(
                    "files of a job have one size: give one, or let a program `choose` among sizes (mixed-files)",
                ));
            }
            "filesize" => job.file_size = Some(positive(self.written, self.value, self.prefixes)?),
            "offset" => job.offset = offset()?,
            _ => job.offset_increment = offset()?,
        }
        Ok(())
    }

    fn set_zones(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        match name {
            "zonemode" if self.value == "strided" => job.zones.strided = true,
            "zonemode" if self.value == "none" => job.zones.strided = false,
            "zonemode" => return Err(self.unsupported("zoned devices are not possible")),
            "zoneskip" => {
                let skip = bytes(self.value, self.prefixes);
                job.zones.skip = skip.ok_or_else(|| self.bad("a number of bytes, such as 1GiB"))?;
            }
            _ => job.zones.size = positive(self.written, self.value, self.prefixes)?,
        }
        Ok(())
    }

    fn set_names(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        match name {
            "nrfiles" => job.names.own = self.number(1, 1 << 20, "a number of files")?,
            "openfiles" => {
                let open = self.number(1, 1 << 20, "a number of files")?;
                if open < job.names.count() {
                    return Err(self.unsupported("all files are open at once: leave it out"));
                }
            }
            _ if self.value.is_empty() => return Err(self.bad("a name")),
            "filename_format" => job.names.set_format(self.written, self.value)?,
            "directory" => job.names.directories = divided(self.value),
            _ => job.names.given = divided(self.value),
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
            "startdelay" => job.start_delay = self.time(SECOND)?,
            "io_size" => job.extent = Extent::Bytes(positive(self.written, self.value, self.prefixes)?),
            "number_ios" => {
                job.extent = Extent::Operations(self.number(1, 1 << 60, "a number of at least 1")?);
            }
            _ => job.loops = self.number(1, 1 << 32, "a number of at least 1")?,
        }
        Ok(())
    }

    fn set_steady(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        match name {
            "ss" => job.steady.criterion = Some(Criterion::of(self.value).map_err(|want| self.bad(want))?),
            "ss_dur" => job.steady.window = self.time(SECOND)?,
            "ss_interval" => job.steady.interval = self.time(SECOND)?,
            _ => job.steady.after = self.time(SECOND)?,
        }
        Ok(())
    }

    fn set_pace(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        let want = "a rate above 0: operations as 1000/s, or bytes a second as 10m";
        let rate = |text: &str| {
            let number = |text: &str| {
                let number = count(text).filter(|number| (1..=1 << 40).contains(number));
                number.ok_or_else(|| self.bad(want))
            };
            match (name, text.strip_suffix("/s")) {
                ("rate_iops", _) => number(text).map(Rate::EachDirection),
                (_, Some(text)) => number(text).map(Rate::Operations),
                _ => {
                    let bytes = positive(self.written, text, self.prefixes).map_err(|_| self.bad(want));
                    bytes.map(Rate::Bytes)
                }
            }
        };
        match name {
            "rate_process" => match self.value {
                "linear" => job.poisson = false,
                "poisson" => job.poisson = true,
                _ => return Err(self.bad("linear or poisson")),
            },
            "thinktime" => job.think = self.time(1_000)?,
            "thinktime_blocks" => job.think_blocks = self.number(1, 1 << 40, "a number of operations")?,
            _ => {
                let (reads, writes) = self.parts();
                if reads.is_none() && writes.is_none() {
                    return Err(self.bad(want));
                }
                job.rate = reads.map(rate).transpose()?;
                job.write_rate =
                    self.value.contains(',').then(|| writes.map(rate).transpose()).transpose()?;
            }
        }
        Ok(())
    }

    fn set_verify(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        let reads_back = job.verify != Verify::Reads;
        if name == "do_verify" {
            job.verify = match (self.switch()?, job.verify) {
                (_, Verify::No) => return Err(self.unsupported("it goes behind verify=…")),
                (true, _) => Verify::All,
                (false, _) => Verify::Reads,
            };
            return Ok(());
        }
        job.verify = match self.value {
            "0" => Verify::No,
            "md5" | "crc64" | "crc32c" | "crc32c-intel" | "crc32" | "crc16" | "crc7" | "xxhash"
            | "sha512" | "sha256" | "sha1" | "sha3-224" | "sha3-256" | "sha3-384" | "sha3-512" | "meta"
            | "1" => {
                if reads_back {
                    Verify::All
                } else {
                    Verify::Reads
                }
            }
            "pattern" | "null" => {
                return Err(self.unsupported("written content says what it is: write verify=crc32c"));
            }
            _ => return Err(self.bad("a checksum of fio, such as crc32c")),
        };
        Ok(())
    }

    /// Options that are 0 or 1.
    fn set_switch(&self, job: &mut Job, name: &str) -> Result<(), Refusal> {
        match name {
            "fallocate" => job.fallocate = self.fallocate()?,
            "overwrite" => job.overwrite = self.switch()?,
            "invalidate" => job.invalidate = self.switch()?,
            "unlink" => job.keep = !self.switch()?,
            "stonewall" => job.stonewall = self.switch()?,
            "exitall" => job.exit_all = self.switch()?,
            "new_group" => job.new_group = self.switch()?,
            "create_only" => job.create_only = self.switch()?,
            "allow_file_create" => job.existing = !self.switch()?,
            "fadvise_hint" => match self.value {
                "sequential" | "random" => {
                    return Err(self.unsupported("1 advises what rw is, 0 nothing: write one of them"));
                }
                _ => job.advise = self.switch()?,
            },
            _ => {
                if self.switch()? {
                    job.notes.push("Threads of fio are ranks here, which are processes.".into());
                }
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

    fn exit_what(&self) -> Result<ExitWhat, Refusal> {
        match self.value {
            "group" => Ok(ExitWhat::Group),
            "stonewall" => Ok(ExitWhat::Stage),
            "all" => Ok(ExitWhat::All),
            _ => Err(self.bad("one of group, stonewall, all")),
        }
    }

    fn fallocate(&self) -> Result<bool, Refusal> {
        match self.value {
            "none" | "0" => Ok(false),
            "native" | "posix" | "1" => Ok(true),
            "keep" | "truncate" => Err(self.unsupported("none and native are carried out")),
            _ => Err(self.bad("none or native")),
        }
    }

    fn set_engine(&self, job: &mut Job) -> Result<(), Refusal> {
        match self.value {
            "sync" | "psync" | "pvsync" | "pvsync2" => {
                job.synchronous = true;
                Ok(())
            }
            "libaio" | "io_uring" | "posixaio" => {
                job.synchronous = false;
                Ok(())
            }
            "vsync" => Err(self.unsupported("it joins neighbouring operations: psync is carried out")),
            "null" => Err(self.unsupported(
                "it moves nothing: leave it out, and run the program with --backend simulate:… for times that are drawn",
            )),
            engine if OTHER_ENGINES.contains(&engine.split(':').next().unwrap_or(engine)) => {
                Err(self.unsupported("this engine is not here; sync, psync, pvsync, libaio, io_uring and posixaio are"))
            }
            _ => Err(self.bad("one of sync, psync, pvsync, libaio, io_uring, posixaio")),
        }
    }
}
