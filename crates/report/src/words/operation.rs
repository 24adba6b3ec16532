//! Names operations as their readers do: the command of the language is in the tables.

/// `read` of each command that reads, `write` of each that writes; the command itself of others.
pub(crate) fn noun(command: &str) -> &str {
    match command {
        "fread" | "read" | "pread" | "dread" | "pfread" => "read",
        "fwrite" | "write" | "append" | "pwrite" | "dwrite" | "pfwrite" => "write",
        other => other,
    }
}

/// Several of them: `reads`, `writes`; a command stays as it is.
pub(crate) fn plural(command: &str) -> String {
    match noun(command) {
        noun @ ("read" | "write") => format!("{noun}s"),
        other => other.to_owned(),
    }
}

/// One of them, to begin a sentence: `A read`, `One fsync`.
pub(crate) fn one(command: &str) -> String {
    match noun(command) {
        "chase" => "A load".to_owned(),
        noun @ ("read" | "write") => format!("A {noun}"),
        other => format!("One {other}"),
    }
}
