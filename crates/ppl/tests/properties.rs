//! Tests properties that hold for every text, valid or not.

mod common;

use ppl::count::count;
use ppl::format::format;
use ppl::plan::Settings;
use ppl::syntax::{Lexer, TokenKind};
use ppl::{Source, compile};
use proptest::prelude::*;

/// Texts composed of pieces of programs, to reach deep parts of the compiler.
const PIECES: &[&str] = &[
    "repeat",
    "$i",
    "$x",
    "3",
    "4k",
    "5ms",
    "1.5",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "=",
    "==",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "<",
    "!",
    "&&",
    "?",
    ":",
    "\"$i a\"",
    "\"",
    "$$rank",
    "$$env(",
    "print",
    "write(\"f\",",
    "time",
    "assert",
    "p99",
    "p99.9 of",
    "width(",
    "iops",
    "/s",
    "if",
    "else",
    "while",
    "for",
    "in",
    "..",
    "def f($a)",
    "return",
    "define param",
    "define groups {",
    "define pattern {",
    "\"a\":S",
    "group \"a\"",
    "barrier",
    "master",
    "choose",
    "70:",
    "rate 5/s",
    "let",
    "break",
    "f(",
    "include",
    "assert",
    "fopen(\"f\", \"r\")",
    "\n",
    "#",
    "/*",
    "*/",
    "µ",
    "é",
    "parallel",
    "phase",
    "expect errno ==",
    "ENOENT",
    "verify",
];

fn program() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..60).prop_map(|pieces| pieces.join(" "))
}

/// Formulas of variables, numbers, drawn ones and operators.
fn formula() -> impl Strategy<Value = String> {
    let leaves =
        vec!["$v", "$v", "$v", "$w", "$w", "1", "7", "4k", "5000000000", "2.5", "\"8\"", "uniform(2, 9)"];
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    leaf.prop_recursive(4, 12, 2, |inner| {
        let operators = vec!["+", "-", "*", "/", "%", "^", "==", "<", ">=", "&&", "||"];
        (inner.clone(), prop::sample::select(operators), inner)
            .prop_map(|(left, operator, right)| format!("({left} {operator} {right})"))
    })
}

