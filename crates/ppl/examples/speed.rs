//! Times parse and check, a loop and an assignment: `cargo run --release -p lastrank-ppl --example speed`;
//! with the argument `parse` after `--`, the first line only, for instruction counts under callgrind.

use std::time::Instant;

use ppl::commands::Command;
use ppl::interpret::{Arguments, Halt, Machine, Reply, run};
use ppl::plan::{GroupId, Settings, SiteId};
use ppl::{Source, check, compile, syntax};

/// A machine whose commands take no time.
struct Nothing(u64);

impl Machine for Nothing {
    #[inline]
    fn command(&mut self, _: Command, _: SiteId, arguments: &Arguments) -> Reply {
        self.0 += std::hint::black_box(arguments.c_str(0)).count_bytes() as u64;
        Reply::done()
    }

    fn barrier(&mut self, _: SiteId, _: GroupId) -> Result<(), Halt> {
        Ok(())
    }
}

fn nanoseconds(program: &str, times: u64) -> f64 {
    let (plan, _) =
        compile(&mut Source::new("speed", program), &Settings::default(), false, None).expect(program);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let mut machine = Nothing(0);
        let start = Instant::now();
        run(&plan, 0, &mut machine).expect(program);
        std::hint::black_box(machine.0);
        best = best.min(start.elapsed().as_nanos() as f64 / times as f64);
    }
    best
}

/// CPU time of this thread in seconds; 0 if the system does not report it.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

fn parse_and_check(name: &str, text: &str, statements: usize) {
    let before = processor_seconds();
    let start = Instant::now();
    let source = Source::new("speed", text);
    let parse = syntax::parse(text);
    let parsed = start.elapsed();
    let checked = check::check(&parse.tree, &source);
    let all = start.elapsed();
    let processor = processor_seconds() - before;
    assert!(
        parse.diagnostics.is_empty() && checked.diagnostics.is_empty(),
        "{:?}",
        checked.diagnostics.first()
    );
    println!(
        "{name}: parse {:.3} s, parse and check {:.3} s ({processor:.3} s of processor time), tree {:.1} (dropped after the check) and code {:.1} bytes a statement",
        parsed.as_secs_f64(),
        all.as_secs_f64(),
        parse.tree.bytes() as f64 / statements as f64,
        checked.code.bytes() as f64 / statements as f64,
    );
}

fn main() {
    let million = 1_000_000;
    let mixed = ["$x = $x + 1;\n", "write(\"f\", 4k);\n", "stat(\"f-$x\");\n", "print($x);\n"];
    let text: String =
        std::iter::once("$x = 0;\n").chain(mixed.into_iter().cycle().take(million - 1)).collect();
    parse_and_check("1,000,000 mixed statements", &text, million);
    if std::env::args().any(|word| word == "parse") {
        return;
    }
    let text = format!("$x = 0;\n{}", "$x = $x + 1;\n".repeat(million - 1));
    parse_and_check("1,000,000 assignments", &text, million);
    let text = "print(1);\n".repeat(million);
    parse_and_check("1,000,000 prints", &text, million);
    let empty = nanoseconds("repeat 10000000 { }", 10_000_000);
    let counted = nanoseconds("repeat $i 10000000 { }", 10_000_000);
    let assignment = nanoseconds("$x = 0; repeat $i 10000000 { $x = $x + $i * 3; }", 10_000_000) - counted;
    let stat = nanoseconds(
        "$dir = \"/tmp/some\"; $file = \"name\"; repeat $i 1000000 stat(\"$dir/$file-$i\");",
        1_000_000,
    );
    println!("empty loop iteration {empty:.1} ns, with a counter {counted:.1} ns");
    println!("assignment with arithmetic {assignment:.1} ns, a command with a rendered path {stat:.1} ns");
}
