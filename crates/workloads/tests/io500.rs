//! Tests that a configuration of IO500 is carried out or refused by name, and that a result says what makes it invalid.

use workloads::io500::{Config, Found, Measured, Outcome, Phase, Unit};

/// Every section of a standard run with its keys and what they are where nothing is said.
const DEFAULTS: &str = "
[global]
datadir = ./datafiles
timestamp-datadir = TRUE
resultdir = ./results
timestamp-resultdir = TRUE
api = POSIX
drop-caches = FALSE
drop-caches-cmd = sudo -n bash -c \"echo 3 > /proc/sys/vm/drop_caches\"
io-buffers-on-gpu = FALSE
verbosity = 1
scc = FALSE
dataPacketType = timestamp

[debug]
stonewall-time = 300 # seconds
pause-dir =

[ior-easy]
API =
transferSize = 2m
blockSize = 9920000m
filePerProc = TRUE
uniqueDir = FALSE
run = TRUE
verbosity =
[ior-easy-write]
API =
run = TRUE
[mdtest-easy]
n = 1000000
[find-easy]
pfind-queue-length = 10000
[ior-hard]
segmentCount = 10000000
collective =
[ior-hard-write]
collective = FALSE
[mdtest-hard]
n = 1000000
files-per-dir =
[find]
external-script =
external-mpi-args =
external-extra-args =
nproc =
run = TRUE
pfind-queue-length = 10000
pfind-steal-next = FALSE
pfind-parallelize-single-dir-access-using-hashing = FALSE
; a comment
[ior-easy-read]
run = 1
[mdtest-hard-delete]
run = true
[ior-rnd4K-easy-read]
run = TRUE
";

fn refused(text: &str) -> String {
    Config::read(text).expect_err(text).to_string()
}

#[test]
fn what_is_not_said_is_as_in_io500() {
    let config = Config::read("").unwrap();
    assert_eq!(Config::read(DEFAULTS).unwrap(), config);
    assert_eq!((config.stonewall_seconds, config.least_seconds()), (300, 300));
    assert_eq!((config.easy_transfer, config.easy_block), (2 << 20, 9_920_000 << 20));
    assert_eq!(
        (config.easy_files, config.hard_files, config.hard_segments),
        (1_000_000, 1_000_000, 10_000_000)
    );
    assert!(config.stamps_data && config.stamps_results && config.left_out.is_empty());
}

#[test]
fn every_key_that_is_carried_out_changes_the_configuration() {
    let plain = Config::read("").unwrap();
    for (section, line) in [
        ("global", "datadir = /scratch/io500"),
        ("global", "Timestamp-DataDir = false"),
        ("global", "resultdir = /home/me/results"),
        ("global", "timestamp-resultdir = 0"),
        ("global", "drop-caches = TRUE"),
        ("global", "scc = TRUE"),
        ("debug", "stonewall-time = 1"),
        ("ior-easy", "transferSize = 1m"),
        ("ior-easy", "blockSize = 64m"),
        ("ior-easy", "filePerProc = FALSE"),
        ("ior-easy", "API = POSIX --posix.odirect"),
        ("mdtest-easy", "n = 10"),
        ("ior-hard", "segmentCount = 10"),
        ("mdtest-hard", "n = 10"),
        ("find", "nproc = 2"),
        ("find", "run = FALSE"),
        ("mdtest-hard-delete", "run = FALSE"),
    ] {
        let changed = Config::read(&format!("[{section}]\n{line}\n")).unwrap();
        assert_ne!(changed, plain, "[{section}] {line}");
        let of_files = ["datadir", "Timestamp", "resultdir", "timestamp", "scc"]
            .iter()
            .any(|word| line.starts_with(word));
        let parameters = |config: &Config| config.parameters("d", 0);
        assert_eq!(parameters(&changed) == parameters(&plain), of_files, "[{section}] {line}");
    }
}

#[test]
fn a_family_that_is_left_out_leaves_out_its_phases() {
    let config = Config::read("[mdtest-easy]\nrun = FALSE\n").unwrap();
    let left_out = [Phase::MdtestEasyWrite, Phase::MdtestEasyStat, Phase::MdtestEasyDelete];
    assert_eq!(config.left_out, left_out);
    assert!(
        config
            .parameters("d", 4)
            .contains(&"leave_out=mdtest-easy-write,mdtest-easy-stat,mdtest-easy-delete".into())
    );
}

