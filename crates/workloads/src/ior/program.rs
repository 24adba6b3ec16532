//! Writes the program of an IOR command line.

use super::options::{Api, Ior};
use crate::Refusal;
use crate::quantity::{bytes_in_words, bytes_literal, time_literal};
use crate::text::{ProgramText, escaped, one_line, quoted};

impl Ior {
    /// The program; `command` is told in its first line.
    ///
    /// # Errors
    /// A name that no program can spell.
    pub fn program(&self, command: &str) -> Result<String, Refusal> {
        program(self, command)
    }
}

fn program(ior: &Ior, command: &str) -> Result<String, Refusal> {
    let mut text = ProgramText::default();
    header(ior, command, &mut text);
    let (directory, name) = match ior.file.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((directory, name)) => (directory, name),
        None => (".", ior.file.as_str()),
    };
    parameters(ior, directory, &mut text)?;
    text.line("on_error stop;");
    text.gap();
    let name = escaped(name)?;
    match ior.api {
        Api::Posix => posix(ior, &name, &mut text),
        Api::MpiIo => mpiio(ior, &name, &mut text),
    }
    Ok(text.finish())
}

fn header(ior: &Ior, command: &str, text: &mut ProgramText) {
    let what = match (ior.writes, ior.reads || ior.verify_writes) {
        (true, true) => "writes, then reads",
        (true, false) => "writes",
        (false, _) => "reads",
    };
    let file = if ior.file_per_rank { "a file of its own" } else { "one file that all share" };
    let order = if ior.random { "in random order" } else { "in order" };
    text.comment(&format!(
        "ior: each rank {what} {file}, {} in transfers of {} {order}.",
        bytes_in_words(ior.block.saturating_mul(ior.segments)),
        bytes_in_words(ior.transfer)
    ));
    text.line("#");
    text.comment(&format!("Made by `{}`.", one_line(command)));
    text.gap();
}

fn parameters(ior: &Ior, directory: &str, text: &mut ProgramText) -> Result<(), Refusal> {
    match ior.api {
        Api::Posix => {
            text.parameter(
                "block",
                &bytes_literal(ior.block),
                "from 1",
                "bytes of a rank in a segment, one after the other",
            );
            text.parameter("transfer", &bytes_literal(ior.transfer), "from 1", "bytes of an operation");
            text.parameter(
                "segments",
                &ior.segments.to_string(),
                "from 1",
                "each with a block of every rank",
            );
        }
        Api::MpiIo => {}
    }
    text.parameter("repetitions", &ior.repetitions.to_string(), "from 1", "of everything");
    text.parameter("dir", &quoted(directory)?, "", "where the files go");
    text.gap();
    if let Some(ranks) = ior.ranks {
        text.line(format!("define ranks {ranks}"));
    }
    if ior.direct {
        text.line("define report {\"title\": \"direct\"}");
    }
    if !ior.existing {
        let of_rank = bytes_literal(ior.block.saturating_mul(ior.segments));
        let times = ior.ranks.filter(|ranks| *ranks > 1).map_or(String::new(), |ranks| format!(" * {ranks}"));
        let bytes = match ior.api {
            Api::Posix => format!("$block * $segments{times}"),
            Api::MpiIo => format!("{of_rank}{times}"),
        };
        text.line(format!("define space \"$dir\" {bytes}"));
    }
    Ok(())
}

/// The name of a rank's file as an expression.
fn file_of(ior: &Ior, name: &str, rank: &str) -> String {
    let each = if ior.own_files_each { ".$repetition" } else { "" };
    match ior.file_per_rank {
        true => format!("\"$dir/{name}.${{{rank}_digits}}{each}\""),
        false => format!("\"$dir/{name}{each}\""),
    }
}

fn posix(ior: &Ior, name: &str, text: &mut ProgramText) {
    text.line("$transfers = $block / $transfer;");
    let moves = (ior.reorder || ior.shuffled_ranks) && ior.reads;
    if ior.file_per_rank {
        text.line("$own_digits = digits($$rank, 8);");
    }
    text.gap();
    text.line("repeat $repetition $repetitions {");
    if moves {
        let from = match ior.shuffled_ranks {
            true => format!("uniform({}, max($$size, {} + 1))", ior.distance, ior.distance),
            false => ior.distance.to_string(),
        };
        text.line(format!("$other = mod($$rank + {from}, $$size); # whose data this rank reads"));
        if ior.file_per_rank {
            text.line("$other_digits = digits($other, 8);");
        }
    }
    if ior.random {
        let key = if ior.file_per_rank { "uniform(0, 4611686018427387904)" } else { "$$crand" };
        text.line(format!("$key = {key};"));
    }
    text.line(format!("$file = {};", file_of(ior, name, "own")));
    if ior.writes {
        make_anew(ior, text);
        let flags = if ior.existing { "O_WRONLY" } else { "O_WRONLY|O_CREAT" };
        let own = Direction { label: "write", command: "fwrite", file: "$file", flags, rank: "$$rank" };
        phase(ior, text, &own);
    }
    if ior.verify_writes {
        let own = Direction {
            label: "write check",
            command: "fread",
            file: "$file",
            flags: "O_RDONLY",
            rank: "$$rank",
        };
        phase(&Ior { verify_reads: true, ..ior.clone() }, text, &own);
    }
    if ior.reads {
        let file = if moves { file_of(ior, name, "other") } else { "$file".into() };
        let rank = if moves { "$other" } else { "$$rank" };
        let other = Direction { label: "read", command: "fread", file: &file, flags: "O_RDONLY", rank };
        phase(ior, text, &other);
    }
    text.line("barrier;");
    if !ior.keep && !ior.existing {
        text.line(format!("{}delete($file);", if ior.file_per_rank { "" } else { "master " }));
        text.line("barrier;");
    }
    if ior.delay > 0 {
        text.line(format!("sleep({});", time_literal(ior.delay)));
    }
    text.line("}");
}

