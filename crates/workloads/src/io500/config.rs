//! Reads a configuration: sections of `key = value`.

use std::collections::HashMap;

use super::keys::{KeyClass, class, is_extended, keys, sections};
use super::phase::Phase;
use crate::Refusal;
use crate::quantity::{Prefixes, bytes, bytes_literal};

/// A configuration of IO500; what it does not say is as in IO500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `[global] datadir`.
    pub data_directory: String,
    /// Whether it gets a directory with the time of the run below it.
    pub stamps_data: bool,
    /// `[global] resultdir`.
    pub result_directory: String,
    /// Whether it gets a directory with the time of the run below it.
    pub stamps_results: bool,
    /// `[global] drop-caches`.
    pub drops_caches: bool,
    /// `[global] scc`: the rules of the Student Cluster Competition.
    pub student: bool,
    /// `[debug] stonewall-time`.
    pub stonewall_seconds: u64,
    /// `[ior-easy] transferSize`.
    pub easy_transfer: u64,
    /// `[ior-easy] blockSize`.
    pub easy_block: u64,
    /// `[ior-easy] filePerProc`.
    pub easy_own: bool,
    /// `API = POSIX --posix.odirect` of ior-easy.
    pub easy_direct: bool,
    /// `[mdtest-easy] n`.
    pub easy_files: u64,
    /// `[ior-hard] segmentCount`.
    pub hard_segments: u64,
    /// `[mdtest-hard] n`.
    pub hard_files: u64,
    /// `[find] nproc`; 0: all ranks.
    pub find_ranks: u64,
    /// Phases with `run = FALSE`.
    pub left_out: Vec<Phase>,
}

const TOOL: &str = "IO500";
const FLAG: &str = "TRUE or FALSE";
const COUNT: &str = "a whole number of at least 1";
const SIZE: &str = "a size of 1 byte to 1 EiB, such as 2m";
const LARGEST: u64 = 1 << 40;

/// The values that a text gives, by section and key in lower case.
struct Values {
    given: HashMap<(String, String), String>,
    wrong: Vec<Refusal>,
}

impl Config {
    /// Reads the text of a configuration.
    ///
    /// # Errors
    /// Lines that are neither section nor `key = value`, sections and keys that IO500 does not have, keys that are not carried
    /// out, values that are none; phases without what they need. All mistakes are told at once.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let mut values = Values { given: HashMap::new(), wrong: Vec::new() };
        let mut section = None;
        for (number, line) in text.lines().enumerate() {
            values.line(number + 1, line, &mut section);
        }
        let config = values.config();
        values.wrong.extend(config.together());
        Refusal::of_all(values.wrong)?;
        Ok(config)
    }

    /// The parameters of the program that ships with lastrank, as `name=value`; `dir` is where the files go.
    pub fn parameters(&self, dir: &str, ranks_of_node: u64) -> Vec<String> {
        let answer = |yes: bool| if yes { "yes" } else { "no" };
        let left_out: Vec<&str> = self.left_out.iter().map(|phase| phase.name()).collect();
        vec![
            format!("dir={dir}"),
            format!("stonewall={}s", self.stonewall_seconds),
            format!("easy_transfer={}", bytes_literal(self.easy_transfer)),
            format!("easy_block={}", bytes_literal(self.easy_block)),
            format!("easy_own={}", answer(self.easy_own)),
            format!("easy_direct={}", answer(self.easy_direct)),
            format!("easy_files={}", self.easy_files),
            format!("hard_segments={}", self.hard_segments),
            format!("hard_files={}", self.hard_files),
            format!("find_ranks={}", self.find_ranks),
            format!("drop_caches={}", answer(self.drops_caches)),
            format!("leave_out={}", left_out.join(",")),
            format!("node_ranks={ranks_of_node}"),
        ]
    }

    /// How long the rules want a write phase to last, in seconds.
    pub fn least_seconds(&self) -> u64 {
        if self.student { 30 } else { 300 }
    }

    fn together(&self) -> Vec<Refusal> {
        let mut found = Vec::new();
        if self.easy_transfer > 0 && !self.easy_block.is_multiple_of(self.easy_transfer) {
            found.push(Refusal::Together("[ior-easy] blockSize is no multiple of transferSize".into()));
        }
        for phase in Phase::ALL {
            let Some(needed) = phase.needs() else { continue };
            if self.left_out.contains(&needed) && !self.left_out.contains(&phase) {
                found.push(Refusal::Together(format!(
                    "[{}] needs the files of [{}], which has run = FALSE: write run = FALSE in both, or in none",
                    phase.name(),
                    needed.name()
                )));
            }
        }
        found
    }
}

/// A line without its comment, which begins at `;` or `#` at its begin or behind a blank.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if matches!(c, ';' | '#') && before.is_whitespace() {
            return line[..at].trim();
        }
        before = c;
    }
    line.trim()
}

fn within(section: &str, why: Refusal) -> Refusal {
    Refusal::Section { section: section.to_owned(), why: Box::new(why) }
}

fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |name: &str| strsim::osa_distance(typed, name);
    known
        .map(|name| (distance(name), name))
        .min()
        .filter(|(far, _)| *far <= 2)
        .map(|(_, name)| name.to_owned())
}

impl Values {
    /// Takes a line; `section` is `None` before the first one and the empty text in one that is unknown.
    fn line(&mut self, number: usize, line: &str, section: &mut Option<String>) {
        let line = without_comment(line);
        if line.is_empty() {
            return;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name = name.trim().to_ascii_lowercase();
            let known = is_extended(&name) || sections().any(|one| one == name);
            if !known {
                let (option, near) = (format!("[{name}]"), nearest(&name, sections()));
                self.wrong.push(Refusal::Unknown { tool: TOOL, option, nearest: near });
            }
            *section = Some(if known { name } else { String::new() });
            return;
        }
        let pair = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        let (Some((key, value)), Some(section)) = (pair, section.as_deref()) else {
            self.wrong.push(Refusal::Line { line: number, text: line.to_owned() });
            return;
        };
        if !section.is_empty() {
            let done = self.key(section, key, value);
            self.wrong.extend(done.err().map(|why| within(section, why)));
        }
    }

