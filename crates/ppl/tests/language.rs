//! Tests the meaning of each construct of the language.

mod common;

use common::{execute, plan_of, plan_with, printed};
use ppl::commands::{Class, Effect, Moves, Yields};
use ppl::count::{DEFAULT_BUDGET, count, details};
use ppl::plan::Settings;

#[test]
fn loops_count_break_and_continue() {
    assert_eq!(
        printed("for $i in 0..10 step 3 { if $i == 3 { continue; } if $i > 8 { break; } print($i); }"),
        ["[0] 0", "[0] 6"]
    );
    assert_eq!(printed("for $i in 3..0 step -1 print($i);"), ["[0] 3", "[0] 2", "[0] 1"]);
    assert_eq!(printed("$n = 0; while $n < 3 { $n = $n + 1; } print($n);"), ["[0] 3"]);
    assert_eq!(printed("for $x in [1, \"b\", 2.5] print($x);"), ["[0] 1", "[0] b", "[0] 2.5"]);
    assert_eq!(printed("repeat 2 { repeat 3 { break; } print(\"x\"); }"), ["[0] x", "[0] x"]);
}

#[test]
fn a_repeat_distinguishes_its_counter_from_its_count() {
    assert_eq!(printed("$n = 2; repeat $n print(\"x\");"), ["[0] x", "[0] x"]);
    assert_eq!(printed("$n = 2; repeat $n $x = 1; print($x);"), ["[0] 1"]);
    assert_eq!(printed("$n = 2; repeat $n + 1 { print(\"y\"); }"), ["[0] y", "[0] y", "[0] y"]);
    assert_eq!(printed("repeat $i min(2, 5) print($i);"), ["[0] 0", "[0] 1"]);
    assert_eq!(printed("repeat 2 print(\"z\");"), ["[0] z", "[0] z"]);
}

#[test]
fn the_argument_of_a_command_without_parentheses_may_begin_with_one() {
    assert_eq!(printed("print (1 + 2) * 3;"), ["[0] 9"]);
    assert_eq!(printed("print (1 + 2), 3;"), ["[0] 3 3"]);
    assert_eq!(printed("print ((1 + 2) * 3);"), ["[0] 9"]);
}

#[test]
fn expressions_follow_the_precedence_of_the_language() {
    assert_eq!(printed("print(-2 ^ 2, 2 ^ -1, !0, 1 < 2 && 2 < 1, 0 || 3);"), ["[0] -4 0 1 0 1"]);
    assert_eq!(printed("print(1 == 1 ? \"yes\" : \"no\", \"a\" == \"b\", \"a\" != \"b\");"), ["[0] yes 0 1"]);
    assert_eq!(printed("print(mod(-1, 4), -1 % 4, 7.5 / 2, 1.5 + 1);"), ["[0] 3 -1 3.75 2.5"]);
    assert_eq!(printed("$l = [1, [2, 3]]; print($l[1][0], len($l), $l + [4]);"), ["[0] 2 2 [1, [2, 3], 4]"]);
    assert_eq!(printed("print(0 && 1 / $$rank);"), ["[0] 0"]);
}

#[test]
fn units_are_bytes_or_times() {
    assert_eq!(
        printed("print(4k, 4KiB, 1GB, 5ms, 2s + 500ms, 1s / 4, 1s / 250ms);"),
        ["[0] 4096 4096 1000000000 5ms 2.5s 250ms 4"]
    );
}

#[test]
fn strings_join_and_interpolate() {
    assert_eq!(
        printed("$a = \"x\"; $a_b = 2; print(\"$a_b ${a}b $a-b $abc\" + \"!\", \"${$$rank}foo\");"),
        ["[0] 2 xb x-b xbc! 0foo"]
    );
}

#[test]
fn functions_have_their_own_variables_and_defaults() {
    let program = "def power($b, $n = 2) { let $r = 1; repeat $n { $r = $r * $b; } return $r; }
        def fact($n) { if $n < 2 { return 1; } return $n * fact($n - 1); }
        $r = 7; print(power(3), power(2, 10), fact(10), $r);";
    assert_eq!(printed(program), ["[0] 9 1024 3628800 7"]);
    let plan = plan_of("def f($n) { return f($n + 1); } $x = f(0);");
    assert!(execute(&plan).stops[0].contains("calls itself"));
}

