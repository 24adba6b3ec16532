//! Tests of the programs of job files.

mod common;

use common::checked;
use workloads::fio::JobFile;

#[test]
fn what_a_job_file_may_say_besides() {
    let kinds = [
        "rw=rw",
        "rw=randrw\nnorandommap",
        "rw=read:4k",
        "rw=randread:4",
        "rw=write\nverify=crc32c",
        "rw=randwrite\nverify=md5\nioengine=libaio\niodepth=4",
        "rw=read\nverify=md5",
        "rw=write\nnrfiles=4\nend_fsync=1",
        "rw=randread\nnrfiles=4",
        "rw=read\nfilename=a:b",
        "rw=write\ndirectory=x:y\nnumjobs=4",
        "rw=write\nfilename_format=$jobnum-x$filenum",
        "rw=randread\nfilesize=4m",
        "rw=read\nfilesize=64k\ntime_based\nruntime=1",
        "rw=write\nloops=3\nend_fsync=1",
        "rw=write\nfsync=3\nnumber_ios=20",
        "rw=rw\nfsync=1\nio_size=3m",
        "rw=randrw\nfdatasync=4",
        "rw=write\nstartdelay=2",
        "rw=write\ncreate_only=1",
        "rw=read\nfilename=x\nallow_file_create=0",
        "rw=write\nfilename=x\noffset_increment=1m\nnumjobs=4",
        "rw=write\nthinktime=10\nthinktime_blocks=8",
        "rw=write\nbs=4k,64k\nrate=,10m",
        "rw=randread\nbsrange=4k-20k\nnorandommap",
        "rw=rw\nbssplit=4k/20:16k/80",
        "rw=randread\nrandom_distribution=normal:20\nruntime=3\ntime_based\nramp_time=1",
        "rw=randread\nrandom_distribution=pareto:0.3",
        "rw=randread\nrandom_distribution=zoned:60/:40/",
        "rw=randread\nexitall",
    ];
    for kind in kinds {
        let one = format!("[a]\nsize=1m\n{kind}\n");
        let all = format!(
            "[global]\nsize=1m\nexitall={}\n[first]\nrw=write\n{one}stonewall\n[z]\nrw=read\n",
            u8::from(kind.contains("exitall"))
        );
        for text in [one, all] {
            let file = JobFile::read(&text).unwrap_or_else(|why| panic!("{text}{why}"));
            checked(file.program("x").unwrap_or_else(|why| panic!("{text}{why}")));
        }
    }
}

#[test]
fn variables_of_the_environment_are_filled_in() {
    let known = |name: &str| (name == "SIZE").then(|| "1m".to_owned());
    let file = JobFile::read_with("[a]\nsize=${SIZE}\n", &known).unwrap();
    assert_eq!(file.jobs[0].size, Some(1 << 20));
    assert!(JobFile::read_with("[a]\nsize=${OTHER}\n", &known).is_err());
}

#[test]
fn a_depth_without_an_asynchronous_engine_is_one() {
    let text = |engine: &str| format!("[a]\nrw=randread\nsize=1m\niodepth=16\n{engine}");
    let program = |engine| JobFile::read(&text(engine)).unwrap().program("x").unwrap();
    assert!(!program("").contains("async"));
    assert!(program("ioengine=libaio\n").contains("async depth=$depth"));
}

#[test]
fn a_job_file_of_several_jobs() {
    let text = "; two writers, then a reader\n[global]\nioengine=libaio\ndirect=1\nbs=4k ; small\nsize=16m\n\
                runtime=3\ntime_based\ngroup_reporting\n\n[fill]\nrw=write\nnumjobs=2\nbs=1M\n\n[log]\nrw=write\n\
                bs=512\nioengine=psync\niodepth=8\nfdatasync=1\n\n[look up]\nstonewall\nrw=randread\niodepth=8\n\
                random_distribution=zipf:1.2\n";
    let file = JobFile::read(text).unwrap();
    insta::assert_snapshot!(checked(file.program("lastrank import job.fio").unwrap()));
}

