//! Calls commands: evaluates their arguments and handles their results.

use crate::code::{CompiledCall, Expr, ExprIndex, SiteId, spell};
use crate::commands::{ArgumentSpec, Command, CommandByClass, Kind, LanguageCommand};
use crate::errno::{EBADF, EINVAL};
use crate::value::Value;

use super::arguments::{self, Argument, Arguments};
use super::interpreter::{EarlyEnd, Interpreter};
use super::machine::{Failure, Halt, Machine, Reply, StatementReply, Wait};
use super::prepared::{PreparedStatements, Readiness, ValueSources};

/// Where the arguments of a command stand.
#[derive(Clone, Copy)]
enum Ready {
    /// Among those of the prepared statement with this number.
    Prepared(u32),
    /// Among the interpreter's own.
    Evaluated,
    /// Nowhere: it is not tried, with this errno.
    Refused(i32),
}

impl Ready {
    /// The arguments, or why the command is not tried.
    #[inline(always)]
    fn arguments<'a>(
        self,
        prepared: &'a PreparedStatements,
        evaluated: &'a Arguments,
    ) -> Result<&'a Arguments, i32> {
        match self {
            Ready::Prepared(number) => Ok(prepared.of(number)),
            Ready::Evaluated => Ok(evaluated),
            Ready::Refused(errno) => Err(errno),
        }
    }
}

