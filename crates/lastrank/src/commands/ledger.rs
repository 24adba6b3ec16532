//! What becomes of the calls of an application, in the words that `record`, `import` and `fidelity` share.

use trace::ledger::{Fate, Ledger, LedgerLine, Missing};

use crate::exit::Status;

/// Lines of one fate that are told one by one.
const TOLD: usize = 8;
/// As many on a first screen.
const TOLD_FIRST: usize = 3;

/// Three lines where all is well; more where something is not repeated, or nearly.
pub fn words(ledger: &Ledger) -> String {
    let (calls, bytes) = ledger.sum(Fate::Exactly);
    let mut out = format!("repeated exactly: {} of {bytes} bytes\n", counted(calls, "call"));
    out += &of_fate(ledger, Fate::Nearly, "nearly");
    out += &of_fate(ledger, Fate::NotRepeated, "not repeated");
    if ledger.order > 0 {
        out += &format!(
            "of processes, pipes and sockets, which say only what came first: {}\n",
            counted(ledger.order, "call")
        );
    }
    if let Some((recorded, counted)) = ledger.counted {
        out += &format!("reads and writes of its threads: {recorded} recorded, {counted} counted by Linux\n");
    }
    out += &match (ledger.tree, ledger.counted) {
        (Some(names), _) => format!("its directory before and after: {} compared\n", counted(names, "name")),
        (None, Some(_)) => "its directory before and after: not compared\n".to_owned(),
        (None, None) => {
            "witnesses: none, neither counts of Linux nor the directory before and after\n".to_owned()
        }
    };
    out
}

/// Why there are more calls than the program has operations.
pub fn several_calls(ledger: &Ledger, operations: u64) -> String {
    let calls: u64 = [Fate::Exactly, Fate::Nearly].into_iter().map(|fate| ledger.sum(fate).0).sum();
    match calls > operations {
        true => {
            format!(
                "These {calls} calls are {operations} operations: some, such as a copy, are several calls.\n"
            )
        }
        false => String::new(),
    }
}

/// Says them on standard error.
pub fn tell(ledger: &Ledger) {
    for line in words(ledger).lines() {
        eprintln!("{line}");
    }
}

fn of_fate(ledger: &Ledger, fate: Fate, head: &str) -> String {
    let lines: Vec<&LedgerLine> = ledger.of_fate(fate).collect();
    let told: Vec<String> = lines.iter().take(TOLD).map(|line| of_line(line)).collect();
    match (told.as_slice(), lines.len().saturating_sub(TOLD)) {
        ([], _) => format!("{head}: none\n"),
        ([one], 0) => format!("{head}: {one}\n"),
        (_, more) => {
            let rest: u64 = lines.iter().skip(TOLD).map(|line| line.calls).sum();
            let further =
                if more > 0 { format!("  {rest} of {more} further kinds\n") } else { String::new() };
            let lines: String = told.iter().map(|line| format!("  {line}\n")).collect();
            format!("{head}: {}\n{lines}{further}", counted(ledger.sum(fate).0, "call"))
        }
    }
}

fn of_line(line: &LedgerLine) -> String {
    let bytes = if line.bytes > 0 { format!(", {} bytes", line.bytes) } else { String::new() };
    format!("{} × {}{bytes}", line.calls, line.what)
}

fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// What is missing of what files hold, in a sentence behind its sign; `None` where nothing is.
pub fn warning(ledger: &Ledger) -> Option<&'static str> {
    match ledger.missing() {
        Missing::Nothing => None,
        Missing::Reads => Some("⚠ Files were read in ways that no program repeats."),
        Missing::Changes => {
            Some("✖ Files were changed in ways that no program repeats: a replay leaves other files.")
        }
    }
}

