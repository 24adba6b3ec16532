//! Options of fio that no job carries out: those that only report, those that are refused, and those of which only the
//! value that fio has anyway is accepted. What is in none of these lists is carried out, or is no option of fio.

/// Other spellings of an option, with the one that is used here.
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blockalign", "ba"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("depth", "iodepth"),
    ("jobs", "numjobs"),
    ("timeout", "runtime"),
    ("ops", "number_ios"),
    ("io_limit", "io_size"),
    ("warmup", "ramp_time"),
    ("open_sync", "sync"),
    ("mix", "rwmixread"),
    ("fileoffset", "offset"),
    ("close_fsync", "fsync_on_close"),
    ("wait_for_previous", "stonewall"),
    ("file_size", "filesize"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("iomem", "mem"),
    ("mem_align", "iomem_align"),
    ("ratemin", "rate_min"),
    ("ratecycle", "rate_cycle"),
    ("steadystate", "ss"),
    ("steadystate_duration", "ss_dur"),
    ("steadystate_ramp_time", "ss_ramp"),
    ("steadystate_check_interval", "ss_interval"),
    ("disable_bw", "disable_bw_measurement"),
    ("bandwidth_log", "write_bw_log"),
    ("zone_size", "zonesize"),
    ("zone_range", "zonerange"),
    ("zone_skip", "zoneskip"),
    ("priority", "prio"),
    ("hugepage_size", "hugepage-size"),
];

/// The spelling of an option that is used here.
pub(super) fn canonical(plain: &str) -> &str {
    ALIASES.iter().find(|(other, _)| *other == plain).map_or(plain, |(_, name)| name)
}

/// Options that are carried out.
const CARRIED_OUT: &[&str] = &[
    "rw",
    "bs",
    "bsrange",
    "bssplit",
    "ba",
    "zonemode",
    "zonesize",
    "zonerange",
    "zoneskip",
    "size",
    "filesize",
    "offset",
    "offset_increment",
    "directory",
    "filename",
    "filename_format",
    "iodepth",
    "numjobs",
    "runtime",
    "time_based",
    "time",
    "ramp_time",
    "io_size",
    "number_ios",
    "loops",
    "startdelay",
    "ss",
    "ss_dur",
    "ss_ramp",
    "ss_interval",
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
    "thinktime_blocks",
    "rwmixread",
    "rwmixwrite",
    "random_distribution",
    "norandommap",
    "overwrite",
    "invalidate",
    "fadvise_hint",
    "fallocate",
    "unlink",
    "stonewall",
    "ioengine",
    "thread",
    "nrfiles",
    "openfiles",
    "verify",
    "do_verify",
    "exitall",
    "exit_what",
    "new_group",
    "wait_for",
    "create_only",
    "allow_file_create",
];

