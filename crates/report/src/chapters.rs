//! The chapters of an analysis: figures and tables of its values, its distribution, its far tail and its ranks.

use crate::analysis::Analysis;
use crate::chapter::Chapter;
use crate::figures::{
    self, DISTRIBUTION, Draw, FAR_TAIL, Figure, Input, LastRanks, MEASURED, RANKS, TargetEffects,
};
use crate::{table, words};

impl Analysis {
    /// Its chapters in the order of reading; `prefix` keeps the names of several analyses apart.
    pub(crate) fn chapters(&self, prefix: &str) -> Vec<Chapter> {
        if self.subject.steps.is_empty() {
            return Vec::new();
        }
        let mut chapters = vec![self.measured(prefix), self.distribution(prefix)];
        chapters.push(self.far_tail(prefix, "Beyond a threshold"));
        chapters.push(self.ranks(prefix));
        chapters.retain(|chapter| !chapter.is_empty());
        // Only the first analysis of a report has fields of its own.
        chapters.iter_mut().for_each(|chapter| chapter.repeats = prefix.is_empty());
        chapters
    }

    fn measured(&self, prefix: &str) -> Chapter {
        Chapter::new(&format!("{prefix}measured"), "What changed over time?", "Every value in time order.")
            .with(self.figures(prefix, MEASURED), self.tail.as_ref().and_then(table::independence))
    }

    fn distribution(&self, prefix: &str) -> Chapter {
        let unit = self.unit;
        let chapter = Chapter::new(
            &format!("{prefix}law"),
            "Is the tail natural, and what does it predict?",
            "The maximum of many parts follows an extreme-value distribution (GEV). Four views of the same comparison, the \
             first three as in Henwood et al. 2016, Figure 2.",
        );
        let Some(tail) = &self.tail else { return chapter };
        let mut tables = Vec::new();
        if let Some(found) = &tail.assessment {
            tables.push(table::parameters(found, unit));
            tables.push(table::levels(found, unit, self.subject.value_name()));
            tables.push(table::models(found));
        }
        chapter.with(self.figures(prefix, DISTRIBUTION), tables)
    }

    /// The far tail beyond a threshold.
    pub(crate) fn far_tail(&self, prefix: &str, title: &str) -> Chapter {
        let chapter = Chapter::new(
            &format!("{prefix}threshold"),
            title,
            "Among very many values the largest say more than maxima: what lies beyond a high threshold follows a \
             Pareto distribution (GPD), if the threshold is high enough.",
        );
        let Some(far) = &self.far else { return chapter };
        chapter.with(
            self.figures(prefix, FAR_TAIL),
            [table::far_levels(far, self.unit, self.subject.value_name(), &self.subject.describe())],
        )
    }

    fn ranks(&self, prefix: &str) -> Chapter {
        let subject = &self.subject;
        let chapter = Chapter::new(
            &format!("{prefix}ranks"),
            "Is one rank slow?",
            &format!("S is what one rank took for {}, T what the step took: the slowest S.", subject.name),
        );
        if !subject.gate || subject.ranks.len() < 2 {
            return chapter;
        }
        let tables = self.targets.iter().map(|found| {
            table::targets(&TargetEffects::of(subject, found), &LastRanks::of(subject, Some(found)))
        });
        let mut chapter = chapter.with(self.figures(prefix, RANKS), tables);
        // A terminal shows it where a rank is slow.
        if let Some(found) = &self.targets {
            let [_, shared] = words::targets::in_two_parts(found);
            chapter.lead = [vec![chapter.lead], shared].concat().join(" ");
        }
        chapter.on_page_only = self.targets.as_ref().is_none_or(|found| !words::targets::stands_out(found));
        chapter
    }

    fn figures(&self, prefix: &str, list: &[Draw]) -> Vec<Figure> {
        let (values, what) = (self.subject.values(), self.subject.axis_name());
        figures::all(list, &Input { prefix, analysis: self, values: &values, what: &what })
    }
}
