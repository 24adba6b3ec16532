//! The report of a run as data.

use results::{AnswerNumbers, ResultRow};
use samples::{Facts, Judgements, TimeUse, Warning};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::answers::Answer;
use crate::assumptions::Assumption;
use crate::causes::Slowness;
use crate::chapter::Chapter;
use crate::figures::Figure;
use crate::table::Table;
use crate::tail_of::Tail;

/// What [`Report::unwritten`] calls the run file.
pub const RUN_FILE: &str = "the run file";

/// Everything a reader sees of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the program.
    pub title: String,
    /// What was run, on what, how.
    pub facts: Facts,
    /// What was found in it: failures, wrong content, assertions that do not hold, lost ranks.
    pub judgements: Judgements,
    /// What of the run could not be written where it was to be: [`RUN_FILE`], the page. No screen says that all is well then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unwritten: Vec<String>,
    /// Anything that makes the result less trustworthy: the run's own warnings and the report's.
    pub warnings: Vec<Warning>,
    /// What was measured, a row for each path of labels and operation.
    pub results: Vec<ResultRow>,
    /// The numbers of the answer: whatever shows a rate or a quantile of the run as a whole takes it from here.
    pub numbers: AnswerNumbers,
    /// What was analysed first, and what was found; none where there was nothing to analyse. Its fields
    /// stand beside the others in JSON.
    #[serde(flatten)]
    pub main: Option<Analysis>,
    /// The answer that the program declares; none where it declares none or the run cannot give it.
    pub answer: Option<Answer>,
    /// What the curves of the run show, a sentence each; empty where a gate is what the run is about.
    pub brief: Vec<String>,
    /// Figures and tables in the order of reading.
    pub chapters: Vec<Chapter>,
    /// Why slow operations were slow, place by place; empty where nothing was seen.
    pub causes: Vec<Slowness>,
    /// What the distribution of a step assumes, one by one; empty unless what is analysed first is a gate over several ranks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// Lines of the program that yield samples, from 1.
    pub timed_lines: Vec<usize>,
    /// Where the wall time of each rank went; empty where the run does not know.
    pub time: Vec<TimeUse>,
}

impl Report {
    /// All figures in the order of reading.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.chapters.iter().flat_map(|chapter| &chapter.figures)
    }

    /// All tables in the order of reading.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.chapters.iter().flat_map(|chapter| &chapter.tables)
    }

    /// The distribution of what was analysed first, or why there is none.
    pub fn tail(&self) -> Option<&Tail> {
        self.main.as_ref()?.tail.as_ref()
    }
}
