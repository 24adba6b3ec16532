//! What a figure is: numbers, computed once, and the Plotly figure that draws them.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::analysis::Analysis;
use crate::unit::Unit;

/// Points a figure shows at most; beyond, all of the tail is kept and the rest is thinned.
pub(crate) const MOST_POINTS: usize = 2_000;

/// One figure of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// A stable name, unique in a report: `return-levels`.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What to look for, and what this one shows.
    pub caption: String,
    /// What a reader who cannot see it must know.
    pub alternative: String,
    /// Whether it needs the whole width of a page.
    pub wide: bool,
    /// The numbers, in seconds where they are durations.
    pub numbers: Numbers,
    /// The same, drawn: `{"data": […], "layout": {…}}` as `plotly.graph_objects.Figure` takes it.
    #[serde(serialize_with = "serialize_harmless")]
    pub plot: Value,
}

impl Figure {
    /// The plot for a page: whatever users named is text in it.
    pub(crate) fn harmless_plot(&self) -> Value {
        harmless(&self.plot)
    }
}

fn serialize_harmless<S: Serializer>(plot: &Value, to: S) -> Result<S::Ok, S::Error> {
    harmless(plot).serialize(to)
}

/// Plotly makes links and styles of tags in texts; of ours only `<extra>` is meant.
fn harmless(plot: &Value) -> Value {
    match plot {
        Value::String(text) if text.contains('<') => {
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
            Value::String(escaped.replace("&lt;extra>", "<extra>").replace("&lt;/extra>", "</extra>"))
        }
        Value::Array(items) => Value::Array(items.iter().map(harmless).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), harmless(field))).collect())
        }
        plain => plain.clone(),
    }
}

/// The numbers of a figure: a struct of the file that draws it, such as `Survival`.
///
/// As JSON they are the fields of that struct with its `kind`.
#[derive(Clone, Debug)]
pub struct Numbers {
    kind: &'static str,
    fields: Arc<dyn Fields>,
}

/// A struct of numbers whose type is not known here.
trait Fields: Any + Debug + Send + Sync {
    fn json(&self) -> Result<Value, serde_json::Error>;
}

impl<T: Serialize + Any + Debug + Send + Sync> Fields for T {
    fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }
}

impl Numbers {
    pub(crate) fn new<T: Serialize + Any + Debug + Send + Sync>(kind: &'static str, fields: T) -> Numbers {
        Numbers { kind, fields: Arc::new(fields) }
    }

    /// The kind of figure: `survival`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The numbers as the struct that they are; none where they are another one.
    pub fn get<T: Any>(&self) -> Option<&T> {
        (self.fields.as_ref() as &dyn Any).downcast_ref()
    }
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = self.fields.json().map_err(serde::ser::Error::custom)?;
        fields["kind"] = json!(self.kind);
        fields.serialize(to)
    }
}

/// What the figures of an analysis are drawn from.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    /// Keeps the names of several analyses apart.
    pub prefix: &'a str,
    pub analysis: &'a Analysis,
    /// Durations of its subject, in seconds.
    pub values: &'a [f64],
    /// What an axis of them is called.
    pub what: &'a str,
}

impl Input<'_> {
    /// The unit of the durations.
    pub fn unit(&self) -> Unit {
        self.analysis.unit
    }
}

/// A name of letters, digits and hyphens.
pub(crate) fn slug(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        match character {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches('-').into()
}

/// Parts of a caption in one sentence, as many as have room for so many letters and the first always: the tables have all.
pub(crate) fn in_short(parts: &[String], room: usize) -> String {
    let mut said = String::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 && said.chars().count() + part.chars().count() + 2 > room {
            return format!("{said}; {} more below", parts.len() - at);
        }
        said = if at == 0 { part.clone() } else { format!("{said}; {part}") };
    }
    said
}
