//! Reads the command line, and says what is wrong with it: with a tip only where it means what was typed.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use samples::{commands_a_terminal, visible};

use super::Cli;
use crate::output::{self, Stream};

/// A word that users of other tools type, the commands where it is met, and what to type here.
struct Elsewhere {
    word: &'static str,
    commands: &'static [&'static str],
    here: &'static str,
}

const fn elsewhere(word: &'static str, commands: &'static [&'static str], here: &'static str) -> Elsewhere {
    Elsewhere { word, commands, here }
}

/// Options of fio, IOR, hyperfine and sysbench that are called otherwise here.
const ELSEWHERE: [Elsewhere; 38] = [
    elsewhere("--filename", &["io"], "the file comes after ACCESS: lastrank io randread FILE"),
    elsewhere("--directory", &["io"], "the directory comes after ACCESS: lastrank io randread DIRECTORY"),
    elsewhere("--name", &["io"], "a note is kept with the run: --note TEXT"),
    elsewhere("--description", &["io", "run"], "a note is kept with the run: --note TEXT"),
    elsewhere("--time_based", &["io"], "--time alone ends the run: leave it out"),
    elsewhere("--group_reporting", &["io"], "all ranks are reported together: leave it out"),
    elsewhere("--output-format", &["io", "run"], "--json prints the result as JSON"),
    elsewhere("--status-interval", &["io", "run"], "--progress json prints a line a second"),
    elsewhere("--eta", &["io", "run"], "--progress says how progress is shown"),
    elsewhere("--rwmixwrite", &["io"], "--rwmixread PERCENT gives the share of the reads"),
    elsewhere("--randseed", &["io"], "--seed NUMBER"),
    elsewhere("--ss", &["io"], "--steady 'iops 5% over 30s', with --until steady to end the run then"),
    elsewhere(
        "--steadystate",
        &["io"],
        "--steady 'iops 5% over 30s', with --until steady to end the run then",
    ),
    elsewhere("--loops", &["io", "run"], "--ops N or --time TIME says how much"),
    elsewhere("--nrfiles", &["io"], "a job file of fio may have it: lastrank import JOB.fio"),
    elsewhere("--section", &["io"], "a job file of fio becomes a program: lastrank import JOB.fio"),
    elsewhere("--repeat", &["run"], "a parameter of the program: --set repeat=N"),
    elsewhere("--repetitions", &["run"], "a parameter of the program: --set repeat=N"),
    elsewhere("--size", &["run"], "a parameter of the program: --set size=SIZE"),
    elsewhere("--dir", &["run"], "a parameter of the program: --set dir=DIRECTORY"),
    elsewhere("--directory", &["run"], "a parameter of the program: --set dir=DIRECTORY"),
    elsewhere("--filename", &["run"], "a parameter of the program: --set NAME=VALUE"),
    elsewhere("--np", &["run", "io", "mem", "ab"], "-n RANKS"),
    elsewhere("--threads", &["run", "io", "mem"], "-n RANKS"),
    elsewhere("--jobs", &["run", "mem"], "-n RANKS"),
    elsewhere("--runs", &["ab"], "it ends as soon as it is decided; --time TIME ends it at last"),
    elsewhere("--min-runs", &["ab"], "it ends as soon as it is decided; --time TIME ends it at last"),
    elsewhere("--max-runs", &["ab"], "it ends as soon as it is decided; --time TIME ends it at last"),
    elsewhere("--export-json", &["ab"], "--json prints the result: lastrank ab A B --json > FILE"),
    elsewhere("--show-output", &["ab"], "a command that fails is told with its last lines"),
    elsewhere("--shell", &["ab"], "commands run without a shell; with one: \"sh -c '…'\""),
    elsewhere("--prepare", &["ab"], "make it a part of both commands: \"sh -c '…; …'\""),
    elsewhere("--baseline", &["watch", "compare"], "the baseline is the first file: BASELINE STREAM"),
    elsewhere("--for", &["plan-runs"], "what is wanted follows the pilot: lastrank plan-runs PILOT p99=5%"),
    elsewhere("--at", &["scale"], "--to RANKS"),
    elsewhere("--fast", &["try"], "--limit SECONDS makes it shorter"),
    elsewhere("--quick", &["try"], "--limit SECONDS makes it shorter"),
    elsewhere(
        "--format",
        &["run", "io", "ls", "report", "fit", "compare"],
        "--json prints the result as JSON",
    ),
];

/// Words of other tools, or of other parts of this one, that are typed for a command.
const COMMANDS: [(&str, &str); 21] = [
    ("bench", "lastrank try, or lastrank run parallel_write"),
    ("benchmark", "lastrank try, or lastrank run parallel_write"),
    ("dd", "lastrank io write, or lastrank io read"),
    ("diff", "lastrank compare OLD NEW"),
    ("elbencho", "lastrank io, or lastrank fit RESULTS for its results"),
    ("fio", "a job file becomes a program: lastrank import JOB.fio; without one: lastrank io randread"),
    ("hyperfine", "lastrank ab A B"),
    ("install", "lastrank run parallel_write needs no installation"),
    ("latency", "lastrank mem latency, or lastrank io randread"),
    ("list", "lastrank ls"),
    ("lmbench", "lastrank try"),
    ("mdtest", "lastrank meta"),
    ("mpirun", "mpirun -n 4 lastrank run parallel_write"),
    ("plan", "lastrank plan-runs"),
    ("plot", "lastrank report RUN"),
    ("show", "lastrank report RUN"),
    ("start", "lastrank run parallel_write"),
    ("stats", "lastrank fit FILE"),
    ("strace", "lastrank record COMMAND, or lastrank import TRACE"),
    ("test", "lastrank try"),
    ("view", "lastrank report RUN"),
];

/// What a word that is no command was typed for, if we know it: an experiment, a file, a word of another tool.
fn tip_for_a_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if let Some((_, here)) = COMMANDS.iter().find(|(other, _)| other == word) {
        return Some((*here).into());
    }
    let shown = report::file_argument(word);
    let path = std::path::Path::new(word);
    match path.extension().and_then(|ending| ending.to_str()) {
        _ if crate::experiments::text(word).is_some() => Some(format!("an experiment: lastrank run {shown}")),
        Some("ppl") => Some(format!("a program: lastrank run {shown}")),
        Some("parquet") => Some(format!("a run: lastrank report {shown}")),
        Some("fio") => Some(format!("a job file: lastrank import {shown}")),
        _ if path.is_file() => {
            Some(format!("numbers, tables and results of other tools: lastrank fit {shown}"))
        }
        _ => None,
    }
}

