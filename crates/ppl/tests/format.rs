//! Tests that formatting keeps the program and its comments and is idempotent.

use ppl::commands::Command;
use ppl::format::{WIDTH, format, is_same_program};
use proptest::prelude::*;

/// Formats a valid program and checks the guarantees of the formatter.
fn kept(text: &str) -> String {
    let once = format(text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    assert!(is_same_program(text, &once), "another program:\n{text}\n---\n{once}");
    assert_eq!(format(&once).as_deref(), Ok(once.as_str()), "formatted again:\n{text}");
    for line in once.lines() {
        assert_eq!(line, line.trim_end(), "blanks at the end of a line:\n{once}");
    }
    assert!(!once.contains("\n\n\n") && !once.starts_with('\n'), "empty lines:\n{once}");
    once
}

#[test]
fn one_layout_for_every_statement() {
    let text = r#"#!/usr/bin/env lastrank
define   param "size" $size 4KiB;  # bytes
define param "directory" $dir "."
# where

define param "list" $l [1,2 ]


DEFINE Groups {"writers" : S,"readers":D / 1, "all"};
define pattern{"p",2,4,1k,3,"all"};
define report {"gate":"write"}
define hints{"cb_nodes":"4"};
define ranks $size>4?1:2
define space "$dir" $size*2
def step($n,$how="x"){let $k=-$n;return $k^2+1;}

/* a block
     comment */
REPEAT ($i,10){write ( "f-$i",$size ) ;}
repeat $i 3 time["read $i"]read("f-$i");
repeat 2
{ append("a",1);append("b",2); # two

  # the end
}
for $i in 0..10 step - 1 print $i,-1;
for $f in glob("*"){stat($f);delete($f);}
for 10s{getpid();think exp(2ms);}
if($size<0||! $dir){print("a");}else if $size{print("b");}else print("c");
while(1){break;}
choose{70:read("a");30:{write("b",1);sleep 5;}}
rate 1000/s poisson fstat(".");
async depth = 32{read("a");}
parallel 8{;}
phase "x" barrier("world");;
group "writers"{master print($$env(READ),step(1)[0]);};
expect errno==ENOENT{stat("none");}
verify read("a");
at 1.25s{}
assert p99("read")<5ms;
assert P99.9 of Read<5ms&&iops>1000 / s||width (p99 of "two words")<5%;
on_error stop;
$long = [1111111111, 2222222222, 3333333333, 4444444444, 5555555555, 6666666666, 7777777777, 8888888888, 99];
if $size == 1111111111 && $size != 2222222222 || $size > 3333333333 && $size < 4444444444 || $size == 5 { print(1); }
time["a label that is rather long, so that the body does not fit"] repeat $size fwrite($f, $size, uniform(0, 9));
$x = (1+2)*3%4/5; print ($x+1)*2; # last
"#;
    insta::assert_snapshot!(kept(text));
}

#[test]
fn a_long_line_is_broken_at_operators_only_where_its_arguments_are_longer_than_a_line() {
    let text = r#"
write((($long_name_of_a_variable ? ENOENT : "a-rather-long-string-that-takes-up-much-of-a-line") <= min("a-rather-long-string-that-takes-up-much-of-a-line", # c
"a-$x-b")));
define param "a" $a (-("a-rather-long-string-that-takes-up-much-of-a-line") ? $long_name_of_a_variable : MAX("a-rather-long-string-that-takes-up-much-of-a-line", 4))
if $size_of_the_whole == 1111111111 && $size_of_the_whole != 2222222222 || $size * 3 < 3333333333 { print(1); }
rate (1111111111111111111 + $a_long_name_of_a_variable * 1111111111111111111 / 1111111111111111111)/s { stat("."); }
"#;
    insta::assert_snapshot!(kept(text));
}

#[test]
fn comments_stay_where_they_are() {
    let text = r#"
/* first */ print(1); /* beside */ # and more
print(2); /* between */ print(3);
repeat 3 # of the head
{ # of the block

    # alone

    print(4) # before the semicolon
    ;
    # at the end
}
repeat 3 # of the head
  # and below
    print(5);
$l = [ # open
    1, # one
    # two
    2 /* deux */,
]; # closed
if 1 print(6); # then
else print(7); # else
if 1 { print(8); } # then
else { print(9); }
choose { # arms
    1: # one
       print(1);
    # before two
    2: print(2);
    # after
}
define param "a" $a 1 # one
define param "abc" $abcdef 22 # two
define param /* odd */ "x" $x 3
repeat 2 { /* nothing */ }
print( # to the end
);
# last"#;
    insta::assert_snapshot!(kept(text));
}

#[test]
fn a_program_with_syntax_errors_is_not_formatted() {
    assert!(format("print(1").is_err());
    assert!(format("/* open").is_err());
}

#[test]
fn every_golden_program_and_every_example_keeps_its_meaning() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("golden.json")).unwrap();
    let mut formatted = 0;
    for case in golden.as_object().unwrap().values() {
        let program = case["program"].as_str().unwrap();
        if ppl::diagnostic::has_errors(&ppl::syntax::parse(program).diagnostics) {
            assert!(format(program).is_err());
            continue;
        }
        kept(program);
        formatted += 1;
    }
    assert!(formatted > 30, "{formatted}");
    let more: serde_json::Value = serde_json::from_str(include_str!("golden-2.json")).unwrap();
    for case in more.as_object().unwrap().values() {
        let program = case["program"].as_str().unwrap();
        let formatted = ppl::format::format_as(program, true).unwrap();
        assert!(ppl::format::is_same_program_as(program, &formatted, true), "{program}\nbecame\n{formatted}");
        assert_eq!(ppl::format::format_as(&formatted, true).unwrap(), formatted);
    }
    for command in Command::all() {
        kept(command.spec().example);
    }
}