/// The first screen's part: a line for each fate but the good one that calls have, and nothing where all is well.
pub fn exceptions(ledger: &Ledger) -> Vec<String> {
    [(Fate::NotRepeated, "Not repeated"), (Fate::Nearly, "Nearly repeated")]
        .into_iter()
        .filter_map(|(fate, head)| {
            let lines: Vec<String> = ledger.of_fate(fate).map(of_line).collect();
            let further = lines.len().saturating_sub(TOLD_FIRST);
            let told = lines.iter().take(TOLD_FIRST).cloned().collect::<Vec<_>>().join("; ");
            let more = if further > 0 { format!("; {further} more kinds: -v") } else { String::new() };
            (!lines.is_empty()).then(|| format!("{head}: {told}{more}"))
        })
        .collect()
}

/// 3 where files were changed in ways that no program repeats.
pub fn status(ledger: &Ledger) -> Status {
    if ledger.missing() == Missing::Changes { Status::Incomplete } else { Status::Ok }
}

/// The lines of all fates, as documented in `docs/json.md`.
pub fn document(ledger: &Ledger) -> serde_json::Value {
    let lines = ledger.lines.iter().map(|line| {
        let fate = match line.fate {
            Fate::Exactly => "exactly",
            Fate::Nearly => "nearly",
            Fate::NotRepeated => "not repeated",
        };
        let missing = match line.missing {
            Missing::Nothing => "nothing",
            Missing::Reads => "reads",
            Missing::Changes => "changes",
        };
        serde_json::json!({
            "fate": fate, "missing": missing, "what": line.what, "calls": line.calls, "bytes": line.bytes,
        })
    });
    serde_json::Value::Array(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_repeated_is_named_and_nothing_is_said_in_shares() {
        let line = |fate, missing, what: &str, calls| LedgerLine {
            fate,
            missing,
            what: what.to_owned(),
            calls,
            bytes: 0,
        };
        let mut ledger = Ledger { counted: Some((18, 14)), ..Ledger::default() };
        ledger.lines.push(line(Fate::Exactly, Missing::Nothing, "", 1));
        let well = "repeated exactly: 1 call of 0 bytes\nnearly: none\nnot repeated: none\n";
        let counts = "reads and writes of its threads: 18 recorded, 14 counted by Linux\n";
        let silent = "its directory before and after: not compared\n";
        assert_eq!(words(&ledger), format!("{well}{counts}{silent}"));
        let compared = Ledger { tree: Some(14), ..ledger.clone() };
        assert!(words(&compared).ends_with("\nits directory before and after: 14 names compared\n"));
        let silent = "\nwitnesses: none, neither counts of Linux nor the directory before and after\n";
        assert!(words(&Ledger { counted: None, ..ledger.clone() }).ends_with(silent));
        assert_eq!((warning(&ledger), status(&ledger)), (None, Status::Ok));
        assert!(exceptions(&ledger).is_empty());
        ledger.lines.push(line(Fate::NotRepeated, Missing::Reads, "mapping", 2));
        assert!(words(&ledger).contains("\nnot repeated: 2 × mapping\n"));
        assert_eq!(status(&ledger), Status::Ok);
        assert!(warning(&ledger).is_some());
        assert_eq!(exceptions(&ledger), ["Not repeated: 2 × mapping"]);
        ledger.lines.push(line(Fate::NotRepeated, Missing::Changes, "setxattr", 3));
        assert!(words(&ledger).contains("\nnot repeated: 5 calls\n  2 × mapping\n  3 × setxattr\n"));
        assert_eq!(status(&ledger), Status::Incomplete);
        assert!(!words(&ledger).contains('%'));
        for what in ["open", "chown", "utime"] {
            ledger.lines.push(line(Fate::Nearly, Missing::Nothing, what, 7));
            ledger.lines.push(line(Fate::NotRepeated, Missing::Nothing, what, 5));
        }
        let not = "Not repeated: 2 × mapping; 3 × setxattr; 5 × open; 2 more kinds: -v";
        assert_eq!(exceptions(&ledger), [not, "Nearly repeated: 7 × open; 7 × chown; 7 × utime"]);
    }
}
