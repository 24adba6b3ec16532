//! Makes a plan from a checked program, parameters and ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arithmetic;
use crate::check::{Checked, Definitions, Parameter, PatternDefinition, classic_suffix};
use crate::code::{Code, ExprIndex, GroupId};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, has_errors, nearest};
use crate::literal;
use crate::meeting;
use crate::source::Source;
use crate::syntax::BinaryOp;
use crate::value::Value;

use super::constants::ConstantScope;
use super::{Pattern, Plan, SiteSpec, Space, WrittenContent, shape};

/// The largest permitted number of ranks.
const MAX_RANKS: u32 = 1 << 20;

/// Looks up an environment variable.
pub type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The user's settings for a plan.
#[derive(Default)]
pub struct Settings<'a> {
    /// `-n`; `None`: the program's `define ranks`, otherwise 1.
    pub ranks: Option<u32>,
    /// `name=value` from the command line; the last value of a name applies.
    pub parameters: Vec<(String, String)>,
    /// `-g name:size`
    pub groups: Vec<(String, u32)>,
    /// Looks up an environment variable, for `$$env(NAME)` and for parameters (`PARABENCH_name`,
    /// `LASTRANK_name`).
    pub environment: Option<&'a Environment<'a>>,
    /// The seed of all random draws.
    pub seed: u64,
    /// The plan is only for diagnostics, not for a run: required environment variables may be missing, and
    /// without a number of ranks any number is assumed.
    pub tentative: bool,
}

/// Makes the plan of a program, with warnings and notes.
///
/// # Errors
/// All errors: those of the check, unknown parameters, groups that do not fit …
pub fn plan(
    checked: Checked,
    source: &Source,
    settings: &Settings<'_>,
) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Checked { code, definitions, diagnostics } = checked;
    if has_errors(&diagnostics) {
        return Err(diagnostics);
    }
    let mut maker = PlanBuilder {
        code: &code,
        definitions: &definitions,
        settings,
        diagnostics,
        environment: Vec::new(),
        variables: vec![Value::Unset; code.variables.len()],
        ranks: settings.ranks.unwrap_or(1),
        unset: false,
    };
    let found = maker.diagnostics.len();
    maker.environment();
    let (parameters, given) = maker.parameters();
    let defined_ranks = maker.ranks();
    let (groups, notes) = maker.groups();
    let patterns = maker.patterns();
    let space = maker.space();
    let content = maker.content();
    let report = maker.report();
    let hints = maker.hints();
    let PlanBuilder { mut diagnostics, environment, variables, ranks, unset, .. } = maker;
    let known = settings.ranks.is_some() || definitions.ranks.is_some() || !settings.tentative;
    if unset {
        // Errors caused by a missing environment variable are not errors of the program.
        diagnostics.truncate(found);
    }
    let of_ranks = [DiagnosticCode::SharedGroups, DiagnosticCode::ClassicGroups];
    diagnostics.retain(|one| known || !of_ranks.contains(&one.code));
    if has_errors(&diagnostics) {
        return Err(diagnostics);
    }
    let is_place = |name: &str| definitions.parameters.iter().any(|known| known.place && known.name == name);
    let plan = Plan {
        sites: Arc::new(sites(&code, source)),
        code: Arc::new(code),
        ranks,
        defined_ranks,
        groups,
        patterns,
        parameters,
        places: given.iter().filter(|name| is_place(name)).cloned().collect(),
        given,
        report,
        hints,
        space,
        content,
        environment,
        initial: variables,
        seed: settings.seed,
        notes,
        source: Arc::new(source.clone()),
    };
    if !unset {
        diagnostics.extend(shape::check(&plan, known));
    }
    diagnostics.extend(meeting::check(&plan, known && !unset));
    if has_errors(&diagnostics) { Err(diagnostics) } else { Ok((plan, diagnostics)) }
}

