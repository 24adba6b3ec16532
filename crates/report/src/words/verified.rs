//! Words what came of the reads that a program verifies.

use results::AnswerNumbers;
use samples::{Facts, JudgementKind, Judgements, VerifiedFacts, units};

/// What verification came to, and whether the program asked for it in vain. `None` of a program that verifies nothing.
pub(crate) fn told(numbers: &AnswerNumbers, facts: &Facts, found: &Judgements) -> Option<(bool, String)> {
    let VerifiedFacts { operations, bytes, unknown_bytes } = numbers.verified?;
    let wrong = found.count(JudgementKind::WrongContent);
    let unknown = match unknown_bytes {
        0 => String::new(),
        some => format!("; of {} more nobody knows what was written there", units::bytes(some)),
    };
    if bytes == 0 && wrong == 0 {
        let why = match unknown_bytes {
            _ if facts.is_simulated() => "a simulated run reads nothing".to_owned(),
            0 => "no read inside `verify` was compared and right".to_owned(),
            some => format!("nobody knows what was written in the {} that were read", units::bytes(some)),
        };
        return Some((true, format!("nothing was verified: {why}")));
    }
    if bytes == 0 {
        return None;
    }
    let of = match wrong {
        0 => "read".to_owned(),
        _ => format!("in {} other read{}", units::count(operations), if operations == 1 { "" } else { "s" }),
    };
    let but = but_not(facts);
    Some((false, format!("content of {} {of} was checked: right{but}{unknown}", units::bytes(bytes))))
}

/// What was not checked of content that is right: of the run's warnings, so that it stands wherever the content is called so.
fn but_not(facts: &Facts) -> String {
    const DOUBTS: [(&str, &str); 6] = [
        ("nothing-read", "whether a file should be empty"),
        ("earlier-run-verified", "that this run wrote it"),
        ("names-not-verified", "that it is of the right file"),
        ("length-not-verified", "that no file ended early"),
        ("ends-not-verified", "how long files should be"),
        ("holes-not-verified", "zeros in holes"),
    ];
    let is_warned = |code: &str| facts.warnings.iter().any(|one| one.code == code);
    let doubts: Vec<&str> =
        DOUBTS.iter().filter(|(code, _)| is_warned(code)).map(|(_, what)| *what).collect();
    if doubts.is_empty() { String::new() } else { format!(", but not {}", doubts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Judgement, Warning};

    fn said(verified: Option<VerifiedFacts>, wrong: u64) -> Option<(bool, String)> {
        let mut found = Judgements::default();
        found.add(Judgement { kind: JudgementKind::WrongContent, count: wrong, ..Judgement::default() });
        told(&AnswerNumbers { verified, ..AnswerNumbers::default() }, &Facts::default(), &found)
    }

    #[test]
    fn only_what_was_compared_is_said_to_be_right() {
        let of = |operations, bytes, unknown_bytes| Some(VerifiedFacts { operations, bytes, unknown_bytes });
        assert_eq!(said(None, 0), None);
        let whole = said(of(1, 4 << 20, 0), 0);
        assert_eq!(whole, Some((false, "content of 4 MiB read was checked: right".into())));
        let in_vain = said(of(0, 0, 0), 0);
        assert_eq!(
            in_vain,
            Some((true, "nothing was verified: no read inside `verify` was compared and right".into()))
        );
        let (is_in_vain, text) = said(of(0, 0, 512), 0).expect("words");
        assert!(is_in_vain && text.contains("the 512 B that were read"), "{text}");
        let (_, text) = said(of(1, 4096, 512), 0).expect("words");
        assert!(text.ends_with("right; of 512 B more nobody knows what was written there"), "{text}");
        let warning = |code: &str| Warning { code: code.into(), ..Warning::default() };
        let codes = ["page-cache", "length-not-verified", "earlier-run-verified"];
        let facts = Facts { warnings: codes.map(warning).into(), ..Facts::default() };
        let numbers = AnswerNumbers { verified: of(1, 4096, 0), ..AnswerNumbers::default() };
        let (_, text) = told(&numbers, &facts, &Judgements::default()).expect("words");
        assert!(text.ends_with("right, but not that this run wrote it, that no file ended early"), "{text}");
        let (_, text) = said(of(63, 4096, 0), 1).expect("words");
        assert_eq!(text, "content of 4 KiB in 63 other reads was checked: right");
        assert_eq!(said(of(0, 0, 0), 1), None);
    }
}