#[test]
fn what_is_not_carried_out_is_refused_with_the_way_out() {
    for (text, words) in [
        (
            "[ior-hard]\ncollective = TRUE",
            "in [ior-hard]: IO500's option `collective = TRUE` is not supported",
        ),
        ("[global]\napi = MPIIO", "write POSIX"),
        ("[global]\napi = POSIX --posix.odirect", "write it in [ior-easy]"),
        ("[ior-easy]\nAPI = POSIX --posix.odirect\n[ior-easy-read]\nAPI = POSIX", "write it once"),
        ("[find]\nexternal-script = ./find.sh", "leave it out"),
        ("[debug]\npause-dir = ./pause/", "a run does not pause"),
        ("[mdtest-hard]\nfiles-per-dir = 100", "lower n"),
        ("[global]\ndrop-caches-cmd = /bin/drop", "no command is started"),
        ("[global]\ndatapackettype = offset", "does not compress"),
        ("[ior-easy]\nuniqueDir = TRUE", "write FALSE"),
        ("[ior-easy]\nblockSize = 3m", "no multiple of transferSize"),
        ("[ior-easy-write]\nrun = FALSE", "[ior-easy-read] needs the files of [ior-easy-write]"),
        ("[mdtest-hard]\nrun = FALSE", "[find] needs the files of [mdtest-hard-write]"),
        ("[mdtest-easy]\nn = 10k", "n=10k`: a whole number"),
        ("[mdtest-easy]\nn = 0", "a whole number"),
        ("[debug]\nstonewall-time = 0.5", "a whole number"),
        ("[ior-easy]\ntransferSize = 0", "a size"),
        ("[find]\nrun = yes", "TRUE or FALSE"),
        ("[ior-eazy]\nrun = TRUE", "did you mean `ior-easy`?"),
        ("[ior-easy]\nblocksiz = 1m", "did you mean `blocksize`?"),
        ("datadir = x", "line 1"),
        ("[global]\ndatadir", "line 2"),
    ] {
        let told = refused(text);
        assert!(told.contains(words), "{text}: {told}");
        assert!(!told.contains('\n'), "one mistake is told once: {told}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let told = refused("[global]\napi = DFS\nfoo = 1\n[nowhere]\nx = 1\n[find]\nnproc = many\n");
    assert_eq!(told.lines().count(), 4, "{told}");
    for word in ["DFS", "foo", "[nowhere]", "nproc=many"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

/// A result that meets every rule.
fn measured() -> Vec<Measured> {
    let amount = |phase: Phase| if phase.unit() == Unit::GibPerSecond { 301 << 30 } else { 301_000 };
    Phase::ALL.into_iter().map(|phase| Measured { phase, amount: amount(phase), seconds: 301.0 }).collect()
}

const FOUND: Found = Found { complete: true, errors: 0, files: 7 };

#[test]
fn a_result_that_meets_the_rules_is_valid_and_is_no_submission() {
    let config = Config::read("").unwrap();
    let outcome = Outcome { config: &config, measured: measured(), found: FOUND };
    assert_eq!(outcome.reasons(), Vec::<String>::new());
    let (summary, sections) = (outcome.summary("1.0"), outcome.sections(&[("procs", "4".into())]));
    assert!(!summary.contains("INVALID") && !sections.contains("INVALID"), "{summary}{sections}");
    assert!(
        summary.contains("[RESULT]       ior-easy-write        1.000000 GiB/s : time 301.000 seconds\n"),
        "{summary}"
    );
    assert!(
        summary.contains("[SCORE ] Bandwidth 1.000000 GiB/s : IOPS 1.000000 kiops : TOTAL 1.000000\n"),
        "{summary}"
    );
    assert!(
        summary.contains("No result of lastrank can be submitted")
            && sections.contains("procs               = 4")
    );
    assert_eq!(sections.matches("score  ").count(), 12, "{sections}");
}

#[test]
fn each_rule_that_is_broken_is_named() {
    type Break = fn(&mut Config, &mut Vec<Measured>, &mut Found);
    let broken: [(Break, &str); 9] = [
        (|config, _, _| config.stonewall_seconds = 1, "stonewall-time is 1; the rules ask for 300"),
        (
            |_, all, _| all[2].seconds = 299.0,
            "ior-hard-write took 299.000 s, less than its stonewall of 300 s",
        ),
        (|_, all, _| _ = all.pop(), "mdtest-hard-delete did nothing, or did not end"),
        (|_, all, _| all[4].amount = 0, "find did nothing"),
        (
            |config, all, _| {
                config.left_out.push(Phase::Find);
                all.remove(4);
            },
            "find was left out",
        ),
        (|_, _, found| found.errors = 1, "1 operation failed"),
        (|_, _, found| found.complete = false, "did not come to its end"),
        (|_, _, found| found.files = 0, "the search found no file"),
        (|config, _, _| config.student = true, "stonewall-time is 300; the rules ask for 30"),
    ];
    for (break_it, words) in broken {
        let (mut config, mut all, mut found) = (Config::read("").unwrap(), measured(), FOUND);
        break_it(&mut config, &mut all, &mut found);
        let outcome = Outcome { config: &config, measured: all, found };
        let reasons = outcome.reasons();
        assert_eq!(reasons.len(), 1, "{words}: {reasons:?}");
        assert!(reasons[0].contains(words), "{words}: {reasons:?}");
        let (summary, sections) = (outcome.summary("1.0"), outcome.sections(&[]));
        let score =
            |text: &str| text.lines().any(|line| line.contains("SCORE") && line.ends_with("[INVALID]"));
        assert!(score(&summary) && score(&sections) && summary.contains(words), "{summary}{sections}");
    }
}

#[test]
fn a_write_phase_below_the_rules_time_is_invalid_alone() {
    let config = Config::read("[debug]\nstonewall-time = 100\n").unwrap();
    let mut all = measured();
    all[0].seconds = 120.0;
    let reasons = Outcome { config: &config, measured: all, found: FOUND }.reasons();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons[1].contains("ior-easy-write took 120.000 s; the rules ask for at least 300 s"),
        "{reasons:?}"
    );
}
