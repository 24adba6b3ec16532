//! How do a checked program, parameters and ranks become a plan?

use std::collections::BTreeMap;
use std::sync::Arc;

use samples::SiteKind;

use crate::arithmetic;
use crate::check::{Checked, Parameter};
use crate::code::GroupId;
use crate::diagnostic::{Code as DiagnosticCode, Diagnostic, Span, has_errors, nearest};
use crate::literal;
use crate::source::Source;
use crate::syntax::BinaryOp;
use crate::value::Value;

use super::constants::Known;
use super::groups::ranks_of_groups;
use super::{Pattern, Plan, SiteSpec, Space};

/// More ranks than this are a mistake.
const MAX_RANKS: u32 = 1 << 20;

/// Looks up an environment variable.
pub type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// What the user asks for besides the program.
#[derive(Default)]
pub struct Settings<'a> {
    /// `-n`; `None`: what the program says with `define ranks`, otherwise 1.
    pub ranks: Option<u32>,
    /// `name=value` from the command line; the last of a name counts.
    pub parameters: Vec<(String, String)>,
    /// `-g name:size`
    pub groups: Vec<(String, u32)>,
    /// Looks up an environment variable, for `$$env(NAME)` and for parameters (`PARABENCH_name`,
    /// `LASTRANK_name`).
    pub environment: Option<&'a Environment<'a>>,
    /// The seed of all random draws.
    pub seed: u64,
}

