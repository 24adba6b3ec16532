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
    let what = match (ior.writes, ior.reads) {
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

fn posix(ior: &Ior, name: &str, text: &mut ProgramText) {
    text.line("$transfers = $block / $transfer;");
    let own = |rank: &str| match ior.file_per_rank {
        true => format!("\"$dir/{name}-{rank}\""),
        false => format!("\"$dir/{name}\""),
    };
    text.line(format!("$file = {};", own("$$rank")));
    if ior.reorder && ior.reads {
        text.line(format!("$other = mod($$rank + {}, $$size); # whose data this rank reads", ior.distance));
    }
    text.gap();
    never_over_another(ior, text);
    text.line("repeat $repetition $repetitions {");
    if ior.writes {
        let create = if ior.existing { "O_WRONLY" } else { "O_WRONLY|O_CREAT" };
        phase(
            ior,
            text,
            &Direction { label: "write", command: "fwrite", file: "$file", flags: create, rank: "$$rank" },
        );
    }
    if ior.reads {
        let file = if ior.reorder { own("$other") } else { "$file".into() };
        let rank = if ior.reorder { "$other" } else { "$$rank" };
        phase(
            ior,
            text,
            &Direction { label: "read", command: "fread", file: &file, flags: "O_RDONLY", rank },
        );
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

/// Ends the run where the file is there and is not this program's.
fn never_over_another(ior: &Ior, text: &mut ProgramText) {
    if ior.existing || !ior.writes {
        return;
    }
    let who = if ior.file_per_rank { "" } else { "master " };
    text.line("# Never over a file that was there before: this fails then.");
    text.line(format!("{who}{{"));
    text.line("$f = fopen($file, \"O_WRONLY|O_CREAT|O_EXCL\");\nfclose($f);\ndelete($file);\n}");
    text.line("barrier;");
    text.gap();
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
    let wall =
        if ior.deadline > 0 { format!(" stonewall {}", time_literal(ior.deadline)) } else { String::new() };
    let direct = if ior.direct { "|O_DIRECT" } else { "" };
    text.line(format!("phase \"{}\"{wall} {{", of.label));
    text.line(format!("$f = fopen({}, \"{}{direct}\");", of.file, of.flags));
    // A random order is that of an affine map: every transfer once.
    text.line("for $segment in 0..$segments {");
    let start = match ior.file_per_rank {
        true => "$segment * $block".to_owned(),
        false => format!("($segment * $$size + {}) * $block", of.rank),
    };
    text.line(format!("$start = {start};"));
    let place = if ior.random {
        text.line("$first = uniform(0, $transfers);");
        "mod($first + $i * 982451653, $transfers)"
    } else {
        "$i"
    };
    let transfer = format!("{}($f, $transfer, $start + {place} * $transfer);", of.command);
    let is_write = of.command == "fwrite";
    let sync = if ior.fsync_each && is_write { "\nfsync($f);" } else { "" };
    let verify = if ior.verify && !is_write { "verify " } else { "" };
    text.line(format!("{verify}repeat $i $transfers {{\n{transfer}{sync}\n}}\n}}"));
    if ior.fsync && is_write {
        text.line("fsync($f);");
    }
    text.line("fclose($f);\n}");
}

fn mpiio(ior: &Ior, name: &str, text: &mut ProgramText) {
    let level = u8::from(ior.collective);
    text.line(format!(
        "define pattern {{\"blocks\", {}, {}, {level}}}",
        ior.segments,
        bytes_literal(ior.transfer)
    ));
    text.gap();
    text.line(format!("$file = \"$dir/{name}\";"));
    text.gap();
    never_over_another(ior, text);
    text.line("repeat $repetition $repetitions {");
    let verify = if ior.verify { "verify " } else { "" };
    for (wanted, label, mode, command) in
        [(ior.writes, "write", "cw", "pfwrite"), (ior.reads, "read", "r", &format!("{verify}pfread"))]
    {
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