/// The static sites with their positions in the text.
fn sites(code: &Code, source: &Source) -> Vec<SiteSpec> {
    let files: Vec<Arc<str>> = source.files().iter().map(|file| file.name.as_str().into()).collect();
    let sites = code.sites.iter().map(|site| {
        let (file, line, column) = source.locate(site.offset);
        SiteSpec {
            file: files.get(file).cloned().unwrap_or_default(),
            line,
            column,
            operation: site.operation(),
            command: site.command,
            kind: site.kind,
            group: GroupId(u32::from(site.group)),
            expects: (site.expects > 0).then(|| i32::from(site.expects)),
        }
    });
    sites.collect()
}

/// Expands `4k` to `4KiB`.
fn in_full(text: &str) -> String {
    let (digits, suffix) = text.split_at(text.len() - 1);
    format!("{digits}{}iB", suffix.to_uppercase())
}

/// A plan under construction.
pub(super) struct PlanBuilder<'a> {
    pub code: &'a Code,
    pub definitions: &'a Definitions,
    pub settings: &'a Settings<'a>,
    diagnostics: Vec<Diagnostic>,
    /// Values of the environment variables that the program names.
    environment: Vec<String>,
    /// Values of global variables: those of the parameters so far.
    variables: Vec<Value>,
    pub ranks: u32,
    /// An environment variable is missing in a tentative plan.
    unset: bool,
}