/// Options that only say what is reported and how, or how the tool itself counts: what is measured is the same.
const REPORTING: &[(&str, &str)] = &[
    ("name", "a section has its name in brackets"),
    ("description", "a text"),
    ("group_reporting", "lastrank reports each label, all processes together and apart"),
    ("stats", "whether a job is in fio's report"),
    ("threads", "an option of fio's profile tiobench, at which no job looks; `thread` is that of jobs"),
    ("unified_rw_reporting", "reads and writes are rows of their own"),
    ("unit_base", "how results are written"),
    ("gtod_reduce", "fio looks at the clock less often; lastrank keeps every operation"),
    ("gtod_cpu", "a processor that reads the clock for fio"),
    ("clocksource", "the clock of fio"),
    ("disable_lat", "what fio measures"),
    ("disable_clat", "what fio measures"),
    ("disable_slat", "what fio measures"),
    ("disable_bw_measurement", "what fio measures"),
    ("lat_percentiles", "a row of fio's report"),
    ("clat_percentiles", "a row of fio's report"),
    ("slat_percentiles", "a row of fio's report"),
    ("percentile_list", "a row of fio's report; every quantile can be had of the run file"),
    ("significant_figures", "digits of fio's histogram"),
    ("block_error_percentiles", "a row of fio's report"),
    ("disk_util", "a part of fio's report"),
    ("write_bw_log", "the run file has every operation"),
    ("write_lat_log", "the run file has every operation"),
    ("write_iops_log", "the run file has every operation"),
    ("write_hist_log", "the run file has every operation"),
    ("log_entries", "logs of fio"),
    ("log_avg_msec", "logs of fio"),
    ("log_hist_msec", "logs of fio"),
    ("log_hist_coarseness", "logs of fio"),
    ("log_max_value", "logs of fio"),
    ("log_offset", "logs of fio"),
    ("log_prio", "logs of fio"),
    ("log_compression", "logs of fio"),
    ("log_compression_cpus", "logs of fio"),
    ("log_store_compressed", "logs of fio"),
    ("log_unix_epoch", "logs of fio"),
    ("log_alternate_epoch", "logs of fio"),
    ("log_alternate_epoch_clock_id", "logs of fio"),
    ("per_job_logs", "logs of fio"),
    ("bwavgtime", "logs of fio"),
    ("iopsavgtime", "logs of fio"),
    ("status_interval", "what fio prints"),
    ("eta", "what fio prints"),
    ("output", "where fio prints"),
    ("output_format", "how fio prints"),
    ("minimal", "how fio prints"),
    ("error_dump", "what fio prints of an error"),
    ("verify_dump", "files that fio writes of wrong blocks; lastrank says what was found there"),
    ("verify_state_save", "a file of fio's own; content here says by itself what was written"),
    (
        "verify_fatal",
        "the first wrong block ends the run here, and a run without one does the same either way",
    ),
    ("ignore_error", "a run without such an error does the same; with one, it ends with status 3"),
    ("continue_on_error", "a run without an error does the same; with one, it ends with status 3"),
    ("exitall_on_error", "an error ends the program on all ranks here"),
    ("randrepeat", "which random numbers: `--seed` of `lastrank run`"),
    ("allrandrepeat", "which random numbers: `--seed` of `lastrank run`"),
    ("randseed", "which random numbers: `--seed` of `lastrank run`"),
    ("use_os_rand", "how random numbers are made"),
    ("softrandommap", "the random map needs no memory here"),
    ("create_serialize", "files are laid out before anything is measured"),
    ("create_fsync", "files are laid out and synced before anything is measured"),
    ("refill_buffers", "each write has new content here"),
    ("allow_mounted_write", "a guard of fio's; `--allow DEVICE` is lastrank's"),
];

