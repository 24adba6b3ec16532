//! Tests the text of diagnostics, with a snapshot for every code.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write;

use ppl::diagnostic::CODES;
use ppl::plan::Settings;
use ppl::source::Loader;
use ppl::{Diagnostic, DiagnosticCode, Severity, Source, Span, compile};

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    program: &'static str,
    classic: bool,
    parameters: &'static [(&'static str, &'static str)],
    groups: &'static [(&'static str, u32)],
    ranks: Option<u32>,
    tentative: bool,
}

const fn case(name: &'static str, program: &'static str) -> Case {
    Case { name, program, classic: false, parameters: &[], groups: &[], ranks: None, tentative: false }
}

const fn on_four(name: &'static str, program: &'static str) -> Case {
    Case { ranks: Some(4), ..case(name, program) }
}

const CASES: &[Case] = &[
    case("unknown character", "print(1) & print(2);"),
    case("unclosed string", "print(\"hello);\nprint(1);"),
    case("leading zero", "chmod(\"f\", 0644);\nmkdir(\"d\", 0o755);\nprint(0xff, 0o9, 0x, 08);"),
    case("unclosed comment", "print(1); /* what follows\nprint(2);"),
    case("bad number", "write(\"f\", 10K);\nsleep(5mss);\n$x = 99999999999999999999;"),
    case("expected", "print(1)\nprint(2);\n$x 5;\nrepeat { }\n$y == 5;"),
    case("unknown word", "wirte(\"f\", 1);\nprint(1);\nfoo;"),
    case("too deep", include_str!("deep.ppl")),
    case("misplaced", "repeat 2 { define ranks 3; }\nbreak;\nreturn 1;"),
    case("include", "include \"missing.ppl\";\ninclude \"circle.ppl\";"),
    case(
        "unknown variable",
        "$file = \"a\";\nprint($fiel);\nprint(\"$nope/x ${fille} 5$\");\nprint($later);\n$later = 1;",
    ),
    case("unknown builtin", "print($$ranks, \"$$sise $$env\");"),
    case(
        "unknown group",
        "define groups {\"writers\":D};\ngroup \"writer\" { print(1); }\nbarrier(\"none\");",
    ),
    case(
        "unknown pattern",
        "define pattern {\"big\", 4, 1k, 1};\npwrite(\"f\", \"bgi\");\npread(\"f\", \"other thing\");",
    ),
    case("unknown function", "$x = unifrom(1, 2);\n$y = f(1);"),
    case(
        "missing argument",
        "write(\"f\");\nrename();\n$x = mod(1);\ndef f($a, $b = 1) { }\nf();\nf(1, 2, 3);",
    ),
    case(
        "wrong kind",
        "write(\"f\", \"100\");\nfread(\"f\", 1);\nfor 60 { print(1); }\nthink 5;\nsleep(\"a\");",
    ),
    case(
        "conditions of assert",
        "time[\"w\"] repeat 10 getpid();\nassert factor > 1.05;\nassert p99 < 5;\nassert p99 < 5%;\nassert iops > 5ms;\n\
         assert each iops > 5;\nassert each p99 < 5ms;\nassert p95 < 5ms;\nassert width(p95 of getpid) < 5%;\n\
         assert width(mean) < 5%;\nassert width(\"w\") < 5%;\nassert width(p99) < 5;\nassert 5% > 1;\n\
         assert iops() > 5;\nassert p99 of getpdi < 1ms;\nassert pp9 < 1ms;\nprint(iops(\"w\"));\n\
         $i = 1; time[\"w$i\"] getpid(); assert p99 < 1ms;",
    ),
    case("no result", "$x = delete(\"f\");"),
    case(
        "bad mode",
        "$f = fopen(\"f\", \"rb\");\n$g = fopen(\"f\", \"O_RDONLY|O_CREATE\");\n$h = pfopen(\"f\", \"x\");\nfseek($f, 0, SEEK_NOW);",
    ),
    case(
        "duplicate",
        "define param \"a\" $a \"1\"\ndefine param \"a\" $b \"2\"\ndef f() { }\ndef f() { }\ndefine groups {\"g\", \"g\"};",
    ),
    case(
        "bad define",
        "define groups {\"world\", \"x\":Q};\ndefine pattern {\"p\", 1};\ndefine pattern {\"q\", 1, 1, 1};\nchoose { }",
    ),
    case("content", "define content \"own\"\ndefine content \"copies\""),
    case("bad content", "define content \"read\"\nwrite(\"f\", 10);"),
    case("bad hint", "define hints {\"\": \"4\", \"cb_nodes\": \"\", \"romio_cb_write\": \"enable\"};"),
    case("pattern level", "define pattern {\"p\", 4, 1k, 7};"),
    case("not constant", "$x = 1;\ndefine ranks $x;\ndefine space uniform(1, 2);\ngroup \"$x\" { }"),
    case("evaluation", "define param \"n\" $n 0\ndefine ranks 4 / $n;"),
    case("division by zero", "print(1 / 0);\n$x = 1;\nprint($x / 0);"),
    case("constants that do not go together", "$x = \"a\" * 2;\n$y = -[1];\n$z = 1s + 5;\n$l = len(4);"),
    case(
        "bad constant",
        "async depth=0 { }\nfor $i in 0..9 step 0 { }\nchoose { 0: print(1); 0: print(2); }\nchoose { 0 - 1: print(1); }\n\
         repeat -3 { }\nrepeat 2s { }\nparallel 0 { }\nrate 0/s { }\nfor $x in 5 { }\nfor $i in 0..\"many\" { }",
    ),
    case(
        "times of a statistic",
        "define ranks 2;\nrepeat 100 rate 1000/s time[\"read\"] read(\"file\", 4KiB);\n\
         assert p99(\"read\", \"sevrice\") < 5ms && p50(\"read\", \"service\") < 1ms;\n\
         assert mean(\"read\", \"response\") < 1ms || slowest(\"read\", \"wall\") < 1s;\n\
         assert quantile(99, \"read\") < 1s || quantile(0.5, \"read\", \"both\") < 1s;",
    ),
    case(
        "unknown label",
        "define report {\"gate\": \"wirte\"};\ntime[\"write\"] write(\"f\", 1);\nrepeat $i 2 phase \"step-$i\" { }\n\
         assert p99(\"raed\") < 5ms;\nassert p50(\"step-1\") < 1s && count(\"write/write\") > 0 && mean(\"barrier\") < 1s;",
    ),
    case("default outside its range", "define param \"n\" $n 0 from 1"),
    case(
        "pattern shape",
        "define pattern {\"a\", \"subaray\", [4], [2], [0], 8, 1};\ndefine pattern {\"b\", \"spiral\", [4], 8, 1};\n\
         define pattern {\"c\", \"shared\", 4, 1k, 0};\ndefine pattern {\"d\", \"list\", [0], 3};\n\
         $x = 1;\ndefine pattern {\"e\", \"list\", [$x * 4k], 1k, 3};",
    ),
    on_four(
        "pattern shape of ranks",
        "define pattern {\"a\", \"subarray\", [4], [2, 2], [0], 8, 1};\n\
         define pattern {\"b\", \"subarray\", [4, 6], [4, 2], [0, 2 * $$grank], 8, 1};\n\
         define pattern {\"c\", \"darray\", [8, 8], [1, 1], [3, 2], 8, 3};\n\
         define pattern {\"d\", \"nested\", 0, [2, 2], [8, 8], 8, 3};\n\
         define pattern {\"e\", \"list\", [0, 4k], [1k, 1k, 1k], 0};\n\
         define pattern {\"f\", \"list\", [4k, 0], 1k, 2};\ndefine pattern {\"g\", \"list\", 4k, 1k, 0};\n\
         define pattern {\"h\", \"list\", [-1], 1k, 0};\ndefine pattern {\"i\", \"list\", [\"a\"], 1k, 0};\n\
         define pattern {\"j\", \"nested\", 0, [2000000], [8], 8, 0};\n\
         define pattern {\"k\", \"list\", [9223372036854775807], 1k, 0};\n\
         define pattern {\"l\", \"subarray\", [], [], [], 8, 0};\n\
         define pattern {\"m\", \"list\", [1 / $$grank], 8, 0};\n\
         define pattern {\"n\", \"diagonal\", [8, 8, 8, 8], 8, 0};\ndefine pattern {\"o\", \"diagonal\", [8], 8, 0};\n\
         pwrite(\"f\", \"c\"); pwrite(\"f\", \"n\");",
    ),
    case("pattern type", "define pattern {\"p\", 3, 4, 1k, 1};"),
    Case {
        parameters: &[("siez", "4"), ("other", "1")],
        ..case("unknown parameter", "define param \"size\" $size 4k;")
    },
    Case { parameters: &[("size", "4K")], ..case("bad parameter", "define param \"size\" $size 4k;") },
    case("environment", "print(\"$$env(NOT_SET)\");"),
    case("bad ranks", "define ranks 0;"),
    Case {
        groups: &[("writers", 9), ("writer", 1)],
        ..on_four("groups do not fit", "define groups {\"writers\":S};")
    },
    on_four(
        "collective",
        "define groups {\"a\":D, \"b\":D};\nmaster barrier;\nif $$rank == 0 { barrier; }\n$n = $$rank + 1;\nrepeat $n { phase \"x\" { } }\nfor 60s { barrier; }\ndef meet() { barrier; }\nmaster { meet(); }\ngroup \"a\" { barrier(\"a\"); master { barrier(\"a\"); } }",
    ),
    on_four("collective in parallel", "parallel 2 { barrier; }"),
    on_four(
        "collective in another order",
        "define groups {\"a\", \"b\"};\nif $$rank == 0 { barrier(\"a\"); barrier(\"b\"); }\nelse { barrier(\"b\"); barrier(\"a\"); }",
    ),
    Case {
        tentative: true,
        ..case(
            "collective with any ranks",
            "define groups {\"a\":D};\nif $$rank == 0 { barrier; }\ngroup \"a\" { barrier; }\nphase \"p\" stonewall { repeat 3 barrier; }\ndef meet() { barrier; }\nparallel 2 meet();",
        )
    },
    on_four(
        "collective in a group",
        "define groups {\"a\":D, \"b\":D};\ngroup \"a\" { barrier; }\ngroup \"a\" { barrier(\"a\"); }",
    ),
    on_four(
        "collective pattern",
        "define pattern {\"p\", 2, 4, 1k, 3};\n$f = pfopen(\"f\", \"crw\");\nif $$rank > 1 { pfwrite($f, \"p\"); }",
    ),
    on_four("perhaps collective", "$f = fopen(\"f\", \"r\");\nif $f < 0 { barrier; }"),
    Case { classic: true, ..case("classic", "foo print(1) & ;\nwrite(\"f\", 10K);\n$a_b = 1; print($a);") },
    Case {
        classic: true,
        groups: &[("b", 2), ("c", 3), ("zz", 1)],
        ..on_four("classic groups", "define groups {\"a\":S, \"b\":S, \"c\":D 1};\ngroup \"a\" { print(1); }")
    },
    case("surplus argument", "stat(\"f\", 1, 2);"),
    case("trimmed", "define groups {\"writers\"};\ngroup \" writers\" { print(1); }"),
    case("lost text", "print(\"$$rankfoo\");"),
    Case {
        parameters: &[("size", "8k")],
        ..case("text unit", "define param \"size\" $size \"4k\"\nwrite(\"f\", $size);")
    },
    on_four(
        "group file",
        "$f = pfopen(\"f\", \"cw\");\nfclose($f);\nfwrite($f, 4k);\nfsync($f);\npfclose($f);",
    ),
    case("nul in name", "delete(\"a\0b\");"),
    case(
        "shorter name",
        "$file = \"x\"; $filename = \"y\"; $i = 1;\nprint(\"$filenam\");\nprint(\"$idx $idx ${i}dx $i-x $ia\");",
    ),
    case("nul in text", "$f = \"a\0b\";\nwrite($f, 4k);"),
    case(
        "no signal",
        "signal(\"ready\");\nawait(\"redy\");\nawait(\"never\");\n$i = 1; signal(\"go$i\"); await(\"go1\");",
    ),
    case("leading comma", "print(,1);"),
    case("bare time", "sleep 0.5;\nsleep(5);\nsleep 0; sleep 5us;"),
    case(
        "mistakes in a wrong loop",
        "repeat i 10 { wirte(\"f\", 1); }\nrepeat $i in 0..10 { print($i, $nix); }\nrepeat 10 times { fraed(\"f\", 1); }\n\
         repeat $i 0..10 { fwrit($i); }\nfor j in 0..10 { print($j, $nix); }\nrepeat { print($nix); }\n\
         for ($k = 0; $k < 10; $k++) { print($k, $nix); }\nfor (int m = 0; m < 10; m++) { print($nix); }\n\
         repeat 10 depth=8 { print($nix); }\nfoo 10 { print($nix); }\nrepeat (10 { print($nix); }",
    ),
    case(
        "units of newcomers",
        "write(\"f\", 1 MB);\nsleep(5 ms);\nfor 60 s { wirte(\"f\", 4 kib); }\nthink 7 Ms;\nwrite(\"f\", 4kb);\n\
         $x = 1.5mb;\nprint(5\nms);",
    ),
    case(
        "signs of newcomers",
        "// what it does\n$i = 0;\n$i++;\n$i--;\n$i += fo(1);\n$i == fo(2);\n$i := 5;\nif $i = 3 { print($nix); }\n\
         $x = 1 // 2;\nprint(1); // done\n$r = 0..10;\nprint({\"a\":2});\nprint(\"a\":2);\n$y = 1 and 2;",
    ),
    case(
        "words of newcomers",
        "$x = true;\nwhile true { print($nix); }\n$y = null;\nfunction f($a) { print($a, $nix); }\nf(1);\nelif $x { }\n\
         var $z = 1;\nif $x == 1 then { print($nix); }\nfor $i in range(10) { print($i); }\necho \"hello\";",
    ),
    case(
        "arguments of newcomers",
        "$f = fcreat(\"f\");\nfwrite($f, size=4k, depth=fo(1));\nparallel depth=8 { print($nix); }\n\
         define groups {\"a\":2};\npwrite($f, \"data\", 4096, 0);\npread($f, 4k, 0);\nfwrite(f, 4k, wirte(1));\n\
         time(\"write\") fwrite($f, 4k + nix);\nctime(\"write\") { print($nix); }",
    ),
    case(
        "missing semicolons",
        "$x = 1\n$y = fo($x)\nprint($y)\n$z = wirte(1);\nif $x { print(1) }\nrepeat 2 print(1)",
    ),
    Case {
        parameters: &[("size", "4kb")],
        ..case("bad parameter of two meanings", "define param \"size\" $size 4k;")
    },
    case("unreachable", "repeat 2 { break; print(1); }"),
    on_four("shared groups", "define groups {\"writers\":D, \"readers\":D};"),
];