/// Makes the files of a repetition: without that of an earlier run, as IOR does but for `-E`, and after the first repetition
/// without that of the one before. The engine refuses to open a file for writing that lastrank did not make.
fn make_anew(ior: &Ior, text: &mut ProgramText) {
    if ior.existing {
        return;
    }
    let who = if ior.file_per_rank { "" } else { "master " };
    if ior.keep && !ior.own_files_each && ior.repetitions > 1 {
        text.line(format!("if $repetition > 0 {who}delete($file);"));
    }
    text.line("# A file of an earlier run goes first; one that lastrank did not make is refused here.");
    text.line(format!("{who}{{"));
    text.line("$f = fopen($file, \"O_WRONLY|O_CREAT\");\nfclose($f);\ndelete($file);\n}");
    text.line("barrier;");
}

/// A direction of transfers.
struct Direction<'a> {
    label: &'a str,
    command: &'a str,
    file: &'a str,
    flags: &'a str,
    rank: &'a str,
}

fn phase(ior: &Ior, text: &mut ProgramText, of: &Direction<'_>) {
    let direct = if ior.direct { "|O_DIRECT" } else { "" };
    text.line(format!("phase \"{}\" {{", of.label));
    text.line(format!("$f = fopen({}, \"{}{direct}\");", of.file, of.flags));
    let is_write = of.command == "fwrite";
    let verify = if ior.verify_reads && !is_write { "verify " } else { "" };
    let transfer = format!("{}($f, $transfer, {});", of.command, place(ior, of.rank));
    let transfer = if ior.fsync_each && is_write { format!("{transfer}\nfsync($f);") } else { transfer };
    match ior.deadline {
        0 => text.line(format!("{verify}repeat $i $segments * $transfers {{\n{transfer}\n}}")),
        // Each rank ends at its own wall.
        deadline => {
            let all =
                if ior.wear_out && ior.writes && !is_write { "$done" } else { "$segments * $transfers" };
            text.line("$i = 0;");
            text.line(format!("{verify}for {} {{", time_literal(deadline)));
            text.line(format!("if $i >= {all} break;\n{transfer}\n$i = $i + 1;\n}}"));
            if ior.wear_out {
                text.line("# The wear-out: on to as much as the fastest rank had done.");
                text.line("barrier;\n$from = $i;\n$done = largest($i);");
                text.line(format!("time[\"wear-out\"] {verify}for $i in $from..$done {{\n{transfer}\n}}"));
            }
        }
    }
    if ior.fsync && is_write {
        text.line("fsync($f);");
    }
    text.line("fclose($f);\n}");
}

/// The offset of a rank's transfer number `$i`.
fn place(ior: &Ior, rank: &str) -> String {
    match (ior.random, ior.file_per_rank) {
        (false, true) => "$i * $transfer".into(),
        // A segment has a block of every rank.
        (false, false) => {
            format!("(($i / $transfers * $$size + {rank}) * $transfers + mod($i, $transfers)) * $transfer")
        }
        (true, true) => "shuffled($i, $segments * $transfers, $key) * $transfer".into(),
        // All transfers of the file are dealt out to the ranks in one random order.
        (true, false) => {
            format!("shuffled($i * $$size + {rank}, $segments * $transfers * $$size, $key) * $transfer")
        }
    }
}

fn mpiio(ior: &Ior, name: &str, text: &mut ProgramText) {
    let level = u8::from(ior.collective);
    text.line(format!(
        "define pattern {{\"blocks\", {}, {}, {level}}}",
        ior.segments,
        bytes_literal(ior.transfer)
    ));
    text.gap();
    text.gap();
    text.line("repeat $repetition $repetitions {");
    text.line(format!("$file = {};", file_of(ior, name, "own")));
    if ior.writes {
        make_anew(ior, text);
    }
    let verify = if ior.verify_reads { "verify " } else { "" };
    for (wanted, label, mode, command) in [
        (ior.writes, "write", "cw", "pfwrite"),
        (ior.verify_writes, "write check", "r", "verify pfread"),
        (ior.reads, "read", "r", &format!("{verify}pfread")),
    ] {
        if wanted {
            text.line(format!("phase \"{label}\" {{\n$f = pfopen($file, \"{mode}\");"));
            text.line(format!("{command}($f, \"blocks\");\npfclose($f);\n}}"));
        }
    }
    if !ior.keep && !ior.existing {
        text.line("pdelete($file);");
    }
    if ior.delay > 0 {
        text.line(format!("sleep({});", time_literal(ior.delay)));
    }
    text.line("}");
}