/// Options that are refused, with the way out.
const REFUSED: &[(&str, &str)] = &[
    ("include", "put the lines of the other file in this one"),
    ("lockfile", "files are not locked; leave it out"),
    ("opendir", "name the files with filename=a:b"),
    ("unique_filename", "name the files with filename or filename_format"),
    ("bs_unaligned", "blocks begin at multiples of the smallest size; leave it out"),
    ("bs_is_seq_rand", "give one size"),
    ("rw_sequencer", "reads and writes of a mix are drawn one by one; leave it out"),
    ("serialize_overlap", "operations in flight may overlap; leave it out"),
    ("file_append", "give the offset at which to write"),
    ("fill_device", "give the size"),
    ("offset_align", "give an offset that is a multiple"),
    ("write_barrier", "fdatasync=N is carried out"),
    ("sync_file_range", "fdatasync=N is carried out"),
    ("atomic", "leave it out: writes are not atomic"),
    ("verify_only", "a job with rw=read and verify reads a file and verifies it"),
    ("verify_interval", "each block is verified whole; leave it out"),
    ("verify_offset", "each block is verified whole; leave it out"),
    ("verify_pattern", "written content says what it is, and verify checks that; leave it out"),
    ("verify_async", "leave it out: the process that reads verifies"),
    ("verify_async_cpus", "leave it out: the process that reads verifies"),
    ("verify_backlog", "leave it out: blocks are verified when all are written"),
    ("verify_backlog_batch", "leave it out: blocks are verified when all are written"),
    ("verify_state_load", "content says by itself what was written: a job with rw=read and verify"),
    ("experimental_verify", "leave it out"),
    ("trim_percentage", "there is no trim"),
    ("trim_verify_zero", "there is no trim"),
    ("trim_backlog", "there is no trim"),
    ("trim_backlog_batch", "there is no trim"),
    ("write_iolog", "record an application with `lastrank record`"),
    ("read_iolog", "import the log itself: lastrank import LOG"),
    ("read_iolog_chunked", "import the log itself: lastrank import LOG"),
    ("replay_no_stall", "import the log itself: lastrank import LOG"),
    ("replay_redirect", "import the log itself: lastrank import LOG"),
    ("replay_scale", "import the log itself: lastrank import LOG"),
    ("replay_align", "import the log itself: lastrank import LOG"),
    ("replay_time_scale", "import the log itself: lastrank import LOG"),
    ("replay_skip", "import the log itself: lastrank import LOG"),
    ("merge_blktrace_file", "import the log itself: lastrank import LOG"),
    ("merge_blktrace_scalars", "import the log itself: lastrank import LOG"),
    ("merge_blktrace_iters", "import the log itself: lastrank import LOG"),
    ("exec_prerun", "programs start no commands: run it before `lastrank run`"),
    ("exec_postrun", "programs start no commands: run it after `lastrank run`"),
    ("ioscheduler", "set it before the run"),
    ("zonecapacity", "zoned devices are not possible"),
    ("read_beyond_wp", "zoned devices are not possible"),
    ("max_open_zones", "zoned devices are not possible"),
    ("job_max_open_zones", "zoned devices are not possible"),
    ("ignore_zone_limits", "zoned devices are not possible"),
    ("zone_reset_threshold", "zoned devices are not possible"),
    ("zone_reset_frequency", "zoned devices are not possible"),
    ("lockmem", "start lastrank in a control group with less memory"),
    ("nice", "start lastrank under nice"),
    ("prio", "start lastrank under ionice"),
    ("prioclass", "start lastrank under ionice"),
    ("cmdprio_percentage", "start lastrank under ionice, or leave it out"),
    ("cmdprio_class", "start lastrank under ionice, or leave it out"),
    ("cmdprio", "start lastrank under ionice, or leave it out"),
    ("cmdprio_bssplit", "start lastrank under ionice, or leave it out"),
    ("thinktime_iotime", "thinktime_blocks=N is carried out"),
    ("rate_min", "leave it out, and state a bound in the program with `assert`"),
    ("rate_iops_min", "leave it out, and state a bound in the program with `assert`"),
    ("max_latency", "leave it out, and state a bound in the program with `assert`"),
    ("latency_target", "leave it out, and state a bound in the program with `assert`"),
    ("latency_window", "leave it out, and state a bound in the program with `assert`"),
    ("latency_percentile", "leave it out, and state a bound in the program with `assert`"),
    ("latency_run", "leave it out, and state a bound in the program with `assert`"),
    ("write_hint", "leave it out: no hint is given"),
    ("pre_read", "with invalidate=0, a file that was just laid out is in the page cache"),
    ("cpumask", "start lastrank under taskset, or with --pin cores"),
    ("cpus_allowed", "start lastrank under taskset, or with --pin cores"),
    ("cpus_allowed_policy", "start lastrank under taskset, or with --pin cores"),
    ("numa_cpu_nodes", "start lastrank under numactl"),
    ("numa_mem_policy", "start lastrank under numactl"),
    ("unlink_each_loop", "write a job for each loop, with stonewall"),
    ("zero_buffers", "content is never all zeros: `lastrank run --compressible 80%` is the nearest"),
    ("buffer_pattern", "written content says what it is; leave it out"),
    ("buffer_compress_percentage", "leave it out, and run the program with --compressible 30%"),
    ("buffer_compress_chunk", "leave it out, and run the program with --compressible 30%"),
    ("dedupe_percentage", "leave it out, and run the program with --dedupe 20%"),
    ("dedupe_mode", "leave it out, and run the program with --dedupe 20%"),
    ("dedupe_working_set_percentage", "leave it out, and run the program with --dedupe 20%"),
    ("dedupe_global", "leave it out, and run the program with --dedupe 20%"),
    ("profile", "write its options"),
    ("cgroup", "start lastrank in the control group"),
    ("cgroup_weight", "start lastrank in the control group"),
    ("cgroup_nodelete", "start lastrank in the control group"),
    ("uid", "start lastrank as that user"),
    ("gid", "start lastrank as that group"),
    ("hugepage-size", "buffers are in common pages; leave it out"),
    ("flow", "flows between jobs are not possible"),
    ("flow_id", "flows between jobs are not possible"),
    ("flow_watermark", "flows between jobs are not possible"),
    ("flow_sleep", "flows between jobs are not possible"),
    ("mmap_range", "use the command `mmap` in a program"),
    ("hipri", "completions are not polled for; leave it out"),
    ("hipri_percentage", "completions are not polled for; leave it out"),
    ("fixedbufs", "buffers are not registered; leave it out"),
    ("registerfiles", "files are not registered; leave it out"),
    ("sqthread_poll", "the kernel has no thread for submissions; leave it out"),
    ("sqthread_poll_cpu", "the kernel has no thread for submissions; leave it out"),
    ("nonvectored", "leave it out: reads and writes have one buffer"),
    ("uncached", "direct=1 is carried out"),
    ("nowait", "leave it out: operations may wait"),
    ("force_async", "leave it out"),
    ("cmd_type", "ioengine=io_uring is carried out"),
    ("userspace_reap", "leave it out"),
];

