//! The names of a job's files.

use crate::Refusal;
use crate::text::escaped;

/// How the files of a job are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// `directory`, which may be several: processes take them in turn.
    pub directories: Vec<String>,
    /// `filename`, which may be several; all processes share them. None: each process has its own.
    pub given: Vec<String>,
    /// `nrfiles`, where no names are given.
    pub own: u64,
    /// `filename_format` of own files.
    pub format: String,
}

/// What fio calls a file.
const FORMAT: &str = "$jobname.$jobnum.$filenum";

impl Default for Names {
    fn default() -> Self {
        Self { directories: Vec::new(), given: Vec::new(), own: 1, format: FORMAT.into() }
    }
}

impl Names {
    /// How many files each process has.
    pub(super) fn count(&self) -> u64 {
        if self.given.is_empty() { self.own } else { self.given.len() as u64 }
    }

    /// Whether each process has files of its own.
    pub(super) fn are_own(&self) -> bool {
        self.given.is_empty()
    }

    /// Whether each process has one file.
    pub(super) fn files_are_one(&self) -> bool {
        self.count() == 1
    }

    /// Whether own files are called as fio calls them.
    pub(super) fn has_usual_format(&self) -> bool {
        self.format == FORMAT
    }

    /// Whether all processes have the same files.
    pub(super) fn are_shared(&self) -> bool {
        !self.given.is_empty()
    }

    /// Whether they are parts of the machine and not files.
    pub(super) fn are_devices(&self) -> bool {
        let in_dev = |path: &String| path.starts_with("/dev/");
        let directory = self.directories.first().is_some_and(|directory| directory.starts_with("/dev"));
        !self.given.is_empty() && (self.given.iter().all(in_dev) || directory)
    }

    /// Takes a format.
    ///
    /// # Errors
    /// A keyword that is not carried out; files that would have one name.
    pub(super) fn set_format(&mut self, written: &str, format: &str) -> Result<(), Refusal> {
        let bad = |why| {
            let option = format!("{written}={format}");
            Refusal::Unsupported { tool: "fio", option, why }
        };
        let rest = format.replace("$jobname", "").replace("$jobnum", "").replace("$filenum", "");
        if rest.contains('$') {
            return Err(bad("its keywords here are $jobname, $jobnum and $filenum"));
        }
        if format.contains('/') {
            return Err(bad("give the directory as directory=…"));
        }
        self.format = format.to_owned();
        Ok(())
    }

    /// Whether all that need an own name have one.
    pub(super) fn check_format(&self, jobs: u64) -> Result<(), Refusal> {
        let own = self.given.is_empty();
        if own && jobs > 1 && !self.format.contains("$jobnum") {
            return Err(Refusal::Together(format!(
                "filename_format={} calls the files of {jobs} processes the same: add $jobnum, or write filename=… for one \
                 file that all use",
                self.format
            )));
        }
        if own && self.own > 1 && !self.format.contains("$filenum") {
            return Err(Refusal::Together(format!(
                "filename_format={} calls {} files the same: add $filenum",
                self.format, self.own
            )));
        }
        Ok(())
    }

    /// The own file number `file` of job `job` as the part of a string; `number` spells the process.
    pub(super) fn own_file(&self, job: &str, number: &str, file: &str) -> Result<String, Refusal> {
        // The keywords are taken out first, so that no name can hold one.
        let mut name = String::new();
        let mut rest = self.format.as_str();
        while let Some(at) = rest.find('$') {
            name += &escaped(&rest[..at])?;
            let keywords = [
                ("$jobname", escaped(&job.replace('/', "_"))?),
                ("$jobnum", number.into()),
                ("$filenum", file.into()),
            ];
            let Some((keyword, value)) = keywords.iter().find(|(word, _)| rest[at..].starts_with(word))
            else {
                break;
            };
            name += value;
            rest = &rest[at + keyword.len()..];
        }
        Ok(name + &escaped(rest)?)
    }
}

/// Names between colons; `\:` is a colon of a name.
pub(super) fn divided(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if matches!(characters.peek(), Some(':' | '\\')) => {
                let last = names.len() - 1;
                names[last].extend(characters.next());
            }
            ':' => names.push(String::new()),
            c => {
                let last = names.len() - 1;
                names[last].push(c);
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_divides_names_unless_it_is_escaped() {
        assert_eq!(divided("a:b"), ["a", "b"]);
        assert_eq!(divided("/dev/by-path/pci-0000\\:00:x"), ["/dev/by-path/pci-0000:00", "x"]);
        assert!(divided("").is_empty());
    }

    #[test]
    fn a_format_spells_what_fio_calls_a_file() {
        let mut names = Names::default();
        assert_eq!(names.own_file("a/b", "$$rank", "0").unwrap(), "a_b.$$rank.0");
        names.set_format("filename_format", "x-$filenum-$jobnum$jobname").unwrap();
        assert_eq!(names.own_file("j$jobnum", "3", "0").unwrap(), "x-0-3j\\$jobnum");
        assert!(names.set_format("filename_format", "$clientuid").is_err());
    }
}
