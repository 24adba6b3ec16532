//! mdtest's options as a type.

use crate::Refusal;
use crate::command_line::{Letter, bad, options};
use crate::quantity::{Prefixes, SECOND, bytes, count};

/// A command line of mdtest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mdtest {
    /// Items of a rank in each directory that has items: `-I`, or what `-n` comes to.
    pub items: u64,
    /// `-z`: levels of the tree below its root.
    pub depth: u64,
    /// `-b`: directories in each directory of the tree.
    pub branch: u64,
    /// `-L`: items in the leaves only.
    pub leaves_only: bool,
    /// `-u`: a tree a rank.
    pub own_tree: bool,
    /// Not with `-D`.
    pub files: bool,
    /// Not with `-F`.
    pub directories: bool,
    /// `-C`, or none of `-C -T -E -r`.
    pub creates: bool,
    /// `-T`, or none.
    pub stats: bool,
    /// `-E`, or none.
    pub reads: bool,
    /// `-r`, or none.
    pub removes: bool,
    /// `-w`: bytes that are written to each file.
    pub bytes_written: u64,
    /// `-e`: bytes that are read of each file.
    pub bytes_read: u64,
    /// `-U`, or none of `-C -T -E -r`: directories are renamed.
    pub renames: bool,
    /// `-y`: an fsync of each file.
    pub fsync: bool,
    /// `-Y`: the caches of the node are written after each phase, as a part of it.
    pub sync: bool,
    /// `-X`: what is read is compared with what was written.
    pub verify: bool,
    /// `-N`: whose items a rank asks for and reads, counted from itself.
    pub stride: u64,
    /// `-R`: asked for in another order than created.
    pub random: bool,
    /// `-i`: iterations.
    pub iterations: u64,
    /// `-p`: nanoseconds between iterations.
    pub delay: u64,
    /// `-d`: where the tree is.
    pub directory: String,
}

const NUMBER: &str = "a number of at least 1";

/// The options of mdtest that are known.
const KNOWN: &[Letter] = &[
    Letter::with('a', "POSIX"),
    Letter::with('b', NUMBER),
    Letter::with('d', "a directory"),
    Letter::with('e', "a number of bytes"),
    Letter::with('i', NUMBER),
    Letter::with('I', NUMBER),
    Letter::with('n', NUMBER),
    Letter::with('N', "a number of tasks"),
    Letter::with('p', "seconds"),
    Letter::with('w', "a number of bytes"),
    Letter::with('z', "a number of levels"),
    Letter::switch('C'),
    Letter::switch('D'),
    Letter::switch('E'),
    Letter::switch('F'),
    Letter::switch('L'),
    Letter::switch('P'),
    Letter::switch('r'),
    Letter::switch('R'),
    Letter::switch('t'),
    Letter::switch('T'),
    Letter::switch('u'),
    Letter::switch('v'),
    Letter::switch('U'),
    Letter::switch('X'),
    Letter::switch('y'),
    Letter::switch('Y'),
    Letter::refused('A', "each rank has a number of its own; leave it out"),
    Letter::refused('B', "phases begin and end together; leave it out"),
    Letter::refused('c', "every rank creates its own items; leave it out"),
    Letter::refused_with('f', "start it with as many ranks as wanted"),
    Letter::refused_with('l', "start it with as many ranks as wanted"),
    Letter::refused_with('s', "start it with as many ranks as wanted"),
    Letter::refused('g', "permissions are those of the command `create`; leave it out"),
    Letter::refused_with('G', "content describes itself; leave it out"),
    Letter::refused('h', "see `lastrank meta --help`"),
    Letter::refused('S', "every rank has files of its own; leave it out"),
    Letter::refused_with('V', "how much is printed is up to `lastrank run`"),
    Letter::refused_with(
        'W',
        "ranks would have different numbers of items; a program can have a `stonewall`",
    ),
    Letter::refused_with('x', "it goes with -W: leave it out"),
    Letter::refused('Z', "rates and times are both in the result; leave it out"),
];