/// Options of which only values that mean what happens anyway are accepted, with the way out for others.
const USUAL: &[(&str, &[&str], &str)] = &[
    ("percentage_random", &["100"], "accesses are in order or at random: write two jobs"),
    ("kb_base", &["1024"], "write sizes by 1024"),
    ("random_generator", &["tausworthe", "lfsr", "tausworthe64"], "one of tausworthe, tausworthe64, lfsr"),
    ("iodepth_batch", &["1"], "operations are submitted one by one: leave it out"),
    ("iodepth_batch_complete_min", &["1"], "each completion is taken as it comes: leave it out"),
    ("iodepth_batch_complete_max", &["1"], "each completion is taken as it comes: leave it out"),
    ("iodepth_low", &[], "a new operation follows each completion: leave it out"),
    (
        "io_submit_mode",
        &["inline", "offload"],
        "operations are submitted by the process itself: leave it out",
    ),
    (
        "file_service_type",
        &["roundrobin", "roundrobin:1"],
        "files take turns, one operation each: leave it out",
    ),
    ("create_on_open", &["0"], "files are made before anything is measured: leave it out"),
    ("scramble_buffers", &["1"], "each write has new content: leave it out"),
    ("thinktime_spin", &["0"], "pauses take no processor time: leave it out"),
    ("thinktime_blocks_type", &["complete"], "pauses follow completed operations: leave it out"),
    ("rate_ignore_thinktime", &["0"], "a pause is part of the rate's interval: leave it out"),
    ("rate_cycle", &["1000"], "each operation has its own time at a rate: leave it out"),
    ("mem", &["malloc", "mmap"], "buffers are in common memory: leave it out"),
    ("iomem_align", &["0", "1", "512", "4k", "4096"], "buffers begin at a page: leave it out"),
    ("zero_buffers", &["0"], ""),
    ("dedupe_percentage", &["0"], ""),
    ("buffer_compress_percentage", &["0"], ""),
    ("trim_percentage", &["0"], ""),
    ("file_append", &["0"], ""),
    ("fill_device", &["0"], ""),
    ("atomic", &["0"], ""),
    ("pre_read", &["0"], ""),
    ("bs_unaligned", &["0"], ""),
    ("bs_is_seq_rand", &["0"], ""),
    ("experimental_verify", &["0"], ""),
    ("verify_only", &["0"], ""),
    ("verify_interval", &["0"], ""),
    ("verify_async", &["0"], ""),
    ("verify_backlog", &["0"], ""),
    ("verify_state_load", &["0"], ""),
    ("write_barrier", &["0"], ""),
    ("unlink_each_loop", &["0"], ""),
    ("unique_filename", &["1"], ""),
    ("lockfile", &["none"], ""),
    ("hipri", &["0"], ""),
    ("fixedbufs", &["0"], ""),
    ("registerfiles", &["0"], ""),
    ("sqthread_poll", &["0"], ""),
    ("nowait", &["0"], ""),
    ("uncached", &["0"], ""),
    ("userspace_reap", &["0"], ""),
    ("serialize_overlap", &["0"], ""),
    ("thinktime_iotime", &["0"], ""),
];