impl PlanBuilder<'_> {
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn look_up(&self, name: &str) -> Option<String> {
        self.settings.environment.and_then(|look_up| look_up(name))
    }

    /// The value of a constant expression; reports an error and returns 0 if it has none.
    pub fn value(&mut self, index: ExprIndex, span: Span) -> Value {
        let known = ConstantScope {
            code: self.code,
            variables: &self.variables,
            environment: &self.environment,
            ranks: self.ranks,
            place: None,
        };
        known.value(index).unwrap_or_else(|message| {
            self.push(Diagnostic::error(
                DiagnosticCode::Evaluation,
                span,
                format!("this definition cannot be computed: {message}"),
            ));
            Value::Int(0)
        })
    }

    fn environment(&mut self) {
        for (name, span) in &self.code.environment {
            let value = self.look_up(name);
            if value.is_none() && self.settings.tentative {
                self.unset = true;
            } else if value.is_none() {
                self.push(
                    Diagnostic::error(
                        DiagnosticCode::EnvironmentUnset,
                        *span,
                        format!("the environment variable `{name}` is not set"),
                    )
                    .help(format!("set it: `{name}=… lastrank run …`")),
                );
            }
            self.environment.push(value.unwrap_or_default());
        }
    }

    /// The values of all parameters, and the names of those that the user set.
    fn parameters(&mut self) -> (BTreeMap<String, String>, Vec<String>) {
        let definitions = self.definitions;
        let mut parameters = BTreeMap::new();
        let mut given = Vec::new();
        for (name, text) in &self.settings.parameters {
            if !definitions.parameters.iter().any(|known| known.name == *name) {
                self.unknown_parameter(
                    (name, text),
                    definitions.parameters.iter().map(|known| known.name.as_str()),
                );
            }
        }
        for parameter in &definitions.parameters {
            let name = &parameter.name;
            let mut value = self.value(parameter.default, parameter.span);
            let from_command_line = self.settings.parameters.iter().rev().find(|(known, _)| known == name);
            let text = from_command_line
                .map(|(_, value)| value.clone())
                .or_else(|| self.look_up(&format!("LASTRANK_{name}")))
                .or_else(|| self.look_up(&format!("PARABENCH_{name}")));
            if let Some(text) = text {
                given.push(name.clone());
                value = self.given_value(parameter, text).unwrap_or(value);
            }
            self.range(parameter, &value);
            parameters.insert(name.clone(), value.to_string());
            self.variables[parameter.slot.0 as usize] = value;
        }
        (parameters, given)
    }

    /// The user's text for a parameter, as a value.
    fn given_value(&mut self, parameter: &Parameter, text: String) -> Option<Value> {
        let name = &parameter.name;
        if parameter.numeric {
            return match literal::signed(&text) {
                Ok(number) => Some(number.into()),
                Err(bad) => {
                    self.bad_parameter(name, &text, &bad, parameter.span);
                    None
                }
            };
        }
        if let Some(digits) = classic_suffix(&text) {
            self.push(
                Diagnostic::warning(
                    DiagnosticCode::TextUnit,
                    parameter.span,
                    format!("`{name}={text}` is read as {digits} where a number is needed"),
                )
                .help(format!("write the unit in full: `{name}={}`", in_full(&text))),
            );
        }
        Some(Value::Text(text.into()))
    }

    /// Determines the number of ranks; returns the value of `define ranks`.
    fn ranks(&mut self) -> Option<i64> {
        // Evaluated even if the command line overrides it, so that errors in it are found.
        let defined = self.definitions.ranks.map(|(at, span)| {
            let value = self.value(at, span);
            if let Value::Text(text) = &value {
                let message = format!("the number of ranks must be a number, not \"{text}\"");
                self.push(
                    Diagnostic::error(DiagnosticCode::BadRanks, span, message)
                        .help("the form is `define ranks 4;`"),
                );
            }
            value.integer().unwrap_or(0)
        });
        let ranks = self.settings.ranks.map(i64::from).or(defined).unwrap_or(1);
        self.ranks = match u32::try_from(ranks) {
            Ok(ranks) if (1..=MAX_RANKS).contains(&ranks) => ranks,
            // An error in the definition was reported already.
            _ if has_errors(&self.diagnostics) => 1,
            _ => {
                let span = self.definitions.ranks.map_or(Span::default(), |(_, span)| span);
                let message = format!("a run needs 1 to {MAX_RANKS} ranks, not {ranks}");
                self.push(Diagnostic::error(DiagnosticCode::BadRanks, span, message));
                1
            }
        };
        defined
    }

    fn patterns(&mut self) -> Vec<Pattern> {
        let definitions = self.definitions;
        definitions.patterns.iter().map(|definition| self.pattern(definition)).collect()
    }

    fn pattern(&mut self, definition: &PatternDefinition) -> Pattern {
        let mut number = |at: usize, what: &str, least: i64, most: i64| {
            let value = self.value(definition.numbers[at], definition.span).integer().unwrap_or(-1);
            if !(least..=most).contains(&value) {
                let name = &definition.name;
                let message =
                    format!("the {what} of the pattern \"{name}\" must be {least} to {most}, not {value}");
                self.push(Diagnostic::error(DiagnosticCode::BadDefine, definition.span, message));
            }
            value.clamp(least, most)
        };
        let (kind, iterations, element, level) = (
            number(0, "type", 1, 2),
            number(1, "number of iterations", 0, i64::MAX),
            number(2, "element size", 0, i64::MAX),
            number(3, "level", 0, 3),
        );
        if i128::from(iterations) * i128::from(element) * i128::from(self.ranks) > i128::from(i64::MAX) {
            let message = format!("the pattern \"{}\" exceeds 2⁶³ bytes", definition.name);
            self.push(Diagnostic::error(DiagnosticCode::BadDefine, definition.span, message));
        }
        Pattern {
            name: definition.name.clone(),
            kind,
            iterations: iterations as u64,
            element: element as u64,
            level: level as u8,
            shape: definition.shape.clone(),
            group: definition.group.map(GroupId),
        }
    }

    fn space(&mut self) -> Vec<Space> {
        let definitions = self.definitions;
        let space = definitions.space.iter().map(|(directory, bytes, span)| {
            let directory = directory.map(|index| self.value(index, *span).to_string());
            let bytes = self.value(*bytes, *span).integer().unwrap_or(0).max(0) as u64;
            Space { directory, bytes }
        });
        space.collect()
    }

    fn content(&mut self) -> WrittenContent {
        let Some((at, span)) = self.definitions.content else { return WrittenContent::Own };
        match self.value(at, span).to_string().as_str() {
            "own" => WrittenContent::Own,
            "copied" => WrittenContent::Copied,
            other => {
                let message = format!("\"{other}\" is no content");
                let help = "`define content` is followed by \"own\" or \"copied\"";
                self.push(Diagnostic::error(DiagnosticCode::BadDefine, span, message).help(help));
                WrittenContent::Own
            }
        }
    }

    fn report(&mut self) -> BTreeMap<String, String> {
        let definitions = self.definitions;
        let report = definitions.report.iter();
        report.map(|(key, value)| (key.clone(), self.value(*value, Span::default()).to_string())).collect()
    }

    fn hints(&mut self) -> Vec<(String, String)> {
        let definitions = self.definitions;
        let hints = definitions.hints.iter().map(|(key, value, span)| {
            let value = self.value(*value, *span).to_string();
            self.hint(key, &value, *span);
            (key.clone(), value)
        });
        hints.collect()
    }

    /// Refuses a hint that every MPI library refuses.
    fn hint(&mut self, key: &str, value: &str, span: Span) {
        let why = match (key.len(), value.len()) {
            (0, _) => "a hint needs a key".to_owned(),
            (256.., _) => format!("the key of a hint has {} bytes: at most 255", key.len()),
            (_, 0) => format!("the hint \"{key}\" has no value"),
            (_, 1024..) => format!("the value of the hint \"{key}\" has {} bytes: at most 1023", value.len()),
            (1..=255, 1..=1023) => return,
        };
        let form = "the form is `define hints {\"cb_nodes\": \"4\", \"romio_cb_write\": \"enable\"};`";
        self.push(Diagnostic::error(DiagnosticCode::BadHint, span, why).help(form));
    }

    fn unknown_parameter<'a>(&mut self, (name, text): (&str, &str), known: impl Iterator<Item = &'a str>) {
        let known: Vec<&str> = known.collect();
        let message = format!("the program has no parameter `{name}`");
        let error = Diagnostic::error(DiagnosticCode::UnknownParameter, Span::default(), message)
            .about(format!("{name}={text}"));
        self.push(match nearest(name, known.iter().copied()) {
            Some(near) => error.did_you_mean(near, None),
            None if known.is_empty() => error.help("the program has no parameters"),
            None => error.help(format!("its parameters are: {}", known.join(", "))),
        });
    }

    fn bad_parameter(&mut self, name: &str, text: &str, bad: &literal::BadLiteral, span: Span) {
        let message = format!("the parameter `{name}` must be a number, not `{text}`");
        let error = Diagnostic::error(DiagnosticCode::BadParameter, span, message);
        self.push(match (bad, literal::two_meanings(text)) {
            (literal::BadLiteral::Unit(_), Some(both)) => error.help(both),
            (literal::BadLiteral::Unit(Some(meant)), None) => {
                error.did_you_mean(&format!("{name}={meant}"), None)
            }
            _ => error.help(format!("write a number, with a unit where one fits: `{name}=4MiB`")),
        });
    }

    /// Checks that the definition permits the value.
    fn range(&mut self, parameter: &Parameter, value: &Value) {
        let [from, to, choices] =
            parameter.range.map(|bound| bound.map(|bound| self.value(bound, parameter.span)));
        let holds =
            |op, bound: &Value| arithmetic::binary(op, value, bound, false).map(|truth| truth.truth());
        let quoted = |value: &Value| match value {
            Value::Text(text) => format!("\"{text}\""),
            other => other.to_string(),
        };
        let mut wanted = None;
        for (op, bound, words) in [(BinaryOp::AtLeast, &from, "at least"), (BinaryOp::AtMost, &to, "at most")]
        {
            let Some(bound) = bound else { continue };
            match holds(op, bound) {
                Ok(true) => {}
                Ok(false) => wanted = Some(format!("{words} {bound}")),
                Err(why) => wanted = Some(format!("{words} {bound}: {why}")),
            }
        }
        match &choices {
            Some(Value::List(items))
                if !items.iter().any(|item| holds(BinaryOp::Equal, item) == Ok(true)) =>
            {
                let all: Vec<String> = items.iter().map(quoted).collect();
                wanted = Some(format!("one of {}", all.join(", ")));
            }
            Some(other) if !matches!(other, Value::List(_)) => {
                wanted = Some(format!("in a list, and what stands behind `in` is {}", other.kind()));
            }
            _ => {}
        }
        let Some(wanted) = wanted else { return };
        let (name, value) = (&parameter.name, quoted(value));
        self.push(
            Diagnostic::error(
                DiagnosticCode::BadParameter,
                parameter.span,
                format!("the parameter `{name}` must be {wanted}; it is {value}"),
            )
            .help(format!("give another value: `--set {name}=…`")),
        );
    }
}
