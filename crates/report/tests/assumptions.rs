//! The assumptions behind a step: what a run tells of each beside the statistics.

use report::{Assumed, Assumption, ReportOptions, build};
use samples::{
    BlockDevice, Cause, Facts, FileLayout, Interface, Load, MachineFacts, PathFacts, Run, Sample, Site,
};
use tail::targets::Standing;

/// Eight ranks that write 100 times at once; every 40th write of a rank is slow, for the reason that `cause` gives.
fn run(facts: Facts, cause: impl Fn(&mut Sample)) -> Run {
    let site = Site { operation: "fwrite".into(), labels: vec!["write".into()], ..Site::default() };
    let mut samples = Vec::new();
    for step in 0..100_u64 {
        for rank in 0..8 {
            let noise = (step * 8 + u64::from(rank)).wrapping_mul(2_654_435_761) % 1_000_000;
            let mut one =
                Sample { rank, duration_ps: 1_000_000_000 + 100 * noise, bytes: 4096, ..Sample::default() };
            one.start_ns = step * 2_000_000;
            if (step + 5 * u64::from(rank)).is_multiple_of(40) {
                one.duration_ps += 9_000_000_000;
                cause(&mut one);
            }
            samples.push(one);
        }
    }
    let report = [("gate".to_owned(), "fwrite".to_owned())].into();
    Run { facts: Facts { ranks: 8, report, ..facts }, sites: vec![site], samples }
}

fn found(run: &Run) -> Vec<Assumption> {
    let options = ReportOptions {
        fit: tail::assess::AssessOptions { bootstrap: 19, ..ReportOptions::default().fit },
        ..ReportOptions::default()
    };
    build(run, &options).assumptions
}

fn of(run: &Run, assumed: Assumed) -> (Standing, String) {
    let one = found(run).into_iter().find(|one| one.assumption == assumed).expect("a gate");
    (one.standing, one.because)
}

fn on(path: PathFacts) -> Facts {
    Facts { file_systems: vec![path], ..Facts::default() }
}

#[test]
fn ranks_of_one_device_or_of_several_machines_are_not_one_to_many() {
    let device = BlockDevice { name: "vda".into(), ..BlockDevice::default() };
    let local = on(PathFacts { device: Some(device), ..PathFacts::default() });
    let striped = FileLayout::Striped {
        stripe_size: Some(1 << 20),
        stripe_count: Some(16),
        targets: Vec::new(),
        note: None,
    };
    let cases = [
        (local, Standing::NotMet, "8 ranks share one local device (vda)"),
        (on(PathFacts { layout: striped, ..PathFacts::default() }), Standing::Met, "striped over 16 targets"),
        (on(PathFacts::default()), Standing::NotKnown, "is not known"),
        (Facts { hosts: vec!["a".into(), "b".into()], ..Facts::default() }, Standing::NotMet, "2 clients"),
        (Facts { backend: "simulate:exp(1ms)".into(), ..Facts::default() }, Standing::Met, "simulated"),
    ];
    for (facts, standing, words) in cases {
        let (is, because) = of(&run(facts, |_| {}), Assumed::OneToMany);
        assert!(is == standing && because.contains(words), "{is:?} {because}");
    }
}

#[test]
fn the_side_that_took_the_lost_time_is_told_with_its_share() {
    let device = |one: &mut Sample| {
        one.blocked_ns = 9_000_000;
        one.causes = Cause::Blocked as u16 | Cause::Device as u16;
    };
    let (is, because) = of(&run(Facts::default(), device), Assumed::FromTargets);
    assert!(is == Standing::Met && because.contains("a wait for a device"), "{because}");
    let waits = |one: &mut Sample| one.queue_ns = 9_000_000;
    let (is, because) = of(&run(Facts::default(), waits), Assumed::FromTargets);
    assert_eq!(is, Standing::NotMet, "{because}");
    let (is, because) = of(&run(Facts::default(), |_| {}), Assumed::FromTargets);
    assert!(is == Standing::NotKnown && because.contains("not seen"), "{because}");
}

#[test]
fn a_link_that_is_full_makes_the_client_the_bottleneck() {
    let at = |uptime_s: f64, sent: u64, megabits: Option<u64>| Load {
        uptime_s: Some(uptime_s),
        network: vec![Interface { name: "eth0".into(), received: 7, sent, megabits }],
        ..Load::default()
    };
    let facts = |sent: u64, megabits: Option<u64>| {
        let machine = MachineFacts {
            load: at(100.0, 1_000, megabits),
            load_after: Some(at(110.0, 1_000 + sent, megabits)),
            ..MachineFacts::default()
        };
        Facts { machine: Some(machine), ..Facts::default() }
    };
    // 1.1 GB in 10 s are 880 Mbit/s.
    let (is, because) = of(&run(facts(1_100_000_000, Some(1_000)), |_| {}), Assumed::FromTargets);
    assert_eq!(is, Standing::NotMet);
    assert_eq!(because, "the client is the bottleneck: eth0 carried 880 of 1000 Mbit/s on average");
    let (is, because) = of(&run(facts(1_100_000_000, Some(10_000)), |_| {}), Assumed::FromTargets);
    assert!(is == Standing::NotKnown && because.ends_with("880 of 10000 Mbit/s on average"), "{because}");
    let (is, because) = of(&run(facts(1_100_000_000, None), |_| {}), Assumed::FromTargets);
    assert!(is == Standing::NotKnown && because.contains("the rate of its link is not known"), "{because}");
}

#[test]
fn the_statistics_are_those_of_the_targets_and_a_single_rank_has_none() {
    let mut all = run(Facts::default(), |_| {});
    let said = found(&all);
    let order: Vec<Assumed> = said.iter().map(|one| one.assumption).collect();
    assert_eq!(
        order,
        [Assumed::Independent, Assumed::OneToMany, Assumed::FromTargets, Assumed::Alike, Assumed::Constant]
    );
    let report = build(&all, &ReportOptions::default());
    let targets = report.main.as_ref().and_then(|main| main.targets.as_ref()).expect("targets");
    let dependence = targets.dependence.expect("enough steps");
    assert!(said[0].because.contains(&format!("{:+.3}", dependence.correlation)), "{}", said[0].because);
    let text = report.terminal_text();
    assert!(text.contains("What T = k · max S assumes") && text.contains("connections are alike"), "{text}");
    all.samples.retain(|one| one.rank == 0);
    assert!(found(&all).is_empty());
}