impl<M: Machine> Interpreter<'_, M> {
    /// Executes a command as a statement: nobody needs its value, and it may still be in flight afterwards.
    #[inline(never)]
    pub(super) fn statement(
        &mut self,
        command: Command,
        first: ExprIndex,
        count: usize,
        site: SiteId,
    ) -> Result<(), EarlyEnd> {
        let ready = match self.prepared_arguments() {
            Readiness::InPlace(number) => Ready::Prepared(number),
            readiness => {
                if let CommandByClass::Language(command) = command.by_class() {
                    return self.language_command(command, (first, count), site).map(drop);
                }
                self.ready(readiness, command, (first, count))?
            }
        };
        let reply = match ready.arguments(&self.prepared, &self.arguments) {
            Ok(arguments) => self.machine.statement(command, site, arguments),
            Err(errno) => {
                self.machine.untried(site, errno);
                StatementReply { errno, ..StatementReply::default() }
            }
        };
        self.errno = i64::from(reply.errno);
        self.bytes = reply.bytes as i64;
        if reply.errno != 0 || (self.expected.is_some() && !reply.started) {
            self.judge((command, first), site, reply, ready)?;
        }
        Ok(())
    }

    /// Executes a command whose value is needed. `alone`: it is all that is assigned at the current step; others may come
    /// several times in one step.
    pub(super) fn command(&mut self, call: CompiledCall, alone: bool) -> Result<Reply, EarlyEnd> {
        let (command, first, count) = (call.command(), call.first, call.count as usize);
        let readiness = if alone { self.prepared_arguments() } else { Readiness::Unevaluated };
        let ready = match readiness {
            Readiness::InPlace(number) => Ready::Prepared(number),
            readiness => {
                if let CommandByClass::Language(command) = command.by_class() {
                    return self.language_command(command, (first, count), call.site);
                }
                self.ready(readiness, command, (first, count))?
            }
        };
        let reply = match ready.arguments(&self.prepared, &self.arguments) {
            Ok(arguments) => self.machine.command_now(command, call.site, arguments),
            Err(errno) => {
                self.machine.untried(call.site, errno);
                Reply::failed(errno)
            }
        };
        self.errno = i64::from(reply.errno);
        self.bytes = reply.bytes as i64;
        if reply.errno != 0 || (self.expected.is_some() && !reply.started) {
            self.judge((command, first), call.site, StatementReply::from(&reply), ready)?;
        }
        Ok(reply)
    }

    /// Puts the arguments of the statement at the current step in their places, if it was prepared.
    #[inline(always)]
    fn prepared_arguments(&mut self) -> Readiness {
        let sources = ValueSources {
            variables: &self.variables,
            locals: &self.locals,
            base: self.base,
            rank: self.rank,
            random: &mut self.random,
        };
        self.prepared.arguments(self.step, sources)
    }

    /// Evaluates the arguments of a command that is not prepared, and prepares it for the next time where that was due.
    #[inline(always)]
    fn ready(
        &mut self,
        readiness: Readiness,
        command: Command,
        (first, count): (ExprIndex, usize),
    ) -> Result<Ready, EarlyEnd> {
        if readiness == Readiness::Again {
            self.prepared.prepare(self.code, self.step, command, (first, count));
        }
        Ok(match self.evaluate_arguments(command, first, count)? {
            0 => Ready::Evaluated,
            errno => Ready::Refused(errno),
        })
    }

    /// Evaluates the arguments of a command and renders its paths. The errno with which it is refused, or 0.
    #[inline(always)]
    fn evaluate_arguments(
        &mut self,
        command: Command,
        first: ExprIndex,
        count: usize,
    ) -> Result<i32, EarlyEnd> {
        self.arguments.clear();
        let mut refused = 0;
        let code = self.code;
        let given = &code.exprs[first as usize..first as usize + count];
        for (index, (spec, expr)) in command.spec().arguments.iter().zip(given).enumerate() {
            let argument = match self.quick_argument(spec, *expr) {
                Some(argument) => argument,
                None => self.argument(command, index, first + index as u32, &mut refused)?,
            };
            self.arguments.set(index, argument);
        }
        self.arguments.count = count.min(arguments::MAX);
        Ok(refused)
    }

    /// Executes a command of the interpreter itself: no sample, no errno.
    fn language_command(
        &mut self,
        command: LanguageCommand,
        (first, count): (ExprIndex, usize),
        site: SiteId,
    ) -> Result<Reply, EarlyEnd> {
        match command {
            LanguageCommand::Print => self.print(first, count),
            LanguageCommand::Sleep => {
                let value = self.value(first)?;
                let microseconds =
                    match value {
                        Value::Duration(_) => None,
                        _ => Some(value.integer().ok_or_else(|| {
                            self.fault(format!("`sleep` needs a time, not {}", value.kind()))
                        })?),
                    };
                let ns = match (microseconds, value) {
                    (Some(count), _) => count.checked_mul(1000).ok_or_else(|| {
                        self.fault(format!(
                            "`sleep` cannot wait {count} µs: that exceeds the longest time, 292 years"
                        ))
                    })?,
                    (None, Value::Duration(ns)) => ns,
                    (None, _) => 0,
                };
                let ns = self.not_negative(ns, "`sleep`")?;
                self.machine.wait(ns, Wait::Sleep);
                Ok(Reply::done())
            }
            LanguageCommand::Signal => {
                let name = self.value(first)?.to_string();
                self.machine.signal(&name).map_err(Box::new)?;
                Ok(Reply::done())
            }
            LanguageCommand::Await => {
                let name = self.value(first)?.to_string();
                let times = if count > 1 { self.integer(first + 1, "the count of `await`")? } else { 1 };
                self.machine.await_signal(&name, u64::try_from(times).unwrap_or(0)).map_err(Box::new)?;
                Ok(Reply::done())
            }
            LanguageCommand::Largest => {
                let number = self.integer(first, "the number of `largest`")?;
                let group = self.plan.site(site).group;
                // Numbers below 0 come before the others.
                let brought = number.cast_unsigned() ^ (1 << 63);
                let largest = self.machine.largest(self.step, site, group, brought).map_err(Box::new)?;
                Ok(Reply::value(Value::Int((largest ^ (1 << 63)).cast_signed())))
            }
            LanguageCommand::Glob => {
                let pattern = self.value(first)?.to_string();
                let names =
                    self.machine.glob(&pattern).into_iter().map(|name| Value::Text(name.into())).collect();
                Ok(Reply::value(Value::List(std::sync::Arc::new(names))))
            }
        }
    }

    /// Handles a command that failed or was expected to.
    #[cold]
    fn judge(
        &mut self,
        (command, first): (Command, ExprIndex),
        site: SiteId,
        reply: StatementReply,
        ready: Ready,
    ) -> Result<(), EarlyEnd> {
        let arguments = ready.arguments(&self.prepared, &self.arguments).unwrap_or(&self.arguments);
        let no_file = |index: usize| match (arguments.int(index), arguments.file(index)) {
            (Some(held), None) => {
                Some((spell(self.code, first + index as u32, false, &|_| "the variable".into()), held))
            }
            _ => None,
        };
        let mut files = std::iter::once(0).chain(command.spec().files().skip_while(|index| *index == 0));
        let no_file = if reply.errno == EBADF { files.find_map(no_file) } else { None };
        let (errno, bytes) = (reply.errno, reply.bytes);
        let refused = Some(std::mem::take(&mut self.refused)).filter(|why| !why.is_empty());
        let failure = Failure { site, command, arguments, errno, bytes, no_file, refused };
        match self.expected {
            Some(wanted) if wanted == reply.errno => self.machine.expected(&failure),
            Some(wanted) => self.machine.unexpected(&failure, wanted),
            None => self.machine.failed(&failure),
        }
        if self.stop_on_error && self.expected != Some(reply.errno) {
            return Err(Box::new(Halt::CommandFailed(site)));
        }
        Ok(())
    }

    /// An open file or an integer within its bounds, from a variable, a number or operators of these. All that is
    /// frequent; `None` for the rest.
    #[inline(always)]
    fn quick_argument(&self, argument: &ArgumentSpec, expr: Expr) -> Option<Argument> {
        let Some((least, most)) = argument.bounds else {
            return match expr {
                Expr::Slot(slot) if matches!(argument.kind, Kind::File | Kind::PathOrFile) => {
                    match self.slot(slot) {
                        Value::File(file) => Some(Argument::File(*file)),
                        _ => None,
                    }
                }
                _ => None,
            };
        };
        let number = self.quick_operand(expr)?;
        (least <= number && number <= most).then_some(Argument::Int(number))
    }

    #[inline(never)]
    fn argument(
        &mut self,
        command: Command,
        index: usize,
        expr: ExprIndex,
        refused: &mut i32,
    ) -> Result<Argument, EarlyEnd> {
        let kind = command.spec().arguments[index].kind;
        if kind == Kind::Whence {
            return self.position(command, index, expr, refused);
        }
        if kind == Kind::PathOrFile {
            return match self.code.exprs[expr as usize] {
                Expr::Text(_) | Expr::Template(_) => self.text_argument(expr),
                _ => Ok(match self.value(expr)? {
                    Value::File(file) => Argument::File(file),
                    // What an open gave that failed.
                    Value::Int(value @ ..0) => {
                        *refused = EBADF;
                        Argument::Int(value)
                    }
                    name => {
                        let start = self.arguments.text.len();
                        name.render(&mut self.arguments.text);
                        self.arguments.end_text(start)
                    }
                }),
            };
        }
        if kind.is_text() && !matches!(kind, Kind::Pattern | Kind::Group) {
            return self.text_argument(expr);
        }
        if let Some((least, most)) = kind.bounds()
            && let Some(number) = self.quick_integer(expr)
        {
            if number < least || number > most {
                *refused = self.refuse(command, index, &Value::Int(number));
            }
            return Ok(Argument::Int(number));
        }
        let value = self.value(expr)?;
        Ok(match (kind, value) {
            (Kind::File, Value::File(file)) => Argument::File(file),
            (Kind::Buffer | Kind::BytesOrBuffer, Value::Buffer(buffer)) => Argument::Buffer(buffer),
            (Kind::File | Kind::Buffer, Value::Int(value)) => {
                *refused = EBADF;
                Argument::Int(value)
            }
            (Kind::Group | Kind::Pattern, Value::Int(value)) => Argument::Int(value),
            (Kind::Pattern, Value::Text(name)) => {
                match self.plan.patterns.iter().position(|pattern| pattern.name == name.trim()) {
                    Some(at) => Argument::Int(at as i64),
                    None => return Err(self.fault(format!("unknown pattern \"{name}\""))),
                }
            }
            (kind, value @ (Value::Int(_) | Value::Text(_) | Value::Float(_))) => match kind.bounds() {
                Some(bounds) => self.amount(command, index, &value, bounds, refused)?,
                None => return Err(self.wrong(command, index, &value)),
            },
            (_, value) => return Err(self.wrong(command, index, &value)),
        })
    }

    /// From where an offset counts: one of the three names, or a number of the system.
    fn position(
        &mut self,
        command: Command,
        index: usize,
        expr: ExprIndex,
        refused: &mut i32,
    ) -> Result<Argument, EarlyEnd> {
        let start = self.arguments.text.len();
        let argument = self.text_argument(expr)?;
        let end = self.arguments.text.len() - 1;
        let word = String::from_utf8_lossy(&self.arguments.text[start..end]).into_owned();
        let is_known =
            matches!(word.as_str(), "" | "SEEK_SET" | "SEEK_CUR" | "SEEK_END") || word.parse::<i32>().is_ok();
        if !is_known {
            *refused = self.refuse(command, index, &Value::Text(word.as_str().into()));
        }
        Ok(argument)
    }

    /// An integer within bounds; the fraction of a float is cut off. What is beyond them fails with EINVAL.
    fn amount(
        &mut self,
        command: Command,
        index: usize,
        value: &Value,
        (least, most): (i64, i64),
        refused: &mut i32,
    ) -> Result<Argument, EarlyEnd> {
        let Some(number) = value.float() else { return Err(self.wrong(command, index, value)) };
        // -0.5 is below 0, although its truncated value is not.
        let inside = value.integer().filter(|whole| (least..=most).contains(whole) && number >= least as f64);
        Ok(Argument::Int(match inside {
            Some(whole) => whole,
            None => {
                *refused = self.refuse(command, index, value);
                value.integer().unwrap_or(-1)
            }
        }))
    }

    /// Records why a command is not executed, and returns the errno.
    #[cold]
    fn refuse(&mut self, command: Command, index: usize, value: &Value) -> i32 {
        let argument = &command.spec().arguments[index];
        self.refused =
            format!("`{}` must be {}, not {value}", argument.name, argument.kind.bounds_in_words());
        EINVAL
    }

    /// Renders a string into the buffer of the arguments.
    fn text_argument(&mut self, expr: ExprIndex) -> Result<Argument, EarlyEnd> {
        let code = self.code;
        let start = self.arguments.text.len();
        match code.exprs[expr as usize] {
            Expr::Text(at) => self.arguments.text.extend_from_slice(code.text(at).as_bytes()),
            Expr::Template(at) => {
                // The buffer is moved out for the rendering, which copies three words.
                let mut text = std::mem::take(&mut self.arguments.text);
                let result = self.render(code.templates[at as usize], &mut text);
                self.arguments.text = text;
                result?;
            }
            _ => {
                let value = self.value(expr)?;
                value.render(&mut self.arguments.text);
            }
        }
        Ok(self.arguments.end_text(start))
    }

    #[cold]
    fn wrong(&self, command: Command, index: usize, value: &Value) -> EarlyEnd {
        let argument = &command.spec().arguments[index];
        self.fault(format!(
            "`{}` of `{}` must be {}, not {}",
            argument.name,
            command.name(),
            argument.kind.name(),
            value.kind()
        ))
    }

    fn print(&mut self, first: ExprIndex, count: usize) -> Result<Reply, EarlyEnd> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        for index in 0..count {
            if index > 0 {
                text.push(b' ');
            }
            self.render_value(first + index as u32, &mut text)?;
        }
        self.machine.print(&String::from_utf8_lossy(&text));
        self.text = text;
        Ok(Reply::done())
    }
}
