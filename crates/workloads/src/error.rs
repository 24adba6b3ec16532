//! Why options make no program.

use thiserror::Error;

/// An option that is not carried out, by name, with the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The tool may know it; this crate does not.
    #[error("{tool}'s option `{option}` is not known here{}", nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// Whose option it would be.
        tool: &'static str,
        /// As it was written.
        option: String,
        /// A known one that is spelled alike.
        nearest: Option<String>,
    },
    /// Known, and not possible.
    #[error("{tool}'s option `{option}` is not supported: {why}")]
    Unsupported {
        /// Whose option it is.
        tool: &'static str,
        /// As it was written.
        option: String,
        /// The reason, or what to do in its stead.
        why: &'static str,
    },
    /// It needs a value.
    #[error("`{option}` needs a value: {want}")]
    NoValue {
        /// As it was written.
        option: String,
        /// What it takes.
        want: &'static str,
    },
    /// Its value is invalid.
    #[error("`{option}{}{value}`: {want}", if option.starts_with('-') { ' ' } else { '=' })]
    BadValue {
        /// As it was written.
        option: String,
        /// As it was written.
        value: String,
        /// What it takes.
        want: &'static str,
    },
    /// Values that are valid alone and contradict each other.
    #[error("{0}")]
    Together(String),
    /// A line of a job file that is neither section nor option.
    #[error("line {line}: `{text}` is neither `[section]` nor `option=value`")]
    Line {
        /// From 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// In one section of a job file.
    #[error("in [{section}]: {why}")]
    Section {
        /// Its name.
        section: String,
        /// What is wrong there.
        why: Box<Refusal>,
    },
    /// Several mistakes, in their order.
    #[error("{}", .0.iter().map(Self::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<Refusal>),
    /// There is nothing to do.
    #[error("{0}")]
    Nothing(&'static str),
    /// A name that no string of the language can hold.
    #[error("the name `{}` holds a character that a program cannot spell", .0.escape_debug())]
    Name(String),
}

impl Refusal {
    /// The options that are unknown, or not supported, as they were written.
    pub fn options(&self) -> Vec<&str> {
        match self {
            Self::Unknown { option, .. } | Self::Unsupported { option, .. } => vec![option],
            Self::Several(all) => all.iter().flat_map(Self::options).collect(),
            Self::Section { why, .. } => why.options(),
            _ => Vec::new(),
        }
    }

    /// One for all that was found.
    ///
    /// # Errors
    /// Where anything was.
    pub(crate) fn of_all(found: Vec<Self>) -> Result<(), Self> {
        let mut flat = Vec::new();
        found.into_iter().for_each(|one| one.flatten(&mut flat));
        let mut distinct: Vec<Self> = Vec::new();
        for one in flat {
            if !distinct.contains(&one) {
                distinct.push(one);
            }
        }
        match distinct.len() {
            0 => Ok(()),
            1 => Err(distinct.swap_remove(0)),
            _ => Err(Self::Several(distinct)),
        }
    }

    /// Takes several apart, each with the section that they are in.
    fn flatten(self, into: &mut Vec<Self>) {
        match self {
            Self::Several(all) => all.into_iter().for_each(|one| one.flatten(into)),
            Self::Section { section, why } => {
                let mut parts = Vec::new();
                why.flatten(&mut parts);
                let within = |why| Self::Section { section: section.clone(), why: Box::new(why) };
                into.extend(parts.into_iter().map(within));
            }
            other => into.push(other),
        }
    }
}