    fn key(&mut self, section: &str, key: &str, value: &str) -> Result<(), Refusal> {
        let plain = key.to_ascii_lowercase();
        match class(section, &plain) {
            KeyClass::Reporting => {}
            // Without a value a key is as if it were not there.
            KeyClass::CarriedOut if value.is_empty() => {}
            KeyClass::CarriedOut => {
                self.given.insert((section.to_owned(), plain), value.to_owned());
            }
            KeyClass::Only(only, why) => {
                let zero = only == "false" && value == "0";
                if !value.is_empty() && !zero && !only.split('|').any(|one| value.eq_ignore_ascii_case(one)) {
                    let option = format!("{key} = {value}");
                    return Err(Refusal::Unsupported { tool: TOOL, option, why });
                }
            }
            KeyClass::Unknown => {
                let near = nearest(&plain, keys(section).into_iter());
                return Err(Refusal::Unknown { tool: TOOL, option: key.to_owned(), nearest: near });
            }
        }
        Ok(())
    }

    fn value<T>(
        &mut self,
        (section, key): (&str, &str),
        default: T,
        want: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some(text) = self.given.get(&(section.to_owned(), key.to_owned())) else { return default };
        match read(text) {
            Some(value) => value,
            None => {
                let why = Refusal::BadValue { option: key.to_owned(), value: text.clone(), want };
                self.wrong.push(within(section, why));
                default
            }
        }
    }

    fn flag(&mut self, at: (&str, &str), default: bool) -> bool {
        self.value(at, default, FLAG, |text| match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        })
    }

    fn count(&mut self, at: (&str, &str), default: u64) -> u64 {
        let read = |text: &str| text.parse().ok().filter(|count| (1..=LARGEST).contains(count));
        self.value(at, default, COUNT, read)
    }

    fn size(&mut self, at: (&str, &str), default: u64) -> u64 {
        self.value(at, default, SIZE, |text| bytes(text, Prefixes::Plain).filter(|size| *size > 0))
    }

    fn text(&mut self, at: (&str, &str), default: &str) -> String {
        self.value(at, default.to_owned(), "", |text| Some(text.to_owned()))
    }

    fn config(&mut self) -> Config {
        let student = self.flag(("global", "scc"), false);
        let mut config = Config {
            data_directory: self.text(("global", "datadir"), "./datafiles"),
            stamps_data: self.flag(("global", "timestamp-datadir"), true),
            result_directory: self.text(("global", "resultdir"), "./results"),
            stamps_results: self.flag(("global", "timestamp-resultdir"), true),
            drops_caches: self.flag(("global", "drop-caches"), false),
            student,
            stonewall_seconds: self.count(("debug", "stonewall-time"), 300),
            easy_transfer: self.size(("ior-easy", "transfersize"), 2 << 20),
            easy_block: self.size(("ior-easy", "blocksize"), 9_920_000 << 20),
            easy_own: self.flag(("ior-easy", "fileperproc"), true),
            easy_direct: self.easy_direct(),
            easy_files: self.count(("mdtest-easy", "n"), 1_000_000),
            hard_segments: self.count(("ior-hard", "segmentcount"), 10_000_000),
            hard_files: self.count(("mdtest-hard", "n"), 1_000_000),
            find_ranks: self.count_or_all(("find", "nproc")),
            left_out: Vec::new(),
        };
        for phase in Phase::ALL {
            let family = phase.family().is_none_or(|family| self.flag((family, "run"), true));
            if !family || !self.flag((phase.name(), "run"), true) {
                config.left_out.push(phase);
            }
        }
        config
    }

    fn count_or_all(&mut self, at: (&str, &str)) -> u64 {
        self.value(at, 0, "a number of ranks", |text| text.parse().ok().filter(|count| *count <= LARGEST))
    }

    /// Looks at the interface of every section; whether that of ior-easy goes past the page cache.
    fn easy_direct(&mut self) -> bool {
        let of_key = |((section, key), value): (&(String, String), &String)| {
            (key == "api").then(|| (section.clone(), value.clone()))
        };
        let mut given: Vec<(String, String)> = self.given.iter().filter_map(of_key).collect();
        given.sort();
        let (mut direct, mut of_one) = (false, false);
        for (section, value) in given {
            of_one |= matches!(section.as_str(), "ior-easy-write" | "ior-easy-read");
            let words: Vec<String> = value.split_whitespace().map(str::to_ascii_lowercase).collect();
            let why = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["posix"] => continue,
                ["posix", "--posix.odirect"] if section == "ior-easy" => {
                    direct = true;
                    continue;
                }
                ["posix", "--posix.odirect"] => {
                    "write it in [ior-easy], for its writing and its reading; 47008 and 3901 bytes fit no block of O_DIRECT"
                }
                ["posix", ..] => "of the options of POSIX only --posix.odirect of [ior-easy] is carried out",
                _ => "the files are reached by POSIX calls: write POSIX",
            };
            let option = format!("API = {value}");
            self.wrong.push(within(&section, Refusal::Unsupported { tool: TOOL, option, why }));
        }
        if direct && of_one {
            let words = "[ior-easy] has --posix.odirect, and [ior-easy-write] or [ior-easy-read] another API: write it once";
            self.wrong.push(Refusal::Together(words.into()));
        }
        direct
    }
}