fn total(text: &str) {
    let mut source = Source::new("p", text);
    let settings = Settings { ranks: Some(2), ..Settings::default() };
    match compile(&mut source, &settings, false, None) {
        Err(found) => assert!(!found.is_empty()),
        // A program that compiles can be counted, in finite time.
        Ok((plan, _)) => drop(count(&plan, 1, 2_000)),
    }
    let mut source = Source::new("p", text);
    drop(compile(&mut source, &settings, true, None));
    if let Ok(once) = format(text) {
        assert_eq!(format(&once).as_deref(), Ok(once.as_str()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_compiler_panic(text in program()) {
        total(&text);
    }

    #[test]
    fn no_bytes_make_the_compiler_panic(text in "\\PC{0,200}") {
        total(&text);
    }

    #[test]
    fn all_tokens_together_are_the_text(text in program()) {
        let mut lexer = Lexer::with_trivia(&text);
        let mut seen = String::new();
        loop {
            let token = lexer.token();
            if token.kind == TokenKind::End { break }
            prop_assert!(token.end > token.start);
            seen.push_str(&text[token.start as usize..token.end as usize]);
        }
        prop_assert_eq!(seen, text);
    }

    #[test]
    fn integer_arithmetic_is_that_of_the_machine(a in -1000i64..1000, b in 1i64..1000, c in -50i64..50) {
        let shown = common::printed(&format!("$a = {a}; $b = {b}; $c = {c}; print($a + $b * $c, $a % $b, $a / $b, ($a - $c) * $b, -$a, $a < $c);"));
        let expected = format!("[0] {} {} {} {} {} {}", a + b * c, a % b, a / b, (a - c) * b, -a, i64::from(a < c));
        prop_assert_eq!(&shown[0], &expected);
    }

    #[test]
    fn a_loop_runs_the_stated_number_of_times(n in 0u64..50, from in -20i64..20, to in -20i64..20, by in prop::sample::select(vec![-3i64, -1, 1, 2, 7])) {
        let program = format!("$k = 0; repeat {n} {{ $k = $k + 1; }} print($k); for $i in {from}..{to} step {by} print($i);");
        let shown = common::printed(&program);
        prop_assert_eq!(&shown[0], &format!("[0] {n}"));
        let mut expected = Vec::new();
        let mut i = from;
        while (by > 0 && i < to) || (by < 0 && i > to) {
            expected.push(format!("[0] {i}"));
            i += by;
        }
        prop_assert_eq!(&shown[1..], &expected[..]);
    }

    /// A statement that is executed again is prepared; what it does is what it did before.
    #[test]
    fn a_statement_does_the_same_each_time(
        length in formula(),
        offset in formula(),
        values in prop::collection::vec(prop::sample::select(vec![
            "3", "0", "-4", "4096", "$f", "$g", "$b", "1.5", "\"8\"", "\"x\"", "5ms", "50000000000000",
        ]), 3..7),
    ) {
        // The third time is the first that is prepared.
        let values = [&["3", "4096", "7"], &values[..]].concat();
        let begin = "$f = fopen(\"a\", \"w\"); $g = fopen(\"none\", \"r\"); $b = alloc(64); $w = 12; $l = [0]; \
             $m = [2, 1, 0, 3, -2, 5000000000000, 4096]; $o = [1, 2, 3, 4, \"5\", 1.5, [6]];";
        let names = "write(\"n-$v-$w\", 1); stat(\"n-$v-$w\"); stat(\"$$rank-${v}\"); delete($v); \
             $p = fopen(\"n-$v\", \"w\"); fclose($p); rename(\"n-$v\", \"m-$w\");";
        let items = "fwrite($f, $m[$w % 7], $m[($w + 3) % 7]); fwrite($f, $m[uniform(0, 7)]); \
             $k = $m[$w % 4]; repeat $k % 3 stat(\"b\"); fread($f, $o[$w - 12]); if $w > 16 fwrite($f, $m[$v]);";
        let body = format!("fwrite($f, {length}, {offset}); write(\"b\", {length}); fread($v, 1); fwrite($f, $v); \
             stat(\"b\"); stat($v); {names} $h = fopen(\"b\", \"r\"); fread($h, 1, {offset}); \
             $l[0] = fwrite($f, {length}); print($l[0] + fwrite($f, 1) + fwrite($f, 2)); fclose($h); {items} \
             $w = $w + 1;");
        let looped = format!("{begin} for $v in [{}] {{ {body} }}", values.join(", "));
        let rounds: String = values.iter().map(|value| format!("$v = {value}; {body} ")).collect();
        // What one finds wrong in a constant the other does too.
        let settings = Settings::default();
        let plans = [looped, format!("{begin} {rounds}")].map(|text| common::plan_with(&text, &settings));
        let [Ok((looped, _)), Ok((unrolled, _))] = plans else { return Ok(()) };
        let [looped, unrolled] = [looped, unrolled].map(|plan| common::execute(&plan));
        let without_place = |stop: &String| stop.splitn(4, ':').nth(3).unwrap_or(stop).to_owned();
        prop_assert_eq!(looped.trace, unrolled.trace);
        prop_assert_eq!(looped.commands, unrolled.commands);
        prop_assert_eq!(
            looped.stops.iter().map(without_place).collect::<Vec<_>>(),
            unrolled.stops.iter().map(without_place).collect::<Vec<_>>()
        );
    }

    #[test]
    fn counting_agrees_with_walking(n in 0u64..30, size in 0u64..5000, dependent in any::<bool>()) {
        let size_text = if dependent { format!("{size} + $i") } else { size.to_string() };
        let plan = common::plan_of(&format!("repeat $i {n} {{ repeat 3 append(\"f\", {size_text}); stat(\"f\"); }}"));
        let tally = count(&plan, 0, 1_000_000);
        let outcome = common::execute(&plan);
        prop_assert_eq!(tally.operations.get("append").copied().unwrap_or(0), outcome.commands.get("append").map_or(0, |c| c.0));
        prop_assert_eq!(tally.operations.get("stat").copied().unwrap_or(0), n);
        prop_assert_eq!(tally.written, outcome.files.get("f").copied().unwrap_or(0));
    }
}

/// Texts that would take minutes if anything in the compiler were quadratic in them.
#[test]
fn hostile_texts_are_compiled_in_linear_time() {
    let n = 200_000;
    for piece in [
        "(",
        "{",
        "[",
        "$x = (",
        "if 1 ",
        "time ",
        "-",
        "!",
        "1 ? ",
        "${",
        "\"${",
        "/*",
        "repeat 2 ",
        "$a[",
        "f(",
        "a ",
        "\"$$env(",
        "1^",
        "$$",
        "else ",
        "} ",
        "print (",
        "choose { ",
        "def f() ",
        "define groups { ",
    ] {
        total(&piece.repeat(n / piece.len()));
    }
    total(&format!("print(\"{}\");", "${".repeat(n)));
    total(&format!("print(\"${}\");", "a".repeat(n)));
    total(&format!("$x = {}1;", "1 + ".repeat(n)));
    total(&"# c\n/* d */ print(1); # e\n".repeat(n / 20));
    total(&"define param \"a\" $a 1 # b\n".repeat(n / 20));
    total(&format!("print({}1);", "# c\n".repeat(n)));
    total(&format!("{}{}", "repeat 2 {".repeat(190), "print(1);".repeat(n / 20)));
    total(&format!("$x = [{}1];", "1, ".repeat(n)));
}

#[test]
fn an_include_whose_name_is_not_closed_is_shown_inside_the_text() {
    let text = "include \"circle";
    let mut source = Source::new("p", text);
    let found =
        compile(&mut source, &Settings::default(), false, Some(&mut |_| Err("no".into()))).unwrap_err();
    assert!(found.len() >= 2 && found.iter().all(|it| it.span.end as usize <= text.len()), "{found:#?}");
}

/// Two includes of itself would be 65,536 files at a depth of 16.
#[test]
fn files_that_include_themselves_are_read_a_few_times_at_most() {
    let text = "include \"a\";\ninclude \"b\";\ninclude \"c\";\n";
    let mut source = Source::new("p", text);
    let mut loads = 0;
    let mut load = |_: &str| {
        loads += 1;
        Ok(text.to_owned())
    };
    let found = compile(&mut source, &Settings::default(), false, Some(&mut load)).unwrap_err();
    assert!(found.iter().any(|it| it.message.contains("includes itself")));
    assert!(loads <= 256, "{loads}");
    let mut nth = 0;
    let mut load = |_: &str| {
        nth += 1;
        Ok(format!("include \"{nth}\";\ninclude \"{nth}x\";\n"))
    };
    let mut source = Source::new("p", text);
    let found = compile(&mut source, &Settings::default(), false, Some(&mut load)).unwrap_err();
    assert!(found.iter().any(|it| it.message.contains("deep") || it.message.contains("256 files")));
    assert!(nth <= 256, "{nth}");
}

#[test]
fn an_item_is_drawn_from_a_list_as_it_is_from_a_variable() {
    let drawn = |list: &str| {
        common::printed(&format!(
            "$l = [3, 1us, 2.5, \"a\", -4]; repeat 50 print(empirical({list}), uniform(0, 99));"
        ))
    };
    // Constants alone, and with an item that is calculated.
    assert_eq!(drawn("[3, 1us, 2.5, \"a\", -4]"), drawn("$l"));
    assert_eq!(drawn("[3, 1us, 2.5, 7 * 2]"), drawn("[3, 1us, 2.5, 14]"));
}
