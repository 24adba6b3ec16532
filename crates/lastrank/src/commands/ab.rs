//! `lastrank ab`: two commands or programs, run interleaved until it is decided which is slower.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use report::words::interleaved::{ArmSummary, Interleaving, answer, text};
use serde_json::json;
use tail::interleaved::{BlockOrder, Decision, LOOKS, Look, look};

use crate::cli::{AbArgs, Choice};
use crate::exit::{BrokenInput, Status};
use crate::statistic::Statistic;
use crate::{experiments, output, values};

/// Runs A and B in blocks until a look decides, the time is over, or there is no further look.
pub fn run(args: &AbArgs) -> anyhow::Result<Status> {
    if !(args.equal_within > 0.0 && args.equal_within < 100.0) {
        bail!("--equal-within {}: a percentage above 0 and below 100", args.equal_within);
    }
    let arms = Arms::of(args)?;
    let limit = args.time.as_deref().map(limit).transpose()?;
    let begin = Instant::now();
    for round in 0..args.warmup {
        for b in [false, true] {
            say(args, format_args!("warm-up {} of {}", round + 1, args.warmup));
            arms.measure(b, args.seed, None)?;
        }
    }
    let mut made = Vec::new();
    let mut last: Option<Look> = None;
    let mut out_of_time = false;
    let margin = args.equal_within / 100.0;
    while made.len() < LOOKS[LOOKS.len() - 1] && !out_of_time {
        let order = BlockOrder::toss(args.seed, made.len() as u64);
        let mut seconds = [0.0; 4];
        for (at, b) in order.is_b().into_iter().enumerate() {
            let tell = last.map_or(String::new(), |look| format!(", B/A {:.3} so far", look.ratio));
            say(args, format_args!("block {}, run {} of 4{tell}", made.len() + 1, at + 1));
            // Both arms of a block draw the same random numbers.
            seconds[at] = arms.measure(b, args.seed + made.len() as u64, Some((made.len(), at)))?;
        }
        made.push(Block { order, seconds });
        out_of_time = limit.is_some_and(|limit| begin.elapsed() >= limit);
        if LOOKS.contains(&made.len()) || (out_of_time && made.len() >= LOOKS[0]) {
            let differences: Vec<f64> =
                made.iter().map(|block| block.order.difference(block.seconds)).collect();
            let found = look(&differences, margin)?;
            last = Some(found);
            if found.decision != Decision::Open {
                out_of_time = false;
                break;
            }
        }
    }
    say(args, format_args!(""));
    let found = Interleaving {
        value: arms.value_name(),
        arms: [false, true].map(|b| ArmSummary { what: arms.name(b).to_owned(), seconds: of_arm(&made, b) }),
        margin,
        look: last,
        blocks: made.len(),
        elapsed: begin.elapsed().as_secs_f64(),
        out_of_time,
    };
    deliver(args, &found, &made)?;
    let decision = last.map_or(Decision::Open, |look| look.decision);
    Ok(match decision {
        Decision::Slower if args.fail_if_slower => Status::No,
        Decision::Open if args.fail_if_slower => Status::Incomplete,
        Decision::Same | Decision::Faster | Decision::Slower | Decision::Open => Status::Ok,
    })
}

/// Four runs.
struct Block {
    order: BlockOrder,
    /// In the order in which they were done.
    seconds: [f64; 4],
}

fn of_arm(blocks: &[Block], b: bool) -> Vec<f64> {
    let runs = blocks.iter().flat_map(|block| block.order.is_b().into_iter().zip(block.seconds));
    runs.filter(|(is_b, _)| *is_b == b).map(|(_, seconds)| seconds).collect()
}

fn limit(time: &str) -> anyhow::Result<Duration> {
    let nanoseconds = workloads::quantity::nanoseconds(time, workloads::quantity::SECOND);
    let nanoseconds = nanoseconds.filter(|time| *time > 0);
    Ok(Duration::from_nanos(
        nanoseconds.with_context(|| format!("--time {time}: a time above 0, such as 5m"))?,
    ))
}

/// What goes on, in one line of a terminal that is written over.
fn say(args: &AbArgs, words: std::fmt::Arguments<'_>) {
    if output::progress_is_seen() && !args.quiet && !args.json {
        eprint!("\r\x1b[K{words}");
        let _ = std::io::stderr().flush();
    }
}

fn deliver(args: &AbArgs, found: &Interleaving, made: &[Block]) -> anyhow::Result<()> {
    if args.json {
        let blocks: Vec<_> =
            made.iter().map(|block| json!({"order": block.order, "seconds": block.seconds})).collect();
        return output::json(&json!({
            "schema": "lastrank.ab/1",
            "a": found.arms[0].what,
            "b": found.arms[1].what,
            "value": found.value,
            "seed": args.seed,
            "margin": found.margin,
            "elapsed_seconds": found.elapsed,
            "out_of_time": found.out_of_time,
            "look": found.look,
            "answer": answer(found),
            "blocks": blocks,
        }));
    }
    let words = if args.quiet { format!("{}\n", answer(found)) } else { text(found) };
    Ok(output::print_fitted(&words)?)
}

/// What is run in turns.
enum Arms {
    /// Command lines, each timed as a whole.
    Commands([CommandLine; 2]),
    /// Runs of programs.
    Programs(Programs),
}

struct CommandLine {
    typed: String,
    words: Vec<String>,
}

