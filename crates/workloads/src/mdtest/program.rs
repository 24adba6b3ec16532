//! Writes the program of an mdtest command line.

use super::options::Mdtest;
use crate::Refusal;
use crate::quantity::{bytes_in_words, bytes_literal, time_literal};
use crate::text::{ProgramText, one_line, quoted};

impl Mdtest {
    /// The program; `command` is told in its first line.
    ///
    /// # Errors
    /// A name that no program can spell.
    pub fn program(&self, command: &str) -> Result<String, Refusal> {
        program(self, command)
    }
}

fn program(mdtest: &Mdtest, command: &str) -> Result<String, Refusal> {
    let mut text = ProgramText::default();
    let what = match (mdtest.files, mdtest.directories) {
        (true, true) => "directories and files",
        (true, false) => "files",
        (false, _) => "directories",
    };
    let tree = if mdtest.own_tree { "a tree of its own" } else { "one tree" };
    let size = match mdtest.bytes_written {
        0 => String::new(),
        bytes if mdtest.files => format!(", {} in a file", bytes_in_words(bytes)),
        _ => String::new(),
    };
    text.comment(&format!("meta: each rank works on {what} in {tree}{size}."));
    text.line("#");
    text.comment(&format!("Made by `{}`.", one_line(command)));
    text.gap();
    text.parameter("items", &mdtest.items.to_string(), "from 1", "of a rank in each directory");
    text.parameter("branch", &mdtest.branch.to_string(), "from 1", "directories in a directory of the tree");
    text.parameter("depth", &mdtest.depth.to_string(), "from 0", "levels of the tree below its root");
    text.parameter("iterations", &mdtest.iterations.to_string(), "from 1", "of everything");
    text.parameter("dir", &quoted(&mdtest.directory)?, "", "where the tree is");
    text.gap();
    text.line("on_error stop;");
    text.gap();
    tree_of(mdtest, &mut text);
    text.line("repeat $iteration $iterations {");
    if mdtest.delay > 0 {
        text.line(format!("sleep({});", time_literal(mdtest.delay)));
    }
    let master = if mdtest.own_tree { "" } else { "master " };
    if mdtest.creates {
        text.line(format!("phase \"tree creation\" {master}{{\nmkdir($root);"));
        text.line("for $k in 1..$directories mkdir(path($k));\n}");
    }
    if mdtest.directories {
        phases(mdtest, &mut text, &DIRECTORIES);
    }
    if mdtest.files {
        let create = creation(mdtest);
        phases(mdtest, &mut text, &Kind { create: &create, ..FILES });
    }
    if mdtest.removes && mdtest.creates {
        text.line(format!("phase \"tree removal\" {master}{{"));
        text.line("for $k in 1..$directories rmdir(path($directories - $k));\nrmdir($root);\n}");
    }
    text.line("}");
    Ok(text.finish())
}

/// The shape of the tree, and the function that names its directories.
fn tree_of(mdtest: &Mdtest, text: &mut ProgramText) {
    text.line("# Directories of the tree are numbered level by level, from 0 for its root.");
    text.line("$directories = 1;\n$level = 1;");
    text.line("repeat $depth {\n$level = $level * $branch;\n$directories = $directories + $level;\n}");
    text.line(format!("$first = {};", if mdtest.leaves_only { "$directories - $level" } else { "0" }));
    let root = if mdtest.own_tree { "\"$dir/lastrank-meta-$$rank\"" } else { "\"$dir/lastrank-meta\"" };
    text.line(format!("$root = {root};"));
    let looks_elsewhere = mdtest.stride > 0 && (mdtest.stats || mdtest.reads);
    if looks_elsewhere {
        text.line(format!(
            "$other = mod($$rank + {}, $$size); # whose items this rank asks for",
            mdtest.stride
        ));
    }
    text.gap();
    text.line("def path($k) {\nif $k == 0 return $root;\nlet $above = path(($k - 1) / $branch);");
    text.line("return \"$above/tree-$k\";\n}");
    text.gap();
    if mdtest.renames && mdtest.directories {
        text.line("def item($j) {\nlet $above = path($first + $j / $items);");
        text.line("let $number = mod($j, $items);\nreturn \"$above/dir-$$rank-$number\";\n}");
        text.gap();
    }
    if mdtest.creates {
        text.line("master { if len(glob(\"$dir\")) == 0 mkdir(\"$dir\"); }\nbarrier;");
    }
    text.gap();
}

