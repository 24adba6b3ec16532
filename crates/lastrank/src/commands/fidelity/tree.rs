//! Compares the files that a replay left with those that the application left.

use std::path::Path;

use anyhow::bail;
use trace::Trace;
use trace::import::Imported;
use trace::model::Was;
use trace::names::{NameSet, RAW, is_below, link_text, which_text};

/// Differences that are told one by one.
const TOLD: usize = 5;

/// What was found.
pub struct Tree {
    /// Names that are as the application left them.
    pub same: usize,
    /// Each with what is there and what the application left.
    pub differences: Vec<String>,
}

/// Compares the names of a program below `folder` with what they were when the application had ended.
pub fn compare(trace: &Trace, made: &Imported, folder: &Path) -> anyhow::Result<Tree> {
    if trace.after.is_empty() {
        bail!(
            "--tree needs a recording of `lastrank record`, which looked at the files when the application had ended"
        );
    }
    let mut found = Tree { same: 0, differences: Vec::new() };
    let numbers = made.names(trace).map(|(number, _)| trace.names.get(number));
    let below = NameSet::of(numbers);
    for (number, text) in made.names(trace) {
        let Some(seen) = trace.after.get(&number).filter(|_| !text.is_empty()) else { continue };
        let name = trace.names.get(number);
        let left = match seen.was {
            Was::File(bytes) => format!("{bytes} bytes"),
            Was::Directory => "a directory".to_owned(),
            Was::Nothing => "nothing".to_owned(),
            Was::Link(target) => {
                let text = link_text(name, trace.names.get(target));
                let text = text.strip_prefix(RAW).unwrap_or(&text);
                let text = which_text(text, |target| is_below(target, made.root()) && below.has(target));
                format!("a link to {}", String::from_utf8_lossy(text))
            }
        };
        let there = now(&folder.join(text));
        if there == left {
            found.same += 1;
        } else {
            found.differences.push(format!("{text}: {there}, the application left {left}"));
        }
    }
    Ok(found)
}

fn now(path: &Path) -> String {
    let Ok(found) = path.symlink_metadata() else { return "nothing".to_owned() };
    if found.is_dir() {
        "a directory".to_owned()
    } else if found.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        format!("a link to {}", target.display())
    } else {
        format!("{} bytes", found.len())
    }
}

/// What the answer begins with: that the files are others; nothing where they are not.
pub fn in_short(found: &Tree) -> String {
    let differ = found.differences.len();
    let all = found.same + differ;
    if differ == 0 {
        String::new()
    } else {
        format!("The replay leaves other files: {differ} of {all} names differ. ")
    }
}

/// The comparison in a sentence, and the first differences.
pub fn words(found: &Tree) -> String {
    if found.differences.is_empty() {
        return format!(
            "The files have the names, types, sizes and links of those that the application left ({} names); content is not compared.\n",
            found.same
        );
    }
    let mut out =
        format!("{} of {} names differ:\n", found.differences.len(), found.same + found.differences.len());
    for difference in found.differences.iter().take(TOLD) {
        out += &format!("  {difference}\n");
    }
    out
}
