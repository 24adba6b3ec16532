//! Figures and tables that stand together under one heading.

use serde::Serialize;

use crate::figures::Figure;
use crate::table::Table;

/// Figures and tables that answer one question, under one heading.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Chapter {
    /// A stable name, unique in a report: `distribution`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// A sentence that leads into it; may be empty.
    pub lead: String,
    /// Figures in the order of reading. In JSON only where they are asked for.
    #[serde(skip)]
    pub figures: Vec<Figure>,
    /// Tables in the order of reading.
    pub tables: Vec<Table>,
    /// Whether a page shows its heading only, until a reader opens it. A terminal leaves such a chapter out.
    pub folded: bool,
    /// Whether a terminal shows its tables although it is folded: it stands below a declared answer.
    #[serde(skip)]
    pub(crate) below_answer: bool,
    /// Whether a page shows its tables before its figures.
    #[serde(skip)]
    pub(crate) tables_first: bool,
    /// Whether its tables are too long for a terminal.
    #[serde(skip)]
    pub on_page_only: bool,
    /// Whether it stands in the contents of a page under the chapter before it.
    #[serde(skip)]
    pub(crate) is_part: bool,
    /// Whether the numbers of its tables have fields of their own in JSON; there its tables stand only where they are asked for.
    #[serde(skip)]
    pub(crate) repeats: bool,
    /// What it shows, in one sentence for the head of a report; may be empty.
    pub brief: String,
}

impl Chapter {
    pub(crate) fn new(id: &str, title: &str, lead: &str) -> Chapter {
        Chapter { id: id.into(), title: title.into(), lead: lead.into(), ..Chapter::default() }
    }

    pub(crate) fn with(
        mut self,
        figures: impl IntoIterator<Item = Figure>,
        tables: impl IntoIterator<Item = Table>,
    ) -> Chapter {
        self.figures.extend(figures);
        self.tables.extend(tables);
        self
    }

    /// The chapter, whose tables say in words and rounded numbers what other fields of a document hold.
    pub(crate) fn repeating(mut self) -> Chapter {
        self.repeats = true;
        self
    }

    /// Folds it below the answer that a program declares; a terminal still shows what it showed.
    pub(crate) fn put_below_answer(&mut self) {
        self.below_answer = !self.folded;
        self.folded = true;
    }

    /// Whether it has nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.figures.is_empty() && self.tables.is_empty()
    }
}