#[test]
fn the_shipped_experiments_are_formatted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../lastrank/experiments");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ppl") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(kept(&text) == text, "run `lastrank fmt {}`", path.display());
        seen += 1;
    }
    assert!(seen >= 5);
}

/// Joins tokens with random blanks and comments.
const GAPS: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n\n",
    "\n\n\n\n",
    "\t",
    " # c\n",
    "\n# own line\n",
    "\n\n# c\n\n",
    " /* b */ ",
    "\n/* b */\n",
    " /* b\n    b */ ",
    "\r\n",
    " # a\n# b\n",
    "/* a */ /* b */\n\n",
];

fn join(parts: Vec<Vec<String>>) -> Vec<String> {
    parts.into_iter().flatten().collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn fixed(list: &'static [&'static str]) -> BoxedStrategy<Vec<String>> {
    prop::sample::select(list).prop_map(words).boxed()
}

/// Tokens of an expression.
fn expression() -> BoxedStrategy<Vec<String>> {
    let leaf = fixed(&[
        "1",
        "4k",
        "5ms",
        "2.5",
        "$x",
        "$long_name_of_a_variable",
        "$$rank",
        "$$env ( READ )",
        "\"a-$x-b\"",
        "ENOENT",
        "\"a-rather-long-string-that-takes-up-much-of-a-line\"",
        "( 1 )",
        "[ ]",
        "$l [ 0 ]",
    ]);
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (
                inner.clone(),
                fixed(&["+", "-", "*", "/", "%", "^", "<", "<=", "==", "!=", "&&", "||"]),
                inner.clone()
            )
                .prop_map(|(a, op, b)| join(vec![words("("), a, op, b, words(")")])),
            (fixed(&["-", "!"]), inner.clone()).prop_map(|(op, a)| join(vec![op, words("("), a, words(")")])),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| join(vec![
                words("("),
                a,
                words("?"),
                b,
                words(":"),
                c,
                words(")")
            ])),
            (fixed(&["min (", "MAX (", "f (", "stat (", "["]), prop::collection::vec(inner, 1..4)).prop_map(
                |(open, items)| {
                    let close = if open[0] == "[" { "]" } else { ")" };
                    let items = items.join(&",".to_owned());
                    join(vec![open, items, words(close)])
                }
            ),
        ]
    })
    .boxed()
}