fn underline(out: &mut String, source: &Source, span: Span, mark: char, text: &str) {
    let place = source.position(span.start);
    let start = source.text()[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let end = source.text()[span.start as usize..]
        .find('\n')
        .map_or(source.text().len(), |at| at + span.start as usize);
    let mut line = source.text()[start..end].replace('\0', "␀");
    let before = source.text()[start..span.start as usize].chars().count();
    let length = source.slice(span).lines().next().unwrap_or("").chars().count().max(1);
    if line.chars().count() > 120 {
        line = line.chars().take(60).chain(" …".chars()).collect();
    }
    writeln!(out, "{:>4} | {line}", place.line).unwrap();
    if before < 120 {
        writeln!(out, "     | {}{} {text}", " ".repeat(before), mark.to_string().repeat(length.min(60)))
            .unwrap();
    }
}

fn draw(diagnostic: &Diagnostic, source: &Source) -> String {
    let mut out = String::new();
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    writeln!(out, "{severity}[{}]: {}", diagnostic.code, diagnostic.message).unwrap();
    if diagnostic.span != Span::default() {
        underline(&mut out, source, diagnostic.span, '^', "");
    }
    for label in &diagnostic.labels {
        underline(&mut out, source, label.span, '-', &label.text);
    }
    if let Some(help) = &diagnostic.help {
        writeln!(out, "     = help: {help}").unwrap();
    }
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn diagnose(case: &Case) -> (Vec<Diagnostic>, Source) {
    let owned =
        |list: &[(&str, &str)]| list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let settings = Settings {
        parameters: owned(case.parameters),
        groups: case.groups.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect(),
        ranks: case.ranks,
        tentative: case.tentative,
        ..Settings::default()
    };
    let mut source = Source::new("p.ppl", case.program);
    let mut load = |path: &str| match path {
        "circle.ppl" => Ok("include \"circle.ppl\";".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let loader: Loader<'_> = &mut load;
    let found = match compile(&mut source, &settings, case.classic, Some(loader)) {
        Ok((_, found)) | Err(found) => found,
    };
    (found, source)
}

#[test]
fn every_diagnostic_reads_as_its_snapshot() {
    for case in CASES {
        let (found, source) = diagnose(case);
        let drawn: Vec<String> = found.iter().map(|diagnostic| draw(diagnostic, &source)).collect();
        assert!(!drawn.is_empty(), "{} finds nothing", case.name);
        insta::assert_snapshot!(case.name.replace(' ', "_"), drawn.join("\n\n"));
    }
}

#[test]
fn applying_a_proposed_replacement_fixes_the_program() {
    let mut mended = BTreeSet::new();
    for case in CASES.iter().filter(|case| case.name != "too deep") {
        for diagnostic in diagnose(case).0 {
            let help = diagnostic.help.as_deref().unwrap_or("");
            // The command line is not part of the program.
            let given = diagnostic.code == DiagnosticCode::BadParameter || diagnostic.span == Span::default();
            let asks = help.starts_with("did you mean") && !given;
            assert_eq!(diagnostic.replacement.is_some(), asks, "{}: {}", case.name, diagnostic.message);
            let Some(replacement) = diagnostic.replacement else { continue };
            assert!(help.contains(&replacement.text), "{help}");
            let (start, end) = (replacement.span.start as usize, replacement.span.end as usize);
            let text: &str =
                [&case.program[..start], &replacement.text, &case.program[end..]].concat().leak();
            let again = diagnose(&Case { program: text, ..*case }).0;
            assert!(
                again.iter().all(|other| other.message != diagnostic.message),
                "{text}: {}",
                diagnostic.message
            );
            mended.insert(diagnostic.code);
        }
    }
    assert!(mended.len() >= 6, "{mended:?}");
}

#[test]
fn every_code_is_explained_and_has_a_snapshot() {
    let shown: BTreeSet<DiagnosticCode> =
        CASES.iter().flat_map(|case| diagnose(case).0).map(|diagnostic| diagnostic.code).collect();
    let missing: Vec<&str> =
        CODES.iter().filter(|known| !shown.contains(&known.code)).map(|known| known.code.as_str()).collect();
    assert_eq!(missing, Vec::<&str>::new(), "codes without a program that shows them");
    let mut seen = BTreeSet::new();
    for known in CODES {
        assert!(known.text.len() > 40 && !known.title.is_empty(), "{} is not explained", known.code);
        assert!(seen.insert(known.code.as_str()), "{} is used twice", known.code);
        assert!(ppl::diagnostic::explain(&known.code.as_str().to_lowercase()).is_some());
    }
}

/// Lines of at most 80 columns, as a terminal of that width shows them.
fn folded(drawn: &str) -> String {
    let mut out = String::new();
    for line in drawn.lines() {
        let indent = 2 + line.len() - line.trim_start().len();
        let mut columns = 0;
        for (at, word) in line.split(' ').enumerate() {
            let width = word.chars().count();
            if at > 0 && columns + 1 + width > 80 {
                write!(out, "\n{:indent$}", "").unwrap();
                columns = indent;
            } else if at > 0 {
                out.push(' ');
                columns += 1;
            }
            out.push_str(word);
            columns += width;
        }
        out.push('\n');
    }
    out
}

/// The page of all codes: the explanation of each, a program with it, and the diagnostic.
fn page() -> String {
    let mut out = String::from(
        "# PPL diagnostics\n\n\
         <!-- Made from the tests by `cargo test -p lastrank-ppl --test diagnostics`. -->\n\n\
         `lastrank check program.ppl` reports these before anything runs; `E` is an error, `W` a warning, `N` a\n\
         note. Several are reported in one pass. `--format json` writes the same for other programs, see\n\
         [PPL, the language](language.md#for-other-programs). Each code is shown with a program that causes it and\n\
         its output.\n",
    );
    for known in CODES {
        let found = |case: &&Case| diagnose(case).0.iter().any(|it| it.code == known.code);
        let shown = CASES.iter().filter(found).min_by_key(|case| case.program.len());
        let case = shown.expect("every code has a program");
        let (found, source) = diagnose(case);
        let first = found.iter().find(|it| it.code == known.code).expect("found above");
        writeln!(out, "\n## {} {}\n\n{}\n", known.code, known.title, known.text).unwrap();
        if case.program.len() < 1000 {
            let mut how: Vec<String> =
                case.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            how.extend(case.groups.iter().map(|(name, size)| format!("-g {name}:{size}")));
            how.extend(case.ranks.map(|ranks| format!("-n {ranks}")));
            how.extend(case.classic.then(|| "--classic".to_owned()));
            if !how.is_empty() {
                writeln!(out, "With `{}`:\n", how.join(" ")).unwrap();
            }
            writeln!(out, "```text\n{}\n```\n", case.program.replace('\0', "␀")).unwrap();
        }
        writeln!(out, "```text\n{}```", folded(&draw(first, &source))).unwrap();
    }
    out
}

#[test]
fn the_page_of_all_codes_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language-diagnostics.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(path, page()).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap();
    assert!(
        there == page(),
        "write it again: INSTA_UPDATE=always cargo test -p lastrank-ppl --test diagnostics"
    );
}

#[test]
fn spans_lie_inside_the_text() {
    for case in CASES {
        let (found, source) = diagnose(case);
        for diagnostic in found {
            for span in
                std::iter::once(diagnostic.span).chain(diagnostic.labels.iter().map(|label| label.span))
            {
                assert!(span.end as usize <= source.text().len(), "{}: {diagnostic:?}", case.name);
            }
        }
    }
}
