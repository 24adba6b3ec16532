//! Reports: the numbers of every figure, tables, words, and the one-file HTML page.
//!
//! [`build`] turns a run into a [`Report`]: what was analysed, the fitted distribution, and chapters of figures and
//! tables. A report prints itself for a terminal ([`Report::terminal_text`]), as one HTML page that opens
//! without a network ([`Report::html`]) and as JSON ([`Report::json`]). Every figure is data first
//! ([`figures::Numbers`]) and a Plotly figure made from it, so a notebook shows the same.
//!
//! ```
//! let run = samples::example::parallel_write(16, 400, 7);
//! let report = report::build(&run, &report::ReportOptions::default());
//! assert!(report.terminal_text().contains("T = write: the slowest of 16 ranks"));
//! assert!(report.html().starts_with("<!doctype html>"));
//! ```
#![forbid(unsafe_code)]

mod analysis;
mod answers;
mod assumptions;
mod bounded;
mod build;
mod by_clock;
mod cause_words;
mod causes;
mod chapter;
mod chapters;
pub mod comparison;
mod digits;
pub mod figures;
mod fit_page;
mod groups;
mod how_many;
mod kept_subject;
pub mod many;
mod number;
mod output;
mod page;
mod page_cache;
mod place_key;
mod plain_fit;
mod processors;
mod replay_page;
mod report;
mod screen;
pub mod shell;
mod side_by_side;
mod steps;
mod stretches;
mod subject;
mod subject_names;
mod summary;
mod surroundings;
mod table;
mod tail_of;
mod text;
mod throughput;
mod unit;
mod unseen;
mod views;
pub mod words;
mod wrap;

pub use analysis::Analysis;
pub use answers::{Answer, AnswerForm};
pub use assumptions::{Assumed, Assumption};
pub use build::{ReportOptions, build, build_telling};
pub use by_clock::ByClock;
pub use cause_words::words_of_cause;
pub use causes::Slowness;
pub use chapter::Chapter;
pub use figures::Figure;
pub use fit_page::FitPage;
pub use groups::{groups_answer, groups_table, groups_text};
pub use kept_subject::KeptSubject;
pub use output::With;
pub use place_key::PlaceKey;
pub use plain_fit::fit_text;
pub use replay_page::{ReplayPage, SideOverTime};
pub use report::{RUN_FILE, Report};
pub use screen::{
    AnswerSign, CompareAnswer, FitAnswer, RunsAnswer, ScreenOptions, WrittenFiles, answer_cells, answer_line,
    are_shown, fit_line, fit_width, saved,
};
pub use shell::file_argument;
pub use stretches::Stretch;
pub use subject::{Step, Subject};
pub use summary::{Summary, quantile};
pub use table::{Column, Row, Table, cut, far_levels};
pub use tail_of::Tail;
pub use text::sentence;
pub use unit::{Unit, confidence, duration, fixed, percent, probability, significant};
pub use views::{
    AffineFit, AgainstNormal, NormalPanel, NormalPanels, QuantileRanges, SizeCurve, Sizes, TimeShares,
};
pub use wrap::{LEAST_COLUMNS, set_text_width, text_width};
