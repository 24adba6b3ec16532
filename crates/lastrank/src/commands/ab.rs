//! `lastrank ab`: two commands or programs, run interleaved until it is decided which is slower.

use std::cell::OnceCell;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use report::answer_line;
use report::words::interleaved::{ArmSummary, Interleaving, answer, sign, text};
use serde_json::json;
use tail::interleaved::{BlockOrder, Decision, LOOKS, Look, look};

use crate::cli::{AbArgs, Choice};
use crate::exit::{BrokenInput, Status};
use crate::statistic::Statistic;
use crate::working::Working;
use crate::{experiments, output, values};

/// Runs A and B in blocks until a look decides, the time is over, or there is no further look.
pub fn run(args: &AbArgs) -> anyhow::Result<Status> {
    if !(args.equal_within > 0.0 && args.equal_within < 100.0) {
        bail!("--equal-within {}: a percentage above 0 and below 100", args.equal_within);
    }
    let arms = Arms::of(args)?;
    let limit = args.time.as_deref().map(limit).transpose()?;
    let begin = Instant::now();
    let working = Working::at_once("", !args.one_line && !args.json);
    for round in 0..args.warmup {
        for b in [false, true] {
            working.say(&format!("warm-up {} of {}", round + 1, args.warmup));
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
            working.say(&format!("block {}, run {} of 4{tell}", made.len() + 1, at + 1));
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
    drop(working);
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
    Ok(status(last.map(|look| look.decision), args.fail_if_slower))
}

/// The exit status of the last interim analysis; `None` where there was none.
fn status(decision: Option<Decision>, fail_if_slower: bool) -> Status {
    match decision {
        Some(Decision::Slower) if fail_if_slower => Status::No,
        None if fail_if_slower => Status::Incomplete,
        // What all runs could not decide is not shown to be slower.
        Some(Decision::Same | Decision::Faster | Decision::Slower | Decision::Open) | None => Status::Ok,
    }
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
    let sign = sign(found, args.fail_if_slower);
    if args.one_line {
        return Ok(output::print(&format!("{} {}\n", answer(found), sign.mark()))?);
    }
    let head = answer_line(sign, &answer(found), output::screen_options());
    Ok(output::print_below(&head, &text(found))?)
}

/// What is run in turns.
enum Arms {
    /// Command lines, each timed as a whole.
    Commands([CommandLine; 2]),
    /// Runs of programs.
    Programs(Box<Programs>),
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
    /// Where runs are that are not kept.
    made: Option<store::PrivateFolder>,
    /// What the value of each program is of, once one ran.
    subjects: [OnceCell<String>; 2],
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
            return Ok(Self::Programs(Box::new(Programs::of(args, pair.map(given))?)));
        }
        match pair.map(|arm| is_program(arm)) {
            [true, true] => {
                Ok(Self::Programs(Box::new(Programs::of(args, pair.map(|arm| vec![arm.clone()]))?)))
            }
            [false, false] => {
                let line = |typed: &String| {
                    let words = workloads::ior::words(typed).filter(|words| !words.is_empty());
                    let words = words.with_context(|| format!("`{typed}` is no command line"))?;
                    let line = CommandLine { typed: typed.clone(), words };
                    tell_of_shell(&line);
                    Ok::<_, anyhow::Error>(line)
                };
                if args.keep.is_some() || args.of.is_some() || args.value != "median" {
                    bail!("--keep, --of and --value are for programs; commands are timed as a whole");
                }
                if args.ranks.is_some() {
                    bail!(
                        "-n is for programs; commands are run as they are: say in each how many ranks it has"
                    );
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
                let of = match programs.subjects.each_ref().map(OnceCell::get) {
                    [Some(a), Some(b)] if a == b => format!("`{a}`"),
                    [Some(a), Some(b)] => format!("`{a}` in A and `{b}` in B"),
                    _ => programs.choice.label.clone().unwrap_or_else(|| "each program's answer".into()),
                };
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

/// What to write instead where a shell was meant: `ab` starts commands without one.
fn shell_hint(line: &CommandLine) -> String {
    const OF_SHELLS: [char; 9] = ['|', '&', ';', '<', '>', '$', '`', '*', '~'];
    const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];
    let program = Path::new(&line.words[0]).file_name().unwrap_or_default();
    match line.typed.contains(OF_SHELLS) && !SHELLS.iter().any(|shell| program == *shell) {
        true => format!("; it was started without a shell: sh -c {}", quoted(&line.typed)),
        false => String::new(),
    }
}

/// Says so where a word would join commands or files in a shell, and is an argument here.
fn tell_of_shell(line: &CommandLine) {
    const JOIN: [&str; 8] = ["|", "||", "&", "&&", ";", "<", ">", ">>"];
    if let Some(sign) = line.words.iter().find(|word| JOIN.contains(&word.as_str()))
        && !shell_hint(line).is_empty()
    {
        let whole = quoted(&line.typed);
        eprintln!(
            "note: `{sign}` is an argument of `{}`: no shell reads it; sh -c {whole} does",
            line.words[0]
        );
    }
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Lines of what a failed command said that are told, and of how many bytes they are taken.
const LAST_LINES: usize = 4;
const LAST_BYTES: usize = 4_096;

/// How long a failed command's last words are awaited: what it left running may keep its standard error open.
const PATIENCE: Duration = Duration::from_millis(300);

/// Reads what a command writes to standard error, in a thread that waits for the stream already.
struct Listener {
    stream: Sender<ChildStderr>,
    last: Receiver<Vec<u8>>,
}

impl Listener {
    fn new() -> Self {
        let (stream, streams) = channel::<ChildStderr>();
        let (tell, last) = channel();
        std::thread::spawn(move || {
            let Ok(mut stream) = streams.recv() else { return };
            let (mut kept, mut piece) = (Vec::new(), [0; LAST_BYTES]);
            while let Ok(read @ 1..) = stream.read(&mut piece) {
                kept.extend_from_slice(&piece[..read]);
                kept.drain(..kept.len().saturating_sub(LAST_BYTES));
            }
            // Nobody asks after a success.
            let _ = tell.send(kept);
        });
        Self { stream, last }
    }

    /// The last lines, each in a line of its own.
    fn last_words(&self) -> String {
        let bytes = self.last.recv_timeout(PATIENCE).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| format!("\n  {line}")).collect()
    }
}

fn time_command(line: &CommandLine) -> anyhow::Result<f64> {
    let mut command = Command::new(&line.words[0]);
    command.args(&line.words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let listener = Listener::new();
    let hint = || shell_hint(line);
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if hint().is_empty() => anyhow!(
            "cannot start `{}`: there is no such program; one that is not in PATH needs its folder, as in ./app",
            line.words[0]
        ),
        _ => anyhow::Error::from(error).context(format!("cannot start `{}`{}", line.words[0], hint())),
    })?;
    if let Some(stream) = child.stderr.take() {
        let _ = listener.stream.send(stream);
    }
    let status = child.wait().with_context(|| format!("cannot wait for `{}`", line.typed))?;
    let seconds = begin.elapsed().as_secs_f64();
    if !status.success() {
        let words = format!("`{}` failed ({status}){}{}", line.typed, hint(), listener.last_words());
        return Err(BrokenInput(words).into());
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
            // Runs have fixed names in it: nothing else is to be replaced, and earlier runs are not to be among them.
            let mut names =
                std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
            if names.next().is_some() {
                bail!("{} is not empty: give `--keep` a new folder", folder.display());
            }
        }
        let around = std::env::temp_dir();
        let made = match &args.keep {
            Some(_) => None,
            None => Some(
                store::PrivateFolder::make(&around, "lastrank-ab-")
                    .with_context(|| format!("cannot make a folder in {}", around.display()))?,
            ),
        };
        Ok(Self {
            names: [args.a.clone(), args.b.clone()],
            arguments,
            choice: Choice { label: args.of.clone(), ..Choice::default() },
            statistic: Statistic::of("--value", &args.value)?,
            keep: args.keep.clone(),
            made,
            subjects: [OnceCell::new(), OnceCell::new()],
        })
    }

    fn measure(&self, b: bool, seed: u64, place: Option<(usize, usize)>) -> anyhow::Result<f64> {
        let letter = if b { "b" } else { "a" };
        let name = match place {
            Some((block, run)) => format!("{:02}-{}-{letter}.parquet", block + 1, run + 1),
            None => format!("warm-up-{letter}.parquet"),
        };
        let folder = self.keep.as_deref().or(self.made.as_ref().map(|made| made.path()));
        let file = folder.context("runs have no folder")?.join(&name);
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
        if let Some(made) = &self.made {
            drop(std::fs::remove_file(made.inside(&name)));
        }
        if let Some(subject) = &found.subject {
            self.subjects[usize::from(b)].get_or_init(|| subject.name.clone());
        }
        self.statistic.of_values(found.numbers).ok_or_else(|| anyhow!("{} has no value", found.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_shown_to_be_slower_fails() {
        let statuses = [
            Some(Decision::Slower),
            Some(Decision::Open),
            Some(Decision::Same),
            Some(Decision::Faster),
            None,
        ]
        .map(|decision| [true, false].map(|fail_if_slower| status(decision, fail_if_slower)));
        let ok = [Status::Ok, Status::Ok];
        assert_eq!(statuses, [[Status::No, Status::Ok], ok, ok, ok, [Status::Incomplete, Status::Ok]]);
    }
}