/// Which of the three an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It changes the job.
    CarriedOut,
    /// It does not change what is measured.
    Reporting,
    /// It is refused, with the way out.
    Refused(&'static str),
    /// It is no option of fio.
    Unknown,
}

/// The class of an option of this name (as [`canonical`] spells it) with this value.
pub(super) fn class(name: &str, value: &str) -> Class {
    let usual = USUAL.iter().find(|(option, ..)| *option == name);
    if let Some((_, values, way)) = usual {
        if values.contains(&value) {
            return Class::Reporting;
        }
        if !way.is_empty() {
            return Class::Refused(way);
        }
    }
    if let Some((_, way)) = REFUSED.iter().find(|(option, _)| *option == name) {
        return Class::Refused(way);
    }
    if REPORTING.iter().any(|(option, _)| *option == name) {
        return Class::Reporting;
    }
    if CARRIED_OUT.contains(&name) { Class::CarriedOut } else { Class::Unknown }
}

/// A name of fio that is spelled almost so.
pub(super) fn nearest(name: &str) -> Option<String> {
    let known = CARRIED_OUT.iter().copied();
    let known = known.chain(REPORTING.iter().map(|(option, _)| *option));
    let known = known.chain(REFUSED.iter().map(|(option, _)| *option));
    let known = known.chain(USUAL.iter().map(|(option, ..)| *option));
    let known = known.chain(ALIASES.iter().map(|(other, _)| *other));
    let far = |known: &str| strsim::damerau_levenshtein(known, name);
    let near = known.map(|known| (far(known), known)).min_by_key(|(far, _)| *far)?;
    (near.0 <= 2 && near.0 * 3 <= name.len()).then(|| near.1.to_owned())
}

/// The options that only report, with the reasons: for the documentation.
pub fn reporting() -> impl Iterator<Item = (&'static str, &'static str)> {
    REPORTING.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_has_two_classes() {
        for name in CARRIED_OUT {
            assert!(!REFUSED.iter().chain(REPORTING).any(|(other, _)| other == name), "{name}");
            assert!(!USUAL.iter().any(|(other, ..)| other == name), "{name}");
        }
        for (name, reason) in REPORTING {
            assert!(!REFUSED.iter().any(|(other, _)| other == name), "{name}");
            assert!(!reason.is_empty(), "{name}");
        }
        for (name, _, way) in USUAL {
            let refused = REFUSED.iter().any(|(other, _)| other == name);
            assert!(refused == way.is_empty() || !refused, "{name}");
        }
        for (alias, name) in ALIASES {
            assert_ne!(class(name, "x"), Class::Unknown, "{alias} is {name}");
        }
    }
}
