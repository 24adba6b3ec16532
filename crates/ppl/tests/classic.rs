//! Tests the published grammar, rule by rule, with `--classic`.

mod common;

use std::collections::BTreeMap;

use common::{Outcome, classic_plan_with, execute};
use ppl::DiagnosticCode;
use ppl::plan::Settings;

/// Runs a program on `ranks` ranks.
fn on(ranks: u32, program: &str) -> Outcome {
    let settings = Settings { ranks: Some(ranks), ..Settings::default() };
    let plan =
        classic_plan_with(program, &settings).unwrap_or_else(|found| panic!("{program}: {found:#?}")).0;
    let outcome = execute(&plan);
    assert_eq!(outcome.stops, Vec::<String>::new(), "{program}");
    outcome
}

/// Output of a program on one rank: lines joined by bars, without the rank.
fn printed(program: &str) -> String {
    let lines = on(1, program).lines;
    lines.iter().map(|line| line.trim_start_matches("[0] ")).collect::<Vec<_>>().join("|")
}

/// Warnings of a program without errors.
fn warned(program: &str) -> Vec<(DiagnosticCode, String)> {
    let found = classic_plan_with(program, &Settings::default()).unwrap().1;
    found.into_iter().map(|found| (found.code, found.message)).collect()
}

#[test]
fn lexing() {
    let rules = [
        // Keywords and commands are case-insensitive, variables are not.
        ("REPEAT $i 2 Print($i);", "0|1"),
        ("$a = 1; $A = 2; PRINT($a, $A);", "1 2"),
        ("MASTER print(1); TIME[\"x\"] print(2); cTime print(3);", "1|2|3"),
        // Names are letters and digits, possibly none.
        ("$1a = 5; $b2 = 6; $ = 7; print($1a, $b2, $); print(\"$1a $b2 $.\");", "5 6 7|5 6 7."),
        // 1024, not 1000; one small letter.
        ("print(1k, 2m, 1g, 007);", "1024 2097152 1073741824 7"),
        ("print(10K, 2kb, 5ms, 1KiB, 3x);", "10 2048 5242880 1 3"),
        ("print(9223372036854775807, 99999999999999999999);", "9223372036854775807 9223372036854775807"),
        // Strings.
        (r#"$x = 3; print("v=\$x $x \n \\ \t");"#, r"v=$x 3 \n \\ \t"),
        (r#"print("say \"hi\" now", "b");"#, r#"say \"hi\" now b"#),
        ("print(\"two\nlines\");", "two\nlines"),
        ("print(\"# no comment /* nor this */\");", "# no comment /* nor this */"),
        // Comments.
        ("# a\nprint(1); # b\n/* c\n d */ print(2); /**/ print(3); /* * / */", "1|2|3"),
        // Unknown words and characters are ignored everywhere.
        ("foo print(1) & ; ~ bar", "1"),
        ("repeat 3 times print(1);", "1|1|1"),
        ("print(1, two 2);", "1 2"),
        ("repeat $i for_each 2 { x print($i); y }", "0|1"),
        ("$a_b = 1; print($a);", "1"),
    ];
    for (program, expected) in rules {
        assert_eq!(printed(program), expected, "{program}");
    }
}

#[test]
fn ignored_text_is_warned_of() {
    for (program, told) in [
        ("foo print(1);", "`foo` is ignored"),
        ("repeat 3 times print(1);", "`times` is ignored"),
        ("print(1) & ;", "`&` is ignored"),
        ("print(2kb);", "`b` after `2k` is ignored"),
        ("print(99999999999999999999);", "it counts as 9223372036854775807"),
    ] {
        let found = warned(program);
        let fits = |(code, message): &(DiagnosticCode, String)| {
            *code == DiagnosticCode::ClassicIgnored && message.contains(told)
        };
        assert!(found.iter().any(fits), "{program}: {found:?}");
    }
}

#[test]
fn expressions() {
    let rules = [
        ("print(7%3*4, 7*3%4, 10-3-2, 2^3^2, 100/10/5, 1+7%4);", "7 1 5 512 2 4"),
        ("print((0-7)%3, (0-7)/2, 2^(0-1));", "-1 -3 0"),
        ("print(2^63, 9223372036854775807+1);", "-9223372036854775808 -9223372036854775808"),
        ("$n = \"12abc\"; print($n + 1, $n * 2);", "13 24"),
    ];
    for (program, expected) in rules {
        assert_eq!(printed(program), expected, "{program}");
    }
    let plan = classic_plan_with("$z = 0; print(1 / $z);", &Settings::default()).unwrap().0;
    assert_eq!(execute(&plan).stops.len(), 1);
}

#[test]
fn statements() {
    let rules = [
        ("repeat ($i, 2) print($i); repeat $i 2 print($i); repeat 2 print(9);", "0|1|0|1|9|9"),
        ("repeat $i 2 { print($i); ; } ;", "0|1"),
        ("time[\"a\"] print(1); time print(2); ctime[\"b\"] { print(3); } time[\"x\"]; time;", "1|2|3"),
        ("barrier; barrier(\"world\"); print(1);", "1"),
        ("print 1, 2; print; print \"a\";", "1 2||a"),
        ("sleep(1); sleep 1; print(1);", "1"),
        ("$f = fopen(\"a\", \"w\"); fclose $f; print(1);", "1"),
        ("print(,1);", "1"),
    ];
    for (program, expected) in rules {
        assert_eq!(printed(program), expected, "{program}");
    }
    assert_eq!(on(3, "master { print(\"m $$rank\"); }").lines, ["[0] m 0"]);
    assert_eq!(on(1, "$l = \"x\"; time[\"n $l\"] print(1);").labels, ["n x"]);
}

#[test]
fn interpolation() {
    let rules = [
        ("$a1 = \"q\"; print(\"$a1.txt $a1-x/$a1\");", "q.txt q-x/q"),
        ("repeat $i 1 print(\"$ia\");", "0a"),
        ("print(\"r$$rank.x\", $$rank);", "r0.x 0"),
        ("$a = \"one\"; $b = \"$a\"; $a = \"two\"; print(\"$b\");", "one"),
    ];
    for (program, expected) in rules {
        assert_eq!(printed(program), expected, "{program}");
    }
    assert!(classic_plan_with("print(\"$nope\");", &Settings::default()).is_err());
    assert!(classic_plan_with("print(\"$-x\");", &Settings::default()).is_err());
    let environment = |name: &str| (name == "HOME").then(|| "/h".to_owned());
    let settings = Settings { environment: Some(&environment), ..Settings::default() };
    let plan = classic_plan_with("print(\"$$env(HOME)/x\");", &settings).unwrap().0;
    assert_eq!(execute(&plan).lines, ["[0] /h/x"]);
}

#[test]
fn parameters() {
    let program = "define param \"n\" $n \"5k\"\nprint($n + 0, \"$n\");";
    let run = |parameters: &[(&str, &str)], environment: &[(&str, &str)]| {
        let environment: BTreeMap<String, String> =
            environment.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        let look_up = |name: &str| environment.get(name).cloned();
        let parameters = parameters.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        let settings = Settings { parameters, environment: Some(&look_up), ..Settings::default() };
        Ok::<_, Vec<ppl::Diagnostic>>(execute(&classic_plan_with(program, &settings)?.0).lines.concat())
    };
    assert_eq!(run(&[], &[]).unwrap(), "[0] 5 5k");
    assert_eq!(run(&[], &[("PARABENCH_n", "6")]).unwrap(), "[0] 6 6");
    assert_eq!(run(&[("n", "7")], &[("PARABENCH_n", "6")]).unwrap(), "[0] 7 7");
    assert!(run(&[("m", "7")], &[]).is_err());
}

#[test]
fn commands_and_constants_in_any_case() {
    let program = "$f = FCreat(\"a\"); FWRITE($f, 100); fSeek($f, 0, seek_end); fseek($f, 0, Seek_Set); \
                   fseek($f, 0, SEEK_CUR); fwrite($f, 10, 200); FSYNC($f); fclose($f); Write(\"b\", 5, 7); \
                   append(\"b\", 3); create(\"c\"); rename(\"c\", \"d\"); mkdir(\"e\"); lookup(\"d\"); stat(\"d\"); \
                   read(\"b\"); read(\"b\", 2, 1); delete(\"d\"); rmdir(\"e\"); $g = fopen(\"b\", \"O_RDONLY\"); \
                   fread($g, 4); fread($g, 4, 1); fread($g); fclose($g);";
    let outcome = on(1, program);
    assert_eq!(outcome.files, [("a".to_owned(), 210), ("b".to_owned(), 15)].into());
    assert!(outcome.commands.values().all(|(_, failed)| *failed == 0), "{:?}", outcome.commands);
    let whences: Vec<&String> = outcome.trace.iter().filter(|line| line.starts_with("fseek")).collect();
    assert!(whences[0].contains("SEEK_END") && whences[1].contains("SEEK_SET"), "{whences:?}");
}

/// The ranks of each group.
fn groups(definition: &str, sizes: &[(&str, u32)], ranks: u32) -> Vec<Vec<u32>> {
    let groups = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    let settings = Settings { ranks: Some(ranks), groups, ..Settings::default() };
    let plan = classic_plan_with(&format!("{definition} print(1);"), &settings).unwrap().0;
    plan.groups[1..].iter().map(|group| group.ranks.clone()).collect()
}

#[test]
fn tags_of_groups() {
    for one in ["D/1", "D 1", "D1", "d1", "D/(3-2)", "D(1)", "D/2-1"] {
        let definition = format!("define groups {{\"a\":S, \"b\":{one}, \"c\":D/1, \"d\":D/2, \"e\"}};");
        let sizes = [("a", 1), ("b", 2), ("c", 1), ("d", 3), ("e", 4)];
        let expected: [&[u32]; 5] = [&[0], &[1, 2], &[3], &[1, 2, 3], &[1, 2, 3, 4]];
        assert_eq!(groups(&definition, &sizes, 6), expected, "{one}");
    }
    assert_eq!(groups("define groups {\"a\"/1, \"b\":S};", &[("a", 2), ("b", 1)], 3), [vec![1, 2], vec![0]]);
    let parameter = "define param \"n\" $n \"1\" define groups {\"a\":D/$n, \"b\":D1};";
    assert_eq!(groups(parameter, &[("a", 1), ("b", 1)], 2), [[0], [1]]);
}

#[test]
fn sizes_of_groups() {
    let definition = "define groups {\"a\":S, \"b\":S, \"c\"};";
    assert_eq!(groups(definition, &[("a", 2), ("b", 2), ("c", 5)], 3), [vec![0, 1], vec![2], vec![]]);
    assert_eq!(groups(definition, &[("b", 1)], 3), [vec![], vec![0], vec![]]);
}

#[test]
fn patterns() {
    let program = "define groups {\"g\":S}; define pattern {\"p\", 2, 1+2, 2^3*100, 6%4, \"g\"}; \
                   define pattern {\"q\", 3, -(-8), 1}; print(1);";
    let plan = classic_plan_with(program, &Settings::default()).unwrap().0;
    let seen: Vec<_> =
        plan.patterns.iter().map(|p| (p.kind, p.iterations, p.element, p.level, p.group.is_some())).collect();
    assert_eq!(seen, [(2, 3, 800, 2, true), (2, 3, 8, 1, false)]);
    for kind in [0, 3, 4, 7] {
        let program = format!("define pattern {{\"p\", {kind}, 1, 1, 1}}; print(1);");
        let found = classic_plan_with(&program, &Settings::default()).unwrap_err();
        assert!(found[0].message.contains("the type of the pattern \"p\" must be 1 to 2"), "{found:?}");
    }
}
