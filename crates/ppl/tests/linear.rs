//! Tests that the output of parser, check and formatter is linear in the text.
//!
//! It compares sizes, not times: tokens, bytes of tree and code, formatted text.

use ppl::diagnostic::has_errors;
use ppl::syntax::{Lexer, TokenKind, parse};
use ppl::{Source, check};

/// Texts of one shape, `n` times as long.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: &[Shape] = &[
    ("a long list", |n| format!("$x = [{}1];", "1, ".repeat(n))),
    ("lists in lists", |n| "$x = [[[[1, 2], [3]], [[4]]]];\n".repeat(n)),
    ("operators in a row", |n| format!("$x = {}1;", "1 + ".repeat(n.min(900)))),
    ("a long string", |n| format!("$i = 1; print(\"{}\");", "a$i b".repeat(n))),
    ("functions", |n| (0..n).map(|i| format!("def f{i}($a) {{ return $a + {i}; }}\n")).collect()),
    ("functions that call the one before", |n| {
        let rest = (1..n).map(|i| format!("def f{i}($a) {{ return f{}($a); }}\n", i - 1));
        std::iter::once("def f0($a) { return $a; }\n".to_owned()).chain(rest).collect()
    }),
    ("a chain of else if", |n| {
        let chain: String = (0..n.min(90)).map(|i| format!("if $x == {i} print({i}); else ")).collect();
        format!("$x = 1; {}", format!("{chain}print(0);\n").repeat(n / 90 + 1))
    }),
    ("statements", |n| format!("$x = 0;\n{}", "$x = $x + 1; write(\"f-$x\", 4k);\n".repeat(n))),
    ("comments", |n| "# a line\n/* two */\n".repeat(n)),
];

fn tokens(text: &str) -> usize {
    let mut lexer = Lexer::with_trivia(text);
    (1..).find(|_| lexer.token().kind == TokenKind::End).unwrap()
}

#[test]
fn twice_the_text_makes_twice_the_tokens_the_tree_the_code_and_the_formatted_text() {
    for (name, shape) in SHAPES {
        let sizes = |n: usize| {
            let text = shape(n);
            let source = Source::new("p", &text);
            let parsed = parse(&text);
            assert!(!has_errors(&parsed.diagnostics), "{name}: {:?}", parsed.diagnostics.first());
            let checked = check::check(&parsed.tree, &source);
            assert!(!has_errors(&checked.diagnostics), "{name}: {:?}", checked.diagnostics.first());
            let formatted = ppl::format::format(&text).unwrap();
            [tokens(&text), parsed.tree.bytes(), checked.code.bytes(), formatted.len(), text.len()]
        };
        let (one, four) = (sizes(400), sizes(1600));
        let growth = four[4] as f64 / one[4] as f64;
        for (what, at) in [("tokens", 0), ("tree", 1), ("code", 2), ("formatted text", 3)] {
            let found = four[at] as f64 / one[at].max(1) as f64;
            assert!(
                found <= growth * 1.25 + 0.25,
                "{name}: {what} grow {found:.2} times, the text {growth:.2}"
            );
        }
    }
}

#[test]
fn too_deep_nesting_is_an_error_and_not_a_stack_overflow() {
    let deep = 100_000;
    let nested = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(deep), close.repeat(deep))
    };
    for text in [
        format!("$x = {};", nested("(", "1", ")")),
        format!("$x = {};", nested("[", "1", "]")),
        format!("$x = {}1;", "-".repeat(deep)),
        format!("$x = {}1;", "1 ^ ".repeat(deep)),
        format!("$x = {}1;", "1 ? 1 : ".repeat(deep)),
        nested("{", "", "}"),
        format!("{}print(1);", "repeat 2 ".repeat(deep)),
        format!("{}print(1);", "if 1 print(2); else ".repeat(deep)),
    ] {
        let parsed = parse(&text);
        let first = parsed.diagnostics.first().expect("a finding");
        assert_eq!(first.code.as_str(), "E0112", "{}…: {}", &text[..20], first.message);
        assert!(parsed.diagnostics.len() <= 400);
        drop(check::check(&parsed.tree, &Source::new("p", &text)));
        assert!(ppl::format::format(&text).is_err());
    }
}