/// Tokens of a statement.
fn statement() -> BoxedStrategy<Vec<String>> {
    let simple = prop_oneof![
        (fixed(&["$x =", "print", "PRINT", "let $y =", "think", "assert", "return"]), expression())
            .prop_map(|(head, value)| join(vec![head, value, words(";")])),
        prop::collection::vec(expression(), 1..5).prop_map(|arguments| {
            join(vec![words("write ("), arguments.join(&",".to_owned()), words(") ;")])
        }),
        fixed(&[";", "barrier ;", "Barrier ( \"a\" ) ;", "break ;", "on_error stop ;", "f ( 1 ) ;"]),
    ];
    simple
        .prop_recursive(4, 24, 4, |inner| {
            let body = prop_oneof![
                inner.clone(),
                prop::collection::vec(inner.clone(), 0..4).prop_map(|list| join(vec![
                    words("{"),
                    join(list),
                    words("}")
                ])),
            ];
            let arm =
                (expression(), body.clone()).prop_map(|(weight, body)| join(vec![weight, words(":"), body]));
            prop_oneof![
                (
                    fixed(&[
                        "repeat 3",
                        "repeat $i 3",
                        "repeat ( $i , 3 )",
                        "time",
                        "Ctime [ \"a-$i\" ]",
                        "group \"a\"",
                        "master",
                        "for $i in 0 .. 9 step - 1",
                        "FOR $i IN [ 1 , 2 ]",
                        "for 60s",
                        "rate 1000 / s",
                        "rate ( 1 / 2 ) / s poisson",
                        "at 1.25s",
                        "parallel 8",
                        "async depth = 32",
                        "phase \"a\"",
                        "verify",
                        "expect errno == ENOENT",
                    ]),
                    body.clone()
                )
                    .prop_map(|(head, body)| join(vec![head, body])),
                (fixed(&["while", "if"]), expression(), body.clone())
                    .prop_map(|(head, condition, body)| join(vec![head, condition, body])),
                (expression(), body.clone(), body.clone()).prop_map(|(condition, then, otherwise)| join(
                    vec![words("if"), condition, then, words("else"), otherwise]
                )),
                prop::collection::vec(arm, 1..4).prop_map(|arms| join(vec![
                    words("choose {"),
                    join(arms),
                    words("}")
                ])),
            ]
        })
        .boxed()
}

fn define() -> BoxedStrategy<Vec<String>> {
    prop_oneof![
        (fixed(&["define param \"a\" $a", "define param \"longer\" $longer"]), expression())
            .prop_map(|(head, value)| join(vec![head, value])),
        fixed(&[
            "define groups { \"a\" : S , \"b\" : D / 1 , \"c\" } ;",
            "define pattern { \"p\" , 4 , 1k , 3 }",
            "define report { \"a\" : \"b\" }",
            "define space \"d\" 4k ;",
        ]),
        statement(),
        statement().prop_map(|body| join(vec![words("def f ( $a , $b = 4k ) {"), body, words("}")])),
    ]
    .boxed()
}

fn program() -> impl Strategy<Value = String> {
    prop::collection::vec(define(), 0..6).prop_flat_map(|list| {
        let tokens = join(list);
        let gaps = prop::collection::vec(prop::sample::select(GAPS), tokens.len() + 1);
        (Just(tokens), gaps, any::<bool>()).prop_map(|(tokens, gaps, plain)| {
            let mut text = String::new();
            for (token, gap) in tokens.iter().zip(&gaps) {
                text += if plain && !gap.starts_with('\n') { " " } else { gap };
                text += token;
            }
            text + gaps.last().copied().unwrap_or("")
        })
    })
}

/// The comments of a text, with normalised blanks.
fn comments(text: &str) -> Vec<String> {
    let mut lexer = ppl::syntax::Lexer::with_trivia(text);
    let mut out = Vec::new();
    loop {
        let token = lexer.token();
        match token.kind {
            ppl::syntax::TokenKind::End => return out,
            ppl::syntax::TokenKind::Comment => {
                out.push(text[token.start as usize..token.end as usize].trim().to_owned());
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_programs_are_kept(text in program()) {
        let once = kept(&text);
        prop_assert_eq!(comments(&once), comments(&text));
        // Only unbreakable text is longer than a line.
        for line in once.lines().filter(|line| line.chars().count() > WIDTH + 60) {
            prop_assert!(line.contains('#') || line.contains("/*") || !line.contains(','), "{}", line);
        }
    }
}