/// Where an argument is missing: the command as it is used.
const EXAMPLES: [(&str, &str); 15] = [
    ("ab", "lastrank ab 'ls' 'ls -l'"),
    ("check", "lastrank check PROGRAM.ppl"),
    ("compare", "lastrank compare OLD.parquet NEW.parquet"),
    ("explain", "lastrank explain parallel_write"),
    ("export", "lastrank export RUN.parquet --to csv"),
    ("fidelity", "lastrank fidelity RECORDING.parquet REPLAY.parquet"),
    ("fit", "lastrank fit RUN.parquet, or numbers.txt --unit ms"),
    ("fmt", "lastrank fmt PROGRAM.ppl"),
    ("import", "lastrank import TRACE -o PROGRAM.ppl"),
    ("record", "lastrank record -- tar c DIRECTORY"),
    ("replay", "lastrank replay PROGRAM.ppl"),
    ("report", "lastrank report RUN.parquet"),
    ("run", "lastrank run parallel_write (lastrank experiments lists more)"),
    ("scale", "lastrank scale RUN.parquet --to 64"),
    ("watch", "lastrank watch BASELINE.parquet NEW.parquet"),
];

/// Where a value is missing that other tools do without.
const VALUES: [(&str, &str); 1] = [("--fsync", "--fsync 1 makes each write durable, --fsync 32 every 32nd")];

