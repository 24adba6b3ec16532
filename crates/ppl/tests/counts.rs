//! Tests counts above 16 bits: nothing is lost, wrapped or confused.

use ppl::plan::{Plan, Settings};
use ppl::source::Loader;
use ppl::{Diagnostic, Source, compile};

/// More than 16 bits can count.
const MANY: usize = 70_000;

fn compiled(program: &str, included: &str) -> Result<Plan, Vec<Diagnostic>> {
    let mut load = |_: &str| Ok(included.to_owned());
    let loader: Loader<'_> = &mut load;
    compile(&mut Source::new("p.ppl", program), &Settings::default(), false, Some(loader))
        .map(|(plan, _)| plan)
}

/// The number of operations of the program, and of bytes it writes.
fn work(program: &str, included: &str) -> (u64, u64) {
    let plan = compiled(program, included).unwrap_or_else(|found| panic!("{:?}", &found[0]));
    let tally = ppl::count::count(&plan, 0, 10_000_000);
    assert!(!tally.at_least && tally.stopped.is_none(), "{:?}", tally.stopped);
    (tally.total, tally.written)
}

#[test]
fn an_included_file_with_more_than_65536_statements_is_read_completely() {
    for count in [65_534, 65_535, 65_536, 65_537, MANY] {
        let included = "getpid();\n".repeat(count);
        assert_eq!(work("include \"many.ppl\"; getpid();", &included).0, count as u64 + 1);
    }
}

#[test]
fn blocks_lists_names_and_strings_may_have_more_than_65536_parts() {
    let many = MANY as u64;
    assert_eq!(work(&format!("repeat 2 {{ {} }}", "getpid();".repeat(MANY)), "").0, 2 * many);
    let items: Vec<String> = (0..MANY).map(|at| at.to_string()).collect();
    let list = format!("$l = [{}]; write(\"f\", $l[{}]); write(\"f\", len($l));", items.join(","), MANY - 1);
    assert_eq!(work(&list, ""), (2, 2 * many - 1));
    let variables: String = (0..MANY).map(|at| format!("$v{at} = {at};\n")).collect();
    let program =
        format!("{variables} write(\"f\", $v{}); write(\"f\", $v65536); write(\"f\", $v0);", MANY - 1);
    assert_eq!(work(&program, ""), (3, many - 1 + 65_536));
    let strings: String = (0..MANY).map(|at| format!("write(\"f{at}-$$rank\", {});\n", at % 7)).collect();
    let plan = compiled(&strings, "").unwrap();
    assert_eq!(ppl::count::count(&plan, 0, 10_000_000).files, many);
    assert_eq!(plan.sites().len(), MANY);
    let functions: String = (0..MANY).map(|at| format!("def f{at}() {{ return {at}; }}\n")).collect();
    let program = format!("{functions} write(\"f\", f{}()); write(\"f\", f65536());", MANY - 1);
    assert_eq!(work(&program, ""), (2, many - 1 + 65_536));
}

#[test]
fn more_than_65536_choose_bodies_and_locals_are_distinguished() {
    let bodies: String = (0..MANY - 1).map(|at| format!("0: write(\"f\", {at});\n")).collect();
    assert_eq!(work(&format!("choose {{ {bodies} 1: write(\"f\", 12345); }}"), ""), (1, 12_345));
    let locals: String = (0..MANY).map(|at| format!("let $v{at} = {at};\n")).collect();
    let program = format!("def f() {{ {locals} return $v65536 + $v{}; }} write(\"f\", f());", MANY - 1);
    assert_eq!(work(&program, ""), (1, 65_536 + MANY as u64 - 1));
}