#[test]
fn a_job_file_of_one_job_has_the_form_of_io() {
    let file = JobFile::read("[reads]\nrw=randread\nfilename=/srv/data.bin\nsize=1MiB\nbs=4k\n").unwrap();
    insta::assert_snapshot!(checked(file.program("lastrank import job.fio").unwrap()));
}

#[test]
fn a_job_that_is_to_be_steady_ends_by_its_rule() {
    let program = |rest: &str| {
        let text = format!("[a]\nrw=randread\nsize=1m\ntime_based\nruntime=60\n{rest}");
        JobFile::read(&text).and_then(|file| file.program("x"))
    };
    let rule = "\"steady\": \"bw slope 9% over 30s each 1s after 5s\", \"until\": \"steady\"";
    for more in ["", "ioengine=libaio\niodepth=4\n", "loops=2\n", "nrfiles=2\n"] {
        let found = program(&format!("ss=bw_slope:0.3%\nss_dur=30s\nss_ramp=5s\n{more}")).expect(more);
        let joined = checked(found).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(rule), "{joined}");
    }
    assert!(!program("").expect("a program").contains("steady"));
    for (rest, said) in [
        ("ss=iops:5%\n", "ss_dur"),
        ("ss_dur=30s\n", "ss_dur goes with ss"),
        ("ss=iops:5%\nss_dur=2s\n", "at least 3s"),
        ("ss=median:5%\nss_dur=30s\n", "a criterion and its limit"),
        ("ss=lat:5%\nss_dur=30s\nss_interval=20\n", "at least 1min"),
        ("ss=iops:5%\nss_dur=30s\n[b]\nrw=read\nsize=1m\n", "a file of its own"),
    ] {
        let why = program(rest).expect_err(rest).to_string();
        assert!(why.contains(said), "{rest}: {why}");
    }
}

#[test]
fn random_blocks_of_several_sizes_and_jobs_that_wait() {
    let text = "[global]\nsize=1m\nexit_what=stonewall\n[mixed]\nrw=randread\nbssplit=4k/50:16k/50\nnumjobs=2\n[behind]\n\
                wait_for=mixed\nrw=write\n";
    let file = JobFile::read(text).unwrap();
    insta::assert_snapshot!(checked(file.program("lastrank import job.fio").unwrap()));
}

#[test]
fn what_a_job_file_cannot_say_is_refused_by_section() {
    let mut said = String::new();
    for line in [
        "",
        "rw=read\n",
        "[a]\nfoo bar\n",
        "[a]\nsize=1m\nrw=bad\n",
        "[a]\nrw=read\n[b]\nrw=read\n",
        "[a]\nsize=${SIZE}\n",
        "[a]\nsize=1m\nfilename_format=one\nnumjobs=2\n",
        "[a]\nsize=1m\nbsrange=4k-8k\nrw=randread\n[b]\nfoo=1\nsize=$ncpus\n",
        "[a]\nsize=1m\nbssplit=8k/50:12k/50\nrw=randread\n",
        "[a]\nsize=1m\nbssplit=4k/50:8k/50\nrw=randread\nrate_iops=9\n",
        "[a]\nsize=1m\nwait_for=b\n[b]\nsize=1m\n",
        "[a]\nsize=1m\nexitall\n[b]\nsize=1m\nexitall\nnew_group\n",
        "[a]\nsize=1m\nexitall\n[b]\nsize=1m\n",
        "[a]\nsize=1m\n[a]\nsize=1m\nnumjobs=2\n",
        "[a]\nrw=write\nsize=1m\nfilename=x\nallow_file_create=0\n",
    ] {
        let why = JobFile::read(line).and_then(|file| file.program("x")).expect_err(line);
        said += &format!("{line:?}\n    {why}\n");
    }
    insta::assert_snapshot!(said);
}
