//! Tests of the programs: their texts, and that each passes the checks of the language without a word.

mod common;

use common::checked;
use ppl::plan::Settings;
use workloads::fio::{self, Job, JobFile, Place};
use workloads::ior::Ior;
use workloads::mdtest::Mdtest;
use workloads::memory::{Memory, What};
use workloads::quantity::Prefixes;
use workloads::{Refusal, ior};

fn options(words: &str) -> Vec<(&str, &str)> {
    words.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, "1"))).collect()
}

fn io_at(place: &Place, words: &str) -> String {
    let job = Job::of_options("io", &options(words), Prefixes::Plain).unwrap();
    checked(fio::program(&job, place, &format!("lastrank io {words}")).unwrap())
}

fn io(words: &str) -> String {
    io_at(&Place::in_directory("."), words)
}

fn words(line: &str) -> Vec<String> {
    ior::words(line).unwrap()
}

#[test]
fn random_reads() {
    insta::assert_snapshot!(io("rw=randread bs=4k iodepth=16 time=10s size=1GiB direct=1"));
}

#[test]
fn writes_with_an_fsync_after_each_32() {
    insta::assert_snapshot!(io("rw=write bs=64k size=64m fsync=32 end_fsync=1"));
}

#[test]
fn a_mix_at_a_rate_by_two_processes_on_one_file() {
    let place = Place::NewFile { directory: "/data".into(), name: "it's \"new\" $x".into() };
    insta::assert_snapshot!(io_at(
        &place,
        "rw=randrw rwmixread=70 rate=1000/s rate_process=poisson time=5 size=8m numjobs=2 fsync=4"
    ));
}

#[test]
fn an_old_file_is_read_as_it_is() {
    let place = Place::OldFile { directory: ".".into(), name: "disk.bin".into() };
    insta::assert_snapshot!(io_at(&place, "rw=read bs=1m size=10m runtime=5 ramp_time=1"));
}

#[test]
fn block_sizes_and_places() {
    insta::assert_snapshot!(io(
        "rw=randread bssplit=4k/60:64k/40 size=64m random_distribution=zoned:60/10:40/90 number_ios=500"
    ));
}

#[test]
fn every_kind_of_io_is_right() {
    for rw in ["read", "write", "randread", "randwrite", "rw", "randrw"] {
        for sizes in ["bs=4k", "bsrange=4k-16k", "bssplit=4k:16k"] {
            for extent in [
                "",
                "time=1",
                "runtime=1",
                "io_size=1m",
                "number_ios=10",
                "number_ios=10 runtime=1s",
                "ramp_time=1 time=1",
            ] {
                let write = rw != "read" && rw != "randread";
                let sync = if write { "fsync=3 fdatasync=1 end_fsync=1 fallocate=native" } else { "" };
                for rest in [
                    "",
                    "iodepth=4 direct=1 sync=dsync",
                    "numjobs=3 overwrite=1 rate=100/s thinktime=5",
                    sync,
                ] {
                    let line = format!("rw={rw} {sizes} {extent} {rest} size=1m offset=4k");
                    io(&line);
                    io_at(&Place::NewFile { directory: ".".into(), name: "n".into() }, &line);
                    io_at(&Place::OldFile { directory: ".".into(), name: "n".into() }, &line);
                }
            }
        }
    }
    for distribution in ["zipf:1.1", "pareto:0.2", "normal:10", "zoned:50/50:50/50"] {
        io(&format!("rw=randrw bs=4k size=1m random_distribution={distribution}"));
        io(&format!("rw=randrw bsrange=4k-8k size=1m random_distribution={distribution}"));
    }
}

#[test]
fn ior_posix() {
    let line = words("ior -a POSIX -b 16m -t1m -s 4 -C -e -i 3 -N 4 -o /scratch/f");
    let options = ior::options_of_line(&line).unwrap();
    insta::assert_snapshot!(checked(Ior::of_words(options).unwrap().program("ior …").unwrap()));
}