#[test]
fn too_many_groups_are_refused() {
    let groups = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("\"g{at}\"")).collect();
        format!("define groups {{{}}};\ngroup \"g{}\" getpid();", names.join(","), count - 1)
    };
    let plan = compiled(&groups(4096), "").unwrap();
    assert_eq!(plan.sites()[0].group.index(), 4096);
    for count in [4097, 65_536, MANY] {
        let found = compiled(&groups(count), "").unwrap_err();
        assert_eq!(found[0].message, "a program has at most 4,096 groups");
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn arguments_and_nesting_end_at_their_limits_with_an_error() {
    let print = |count: usize| format!("print({});", vec!["1"; count].join(","));
    assert!(compiled(&print(200), "").is_ok());
    for count in [201, 256, 257, MANY] {
        assert_eq!(compiled(&print(count), "").unwrap_err()[0].code.as_str(), "E0113");
    }
    let nested = |depth: usize| format!("{}getpid();{}", "repeat 1 {".repeat(depth), "}".repeat(depth));
    assert_eq!(work(&nested(150), "").0, 1);
    for depth in [300, MANY] {
        assert_eq!(compiled(&nested(depth), "").unwrap_err()[0].code.as_str(), "E0112");
    }
}

#[test]
fn a_loop_over_time_and_a_stonewall_count_one_round() {
    let count = |program: &str| {
        let plan = compiled(program, "").unwrap_or_else(|found| panic!("{:?}", &found[0]));
        let tally = ppl::count::count(&plan, 0, 10_000);
        assert!(tally.at_least && tally.stopped.is_none(), "{program}: {:?}", tally.stopped);
        tally.total
    };
    assert_eq!(count("for 60s { getpid(); getppid(); }"), 2);
    assert_eq!(count("getpid(); for 60s { for 1s { getpid(); } getpid(); }"), 3);
    assert_eq!(count("$end = $$time + 60s; while $$time < $end { getpid(); }"), 1);
    assert_eq!(count("phase \"p\" stonewall 30s { while 1 { getpid(); } }"), 1);
    assert_eq!(count("phase \"p\" stonewall 30s { repeat $i 7 { getpid($i + 1); } } getppid();"), 2);
    // An empty loop ends too.
    assert_eq!(count("for 60s { } getpid();"), 1);
}

#[test]
fn what_is_done_first_with_each_name_is_known_before_the_run() {
    use ppl::count::Touch::{Makes, MakesNew, Reads, Removes, Renames, Replaces};
    let program = r#"
        mkdir("d"); write("d/a", 10); read("d/a"); delete("d/a"); delete("old"); rename("b", "c"); stat("never");
        $f = fopen("r", "r"); fclose($f); $f = fopen("x", "O_WRONLY|O_CREAT|O_EXCL"); fclose($f);
        $f = fopen("w", "r+"); fclose($f); symlink("elsewhere", "l"); link("w", "m"); append("e", 1); read("whole");
        repeat 3 { create("loop"); } getpid(); print("no");"#;
    let plan = compiled(program, "").unwrap_or_else(|found| panic!("{:?}", &found[0]));
    let touched = ppl::count::details(&plan, 0, 1_000).touched;
    let wanted = [
        ("d", MakesNew),
        ("d/a", Makes),
        ("old", Removes),
        ("b", Renames),
        ("c", Replaces),
        ("r", Reads),
        ("x", MakesNew),
        ("w", Makes),
        ("l", MakesNew),
        ("m", MakesNew),
        ("e", Makes),
        ("whole", Reads),
        ("loop", Makes),
    ];
    assert_eq!(touched.iter().collect::<Vec<_>>(), wanted);
    assert!(!touched.more);
    let plan = compiled("$i = 0; repeat 1000 { $i = $i + 1; create(\"f-$i\"); }", "").unwrap();
    let touched = ppl::count::walk(&plan, 0, 10_000).touched;
    assert!(touched.more && touched.iter().count() == 256);
}

#[test]
fn a_file_that_is_written_by_a_pattern_ends_behind_the_offset_and_the_pattern() {
    let program = "define pattern {\"p\", 3, 100, 3};\n$f = pfopen(\"f\", \"cw\");\n\
                   repeat $i 5 pfwrite($f, \"p\", $i * 1k);\npfclose($f);";
    let plan = compiled(program, "").unwrap();
    let tally = ppl::count::count(&plan, 0, 1_000);
    assert_eq!((tally.written, tally.space), (5 * 300, 4 * 1024 + 300));
}

#[test]
fn a_pattern_whose_name_is_computed_may_be_any_of_them() {
    let used = |program: &str| {
        let plan = compiled(program, "").unwrap();
        let layouts = ppl::explain::explain(&plan, 1_000).patterns;
        layouts.iter().map(|layout| layout.used).collect::<Vec<_>>()
    };
    let patterns = "define pattern {\"p1\", 3, 100, 3}; define pattern {\"p2\", 3, 100, 3};";
    assert_eq!(used(&format!("{patterns} pwrite(\"f\", \"p2\");")), [false, true]);
    assert_eq!(used(&format!("{patterns} for $i in 1..3 pwrite(\"f\", \"p$i\");")), [true, true]);
}

#[test]
fn lists_and_strings_that_grow_without_end_are_walked_no_further_than_a_budget() {
    for grows in ["$x = [0]; while 1 { $x = $x + [1]; }", "$x = \"a\"; while 1 { $x = \"$x-\"; }"] {
        let plan = compiled(grows, "").unwrap();
        // Each budget is far below the rounds that a list of the greatest length takes.
        let tally = ppl::count::count(&plan, 0, 100_000);
        assert!(tally.at_least, "{grows}");
        assert!(
            tally.stopped.as_ref().is_none_or(|why| !why.contains("long")),
            "{grows}: {:?}",
            tally.stopped
        );
    }
}

#[test]
fn more_rounds_than_there_are_numbers_are_counted_as_the_largest() {
    for text in [
        "repeat 9000000000000000000 repeat 9000000000000000000 { time[\"a\"] write(\"f\", 4k); }",
        "repeat 5000000000000000000 { barrier; stat(\"f\"); } repeat 5000000000000000000 { barrier; stat(\"f\"); }",
    ] {
        let (plan, _) = ppl::compile(&mut Source::new("test.ppl", text), &Settings::default(), false, None)
            .expect("right");
        let found = ppl::count::count(&plan, 0, 10_000);
        assert!(found.total >= 9_000_000_000_000_000_000, "{}", found.total);
    }
}
