//! Words what is wrong with runs whose times are not those of the work that they were to do: of whoever draws conclusions
//! from runs, that comes first.

use samples::{JudgementKind, Judgements, Warning};
use serde::Serialize;

use super::judgement;

/// The code of an answer that is no verdict, since a run that it rests on is not sound.
pub const CODE: &str = "unsound";

/// A run with wrong data or failed operations, or an incomplete one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unsound {
    /// Its file.
    pub run: String,
    /// The worst that was found, in words.
    pub found: String,
    /// The exit status that the run asks for.
    pub status: u8,
    /// What kind of thing that is.
    pub kind: JudgementKind,
}

impl Unsound {
    /// Of a run; `None` of a sound one.
    pub fn of(run: &str, found: &Judgements) -> Option<Self> {
        if found.are_sound() {
            return None;
        }
        let kinds = || found.kinds().into_iter().filter(|kind| kind.status() > 1);
        let kind = kinds().next()?;
        let told = judgement::lines(found).into_iter().find(|one| one.kind == kind).map(|one| one.head);
        let why = || judgement::why_incomplete(found).unwrap_or_else(|| "it did not go well".into());
        let mut words = told.unwrap_or_else(why).trim_end_matches('.').to_owned();
        let first = found.of(kind).next().filter(|one| !one.reason.is_empty());
        if let Some(one) =
            first.filter(|one| kind == JudgementKind::OperationFailed && !words.contains(&one.reason))
        {
            words += &format!(": {}", one.reason);
        }
        Some(Self {
            run: run.to_owned(),
            found: words,
            status: kinds().map(JudgementKind::status).max()?,
            kind,
        })
    }

    /// Whether the run did not reach its end.
    pub fn is_incomplete(&self) -> bool {
        let ended =
            [JudgementKind::WrongContent, JudgementKind::OperationFailed, JudgementKind::ExpectationNotMet];
        !ended.contains(&self.kind)
    }

    /// What follows from it, in a sentence.
    fn consequence(&self) -> &'static str {
        match self.kind {
            JudgementKind::WrongContent => {
                "Times of wrong data decide nothing: `lastrank report` shows which bytes are wrong."
            }
            JudgementKind::OperationFailed | JudgementKind::ExpectationNotMet => {
                "Operations did not end as the program says, so this is other work: repeat the run."
            }
            _ => "The run is incomplete, so this is other work: repeat it.",
        }
    }
}

/// The first line of an answer that rests on these runs; `None` where all are sound.
pub fn headline(of: &[Unsound]) -> Option<String> {
    // `JudgementKind` is ordered from the worst on.
    let worst = of.iter().min_by_key(|one| one.kind)?;
    let others = match of.len() - 1 {
        0 => String::new(),
        1 => " 1 other run is not sound either.".into(),
        n => format!(" {n} other runs are not sound either."),
    };
    Some(format!("{}: {}. {}{others}", worst.run, worst.found, worst.consequence()))
}

/// The same as a warning of a page.
pub(crate) fn warning(of: &[Unsound]) -> Option<Warning> {
    headline(of).map(|text| Warning { code: CODE.into(), text, advice: String::new() })
}

#[cfg(test)]
mod tests {
    use samples::{Judgement, JudgementExample};

    use super::*;

    fn found(kinds: &[JudgementKind]) -> Judgements {
        let mut all = Judgements::default();
        for kind in kinds {
            let example = JudgementExample { text: "read(\"blk\") failed".into(), ..Default::default() };
            let (operation, examples) = ("read".into(), vec![example]);
            let reason = "EIO, input/output error".into();
            let one = Judgement { line: 2, operation, examples, reason, ..Default::default() };
            all.add(Judgement { kind: *kind, count: 1, ..one });
        }
        all
    }

    #[test]
    fn the_worst_of_all_runs_leads() {
        use JudgementKind::{AssertionFailed, OperationFailed, ShortWrite, WrongContent};
        assert_eq!(Unsound::of("a", &found(&[ShortWrite, AssertionFailed])), None);
        assert_eq!(headline(&[]), None);
        let failed = Unsound::of("a", &found(&[OperationFailed, AssertionFailed])).unwrap();
        let wrong = Unsound::of("b", &found(&[OperationFailed, WrongContent])).unwrap();
        assert_eq!((failed.status, wrong.status, wrong.kind), (3, 3, WrongContent));
        assert_eq!(failed.found, "read in line 2 failed once: EIO, input/output error");
        let told = headline(&[failed, wrong]).unwrap();
        assert!(
            told.starts_with("b: WRONG DATA: read in line 2 did not read what was written, once"),
            "{told}"
        );
        assert!(told.ends_with("which bytes are wrong. 1 other run is not sound either."), "{told}");
    }

    #[test]
    fn every_kind_that_makes_a_run_unsound_has_words() {
        use JudgementKind::*;
        let all =
            [WrongContent, RankLost, CutShort, OperationFailed, ExpectationNotMet, ProgramAtFault, Unknown];
        for kind in all {
            let one = Unsound::of("a", &found(&[kind])).unwrap();
            assert!(!one.found.is_empty() && one.status > 1, "{one:?}");
        }
    }
}