fn example(error: &clap::Error, command: &str) -> Option<String> {
    let is_missing = error.kind() == ErrorKind::MissingRequiredArgument;
    let found = EXAMPLES.iter().find(|(name, _)| is_missing && *name == command)?;
    Some(format!("for example: {}", found.1))
}

/// The command line; what is wrong with it, or the help that it asks for, is printed, and the exit status returned.
pub fn parse() -> Result<Cli, ExitCode> {
    let words: Vec<_> = std::env::args_os().collect();
    let parsed = Cli::command().try_get_matches_from(&words).and_then(|found| Cli::from_arg_matches(&found));
    parsed.map_err(|error| {
        let command = words.get(1).map_or(String::new(), |word| word.to_string_lossy().into_owned());
        // What was typed may command a terminal, and clap mixes it with its own colours: then there are none.
        let is_harmless = !words.iter().any(|word| word.to_string_lossy().chars().any(commands_a_terminal));
        tell(&with_better_tip(error, &command), is_harmless)
    })
}

/// The error with the option that was meant, if we know it; one that only looks alike may mean something else.
fn with_better_tip(mut error: clap::Error, command: &str) -> clap::Error {
    if let Some(tip) = tip_for_a_command(&error).or_else(|| example(&error, command)) {
        drop(error.remove(ContextKind::SuggestedSubcommand));
        drop(error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()])));
        return error;
    }
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => word.split('=').next().unwrap_or_default().to_owned(),
        _ if error.kind() == ErrorKind::InvalidSubcommand => {
            if error.get(ContextKind::SuggestedSubcommand).is_none() {
                let all = "lastrank --help lists the commands";
                drop(error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![all.into()])));
            }
            return error;
        }
        _ => return error,
    };
    let is_value_missing =
        matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty());
    let option = word.split(' ').next().unwrap_or_default();
    if let Some((_, tip)) = VALUES.iter().find(|(name, _)| is_value_missing && *name == option) {
        drop(error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*tip).into()])));
        return error;
    }
    let known = ELSEWHERE.iter().find(|option| option.word == word.replace('_', "-") || option.word == word);
    if let Some(option) = known.filter(|option| option.commands.contains(&command)) {
        forget_tip(&mut error, command);
        drop(error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![option.here.into()])));
        return error;
    }
    if command == "fit" && !word.starts_with('-') {
        forget_tip(&mut error, command);
        let one = "one file at a time; `lastrank compare OLD NEW …` sets several beside the first";
        drop(error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![one.into()])));
        return error;
    }
    // That a word may be a value is never what a newcomer meant.
    if error.kind() == ErrorKind::UnknownArgument {
        drop(error.remove(ContextKind::Suggested));
    }
    let is_far = matches!(
        error.get(ContextKind::SuggestedArg), Some(ContextValue::String(like)) if !is_slip(&word, like)
    );
    if is_far {
        forget_tip(&mut error, command);
    }
    error
}

/// Takes clap's tip away, and the usage, which names the option that clap took it for.
fn forget_tip(error: &mut clap::Error, command: &str) {
    drop(error.remove(ContextKind::SuggestedArg));
    drop(error.remove(ContextKind::Suggested));
    let mut commands = Cli::command();
    commands.build();
    if let Some(command) = commands.find_subcommand_mut(command) {
        let usage = command.render_usage();
        drop(error.insert(ContextKind::Usage, ContextValue::StyledStr(usage)));
    }
}

/// Whether one may be typed for the other by a slip: the same first letter, and one letter in six wrong, or one beginning
/// with the other.
fn is_slip(typed: &str, option: &str) -> bool {
    let [typed, option] =
        [typed, option].map(|word| word.split([' ', '=']).next().unwrap_or_default().trim_start_matches('-'));
    let allowed = 1 + typed.chars().count() / 6;
    let begins = option.starts_with(typed) || typed.starts_with(option);
    typed.chars().next() == option.chars().next()
        && (begins || strsim::osa_distance(typed, option) <= allowed.min(2))
}

