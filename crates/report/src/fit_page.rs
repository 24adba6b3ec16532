//! The page of a fit of numbers: the figures and tables that a run's page has of its subject.

use std::collections::BTreeSet;

use tail::assess::AssessOptions;
use tail::groups::Groups;

use crate::analysis::Analysis;
use crate::chapter::Chapter;
use crate::figures::Figure;
use crate::groups::{groups_answer, groups_table};
use crate::page::{Document, VerdictCard, tiles};
use crate::subject::{Step, Subject};
use crate::unit::Unit;
use crate::words::unsound::{self, Unsound};

/// What the page of a fit is made of.
pub struct FitPage<'a> {
    /// What was fitted, for the title.
    pub name: &'a str,
    /// Whether the values are seconds.
    pub seconds: bool,
    /// What of a run they are; none of plain numbers.
    pub subject: Option<&'a Subject>,
    /// The fitted values in time order.
    pub values: &'a [f64],
    /// The rank of each, where ranks took them in turns; else empty.
    pub takers: &'a [u32],
    /// Groups and what they are groups of.
    pub groups: Option<(&'a Groups, &'a str)>,
    /// With what options.
    pub options: &'a AssessOptions,
    /// The run, where its times are not those of the work that it was to do.
    pub unsound: &'a [Unsound],
}

impl FitPage<'_> {
    /// What the values say: their distribution, their far tail, their ranks.
    fn analysis(&self) -> Analysis {
        let own = self.subject.filter(|subject| subject.steps.len() == self.values.len()).cloned();
        let subject = own.unwrap_or_else(|| of_numbers(self.name, self.values, self.takers));
        let mut main = Analysis::of(subject, self.options, true);
        if !self.seconds {
            main.unit = Unit::NONE;
        }
        main
    }

    /// The figures of the page in the order of reading, without the page: for other drawers.
    pub fn figures(&self) -> Vec<Figure> {
        self.analysis().chapters("").into_iter().flat_map(|chapter| chapter.figures).collect()
    }

    /// The page.
    pub fn html(&self) -> String {
        let main = self.analysis();
        let groups = self.groups.map(|(found, by)| {
            Chapter::new("groups", &format!("By {by}"), &groups_answer(found, by))
                .with([], [groups_table(found, by, self.seconds)])
        });
        let chapters: Vec<Chapter> = groups.into_iter().chain(main.chapters("")).collect();
        let verdict = main.tail.as_ref().map(|tail| VerdictCard {
            label: "Verdict",
            code: tail.code(),
            text: tail.text(),
            advice: tail.advice(),
            findings: tail.findings(),
        });
        let warnings: Vec<_> = unsound::warning(self.unsound).into_iter().collect();
        Document {
            title: "Fit",
            kicker: "Extreme values of measured numbers".into(),
            place: vec![self.name.to_owned()],
            answer: self.groups.map(|(found, by)| groups_answer(found, by)),
            warnings: &warnings,
            verdict,
            tiles: if self.seconds { tiles(&main, None, true) } else { Vec::new() },
            chapters: &chapters,
            facts: None,
            details: false,
            timed_lines: &[],
            version: None,
        }
        .html()
    }
}

/// Plain numbers in time order, as if each were a sample; `takers` are the ranks of their samples, where several took them.
fn of_numbers(name: &str, values: &[f64], takers: &[u32]) -> Subject {
    let ranks: BTreeSet<u32> = if takers.is_empty() { [0].into() } else { takers.iter().copied().collect() };
    let step = |(iteration, value): (usize, &f64)| Step {
        iteration: iteration as u32,
        start_s: 0.0,
        seconds: *value,
        corrected: *value,
        last: takers.get(iteration).copied().unwrap_or(0),
    };
    Subject {
        name: name.to_owned(),
        site: 0,
        sites: Vec::new(),
        keys: Vec::new(),
        share: None,
        runner_up: None,
        gate: false,
        from_schedule: false,
        batch: (1, 1),
        ranks: ranks.into_iter().collect(),
        steps: values.iter().enumerate().map(step).collect(),
        of_rank: Vec::new(),
        failed: 0,
        unfinished: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_have_a_page_without_a_unit_they_do_not_have() {
        let distribution = tail::Gev::new(10.0, 0.5, 0.1).unwrap();
        let mut random = tail::Xoshiro::new(3);
        let values: Vec<f64> = (0..120).map(|_| distribution.sample(&mut random)).collect();
        let options = AssessOptions { bootstrap: 19, ..AssessOptions::default() };
        let page = FitPage {
            name: "numbers.txt",
            seconds: false,
            subject: None,
            values: &values,
            takers: &[],
            groups: None,
            options: &options,
            unsound: &[],
        };
        let text = page.html();
        assert!(text.contains("plot-return-levels") && text.contains("numbers.txt"));
        // Before the library that draws the figures, which has all words.
        let end = text.find("text/javascript").unwrap();
        assert!(!text[..end].contains("duration of") && !text[..end].contains("(ms)"), "a unit was made up");
        // The figures alone are those of the page.
        let figures: Vec<String> = page.figures().into_iter().map(|figure| figure.id).collect();
        assert!(figures.iter().all(|id| text.contains(&format!("plot-{id}"))), "{figures:?}");
        assert!(figures.iter().any(|id| id == "quantiles"), "{figures:?}");
    }
}