/// Makes the plan of a program, with warnings and notes.
///
/// # Errors
/// All that is wrong: what the check found, unknown parameters, groups that do not fit …
pub fn plan(
    checked: Checked,
    source: &Source,
    settings: &Settings<'_>,
) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Checked { code, definitions, diagnostics } = checked;
    if has_errors(&diagnostics) {
        return Err(diagnostics);
    }
    let nowhere = |_: &str| None;
    let look_up: &Environment<'_> = settings.environment.unwrap_or(&nowhere);
    let mut maker = Maker { diagnostics };

    let mut environment = Vec::new();
    for (name, span) in &code.environment {
        let value = look_up(name);
        if value.is_none() {
            maker.push(
                Diagnostic::error(
                    DiagnosticCode::EnvironmentUnset,
                    *span,
                    format!("the environment variable `{name}` is not set"),
                )
                .help(format!("set it: `{name}=… lastrank run …`")),
            );
        }
        environment.push(value.unwrap_or_default());
    }

    let mut variables = vec![Value::Unset; code.variables.len()];
    let mut parameters = BTreeMap::new();
    let mut given = Vec::new();
    for (name, _) in &settings.parameters {
        if !definitions.parameters.iter().any(|known| known.name == *name) {
            maker.unknown_parameter(name, definitions.parameters.iter().map(|known| known.name.as_str()));
        }
    }
    for parameter in &definitions.parameters {
        let name = &parameter.name;
        let known = Known {
            code: &code,
            variables: &variables,
            environment: &environment,
            ranks: settings.ranks.unwrap_or(1),
        };
        let mut value = maker.value(&known, parameter.default, parameter.span);
        let from_command_line = settings.parameters.iter().rev().find(|(known, _)| known == name);
        let text = from_command_line
            .map(|(_, value)| value.clone())
            .or_else(|| look_up(&format!("LASTRANK_{name}")))
            .or_else(|| look_up(&format!("PARABENCH_{name}")));
        if let Some(text) = text {
            given.push(name.clone());
            if parameter.numeric {
                match literal::signed(&text) {
                    Ok(number) => value = number.into(),
                    Err(bad) => maker.bad_parameter(name, &text, &bad, parameter.span),
                }
            } else {
                if let Some(digits) = crate::check::classic_suffix(&text) {
                    maker.push(
                        Diagnostic::warning(
                            DiagnosticCode::TextUnit,
                            parameter.span,
                            format!("`{name}={text}` counts as {digits} where a number is wanted"),
                        )
                        .help(format!("write the unit in full: `{name}={}`", in_full(&text))),
                    );
                }
                value = Value::Text(text.into());
            }
        }
        maker.range(&known, parameter, &value);
        parameters.insert(name.clone(), value.to_string());
        variables[parameter.slot.0 as usize] = value;
    }

    let mut known = Known { code: &code, variables: &variables, environment: &environment, ranks: 1 };
    let ranks = match (settings.ranks, definitions.ranks) {
        (Some(ranks), Some((index, span))) => {
            // Evaluated all the same, so that a mistake in it is found.
            known.ranks = ranks;
            maker.value(&known, index, span);
            i64::from(ranks)
        }
        (Some(ranks), None) => i64::from(ranks),
        (None, Some((index, span))) => maker.value(&known, index, span).integer().unwrap_or(0),
        (None, None) => 1,
    };
    let known_ranks = !has_errors(&maker.diagnostics);
    let ranks = match u32::try_from(ranks) {
        Ok(ranks) if (1..=MAX_RANKS).contains(&ranks) => ranks,
        // A mistake in the definition was complained about already.
        _ if !known_ranks => 1,
        _ => {
            let span = definitions.ranks.map_or(Span::default(), |(_, span)| span);
            let message = format!("a run needs 1 to {MAX_RANKS} ranks, not {ranks}");
            maker.push(Diagnostic::error(DiagnosticCode::BadRanks, span, message));
            1
        }
    };
    known.ranks = ranks;

    let mut sizes = BTreeMap::new();
    for (name, size) in &settings.groups {
        if definitions.groups.iter().any(|group| group.name == name.trim()) {
            sizes.insert(name.trim().to_owned(), *size);
        } else {
            let help = nearest(name, definitions.groups.iter().map(|group| group.name.as_str()))
                .map(|near| format!("did you mean `{near}`?"));
            maker.push(
                Diagnostic::error(
                    DiagnosticCode::GroupsDoNotFit,
                    Span::default(),
                    format!("`-g {name}:{size}`: the program has no group \"{name}\""),
                )
                .help_maybe(help),
            );
        }
    }
    let mut notes = Vec::new();
    let groups = match ranks_of_groups(&definitions.groups, &sizes, ranks) {
        Ok((groups, found)) => {
            for note in found {
                let span = definitions.groups.first().map_or(Span::default(), |group| group.span);
                maker.push(Diagnostic::note(DiagnosticCode::SharedGroups, span, note.clone()));
                notes.push(note);
            }
            groups
        }
        Err(message) => {
            let span = definitions.groups.first().map_or(Span::default(), |group| group.span);
            maker.push(Diagnostic::error(DiagnosticCode::GroupsDoNotFit, span, message).help(format!(
                "this run has {ranks} ranks: give more (`-n`) or smaller groups (`-g name:size`)"
            )));
            Vec::new()
        }
    };

    let mut patterns = Vec::new();
    for definition in &definitions.patterns {
        let mut number = |at: usize, what: &str, most: i64| {
            let value = maker.value(&known, definition.numbers[at], definition.span).integer().unwrap_or(-1);
            if !(0..=most).contains(&value) {
                maker.push(Diagnostic::error(
                    DiagnosticCode::BadDefine,
                    definition.span,
                    format!(
                        "the {what} of the pattern \"{}\" must be 0 to {most}, not {value}",
                        definition.name
                    ),
                ));
            }
            value.clamp(0, most)
        };
        let (kind, iterations, element, level) = (
            number(0, "type", i64::MAX),
            number(1, "number of iterations", i64::MAX),
            number(2, "element size", i64::MAX),
            number(3, "level", 3),
        );
        let ranks = i128::from(ranks);
        if i128::from(iterations) * i128::from(element) * ranks > i128::from(i64::MAX) {
            maker.push(Diagnostic::error(
                DiagnosticCode::BadDefine,
                definition.span,
                format!("the pattern \"{}\" passes 2⁶³ bytes", definition.name),
            ));
        }
        patterns.push(Pattern {
            name: definition.name.clone(),
            kind,
            iterations: iterations as u64,
            element: element as u64,
            level: level as u8,
            group: definition.group.map(GroupId),
        });
    }

    let mut space = Vec::new();
    for (directory, bytes, span) in &definitions.space {
        let directory = directory.map(|index| maker.value(&known, index, *span).to_string());
        let bytes = maker.value(&known, *bytes, *span).integer().unwrap_or(0).max(0) as u64;
        space.push(Space { directory, bytes });
    }
    let mut report = BTreeMap::new();
    for (key, value) in &definitions.report {
        report.insert(key.clone(), maker.value(&known, *value, Span::default()).to_string());
    }

    let hints = definitions.hints.iter().map(|(key, value, span)| {
        let value = maker.value(&known, *value, *span).to_string();
        maker.hint(key, &value, *span);
        (key.clone(), value)
    });
    let hints: Vec<(String, String)> = hints.collect();

    maker.collectives(&definitions.collectives, &groups, &patterns);

    let files: Vec<Arc<str>> = source.files().iter().map(|file| file.name.as_str().into()).collect();
    let sites = code
        .sites
        .iter()
        .map(|site| {
            let (file, line, column) = source.locate(site.offset);
            SiteSpec {
                file: files.get(file).cloned().unwrap_or_default(),
                line,
                column,
                operation: match (site.command, site.kind) {
                    (Some(command), _) => command.name(),
                    (None, SiteKind::CommandTime) => "ctime",
                    (None, SiteKind::Phase) => "phase",
                    (None, SiteKind::Barrier) => "barrier",
                    (None, _) => "time",
                },
                command: site.command,
                kind: site.kind,
                group: GroupId(u32::from(site.group)),
            }
        })
        .collect();
    let Maker { diagnostics } = maker;
    if has_errors(&diagnostics) {
        return Err(diagnostics);
    }
    let plan = Plan {
        code: Arc::new(code),
        ranks,
        groups,
        patterns,
        parameters,
        given,
        report,
        hints,
        space,
        environment,
        initial: variables,
        seed: settings.seed,
        notes,
        sites: Arc::new(sites),
        source: Arc::new(source.clone()),
    };
    Ok((plan, diagnostics))
}