#[test]
fn ior_file_per_rank_random_and_stonewalled() {
    let options = words("-F -z -w -b 1m -t 64k -D 10 --posix.odirect -k");
    insta::assert_snapshot!(checked(Ior::of_words(&options).unwrap().program("ior …").unwrap()));
}

#[test]
fn ior_that_wears_out() {
    let options = words("-w -r -R -C -b 1m -t 64k -s 2 -D 10 -O stoneWallingWearOut=1 -e");
    insta::assert_snapshot!(checked(Ior::of_words(&options).unwrap().program("ior …").unwrap()));
}

#[test]
fn ior_mpiio() {
    let options = words("-a MPIIO -c -b 1m -t 1m -s 16 -vv");
    insta::assert_snapshot!(checked(Ior::of_words(&options).unwrap().program("ior …").unwrap()));
}

#[test]
fn mdtest_with_a_tree() {
    let line = words("mpirun -n 4 mdtest -n 700 -z 2 -b 2 -u -w 4k -N 1 -R -i 2 -d /scratch/md");
    let options = workloads::mdtest::options_of_line(&line).unwrap();
    insta::assert_snapshot!(checked(Mdtest::of_words(options).unwrap().program("mdtest …").unwrap()));
}

#[test]
fn mdtest_of_files_in_one_directory() {
    insta::assert_snapshot!(checked(
        Mdtest::of_words(&words("-F -n 1000")).unwrap().program("mdtest …").unwrap()
    ));
}

#[test]
fn every_command_line_of_ior_and_mdtest_is_right() {
    for rest in [
        "",
        "-e",
        "-Y -e",
        "-k",
        "-E -r",
        "-w",
        "-g -d 1",
        "-i 3 -z",
        "-C -Q 2",
        "-F -C",
        "-D 3 -w",
        "-z -R",
        "-B",
        "-R",
        "-w -W",
        "-W",
        "-R -E",
        "-r",
        "-Z",
        "-Z -F",
        "-i 3 -k",
        "-i 3 -k -m -F",
        "-F -z -D 3 -w",
        "-G 7 -r -R",
        "-W -F",
    ] {
        let options = words(&format!("-b 1m -t 256k -s 2 {rest}"));
        checked(Ior::of_words(&options).unwrap().program("ior").unwrap());
    }
    for shape in ["-n 10", "-I 10 -z 1 -b 3", "-n 90 -z 2 -b 3 -L", "-I 3 -u", "-n 5 -u -N 1"] {
        for rest in [
            "",
            "-F",
            "-D",
            "-C",
            "-T",
            "-r",
            "-E -F",
            "-R -y -w 1k",
            "-i 2 -p 1",
            "-Y",
            "-U -D",
            "-F -w 4k -e 4k -X -y",
        ] {
            let options = words(&format!("{shape} {rest}"));
            checked(Mdtest::of_words(&options).unwrap().program("mdtest").unwrap());
        }
    }
}