/// What the parsers of numbers say of a text that is none, and what we say.
const PARSERS: [(&str, &str); 2] = [
    (": invalid float literal", ": write a number, such as 64"),
    (": invalid digit found in string", ": write a whole number, such as 4"),
];

/// Prints the error or the help, with the lines and colours that the terminal takes.
fn tell(error: &clap::Error, is_harmless: bool) -> ExitCode {
    let stream = if error.use_stderr() { Stream::Error } else { Stream::Output };
    let in_words =
        |text: String| PARSERS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours));
    let text = match is_harmless && output::may_colour(output::is_watched(stream)) {
        true => in_words(error.render().ansi().to_string()),
        false => visible(&in_words(error.render().to_string())).into_owned(),
    };
    match stream {
        Stream::Error => output::say_in_colour(&text),
        // Nobody reads on where this fails.
        Stream::Output => drop(output::print_screen(&text)),
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> String {
        let error = Cli::command().try_get_matches_from(words).expect_err("a wrong command line");
        with_better_tip(error, words[1]).render().to_string()
    }

    #[test]
    fn words_of_other_tools_lead_to_ours() {
        let found = told(&["lastrank", "io", "randread", "--filename", "x"]);
        assert!(found.contains("lastrank io randread FILE") && !found.contains("--filesize"), "{found}");
        let found = told(&["lastrank", "run", "p", "--repeat", "5"]);
        assert!(found.contains("--set repeat=N") && !found.contains("--redact"), "{found}");
    }

    #[test]
    fn a_word_that_is_no_command_leads_to_one() {
        for (word, way_out) in [
            ("parallel_write", "lastrank run parallel_write"),
            ("fio", "lastrank import JOB.fio"),
            ("a.parquet", "lastrank report a.parquet"),
            ("p.ppl", "lastrank run p.ppl"),
            ("rum", "'run'"),
        ] {
            let found = told(&["lastrank", word]);
            assert!(found.contains(way_out), "{found}");
        }
        let commands = Cli::command();
        assert!(COMMANDS.iter().all(|(word, _)| commands.find_subcommand(word).is_none()));
    }

    #[test]
    fn a_missing_argument_is_shown_by_an_example() {
        let commands = Cli::command();
        for (command, one) in EXAMPLES {
            assert!(commands.find_subcommand(command).is_some(), "{command}");
            let found = told(&["lastrank", command]);
            assert!(found.contains(one), "{found}");
        }
    }

    #[test]
    fn an_unknown_option_is_not_said_to_be_a_value() {
        let found = told(&["lastrank", "try", "--fast"]);
        assert!(!found.contains("as a value"), "{found}");
    }

    #[test]
    fn several_files_of_a_fit_lead_to_the_command_that_takes_them() {
        let found = told(&["lastrank", "fit", "a.parquet", "b.parquet"]);
        assert!(found.contains("'b.parquet'") && found.contains("`lastrank compare OLD NEW …`"), "{found}");
    }

    #[test]
    fn a_tip_is_a_slip_of_the_finger_and_no_other_word() {
        assert!(told(&["lastrank", "run", "p", "--ranks=4", "--qiet"]).contains("--quiet"));
        assert!(told(&["lastrank", "run", "p", "--skipsleep"]).contains("--skip-sleep"));
        let found = told(&["lastrank", "run", "p", "--redo"]);
        assert!(!found.contains("a similar argument"), "{found}");
    }

    #[test]
    fn each_word_is_none_of_ours_and_each_command_is() {
        let commands = Cli::command();
        for option in &ELSEWHERE {
            for name in option.commands {
                let command = commands.find_subcommand(name).expect(name);
                let long = option.word.trim_start_matches("--");
                let takes = command.get_arguments().any(|arg| {
                    arg.get_long() == Some(long)
                        || arg.get_all_aliases().is_some_and(|all| all.contains(&long))
                });
                assert!(!takes, "{name} takes {}", option.word);
            }
        }
    }
}
