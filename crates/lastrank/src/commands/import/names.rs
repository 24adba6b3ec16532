//! Names of an application's files, and what they are called in the program.

use super::trace::Trace;

/// Where the application's files lie.
pub struct Names {
    /// The directory that holds all of them, for which `$dir` stands.
    pub root: String,
}

impl Names {
    /// Finds the directory that holds all files of the trace.
    pub fn of(trace: &Trace) -> Self {
        let mut root: Option<Vec<&str>> = None;
        for path in trace.calls().flat_map(|(_, call)| call.op.paths()) {
            let own: Vec<&str> = parent(path).split('/').collect();
            root = Some(match root {
                None => own,
                Some(root) => root.iter().zip(&own).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect(),
            });
        }
        Self { root: root.unwrap_or_default().join("/") }
    }

    /// The name in the program, below `$dir`.
    pub fn name(&self, path: &str) -> String {
        let rest = path.strip_prefix(&self.root).unwrap_or(path).trim_start_matches('/');
        if rest.is_empty() { "$dir".into() } else { format!("$dir/{}", clean(rest)) }
    }

    /// The name as a string of the language.
    pub fn quoted(&self, path: &str) -> String {
        quoted(&self.name(path))
    }
}

/// `name` as a string of the language.
pub fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The path without its last part.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Replaces what a string or a comment of the language cannot hold.
pub fn clean(text: &str) -> String {
    let text: String = text.chars().map(|c| if c == '"' || c.is_control() { '_' } else { c }).collect();
    text.replace('$', "\\$").replace("..", "__")
}