impl Mdtest {
    /// The options of a command line, without mdtest's name.
    ///
    /// # Errors
    /// An option that is unknown, unsupported or has no right value; options that do not go together.
    pub fn of_words(words: &[String]) -> Result<Self, Refusal> {
        let mut mdtest = Self {
            items: 0,
            depth: 0,
            branch: 1,
            leaves_only: false,
            own_tree: false,
            files: true,
            directories: true,
            creates: false,
            stats: false,
            reads: false,
            removes: false,
            bytes_written: 0,
            bytes_read: 0,
            renames: false,
            fsync: false,
            sync: false,
            verify: false,
            stride: 0,
            random: false,
            iterations: 1,
            delay: 0,
            directory: "./out".into(),
        };
        let (mut in_all, mut only) = (None, [false; 2]);
        let (options, mut wrong) = options("mdtest", KNOWN, words);
        for (letter, value) in options {
            match letter {
                'n' => match number(letter, &value, 1) {
                    Ok(number) => in_all = Some(number),
                    Err(why) => wrong.push(why),
                },
                'F' => only[0] = true,
                'D' => only[1] = true,
                _ => wrong.extend(mdtest.set(letter, &value).err()),
            }
        }
        Refusal::of_all(wrong)?;
        if only != [true, true] {
            (mdtest.files, mdtest.directories) = (!only[1], !only[0]);
        }
        if ![mdtest.creates, mdtest.stats, mdtest.reads, mdtest.removes, mdtest.renames].contains(&true) {
            (mdtest.creates, mdtest.stats, mdtest.reads, mdtest.removes) = (true, true, true, true);
            mdtest.renames = true;
        }
        mdtest.divide(in_all)?;
        Ok(mdtest)
    }

    fn set(&mut self, letter: char, value: &str) -> Result<(), Refusal> {
        let size = || {
            let size = bytes(value, Prefixes::Plain);
            size.ok_or_else(|| bad(letter, value, "a number of bytes, such as 4k"))
        };
        match letter {
            'a' if value.eq_ignore_ascii_case("POSIX") => {}
            'a' => return Err(bad(letter, value, "POSIX is supported")),
            'b' => self.branch = number(letter, value, 1)?,
            'z' => self.depth = number(letter, value, 0)?,
            'I' => self.items = number(letter, value, 1)?,
            'i' => self.iterations = number(letter, value, 1)?,
            'N' => self.stride = number(letter, value, 0)?,
            'p' => self.delay = number(letter, value, 0)? * SECOND,
            'w' => self.bytes_written = size()?,
            'e' => self.bytes_read = size()?,
            'd' if value.contains('@') => return Err(bad(letter, value, "one directory")),
            'd' => self.directory = value.trim_end_matches('/').to_owned(),
            'C' => self.creates = true,
            'T' => self.stats = true,
            'E' => self.reads = true,
            'r' => self.removes = true,
            'L' => self.leaves_only = true,
            'R' => self.random = true,
            'u' => self.own_tree = true,
            'U' => self.renames = true,
            'X' => self.verify = true,
            'Y' => self.sync = true,
            'y' => self.fsync = true,
            // -P, -t and -v: what mdtest prints.
            _ => {}
        }
        Ok(())
    }

    /// Directories of the tree, and those of them that are leaves; `None` where these are too many.
    fn tree(&self) -> Option<(u64, u64)> {
        let mut leaves = 1_u64;
        let mut all = 1_u64;
        for _ in 0..self.depth {
            leaves = leaves.checked_mul(self.branch)?;
            all = all.checked_add(leaves)?;
        }
        (all <= 1 << 24).then_some((all, leaves))
    }

    /// Divides `-n` among the directories.
    fn divide(&mut self, in_all: Option<u64>) -> Result<(), Refusal> {
        let together = |words: String| Err(Refusal::Together(words));
        if self.depth > 4096 {
            return together("-z makes a tree deeper than any path may be".into());
        }
        let Some((all, leaves)) = self.tree() else {
            return together("-b and -z make a tree of more than 16 million directories".into());
        };
        let with_items = if self.leaves_only { leaves } else { all };
        match in_all {
            Some(_) if self.items > 0 => {
                return together("-n and -I exclude each other: items in all, or in each directory".into());
            }
            Some(in_all) if in_all < with_items => {
                return together(format!(
                    "-n {in_all} items do not fill {with_items} directories: at least one each"
                ));
            }
            Some(in_all) => self.items = in_all / with_items,
            None if self.items == 0 => {
                return Err(Refusal::Nothing("the number of items is missing: give -n, such as -n 1000"));
            }
            None => {}
        }
        if self.bytes_read > self.bytes_written && self.creates {
            return together("-e reads more of a file than -w writes".into());
        }
        Ok(())
    }
}

/// A whole number from `least` to 2³².
fn number(letter: char, value: &str, least: u64) -> Result<u64, Refusal> {
    let number = count(value).filter(|number| (least..=1 << 32).contains(number));
    number.ok_or_else(|| bad(letter, value, if least == 0 { "a whole number" } else { NUMBER }))
}