#[test]
fn memory() {
    let of = |what| {
        let numbers = vec![0, 2, 5];
        Memory { what, size: 64 << 20, workers: 4, time: 100_000_000, huge_pages: false, numbers }
    };
    let texts: Vec<_> = [What::Latency, What::Bandwidth, What::Loaded, What::Cores, What::Nodes]
        .into_iter()
        .map(|what| checked(of(what).program("lastrank mem")))
        .collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let mut said = String::new();
    for line in [
        "size=0",
        "size=-1",
        "size=99999999999999999999g",
        "size=50%",
        "bs=0",
        "bs=-4k",
        "bs=4kb",
        "bs=x",
        "bs=",
        "bs=8k size=4k",
        "bs=1000 direct=1",
        "iodepth=0",
        "iodepth=5000",
        "numjobs=0",
        "rw=trim",
        "rw=reed",
        "iodepht=4",
        "frobnicate=1",
        "ioengine=mmap",
        "ioengine=foo",
        "time_based=1",
        "time=0",
        "time=x",
        "runtime=-3",
        "rate=0",
        "rate=100",
        "rw=randrw rate=1m",
        "rw=randrw rate_iops=10",
        "rate_process=poisson",
        "fsync=1",
        "rw=read random_distribution=zipf:1.2",
        "rw=randread random_distribution=zipf:0",
        "rw=randread random_distribution=zoned:1/2",
        "bssplit=4k/60:8k/50",
        "bssplit=4k/x",
        "bsrange=8k-4k",
        "rwmixread=101",
        "loops=2 number_ios=3",
        "latency_target=1",
        "ratemin=1m rate=x frobnicate=1",
        "verify_fatal=2x verify=crc",
        "rw=randread bs=4k,8k rw=randrw",
        "exec_prerun=ls",
        "ba=8k",
        "rw=read:-4k",
        "rw=read zonemode=strided zonesize=10k zoneskip=1m",
        "zonesize=1m",
        "ba=2k norandommap",
        "nrfiles=3",
        "filesize=4k-8k",
        "direct=maybe",
        "sync=2",
    ] {
        let all: Vec<_> = [("rw", "randread"), ("size", "1m")].into_iter().chain(options(line)).collect();
        let why = Job::of_options("io", &all, Prefixes::Plain).expect_err(line);
        said += &format!("{line}\n    {why}\n");
    }
    for line in [
        "-b",
        "-b 0",
        "-b 3k -t 2k",
        "-a HDF5",
        "-c",
        "-a MPIIO -F",
        "-a MPIIO -b 2m -t 1m",
        "-Q x",
        "--posix.foo",
        "-O x",
        "-D 3",
        "-z -z",
        "-C -Z",
        "-O stoneWallingWearOut=1",
        "-O stoneWallingWearOut=2 -O stoneWallingStatusFile=s -O summaryFormat=JSON -p",
        "file",
        "-o a@b",
        "-J 3",
    ] {
        said += &format!("ior {line}\n    {}\n", Ior::of_words(&words(line)).expect_err(line));
    }
    for line in [
        "",
        "-n 0",
        "-n 3 -I 3",
        "-n 3 -z 3 -b 2",
        "-n 1 -z 40 -b 3",
        "-n 10 -e 4k",
        "-n 10 -W 3",
        "-S -n 1",
        "-a MPIIO",
    ] {
        said += &format!("mdtest {line}\n    {}\n", Mdtest::of_words(&words(line)).expect_err(line));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn names_that_no_program_can_spell_are_refused() {
    let job = Job::of_options("io", &options("rw=read size=1m"), Prefixes::Plain).unwrap();
    for directory in ["a\nb", "a\\", "\u{1b}[31m"] {
        let refused = fio::program(&job, &Place::in_directory(directory), "x");
        assert!(matches!(refused, Err(Refusal::Name(_))), "{directory:?}");
    }
    // A command line is a comment: nothing in it begins a line.
    let text = fio::program(&job, &Place::in_directory("."), "lastrank io\ndelete(\"/\");").unwrap();
    assert!(text.contains("`lastrank io delete"), "{text}");
}

mod any {
    //! Any input is refused, or becomes a program that the language accepts.
    use super::*;
    use proptest::prelude::*;

    /// A name and a value that fio might have, or not.
    fn option() -> impl Strategy<Value = String> {
        let names = [
            "rw",
            "bs",
            "bsrange",
            "bssplit",
            "size",
            "iodepth",
            "numjobs",
            "runtime",
            "time_based",
            "ramp_time",
            "io_size",
            "number_ios",
            "direct",
            "sync",
            "fsync",
            "fdatasync",
            "end_fsync",
            "rate",
            "rate_iops",
            "rate_process",
            "thinktime",
            "rwmixread",
            "random_distribution",
            "overwrite",
            "invalidate",
            "fallocate",
            "stonewall",
            "offset",
            "filename",
            "directory",
            "ioengine",
            "unlink",
            "thread",
            "buffered",
            "filesize",
            "nrfiles",
            "loops",
            "startdelay",
            "verify",
            "exitall",
            "create_only",
            "allow_file_create",
            "filename_format",
            "offset_increment",
            "thinktime_blocks",
            "norandommap",
        ];
        let values = [
            "0",
            "1",
            "2",
            "4k",
            "64k",
            "1m",
            "8k-64k",
            "4k/50:8k/50",
            "1k/:512",
            "randrw",
            "read",
            "write",
            "randwrite",
            "zipf:1.2",
            "pareto:0.5",
            "normal:3",
            "zoned:1/99:99/1",
            "poisson",
            "psync",
            "libaio",
            "100/s",
            "3s",
            "70",
            "dsync",
            "native",
            "a b",
            "a:b",
            "read:4k",
            "randread:3",
            "4k,8k",
            "md5",
            "$jobname-$jobnum.$filenum",
            "x$y",
            "\"q\"",
            "9223372036854775807",
            "18446744073709551616",
            "-1",
            "",
        ];
        (proptest::sample::select(names.to_vec()), proptest::sample::select(values.to_vec()))
            .prop_map(|(name, value)| format!("{name}={value}"))
    }

    fn accepted(text: &str) {
        let mut source = ppl::Source::new("made.ppl", text);
        if let Err(found) = ppl::compile(&mut source, &Settings::default(), false, None) {
            let words: Vec<_> = found.iter().map(|one| one.message.as_str()).collect();
            panic!("{words:?}\n{text}");
        }
    }

    proptest! {
        #[test]
        fn job_files(sections in prop::collection::vec(prop::collection::vec(option(), 0..7), 1..4)) {
            let mut text = String::from("[global]\nsize=1m\n");
            for (number, options) in sections.iter().enumerate() {
                text += &format!("[job {number}]\n{}\n", options.join("\n"));
            }
            if let Ok(program) = JobFile::read(&text).and_then(|file| file.program("x")) {
                accepted(&program);
            }
        }

        #[test]
        fn texts(text in "(\\PC|\n){0,200}") {
            let _ = JobFile::read(&text).and_then(|file| file.program(&text));
            if let Some(words) = ior::words(&text) {
                let _ = Ior::of_words(&words).and_then(|ior| ior.program(&text));
                let _ = Mdtest::of_words(&words).and_then(|mdtest| mdtest.program(&text));
            }
        }

        #[test]
        fn command_lines(words in prop::collection::vec(proptest::sample::select(vec![
            "-a", "POSIX", "MPIIO", "-b", "1m", "-t", "64k", "-s", "2", "-F", "-C", "-e", "-w", "-r", "-z", "-i", "3", "-D",
            "-E", "-k", "-n", "10", "-u", "-L", "-N", "1", "-T", "-R", "-I", "-d", "x", "-y", "9223372036854775807", "-Q",
        ]), 0..9)) {
            let words: Vec<String> = words.into_iter().map(String::from).collect();
            if let Ok(text) = Ior::of_words(&words).and_then(|ior| ior.program("x")) {
                accepted(&text);
            }
            if let Ok(text) = Mdtest::of_words(&words).and_then(|mdtest| mdtest.program("x")) {
                accepted(&text);
            }
        }
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = "[global]\nfrobnicate=1\n[a]\nsize=x\nzonemode=zbd\n[b]\nrw=reed\n";
    let told = JobFile::read(text).unwrap_err().to_string();
    assert_eq!(told.lines().count(), 4, "{told}");
    let told = Ior::of_words(&words("-b x -J 3 -t y")).unwrap_err().to_string();
    assert_eq!(told.lines().count(), 3, "{told}");
}