/// What is done to items of one kind.
struct Kind<'a> {
    label: &'a str,
    prefix: &'a str,
    create: &'a str,
    remove: &'a str,
    is_file: bool,
}

const DIRECTORIES: Kind<'static> = Kind {
    label: "directory",
    prefix: "dir",
    create: "mkdir(NAME);",
    remove: "rmdir(NAME);",
    is_file: false,
};

const FILES: Kind<'static> =
    Kind { label: "file", prefix: "file", create: "", remove: "unlink(NAME);", is_file: true };

fn creation(mdtest: &Mdtest) -> String {
    match (mdtest.bytes_written, mdtest.fsync) {
        // Without bytes there is nothing to sync.
        (0, _) => "create(NAME);".into(),
        (bytes, false) => format!("write(NAME, {});", bytes_literal(bytes)),
        (bytes, true) => {
            format!(
                "{{\n$f = fcreat(NAME);\nfwrite($f, {});\nfsync($f);\nfclose($f);\n}}",
                bytes_literal(bytes)
            )
        }
    }
}

fn phases(mdtest: &Mdtest, text: &mut ProgramText, kind: &Kind<'_>) {
    let own = Items { whose: "$$rank", order: "$i" };
    let whose = if mdtest.stride > 0 { "${other}" } else { "$$rank" };
    let other = Items { whose, order: if mdtest.random { "$j" } else { "$i" } };
    let Kind { label, .. } = kind;
    if mdtest.creates {
        phase((mdtest, text), &format!("{label} creation"), kind, &own, kind.create);
    }
    let moves = mdtest.stride > 0 && mdtest.own_tree && (mdtest.stats || (mdtest.reads && kind.is_file));
    if moves {
        text.line("$root = \"$dir/lastrank-meta-$other\";");
    }
    if mdtest.stats {
        phase((mdtest, text), &format!("{label} stat"), kind, &other, "stat(NAME);");
    }
    if mdtest.reads && kind.is_file {
        // Without -e a file is only opened, whatever -w says.
        let verify = if mdtest.verify { "verify " } else { "" };
        let read = match mdtest.bytes_read {
            0 => "{\n$f = fopen(NAME, \"r\");\nfclose($f);\n}".to_owned(),
            bytes => format!("{verify}read(NAME, {});", bytes_literal(bytes)),
        };
        phase((mdtest, text), &format!("{label} read"), kind, &other, &read);
    }
    if moves {
        text.line("$root = \"$dir/lastrank-meta-$$rank\";");
    }
    if mdtest.renames && !kind.is_file {
        renames(mdtest, text);
    }
    if mdtest.removes {
        phase((mdtest, text), &format!("{label} removal"), kind, &own, kind.remove);
    }
}

/// Whose items, in which order.
struct Items<'a> {
    whose: &'a str,
    order: &'a str,
}

/// Each directory of a rank takes the name of the one before, in a ring that leaves out the last: as mdtest does it.
fn renames(mdtest: &Mdtest, text: &mut ProgramText) {
    text.line("$count = ($directories - $first) * $items;");
    text.line("if $count > 1 phase \"directory rename\" {");
    text.line("$ring = item(0) + \"-XX\";\nrename(item(0), $ring);");
    text.line("for $j in 1..$count - 1 rename(item($j), item($j - 1));");
    text.line("rename($ring, item($count - 2));");
    if mdtest.sync {
        text.line("sync();");
    }
    text.line("}");
}

fn phase(
    (mdtest, text): (&Mdtest, &mut ProgramText),
    head: &str,
    kind: &Kind<'_>,
    items: &Items<'_>,
    statement: &str,
) {
    let name = format!("\"$in/{}-{}-{}\"", kind.prefix, items.whose, items.order);
    let shuffled = if items.order == "$j" { "$j = mod($i * 982451653 + $k, $items);\n" } else { "" };
    let body = {
        let body = format!("{shuffled}{}", statement.replace("NAME", &name));
        if shuffled.is_empty() { body } else { format!("{{\n{body}\n}}") }
    };
    let all = format!("for $k in $first..$directories {{\n$in = path($k);\nrepeat $i $items {body}\n}}");
    match mdtest.sync {
        false => text.line(format!("phase \"{head}\" {all}")),
        true => text.line(format!("phase \"{head}\" {{\n{all}\nsync();\n}}")),
    }
}
