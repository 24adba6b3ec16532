//! Parses the mode of `fopen`.

/// A flag of `open`, by its name on Linux.
pub const FLAGS: &[&str] = &[
    "O_RDONLY",
    "O_WRONLY",
    "O_RDWR",
    "O_CREAT",
    "O_EXCL",
    "O_TRUNC",
    "O_APPEND",
    "O_SYNC",
    "O_DSYNC",
    "O_DIRECT",
    "O_NOATIME",
    "O_NONBLOCK",
    "O_NOFOLLOW",
    "O_DIRECTORY",
    "O_TMPFILE",
    "O_CLOEXEC",
    "O_LARGEFILE",
    "O_PATH",
    "O_NOCTTY",
    "O_ASYNC",
];

/// The `O_…` names of a mode: `r w a r+ w+ a+` as in C, or such names joined by a bar, blanks or commas.
///
/// # Errors
/// The part that is not a flag.
pub fn flags(mode: &str) -> Result<Vec<&'static str>, String> {
    Ok(match mode.trim() {
        "r" => vec!["O_RDONLY"],
        "w" => vec!["O_WRONLY", "O_CREAT", "O_TRUNC"],
        "a" => vec!["O_WRONLY", "O_CREAT", "O_APPEND"],
        "r+" => vec!["O_RDWR"],
        "w+" => vec!["O_RDWR", "O_CREAT", "O_TRUNC"],
        "a+" => vec!["O_RDWR", "O_CREAT", "O_APPEND"],
        other => {
            let mut out = Vec::new();
            for part in other.split(['|', ',', ' ']).filter(|part| !part.is_empty()) {
                out.push(*FLAGS.iter().find(|flag| **flag == part).ok_or(part.to_owned())?);
            }
            if out.is_empty() {
                return Err(other.to_owned());
            }
            out
        }
    })
}

/// Whether opening in this mode creates the file. The mode of the collective `pfopen` consists of the letters
/// `c r w`.
pub fn creates(mode: &str, collective: bool) -> bool {
    if collective {
        return mode.contains('c');
    }
    flags(mode).is_ok_and(|flags| flags.contains(&"O_CREAT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_those_of_c_or_flags_by_name() {
        assert_eq!(flags("a+").unwrap(), ["O_RDWR", "O_CREAT", "O_APPEND"]);
        assert_eq!(flags("O_RDWR | O_DIRECT").unwrap(), ["O_RDWR", "O_DIRECT"]);
        assert_eq!(flags("rb"), Err("rb".into()));
    }
}