#[test]
fn a_function_sees_and_assigns_global_variables() {
    assert_eq!(printed("$n = 1; def add() { $n = $n + 1; } add(); add(); print($n);"), ["[0] 3"]);
}

#[test]
fn a_command_may_stand_among_the_arguments_of_another() {
    let outcome = execute(&plan_of("write(\"a\", 8); write(\"b\", stat(\"a\") * 2); print(stat(\"b\"));"));
    assert_eq!(outcome.lines, ["[0] 16"]);
}

#[test]
fn a_file_that_was_not_opened_is_a_value_below_zero_and_using_it_fails() {
    let outcome = execute(&plan_of(
        "$f = fopen(\"none\", \"r\"); if $f < 0 { print($f, $$errno); } fread($f, 1); print($$errno); stat($f); fclose($f);",
    ));
    assert_eq!(outcome.lines, ["[0] -2 2", "[0] 9"]);
    assert_eq!(outcome.commands["stat"], (0, 1));
    assert_eq!(outcome.commands["fread"], (0, 1));
    assert!(outcome.stops.is_empty());
}

#[test]
fn on_error_stop_ends_the_program_at_the_first_failure() {
    let outcome = execute(&plan_of("on_error stop; stat(\"none\"); print(1);"));
    assert!(outcome.lines.is_empty());
    assert_eq!(outcome.stops.len(), 1);
}

#[test]
fn expected_failures_are_not_failures_and_missing_ones_are() {
    let outcome = execute(&plan_of(
        "expect errno == ENOENT { stat(\"none\"); } create(\"a\"); expect errno == ENOENT stat(\"a\");",
    ));
    assert_eq!(outcome.expected, (1, 1));
    assert_eq!(outcome.commands["stat"], (1, 0));
}

#[test]
fn assertions_compare_statistics_with_times() {
    let outcome = execute(&plan_of("assert p99(\"known\") < 5ms; assert slowest(\"known\") < 1ms;"));
    assert_eq!(outcome.asserts, [true, false]);
    assert_eq!(execute(&plan_of("assert p99(\"unknown\") < 5ms;")).asserts, [false]);
    assert!(execute(&plan_of("print(p99(\"unknown\"));")).stops[0].contains("no sample of"));
}

#[test]
fn faults_name_the_line() {
    let outcome = execute(&plan_of("$n = 0;\n\n  print(5 / $n);"));
    assert_eq!(outcome.stops, ["p.ppl:3:3: `5 / $n`: division by zero"]);
    let outcome = execute(&plan_of("$n = 0 - 1;\nrepeat $n { }"));
    assert_eq!(outcome.stops, ["p.ppl:2:1: `repeat` cannot run -1 times"]);
}

#[test]
fn a_variable_that_may_be_set_later_in_a_loop_is_checked_when_it_runs() {
    assert_eq!(printed("repeat $i 3 { if $i > 0 { print($last); } $last = $i * 1; }"), ["[0] 0", "[0] 1"]);
    let outcome = execute(&plan_of("repeat 2 { print($later); $later = 1; }"));
    assert_eq!(outcome.stops, ["p.ppl:1:12: `$later` has no value yet"]);
}

