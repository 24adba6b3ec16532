//! What is left for an ordinary user, where a container forbids perf events, and where a program is confined.

mod support;

use engine::run::Options;
use perf::Watch;
use ppl::Source;
use ppl::plan::Settings;
use samples::Tier;
use support::alone;
use support::language::plan;

/// Answers `perf_event_open` with EPERM from here on, as container runtimes do.
fn forbid_perf_events() {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let rule = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut rules = [
        rule(LOAD_NUMBER, 0, 0, 0),
        rule(IF_EQUAL, 0, 1, libc::SYS_perf_event_open as u32),
        rule(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        rule(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: rules.len() as u16, filter: rules.as_mut_ptr() };
    // SAFETY: the program and its rules live through the call; the filter holds for this process only.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

/// Runs a program that blocks now and then: exit status, tier, whether blocking was seen, what was not.
fn blocking_run() -> String {
    let mut source = Source::new("test.ppl", "repeat 50 pipe_pingpong(200); repeat 50 getpid();");
    let (plan, _) = ppl::compile(&mut source, &Settings::default(), false, None).expect("a program");
    let outcome = engine::run(&plan, &Options::new(1), |_| ()).expect("a run");
    let blocked =
        outcome.run.samples.iter().any(|one| samples::Causes(one.causes).has(samples::Cause::Blocked));
    let coverage = serde_json::to_value(&outcome.run.facts.coverage).expect("plain data");
    let (tier, blind) = (&coverage["tier"], &coverage["blind"]);
    format!("exit {} {tier} blocked {blocked} blind {blind}", outcome.exit_status())
}

#[test]
fn without_perf_events_long_operations_are_watched_through_the_counters_and_that_is_said() {
    let said = alone(
        "without_perf_events_long_operations_are_watched_through_the_counters_and_that_is_said",
        || {
            forbid_perf_events();
            let watch = Watch::of_this_thread();
            assert_eq!((watch.coverage().tier, watch.is_cheap()), (Tier::Accounting, false));
            blocking_run()
        },
    );
    assert!(said.starts_with("exit 0 \"accounting\" blocked true"), "{said}");
    assert!(said.contains("causes of operations shorter than 20 µs: no perf events"), "{said}");
}

#[test]
fn an_ordinary_user_measures_and_describes_the_machine() {
    let said = alone("an_ordinary_user_measures_and_describes_the_machine", || {
        use std::os::unix::fs::PermissionsExt;
        // What is said is written down by nobody, too, who may work in a directory for everybody.
        let result = std::env::var_os("LASTRANK_TEST_RESULT").expect("a place for the result");
        std::fs::set_permissions(result, std::fs::Permissions::from_mode(0o666)).expect("our own file");
        std::env::set_current_dir(std::env::temp_dir()).expect("the directory");
        let nobody = 65_534;
        // SAFETY: plain calls; this process drops what it may and never gets it back. A user who is not
        // root is ordinary already.
        unsafe {
            if libc::geteuid() == 0 {
                assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
                assert_eq!(libc::setresgid(nobody, nobody, nobody), 0);
                assert_eq!(libc::setresuid(nobody, nobody, nobody), 0);
            }
        }
        let machine = machine::describe(&["/tmp".as_ref()]);
        assert!(!machine.limits.root && machine.processor.online.is_some(), "{:?}", machine.limits);
        blocking_run()
    });
    assert!(said.starts_with("exit 0") && said.contains("blocked true"), "{said}");
    assert!(said.contains("interrupts"), "{said}");
    assert!(!said.contains("\"tracepoints\""), "{said}");
}

#[test]
fn an_open_that_follows_no_link_opens_what_is_none_and_fails_on_a_link() {
    let said = alone("an_open_that_follows_no_link_opens_what_is_none_and_fails_on_a_link", || {
        let home = tempfile::tempdir().expect("a directory");
        let here = home.path().join("here");
        std::fs::create_dir(&here).expect("mkdir");
        // The kernel confines to what exists; a directory that is made later is watched by descriptors.
        let later = home.path().join("later");
        let options = Options { allow: vec![later], ..Options::new(1) };
        std::env::set_current_dir(&here).expect("the directory");
        let text = r#"
            mkdir("../later"); write("../later/a", 1k); symlink("a", "../later/b");
            $f = fopen("../later/c", "O_WRONLY|O_CREAT|O_NOFOLLOW"); fwrite($f, 1k); fclose($f);
            $f = fopen("../later/a", "O_RDONLY|O_NOFOLLOW"); fread($f, 1k); fclose($f);
            $f = fopen("../later/a", "O_WRONLY|O_NOFOLLOW"); fwrite($f, 1k); fclose($f);
            expect errno == ELOOP { $f = fopen("../later/b", "O_RDONLY|O_NOFOLLOW"); }
            expect errno == ELOOP { $f = fopen("../later/b", "O_WRONLY|O_NOFOLLOW"); }
            expect errno == ELOOP { $f = fopen("../later/b", "O_WRONLY|O_CREAT|O_NOFOLLOW"); }
            $f = fopen("../later/b", "r"); fread($f, 1k); fclose($f);
            "#;
        let outcome = engine::run(&plan(text, 1, 1), &options, |_| ()).expect("a run");
        format!("exit {} {:?}", outcome.exit_status(), outcome.failures())
    });
    assert_eq!(said, "exit 0 []");
}

#[test]
fn an_open_to_read_follows_a_link_inside_and_none_that_leads_out() {
    let said = alone("an_open_to_read_follows_a_link_inside_and_none_that_leads_out", || {
        let home = tempfile::tempdir().expect("a directory");
        let here = home.path().join("here");
        std::fs::create_dir(&here).expect("mkdir");
        std::env::set_current_dir(&here).expect("the directory");
        std::fs::write("../outside", "text").expect("write");
        for (target, name) in [("a", "in"), ("in", "twice"), ("nothing", "dangling"), ("../outside", "out")] {
            std::os::unix::fs::symlink(target, name).expect("symlink");
        }
        let status = |text: &str| {
            let outcome = engine::run(&plan(text, 1, 1), &Options::new(1), |_| ()).expect("a run");
            let samples = outcome.run.samples.iter().map(|sample| (sample.bytes, sample.errno));
            (outcome.exit_status(), samples.collect::<Vec<_>>())
        };
        let inside = r#"
            write("a", 1k);
            $f = fopen("in", "r"); fread($f, 1k); fclose($f);
            $f = fopen("twice", "r"); fread($f, 1k); fclose($f);
            expect errno == ENOENT { $f = fopen("dangling", "r"); }
            expect errno == ENOENT { $f = fopen("missing", "r"); }
            "#;
        format!("{:?}\n{:?}", status(inside), status(r#"$f = fopen("out", "r");"#).1)
    });
    let read = "(0, 0), (1024, 0), (0, 0)";
    assert_eq!(said, format!("(0, [(1024, 0), {read}, {read}, (0, 2), (0, 2)])\n[]"));
}

/// What a replay may make: links that lead anywhere. Nothing is changed or read through them, and they may be moved.
#[test]
fn a_link_that_leads_anywhere_gives_nothing_that_lies_there() {
    let said = alone("a_link_that_leads_anywhere_gives_nothing_that_lies_there", || {
        let home = tempfile::tempdir().expect("a directory");
        let (here, user) = (home.path().join("here"), home.path().join("user"));
        std::fs::create_dir(&here).expect("mkdir");
        std::fs::create_dir(&user).expect("mkdir");
        std::fs::write(user.join("f"), "the user's").expect("write");
        std::env::set_current_dir(&here).expect("the directory");
        let f = user.join("f");
        let before = (f.metadata().expect("there"), std::fs::read(&f).expect("readable"));
        let links = format!(
            r#"mkdir("d"); mkdir("e"); symlink("{0}/f", "f1"); symlink("{0}", "dir"); symlink("{0}/new", "new1");
            symlink("e/../../user/f", "f2"); symlink("../../user/f", "d/f3"); rename("d", "e/d"); rename("dir", "d");
            symlink("../user", "e/up"); rename("e", "d1"); symlink("..", "d1/d2"); "#,
            user.display()
        );
        let by_link = |name: &str| {
            [
                "write(@, 1)",
                "append(@, 1)",
                "$f = fopen(@, \"r+\"); fwrite($f, 1)",
                "$f = fopen(@, \"O_WRONLY|O_TRUNC\")",
            ]
            .into_iter()
            .chain(["chmod(@, 0)", "utimes(@)", "setxattr(@, \"user.k\")", "read(@)", "$f = fopen(@, \"r\")"])
            .map(|call| call.replace('@', &format!("\"{name}\"")))
            .collect::<Vec<_>>()
        };
        let mut calls: Vec<String> =
            ["f1", "d/f", "d1/d2/../user/f"].iter().flat_map(|name| by_link(name)).collect();
        calls.extend(
            [
                "create(\"d/x\")",
                "create(\"new1\")",
                "mkdir(\"d/x\")",
                "delete(\"d/f\")",
                "rename(\"d/f\", \"mine\")",
            ]
            .into_iter()
            .chain([
                "link(\"d/f\", \"mine\")",
                "write(\"m\", 1); rename(\"m\", \"d/m\")",
                "for $f in glob(\"d/*\") delete($f)",
            ])
            .map(str::to_owned),
        );
        let mut gave = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            // The kernel confines to what exists; a directory that is made later is watched by descriptors.
            let allow = if number % 2 == 0 { vec![home.path().join("later")] } else { Vec::new() };
            let options =
                Options { links: true, allow, clean: engine::run::Clean::Always, ..Options::new(1) };
            let outcome =
                engine::run(&plan(&format!("{links}{call};"), 1, 1), &options, |_| ()).expect("a run");
            let made = outcome.run.samples.iter().filter(|sample| sample.errno == 0).count();
            if made < 12 {
                gave.push(format!("{made} before {call}: {:?}", outcome.failures()));
            }
            let same = std::fs::read(&f).is_ok_and(|text| text == before.1)
                && f.symlink_metadata().is_ok_and(|now| {
                    use std::os::unix::fs::MetadataExt;
                    (now.mode(), now.mtime_nsec(), now.ino(), now.nlink())
                        == (before.0.mode(), before.0.mtime_nsec(), before.0.ino(), 1)
                });
            let is_alone = std::fs::read_dir(&user).is_ok_and(|names| names.count() == 1);
            let is_refused = outcome.exit_status() != 0 || call.starts_with("for");
            if !same
                || !is_alone
                || !is_refused
                || std::fs::read_dir(&here).is_ok_and(|names| names.count() > 0)
            {
                gave.push(format!("{call}: {same} {is_alone} {is_refused} {:?}", outcome.failures()));
            }
        }
        format!("{gave:?}")
    });
    assert_eq!(said, "[]");
}