struct Programs {
    names: [String; 2],
    /// Program and further arguments of each arm.
    arguments: [Vec<String>; 2],
    choice: Choice,
    statistic: Statistic,
    keep: Option<PathBuf>,
    folder: PathBuf,
}

impl Arms {
    fn of(args: &AbArgs) -> anyhow::Result<Self> {
        let pair = [&args.a, &args.b];
        if let Some(program) = &args.program {
            for directory in pair {
                if !Path::new(directory).is_dir() {
                    bail!("`{directory}` is no directory: with --program A and B are directories");
                }
            }
            let given =
                |directory: &String| vec![program.clone(), "--set".into(), format!("dir={directory}")];
            return Ok(Self::Programs(Programs::of(args, pair.map(given))?));
        }
        match pair.map(|arm| is_program(arm)) {
            [true, true] => Ok(Self::Programs(Programs::of(args, pair.map(|arm| vec![arm.clone()]))?)),
            [false, false] => {
                let line = |typed: &String| {
                    let words = workloads::ior::words(typed).filter(|words| !words.is_empty());
                    let words = words.with_context(|| format!("`{typed}` is no command line"))?;
                    Ok::<_, anyhow::Error>(CommandLine { typed: typed.clone(), words })
                };
                if args.keep.is_some() || args.of.is_some() || args.value != "median" {
                    bail!("--keep, --of and --value are for programs; commands are timed as a whole");
                }
                Ok(Self::Commands([line(&args.a)?, line(&args.b)?]))
            }
            [a, _] => {
                let (program, other) = if a { (&args.a, &args.b) } else { (&args.b, &args.a) };
                bail!("`{program}` is a program of lastrank, and `{other}` is none: compare two of a kind")
            }
        }
    }

    fn name(&self, b: bool) -> &str {
        match self {
            Self::Commands(lines) => &lines[usize::from(b)].typed,
            Self::Programs(programs) => &programs.names[usize::from(b)],
        }
    }

    fn value_name(&self) -> String {
        match self {
            Self::Commands(_) => "wall time".into(),
            Self::Programs(programs) => {
                let of = programs.choice.label.as_deref().unwrap_or("what the report is about");
                format!("{} of {of}", programs.statistic.name())
            }
        }
    }

    /// One run, in seconds.
    fn measure(&self, b: bool, seed: u64, place: Option<(usize, usize)>) -> anyhow::Result<f64> {
        let seconds = match self {
            Self::Commands(lines) => time_command(&lines[usize::from(b)])?,
            Self::Programs(programs) => programs.measure(b, seed, place)?,
        };
        if seconds > 0.0 && seconds.is_finite() {
            return Ok(seconds);
        }
        Err(BrokenInput(format!("a run of {} took no time that could be measured", self.name(b))).into())
    }
}

fn is_program(arm: &str) -> bool {
    let is_file =
        Path::new(arm).extension().is_some_and(|extension| extension == "ppl" || extension == "pbl");
    is_file || experiments::text(arm).is_some()
}

fn time_command(line: &CommandLine) -> anyhow::Result<f64> {
    let mut command = Command::new(&line.words[0]);
    command.args(&line.words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`; for pipes and such write: sh -c '…'", line.words[0]))?;
    let seconds = begin.elapsed().as_secs_f64();
    if !status.success() {
        return Err(
            BrokenInput(format!("`{}` failed ({status}); see what it says without ab", line.typed)).into()
        );
    }
    Ok(seconds)
}

impl Programs {
    fn of(args: &AbArgs, mut arguments: [Vec<String>; 2]) -> anyhow::Result<Self> {
        for given in &mut arguments {
            given.extend(args.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
            given.extend(args.ranks.iter().flat_map(|ranks| ["-n".to_owned(), ranks.to_string()]));
        }
        if let Some(folder) = &args.keep {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let folder = match &args.keep {
            Some(folder) => folder.clone(),
            None => {
                let folder = std::env::temp_dir().join(format!("lastrank-ab-{}", std::process::id()));
                std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
                folder
            }
        };
        Ok(Self {
            names: [args.a.clone(), args.b.clone()],
            arguments,
            choice: Choice { label: args.of.clone(), ..Choice::default() },
            statistic: Statistic::of("--value", &args.value)?,
            keep: args.keep.clone(),
            folder,
        })
    }

    fn measure(&self, b: bool, seed: u64, place: Option<(usize, usize)>) -> anyhow::Result<f64> {
        let letter = if b { "b" } else { "a" };
        let name = match place {
            Some((block, run)) => format!("{:02}-{}-{letter}.parquet", block + 1, run + 1),
            None => format!("warm-up-{letter}.parquet"),
        };
        let file = self.folder.join(name);
        let mut command = Command::new(std::env::current_exe().context("cannot find lastrank itself")?);
        command.arg("run").args(&self.arguments[usize::from(b)]);
        command.args(["--report", "none", "--quiet", "--seed", &seed.to_string(), "-o"]).arg(&file);
        let done = command.stdin(Stdio::null()).stdout(Stdio::null()).output();
        let done = done.context("cannot start lastrank")?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            return Err(
                BrokenInput(format!("the run of {} failed: {said}", self.names[usize::from(b)])).into()
            );
        }
        let found = values::of_run(values::open(&file)?, &file, &self.choice)?;
        if self.keep.is_none() {
            drop(std::fs::remove_file(&file));
        }
        self.statistic.of_values(found.numbers).ok_or_else(|| anyhow!("{} has no value", found.name))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        if self.keep.is_none() {
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}
