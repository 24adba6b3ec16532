//! What lies at a place where something else was written, in words.

use samples::units::utc;

use super::began_s;
use super::sector::Name;

/// The first byte that is not what belongs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Where in the file, in bytes.
    pub at: u64,
    /// What was found.
    pub found: Found,
}

/// What was found in place of what belongs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Bytes that describe themselves, and belong elsewhere.
    Other(Described),
    /// What is around it belongs there: some bytes were changed.
    Changed,
    /// Zeros.
    Zeros,
    /// Nothing that describes itself.
    Unknown,
    /// What was appended once, and lies further in front already.
    Twice,
    /// Nothing: the file ends before. This rank had written up to this byte.
    End(u64),
}

/// What bytes say of themselves, as far as it is not what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// The offset in their file, or in what they are counted by.
    pub offset: u64,
    /// The end of the path of their file; `None`: of this one.
    pub name: Option<Name>,
    /// Who wrote them, where that can be told.
    pub rank: Option<u32>,
    /// The number of the other run that wrote them; `None`: the one expected.
    pub run: Option<u64>,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "byte {} of the file is not what was written there", self.at)?;
        write!(f, ": {}", self.found)
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Found::Other(described) => described.fmt(f),
            Found::Changed => f.write_str("it was changed, the bytes around it belong there"),
            Found::Zeros => f.write_str("there are zeros"),
            Found::Unknown => f.write_str("there is nothing that lastrank wrote"),
            Found::Twice => f.write_str("what was appended once lies there a second time"),
            Found::End(written) => write!(f, "the file ends before it, and was written up to byte {written}"),
        }
    }
}

impl std::fmt::Display for Described {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither place nor file is told by what is one of few blocks.
        if self.name == Some(Name::default()) {
            return f.write_str("there is a block that --dedupe repeats, of another place");
        }
        write!(f, "there is offset {} of ", self.offset)?;
        match &self.name {
            None => f.write_str("this file")?,
            Some(name) => write!(f, "\"{}\"", shown(name))?,
        }
        if let Some(rank) = self.rank {
            write!(f, ", written by rank {rank}")?;
        }
        match self.run {
            Some(run) => write!(f, " in the run of {}", when(run)),
            None => Ok(()),
        }
    }
}

/// The end of a path, without the zeros in front of a short one.
pub fn shown(name: &[u8]) -> std::borrow::Cow<'_, str> {
    let begin = name.iter().position(|byte| *byte != 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[begin..])
}

/// When a run of this number began, in words: `2026-11-22 07:15 UTC`.
fn when(run: u64) -> String {
    let moment = utc(began_s(run));
    let (day, time) = moment.split_once('T').unwrap_or((&moment, ""));
    format!("{day} {} UTC", time.rsplit_once(':').map_or(time, |(minutes, _)| minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_told_with_offset_file_rank_and_run() {
        let mut name = Name::default();
        name[26..].copy_from_slice(b"d/file");
        let run = (1_795_331_700 / 60) << crate::content::RANDOM_BITS | 12345;
        let described = Described { offset: 8192, name: Some(name), rank: Some(3), run: Some(run) };
        let wrong = Wrong { at: 4096, found: Found::Other(described) };
        assert_eq!(
            wrong.to_string(),
            "byte 4096 of the file is not what was written there: there is offset 8192 of \"d/file\", written by rank 3 in the \
             run of 2026-11-22 07:15 UTC"
        );
        let repeated = Described { name: Some(Name::default()), ..described };
        assert_eq!(repeated.to_string(), "there is a block that --dedupe repeats, of another place");
    }
}