#[test]
fn random_programs_are_the_same_for_the_same_seed_and_differ_between_ranks() {
    let program = "repeat 5 { print(uniform(0, 1000), zipf(100, 1.1), $$rand, $$crand); choose { 70: print(\"a\"); 30: print(\"b\"); } }";
    let lines = |seed, ranks| {
        let settings = Settings { seed, ranks: Some(ranks), ..Settings::default() };
        execute(&plan_with(program, &settings).unwrap().0).lines
    };
    assert_eq!(lines(1, 1), lines(1, 1));
    assert_ne!(lines(1, 1), lines(2, 1));
    let two = lines(1, 2);
    let of = |rank: &str| -> Vec<String> {
        two.iter().filter(|line| line.starts_with(rank)).map(|line| line[4..].to_owned()).collect()
    };
    assert_ne!(of("[0]"), of("[1]"));
    let common = |lines: Vec<String>| -> Vec<String> {
        lines.iter().filter(|l| l.len() > 2).map(|l| l.rsplit(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(common(of("[0]")), common(of("[1]")));
}

#[test]
fn choose_follows_its_weights() {
    let outcome =
        execute(&plan_of("repeat 10000 choose { 70: create(\"a\"); 30: delete(\"b\"); 0: sync(); }"));
    let share = outcome.commands["create"].0 as f64 / 10_000.0;
    assert!((share - 0.7).abs() < 0.03, "{share}");
    assert!(!outcome.commands.contains_key("sync"));
}

#[test]
fn parameters_come_from_the_command_line_then_the_environment_then_the_program() {
    let program =
        "define param \"n\" $n \"1\"\ndefine param \"size\" $size 4k;\nprint($n, $size, \"$$env(HOME)\");";
    let environment = |name: &str| match name {
        "PARABENCH_n" => Some("2".to_owned()),
        "LASTRANK_size" => Some("8k".to_owned()),
        "HOME" => Some("/root".to_owned()),
        _ => None,
    };
    let show = |parameters: &[(&str, &str)]| {
        let parameters = parameters.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let settings = Settings { parameters, environment: Some(&environment), ..Settings::default() };
        let (plan, _) = plan_with(program, &settings).unwrap();
        (execute(&plan).lines, plan.given)
    };
    assert_eq!(show(&[]), (vec!["[0] 2 8192 /root".into()], vec!["n".into(), "size".into()]));
    assert_eq!(show(&[("n", "3"), ("n", "4"), ("size", "1MiB")]).0, ["[0] 4 1048576 /root"]);
}

#[test]
fn definitions_reach_the_plan() {
    let plan = plan_of(
        "define place \"dir\" $dir \"/tmp\"\ndefine param \"targets\" $targets \"4\"\ndefine ranks $targets * 2;
         define space \"$dir/x\" $targets * 1MiB;\ndefine report {\"gate\": \"write\"};\ndefine pattern {\"p\", 10, 4k, 3};",
    );
    assert_eq!(plan.ranks, 8);
    assert_eq!(plan.space[0].directory.as_deref(), Some("/tmp/x"));
    assert_eq!(plan.content, ppl::plan::WrittenContent::Own);
    assert_eq!(plan.space[0].bytes, 4 << 20);
    assert_eq!(plan.report["gate"], "write");
    assert_eq!((plan.patterns[0].kind, plan.patterns[0].iterations, plan.patterns[0].element), (2, 10, 4096));
    assert_eq!(plan.patterns[0].offset(2, 1, 4), 9 * 4096);
}

#[test]
fn the_papers_second_listing_runs_on_two_disjoint_groups() {
    let program = r#"
        define groups {"writers":D, "readers":D};
        define pattern {"pattern-lvl2", 10, 1k, 2};
        define pattern {"pattern-lvl3", 10, 1k, 3};
        $env = "./env";
        master mkdir($env);
        barrier;
        group " writers" {
            time["write"] repeat 10 append("$$rank", 10*1024*1024);
            time["lvl2"] pwrite("$env/file-lvl2.dat", "pattern-lvl2");
            time["lvl3"] pwrite("$env/file-lvl3.dat", "pattern-lvl3");
        }
        barrier;
        group "readers" {
            $fh = fopen("$$rank", "r+");
            time["read"] repeat 100 fread($fh, 10*1024*1024);
            fclose($fh);
        }"#;
    let settings = Settings { ranks: Some(4), ..Settings::default() };
    let (plan, found) = plan_with(program, &settings).unwrap();
    assert_eq!(plan.groups[1].ranks, [0, 1]);
    assert_eq!(plan.groups[2].ranks, [2, 3]);
    assert!(plan.notes[0].contains("writers:2, readers:2"));
    assert!(found.iter().any(|diagnostic| diagnostic.message.contains("blanks around the name")));
    let outcome = execute(&plan);
    assert_eq!(outcome.commands["append"].0, 20);
    assert_eq!(outcome.commands["fread"], (0, 200));
    assert!(outcome.stops.is_empty());
}

#[test]
fn classic_lexing_ignores_what_the_original_ignored() {
    let mut source = ppl::Source::new("p", "foo print(1) & ; write(\"f\", 10K);\n$a_b = 1; print($a);");
    let (plan, _) = ppl::compile(&mut source, &Settings::default(), true, None).unwrap();
    let outcome = execute(&plan);
    assert_eq!(outcome.lines, ["[0] 1", "[0] 1"]);
    assert_eq!(outcome.files["f"], 10);
}

#[test]
fn included_files_are_part_of_the_program() {
    let mut load = |path: &str| match path {
        "lib.ppl" => {
            Ok("def twice($n) { return 2 * $n; }\ndefine param \"k\" $k 4;\nprint(\"lib\");".to_owned())
        }
        _ => Err("no such file".to_owned()),
    };
    let mut source = ppl::Source::new("p", "include \"lib.ppl\";\nprint(twice($k));");
    let (plan, _) = ppl::compile(&mut source, &Settings::default(), false, Some(&mut load)).unwrap();
    assert_eq!(execute(&plan).lines, ["[0] lib", "[0] 8"]);
}

#[test]
fn workers_of_parallel_have_variables_of_their_own() {
    assert_eq!(
        printed("$x = 1; parallel 3 { $x = $x + $$worker; print($x); } print($x);"),
        ["[0] 1", "[0] 2", "[0] 3", "[0] 1"]
    );
}

#[test]
fn labels_are_rendered_when_the_block_is_entered() {
    let outcome = execute(&plan_of(
        "repeat $i 2 { time[\"n $i\"] { stat(\"f\"); } ctime { stat(\"f\"); } phase \"p\" { } }",
    ));
    assert_eq!(outcome.labels, ["n 0", "", "p", "n 1", "", "p"]);
}

#[test]
fn sites_name_line_column_operation_and_group() {
    let settings = Settings { ranks: Some(2), ..Settings::default() };
    let program = "define groups {\"g\"};\ntime[\"x\"] {\n  group \"g\" { write(\"f\", 1); }\n}";
    let (plan, _) = plan_with(program, &settings).unwrap();
    let seen: Vec<_> =
        plan.sites().iter().map(|site| (site.line, site.column, site.operation, site.group.0)).collect();
    assert_eq!(seen, [(2, 1, "time", 0), (3, 15, "write", 1)]);
}

#[test]
fn counting_multiplies_out_loops_whose_body_is_always_the_same() {
    let plan = plan_of("repeat $i 1000000000 { write(\"f-$i\", 4k); stat(\"f-$i\"); }");
    let tally = count(&plan, 0, DEFAULT_BUDGET);
    assert_eq!(tally.operations["write"], 1_000_000_000);
    assert_eq!(
        (tally.written, tally.files, tally.space),
        (4_096_000_000_000, 1_000_000_000, 4_096_000_000_000)
    );
    assert!(!tally.at_least);
}

#[test]
fn counting_walks_loops_that_differ_and_says_at_least_when_they_are_long() {
    let tally = count(&plan_of("repeat $i 10 { write(\"f\", $i * 1k); }"), 0, DEFAULT_BUDGET);
    assert_eq!((tally.written, tally.files, tally.space, tally.at_least), (45 << 10, 1, 9 << 10, false));
    let tally = count(&plan_of("repeat $i 1000000000 { write(\"f\", $i); }"), 0, 10_000);
    assert!(tally.at_least && tally.operations["write"] > 1_000);
    let tally = count(&plan_of("for 60s { stat(\"f\"); }"), 0, DEFAULT_BUDGET);
    assert!(tally.at_least);
}

#[test]
fn a_file_that_every_round_of_a_loop_writes_to_is_one_file() {
    let work = |program: &str| {
        let tally = count(&plan_of(program), 0, 1_000);
        assert!(!tally.at_least, "{program}");
        (tally.total, tally.files, tally.written >> 10, tally.space >> 10)
    };
    assert_eq!(work("repeat 100 append(\"a\", 4k); delete(\"a\");"), (101, 1, 400, 400));
    assert_eq!(work("repeat 10 repeat 10 append(\"a\", 4k);"), (100, 1, 400, 400));
    assert_eq!(work("repeat 100 write(\"a\", 4k);"), (100, 1, 400, 4));
    assert_eq!(work("repeat $i 100 write(\"a-$i\", 4k);"), (100, 100, 400, 400));
    assert_eq!(work("repeat $i 10 repeat 10 append(\"a-$i\", 4k);"), (100, 10, 400, 400));
    assert_eq!(work("repeat $i 10 { write(\"a-$i\", 4k); append(\"b\", 1k); }"), (20, 11, 50, 50));
    let opened = "$f = fopen(\"a\", \"w\"); repeat 100 fwrite($f, 4k); fclose($f);";
    assert_eq!(work(opened), (102, 1, 400, 400));
    assert_eq!(work(&format!("repeat 10 {{ {opened} }}")), (1_020, 1, 4_000, 400));
    let named = opened.replace("\"a\"", "\"a-$i\"");
    assert_eq!(work(&format!("repeat $i 10 {{ {named} }}")), (1_020, 10, 4_000, 4_000));
}

#[test]
fn counting_follows_positions_files_and_buffers() {
    let program =
        "$b = alloc(1MiB); $f = fcreat(\"f\"); repeat 8 fwrite($f, $b); fclose($f); free($b); delete(\"f\");";
    let tally = count(&plan_of(program), 0, DEFAULT_BUDGET);
    assert_eq!((tally.written, tally.space, tally.files, tally.memory), (8 << 20, 8 << 20, 1, 1 << 20));
}

/// Counts agree with the properties of a command in the table.
#[test]
fn a_command_is_counted_by_its_properties() {
    for command in ppl::commands::Command::all() {
        let spec = command.spec();
        let details = details(&plan_of(spec.example), 0, DEFAULT_BUDGET);
        let tally = &details.tally;
        let name = spec.name;
        let counted = matches!(spec.class, Class::File | Class::Collective);
        let bytes = tally.bytes.get(name).copied().unwrap_or(0);
        assert_eq!(bytes > 0, counted && spec.moves != Moves::Nothing, "{name} moves {bytes} bytes");
        assert!(tally.read > 0 || !counted || !spec.moves.reads(), "{name} reads");
        assert!(tally.written > 0 || !counted || !spec.moves.writes(), "{name} writes");
        assert!(tally.memory > 0 || spec.yields != Yields::Buffer, "{name} takes memory");
        match spec.effect {
            Effect::Creates | Effect::Appends => assert!(tally.files > 0, "{name} creates"),
            Effect::MakesDirectory => assert!(tally.directories > 0, "{name} makes a directory"),
            Effect::Extends => assert!(tally.space >= 1 << 20, "{name} extends"),
            Effect::Removes => assert!(!details.removed.is_empty(), "{name} removes"),
            Effect::Nothing
            | Effect::Renames
            | Effect::Seeks
            | Effect::Closes
            | Effect::AnswersSize
            | Effect::Frees => {}
        }
    }
    let of = |program: &str| count(&plan_of(program), 0, DEFAULT_BUDGET);
    let mapped = of("write(\"f\", 64k); $n = mmap(\"f\"); write(\"g\", $n); mmap(\"f\", 4k);");
    assert_eq!((mapped.bytes["mmap"], mapped.bytes["write"]), (68 << 10, 128 << 10));
    let renamed =
        of("append(\"f\", 1k); append(\"f\", 1k); rename(\"f\", \"g\"); $n = stat(\"g\"); write(\"h\", $n);");
    assert_eq!((renamed.written, renamed.space), (4 << 10, 4 << 10));
    let files = "write(\"f\", 64k); $f = fopen(\"f\", \"r+\"); $g = fcreat(\"g\");";
    let all = of(&format!("{files} repeat 4 fcopy($f, $g, 8k); fcopy($f, $g, 1k, 0, 99k); fwrite($f, 40k);"));
    assert_eq!([all.bytes["fcopy"], all.read, all.written, all.space], [33, 0, 137, 172].map(|k| k << 10));
}

#[test]
fn the_examples_of_all_commands_compile() {
    for command in ppl::commands::Command::all() {
        let spec = command.spec();
        let found = plan_with(spec.example, &Settings::default());
        let (plan, found) = found.unwrap_or_else(|errors| panic!("{}: {errors:#?}", spec.name));
        assert!(
            found.iter().all(|diagnostic| diagnostic.severity == ppl::Severity::Note),
            "{}: {found:#?}",
            spec.name
        );
        assert!(plan.code.steps.len() + plan.code.calls.len() > 0);
        let tally = count(&plan, 0, DEFAULT_BUDGET);
        assert_eq!(tally.stopped, None, "{}", spec.name);
    }
}

#[test]
fn programs_at_the_limits_run_on_the_small_stack_of_a_thread() {
    let chain = format!("1{}", " + 1".repeat(990));
    let program = format!("{}print({chain});{}", "repeat 1 { ".repeat(195), "}".repeat(195));
    assert_eq!(printed(&program), ["[0] 991"]);
    let nested = format!("{}1{}", "(".repeat(190), ")".repeat(190));
    assert_eq!(printed(&format!("print({nested});")), ["[0] 1"]);
    let deep = format!("def f($n) {{ return f($n + 1){}; }} $x = f(0);", " + 1".repeat(990));
    assert!(execute(&plan_of(&deep)).stops[0].contains("calls itself more than"));
}

#[test]
fn items_of_lists_can_be_assigned_without_touching_copies() {
    let program = "$l = [1, 2, 3]; $m = $l; $l[1] = \"two\"; repeat $i 2 $l[2] = $l[2] * 10; print($l, $m);
        def fill($list, $n) { for $i in 0..$n $list[$i] = $i; return $list; } print(fill([9, 9, 9], 2), $l[0]);";
    assert_eq!(printed(program), ["[0] [1, two, 300] [1, 2, 3]", "[0] [0, 1, 9] 1"]);
    let stop = |program: &str| execute(&plan_of(program)).stops.remove(0);
    assert!(stop("$l = [1]; $l[1] = 2;").contains("a list of 1 items has no item 1"));
    assert!(stop("$l = 1; $l[0] = 2;").contains("only a list has items, not"));
    assert_eq!(printed("$l = [1, 2]; $l[0] = $l; print($l);"), ["[0] [[1, 2], 2]"]);
    assert!(plan_with("$l[0] = 2;", &Settings::default()).is_err());
}

#[test]
fn endlessly_nested_lists_are_refused_instead_of_overflowing_the_stack() {
    for grows in ["$l = [$l];", "$l[0] = $l;"] {
        let stops = execute(&plan_of(&format!("$l = [1]; repeat 1000000 {grows}"))).stops;
        assert!(stops[0].contains("nested more than 4 deep"), "{stops:?}");
    }
    assert!(
        plan_with(&format!("$l = {}{};", "[".repeat(150), "]".repeat(150)), &Settings::default()).is_ok()
    );
}

/// The POSIX stress test of the paper: nine loops under one label.
const FIRST_LISTING: &str = r#"
define param "num" $num "10"

$env = "./posix";
master mkdir("$env");
barrier;
$file = "file-$$rank";
print("START");
time["POSIX stress test"] {
    repeat $i $num write("$env/$file-$i", 1024);
    repeat $i $num append("$env/$file-$i", 1024);
    repeat $i $num read("$env/$file-$i");
    repeat $i $num lookup("$env/$file-$i");
    repeat $i $num mkdir("$env/dir-$$rank-$i");
    repeat $i $num rmdir("$env/dir-$$rank-$i");
    repeat $i $num stat("$env/$file-$i");
    repeat $i $num create("$env/$file-$ia");
    repeat $i $num delete("$env/$file-$ia");
}
print("STOP");
"#;

#[test]
fn the_papers_first_listing_runs_on_every_rank_with_its_parameter() {
    let settings =
        Settings { ranks: Some(3), parameters: vec![("num".into(), "4".into())], ..Settings::default() };
    let (plan, found) = plan_with(FIRST_LISTING, &settings).unwrap();
    assert!(found.is_empty(), "{found:#?}");
    let outcome = execute(&plan);
    assert!(outcome.stops.is_empty(), "{:?}", outcome.stops);
    for command in ["write", "append", "read", "lookup", "rmdir", "stat", "create", "delete"] {
        assert_eq!(outcome.commands[command], (12, 0), "{command}");
    }
    assert_eq!(outcome.commands["mkdir"].0, 13);
    assert!(outcome.trace.iter().any(|call| call == "create(./posix/file-2-3a)"));
    assert_eq!(outcome.lines.len(), 6);
    // The files of the first loop remain, with twice the size; those of the last are removed.
    assert_eq!(outcome.files["./posix/file-0-0"], 2048);
    assert!(!outcome.files.keys().any(|name| name.ends_with('a')));
}

#[test]
fn overflow_ends_the_run_with_the_expression_and_its_values() {
    let stops = |program: &str| execute(&plan_of(program)).stops;
    assert_eq!(
        stops("$size = 2 ^ 53;\n$n = 3;\nwrite(\"f\", $size * (1024 + $n));"),
        ["p.ppl:3:1: `$size * (1024 + $n)`: 9007199254740992 * 1027 exceeds the largest integer, \
          9223372036854775807; where an approximate result will do, write a float: `9007199254740992.0`"]
    );
    assert_eq!(stops("$n = 0;\nprint(1 / $n);"), ["p.ppl:2:1: `1 / $n`: division by zero"]);
    assert_eq!(
        stops("def f($a) return $a + 1;\nprint(f(9223372036854775807));"),
        ["p.ppl:1:11: 9223372036854775807 + 1 exceeds the largest integer, 9223372036854775807; where an \
          approximate result will do, write a float: `9223372036854775807.0`"]
    );
    let mut source = ppl::Source::new("p.ppl", "print(2^63); $n = 4611686018427387904; print($n + $n);");
    let (plan, _) = ppl::compile(&mut source, &Settings::default(), true, None).unwrap();
    assert_eq!(execute(&plan).lines, ["[0] -9223372036854775808", "[0] -9223372036854775808"]);
}

#[test]
fn a_parameter_is_limited_to_the_values_of_its_definition() {
    let program = "define param \"size\" $size 4KiB from 1 to 1MiB\n\
                   define param \"mode\" $mode \"w\" in [\"w\", \"a\"]\n\
                   define param \"wait\" $wait 1ms from 0s\nprint($size, $mode, $wait);";
    let told = |name: &str, value: &str| {
        let parameters = vec![(name.to_owned(), value.to_owned())];
        match plan_with(program, &Settings { parameters, ..Settings::default() }) {
            Ok(_) => "fine".to_owned(),
            Err(found) => found.iter().map(|one| one.message.clone()).collect::<Vec<_>>().join("; "),
        }
    };
    assert_eq!(told("size", "1"), "fine");
    assert_eq!(told("size", "1MiB"), "fine");
    assert_eq!(told("size", "-1"), "the parameter `size` must be at least 1; it is -1");
    assert_eq!(told("size", "2MiB"), "the parameter `size` must be at most 1048576; it is 2097152");
    assert_eq!(told("mode", "a"), "fine");
    assert_eq!(told("mode", "W"), "the parameter `mode` must be one of \"w\", \"a\"; it is \"W\"");
    assert_eq!(told("wait", "2s"), "fine");
    assert!(told("wait", "5").starts_with("the parameter `wait` must be at least 0s: an integer cannot be"));
    let bad = plan_with("define param \"n\" $n 0 from 1", &Settings::default()).unwrap_err();
    assert_eq!(bad[0].message, "the parameter `n` must be at least 1; it is 0");
}