/// `4k` as `4KiB`.
fn in_full(text: &str) -> String {
    let (digits, suffix) = text.split_at(text.len() - 1);
    format!("{digits}{}iB", suffix.to_uppercase())
}

struct Maker {
    diagnostics: Vec<Diagnostic>,
}

impl Maker {
    fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// What every MPI library refuses is refused here.
    fn hint(&mut self, key: &str, value: &str, span: Span) {
        let why = match (key.len(), value.len()) {
            (0, _) => "a hint needs a key".to_owned(),
            (256.., _) => format!("the key of a hint has {} bytes: at most 255", key.len()),
            (_, 0) => format!("the hint \"{key}\" has no value"),
            (_, 1024..) => format!("the value of the hint \"{key}\" has {} bytes: at most 1023", value.len()),
            _ => return,
        };
        let form = "the form is `define hints {\"cb_nodes\": \"4\", \"romio_cb_write\": \"enable\"};`";
        self.push(Diagnostic::error(DiagnosticCode::BadHint, span, why).help(form));
    }

    fn value(&mut self, known: &Known<'_>, index: u32, span: Span) -> Value {
        known.value(index).unwrap_or_else(|message| {
            self.push(Diagnostic::error(
                DiagnosticCode::Evaluation,
                span,
                format!("this definition cannot be computed: {message}"),
            ));
            Value::Int(0)
        })
    }

    fn unknown_parameter<'a>(&mut self, name: &str, known: impl Iterator<Item = &'a str>) {
        let known: Vec<&str> = known.collect();
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "the program has no parameters".to_owned(),
            None => format!("its parameters are: {}", known.join(", ")),
        };
        self.push(
            Diagnostic::error(
                DiagnosticCode::UnknownParameter,
                Span::default(),
                format!("the program has no parameter `{name}`"),
            )
            .help(help),
        );
    }

    fn bad_parameter(&mut self, name: &str, text: &str, bad: &literal::BadLiteral, span: Span) {
        let help = match bad {
            literal::BadLiteral::Unit(Some(meant)) => format!("did you mean `{name}={meant}`?"),
            _ => format!("write a number, with a unit where one fits: `{name}=4MiB`"),
        };
        self.push(
            Diagnostic::error(
                DiagnosticCode::BadParameter,
                span,
                format!("the parameter `{name}` must be a number, not `{text}`"),
            )
            .help(help),
        );
    }

    /// Is the value one that the definition allows?
    fn range(&mut self, known: &Known<'_>, parameter: &Parameter, value: &Value) {
        let [from, to, choices] =
            parameter.range.map(|bound| bound.map(|bound| self.value(known, bound, parameter.span)));
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

    /// Collective operations inside groups: do all that must come come?
    fn collectives(
        &mut self,
        collectives: &[crate::check::Collective],
        groups: &[super::Group],
        patterns: &[Pattern],
    ) {
        for collective in collectives {
            if let Some(pattern) = collective.pattern {
                let is_collective = patterns.get(pattern as usize).is_some_and(Pattern::is_collective);
                if let (true, Some(place)) = (is_collective, collective.restricted) {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::Collective,
                            collective.span,
                            format!(
                                "not all ranks reach {}, whose pattern is collective: the program would hang",
                                collective.what
                            ),
                        )
                        .label(place, "only some ranks come in here"),
                    );
                }
                continue;
            }
            let (Some(target), Some((inside, place))) = (collective.target, collective.inside) else {
                continue;
            };
            let (Some(target), Some(inside)) = (groups.get(target as usize), groups.get(inside as usize))
            else {
                continue;
            };
            let Some(missing) = target.ranks.iter().find(|rank| inside.place(**rank).is_none()) else {
                continue;
            };
            if inside.ranks.is_empty() {
                continue;
            }
            self.push(
                Diagnostic::error(
                    DiagnosticCode::Collective,
                    collective.span,
                    format!(
                        "not all ranks of \"{}\" reach {}: rank {missing} is not in the group \"{}\", so the program would hang",
                        target.name, collective.what, inside.name
                    ),
                )
                .label(place, format!("only the ranks of \"{}\" come in here", inside.name))
                .help(format!("move it out of the group, or use that of the group: `barrier(\"{}\");`", inside.name)),
            );
        }
    }
}
