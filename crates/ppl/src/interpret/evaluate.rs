//! Evaluates expressions.

use std::sync::Arc;

use crate::arithmetic;
use crate::claim::{self, Asked};
use crate::code::{Builtin, CompiledCall, Expr, ExprIndex, Piece, Slot, Template, spell};
use crate::commands::Function;
use crate::quantity::{self, Quantity};
use crate::shuffled::shuffled;
use crate::syntax::BinaryOp;
use crate::value::{LONGEST_TEXT, MAX_LIST_DEPTH, TOO_LONG, Value, integer};

use super::interpreter::{EarlyEnd, Interpreter, stack_position};
use super::machine::Machine;

/// The largest depth of function calls,
const MAX_CALLS: u32 = 200;
/// and the largest stack they may use, in bytes: threads have 2 MiB.
const MAX_STACK: usize = 512 << 10;

impl<M: Machine> Interpreter<'_, M> {
    /// Evaluates an expression.
    #[inline]
    pub(super) fn value(&mut self, index: ExprIndex) -> Result<Value, EarlyEnd> {
        match self.code.exprs[index as usize] {
            Expr::Int(value) => Ok(Value::Int(i64::from(value))),
            Expr::Slot(slot) => match self.slot(slot) {
                Value::Int(value) => Ok(Value::Int(*value)),
                Value::Unset => Err(self.unset(slot)),
                other => Ok(other.clone()),
            },
            Expr::Binary(op, first) => self.binary(op, first),
            other => self.other(other),
        }
    }

    /// The value of an expression of integers, integer variables and operators only; `None` for any other.
    /// Most assignments, counts and conditions are of this form and avoid moving a [`Value`].
    #[inline(always)]
    pub(super) fn quick_integer(&self, index: ExprIndex) -> Option<i64> {
        self.quick_operand(self.code.exprs[index as usize])
    }

    #[inline(always)]
    pub(super) fn quick_operand(&self, operand: Expr) -> Option<i64> {
        match operand {
            Expr::Int(value) => Some(i64::from(value)),
            Expr::Slot(slot) => match self.slot(slot) {
                Value::Int(value) => Some(*value),
                _ => None,
            },
            Expr::Binary(op, first) => self.quick_binary(op, first),
            Expr::Index(first) => match self.quick_item(first) {
                Some(Value::Int(value)) => Some(*value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The nanoseconds of an expression of times, numbers, variables and operators only; `None` for any other.
    pub(super) fn quick_time(&self, index: ExprIndex) -> Option<i64> {
        match self.quick_quantity(self.code.exprs[index as usize])? {
            Quantity::Duration(ns) => Some(ns),
            Quantity::Int(_) | Quantity::Float(_) => None,
        }
    }

    fn quick_quantity(&self, operand: Expr) -> Option<Quantity> {
        match operand {
            Expr::Int(value) => Some(Quantity::Int(i64::from(value))),
            Expr::Slot(slot) => Quantity::of(self.slot(slot)),
            Expr::Constant(at) => Quantity::of(self.code.constants.get(at as usize)?),
            Expr::Index(first) => Quantity::of(self.quick_item(first)?),
            Expr::Binary(op, first) => {
                let [left, right] = *self.code.exprs[first as usize..].first_chunk()?;
                quantity::quantities(op, self.quick_quantity(left)?, self.quick_quantity(right)?)
            }
            _ => None,
        }
    }

    /// The item of a list in a variable whose index [`Interpreter::quick_operand`] knows, without a copy of the list.
    #[inline(never)]
    fn quick_item(&self, first: ExprIndex) -> Option<&Value> {
        let [list, index] = *self.code.exprs[first as usize..].first_chunk()?;
        let (Expr::Slot(slot), at) = (list, self.quick_operand(index)?) else { return None };
        match self.slot(slot) {
            Value::List(items) => items.get(usize::try_from(at).ok()?),
            _ => None,
        }
    }

    #[inline(never)]
    fn quick_binary(&self, op: BinaryOp, first: ExprIndex) -> Option<i64> {
        // Both sides are evaluated, which for `&&` and `||` gives the same value without side effects.
        let [left, right] = *self.code.exprs[first as usize..].first_chunk()?;
        quantity::integers(op, self.quick_operand(left)?, self.quick_operand(right)?)
    }

    fn binary(&mut self, op: BinaryOp, first: ExprIndex) -> Result<Value, EarlyEnd> {
        let left = self.value(first)?;
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let truth = left.truth();
            if truth == (op == BinaryOp::Or) {
                return Ok(Value::Int(i64::from(truth)));
            }
            return Ok(Value::Int(i64::from(self.value(first + 1)?.truth())));
        }
        let right = self.value(first + 1)?;
        if let (Value::Int(a), Value::Int(b)) = (&left, &right)
            && let Some(value) = quantity::integers(op, *a, *b)
        {
            return Ok(Value::Int(value));
        }
        if let (Some(a), Some(b)) = (Quantity::of(&left), Quantity::of(&right))
            && let Some(quantity) = quantity::quantities(op, a, b)
        {
            return Ok(quantity.into());
        }
        self.slow_binary(op, first, &left, &right)
    }

    /// A binary operator on other values, or without an integer result.
    #[cold]
    #[inline(never)]
    fn slow_binary(
        &mut self,
        op: BinaryOp,
        first: ExprIndex,
        left: &Value,
        right: &Value,
    ) -> Result<Value, EarlyEnd> {
        arithmetic::binary(op, left, right, self.code.classic).map_err(|error| {
            let local = |slot| self.slot(slot).to_string();
            let spelled = [first, first + 1].map(|at| spell(self.code, at, true, &local));
            // If the operands are literal numbers, the message already names them.
            if error.operands().as_ref() == Some(&spelled) {
                return self.fault(error);
            }
            let [left, right] = spelled;
            self.fault(format!("`{left} {} {right}`: {error}", op.sign()))
        })
    }

    #[cold]
    fn unset(&self, slot: Slot) -> EarlyEnd {
        let name = if slot.0 & Slot::LOCAL == 0 {
            format!("`${}`", self.code.variables[slot.0 as usize])
        } else {
            "a variable of the function".into()
        };
        self.fault(format!("{name} has no value yet"))
    }

    fn other(&mut self, expr: Expr) -> Result<Value, EarlyEnd> {
        let code = self.code;
        Ok(match expr {
            Expr::Int(value) => Value::Int(i64::from(value)),
            Expr::Slot(slot) => self.slot(slot).clone(),
            Expr::Binary(op, first) => self.binary(op, first)?,
            Expr::Constant(at) => code.constants[at as usize].clone(),
            Expr::Text(at) => Value::Text(code.text(at).into()),
            Expr::Template(at) => {
                let mut out = Vec::new();
                self.render(code.templates[at as usize], &mut out)?;
                Value::Text(String::from_utf8_lossy(&out).into())
            }
            Expr::Builtin(builtin) => self.builtin(builtin),
            Expr::Environment(at) => Value::Text(self.plan.environment[at as usize].as_str().into()),
            Expr::Unary(op, inner) => {
                let inner = self.value(inner)?;
                arithmetic::unary(op, &inner).map_err(|message| self.fault(message))?
            }
            Expr::Choice(first) => {
                let chosen = if self.value(first)?.truth() { first + 1 } else { first + 2 };
                self.value(chosen)?
            }
            Expr::Command(at) => {
                // A command among the arguments of another command must not overwrite them.
                let outer = std::mem::take(&mut self.arguments);
                let result = self.command_value(code.calls[at as usize], false);
                self.arguments = outer;
                result?
            }
            Expr::Function(at) => self.function(code.calls[at as usize])?,
            Expr::Call(at) => {
                let outer = std::mem::take(&mut self.arguments);
                let result = self.procedure(code.calls[at as usize]);
                self.arguments = outer;
                result?
            }
            Expr::List(at) => {
                let call = code.calls[at as usize];
                let items = self.values(call)?;
                if items.iter().any(|item| item.is_deeper_than(MAX_LIST_DEPTH - 1)) {
                    return Err(self.fault(format!("lists are nested more than {MAX_LIST_DEPTH} deep")));
                }
                Value::List(Arc::new(items))
            }
            Expr::Index(first) => {
                if let Some(item) = self.quick_item(first) {
                    return Ok(item.clone());
                }
                let list = self.value(first)?;
                let index = self.value(first + 1)?;
                let Value::List(items) = &list else {
                    return Err(self.fault(format!("{} has no items", list.kind())));
                };
                match index.integer() {
                    Some(at) if at >= 0 && (at as usize) < items.len() => items[at as usize].clone(),
                    _ => {
                        let message = format!("there is no item {index} in a list of {}", items.len());
                        return Err(self.fault(message));
                    }
                }
            }
        })
    }

    fn values(&mut self, call: CompiledCall) -> Result<Vec<Value>, EarlyEnd> {
        (call.first..call.first + call.count).map(|index| self.value(index)).collect()
    }

    /// Executes a command and returns its value. `alone`: as for [`Interpreter::command`].
    pub(super) fn command_value(&mut self, call: CompiledCall, alone: bool) -> Result<Value, EarlyEnd> {
        let reply = self.command(call, alone)?;
        Ok(match reply.value {
            Value::Unset if reply.errno != 0 => Value::Int(-i64::from(reply.errno)),
            Value::Unset => Value::Int(reply.bytes as i64),
            value => value,
        })
    }

    pub(super) fn builtin(&mut self, builtin: Builtin) -> Value {
        match builtin {
            Builtin::Rank => Value::Int(i64::from(self.rank)),
            Builtin::Size => Value::Int(i64::from(self.plan.ranks)),
            Builtin::Group => Value::Text(self.plan.groups[self.group].name.as_str().into()),
            Builtin::GroupRank => {
                Value::Int(self.plan.groups[self.group].place(self.rank).map_or(-1, i64::from))
            }
            Builtin::Time => Value::Duration(self.machine.now_ns() as i64),
            Builtin::Errno => Value::Int(self.errno),
            Builtin::Bytes => Value::Int(self.bytes),
            Builtin::Rand => Value::Int((self.random.bits() >> 1) as i64),
            Builtin::CommonRand => Value::Int((self.common.bits() >> 1) as i64),
            Builtin::Worker => Value::Int(i64::from(self.worker)),
            Builtin::Run => Value::Text(self.machine.run_name().as_str().into()),
        }
    }

    /// Renders a string with its variables substituted, up to the maximum size.
    #[inline]
    pub(super) fn render(&mut self, template: Template, out: &mut Vec<u8>) -> Result<(), EarlyEnd> {
        let code = self.code;
        let begin = out.len();
        for piece in &code.pieces[template.first as usize..(template.first + template.count) as usize] {
            match *piece {
                Piece::Text(at) => out.extend_from_slice(code.text(at).as_bytes()),
                Piece::Slot(slot) => match self.slot(slot) {
                    Value::Int(value) => integer(*value, out),
                    Value::Text(text) => {
                        out.extend_from_slice(text.as_bytes());
                        if out.len() - begin > LONGEST_TEXT {
                            return Err(self.fault(TOO_LONG));
                        }
                    }
                    Value::Unset => return Err(self.unset(slot)),
                    other => other.render(out),
                },
                Piece::Builtin(Builtin::Rank) => integer(i64::from(self.rank), out),
                Piece::Builtin(builtin) => self.builtin(builtin).render(out),
                Piece::Environment(at) => {
                    out.extend_from_slice(self.plan.environment[at as usize].as_bytes())
                }
            }
        }
        Ok(())
    }

    /// Renders the value of an expression as in a string.
    pub(super) fn render_value(&mut self, index: ExprIndex, out: &mut Vec<u8>) -> Result<(), EarlyEnd> {
        let code = self.code;
        match code.exprs[index as usize] {
            Expr::Text(at) => out.extend_from_slice(code.text(at).as_bytes()),
            Expr::Template(at) => self.render(code.templates[at as usize], out)?,
            _ => self.value(index)?.render(out),
        }
        Ok(())
    }

    /// Calls a function of the program.
    pub(super) fn procedure(&mut self, call: CompiledCall) -> Result<Value, EarlyEnd> {
        let code = self.code;
        let procedure = &code.procedures[call.target as usize];
        if self.calls >= MAX_CALLS || self.stack.abs_diff(stack_position()) > MAX_STACK {
            return Err(
                self.fault(format!("`{}` calls itself more than {} deep", procedure.name, self.calls))
            );
        }
        // Recursive functions can take as long as a loop.
        if let Some(stop) = self.machine.interrupted() {
            return Err(Box::new(stop));
        }
        let new_base = self.locals.len();
        for index in call.first..call.first + call.count {
            let value = self.value(index)?;
            self.locals.push(value);
        }
        self.locals.resize(new_base + procedure.locals as usize, Value::Unset);
        let old_base = std::mem::replace(&mut self.base, new_base);
        let step = self.step;
        self.calls += 1;
        // A function ends as a whole: its value is asked for.
        let outer_end = std::mem::replace(&mut self.ends_at, u64::MAX);
        let result = self.block(procedure.body);
        self.ends_at = outer_end;
        self.calls -= 1;
        self.step = step;
        self.base = old_base;
        self.locals.truncate(new_base);
        result?;
        Ok(std::mem::replace(&mut self.returned, Value::Int(0)))
    }

    fn float(&mut self, value: &Value, what: &str) -> Result<f64, EarlyEnd> {
        match value.float() {
            Some(number) if number.is_finite() => Ok(number),
            _ => Err(self.fault(format!("{what} needs numbers, not {}", value.kind()))),
        }
    }

    fn function(&mut self, call: CompiledCall) -> Result<Value, EarlyEnd> {
        let function = call.function();
        if function == Function::Digits
            && let (Some(number), Some(width)) =
                (self.quick_integer(call.first), self.quick_integer(call.first + 1))
        {
            return quantity::digits(number, width).map_err(|message| self.fault(message));
        }
        if function == Function::Shuffled
            && let Some(place) = self.quick_integer(call.first)
            && let (Some(limit), Some(key)) =
                (self.quick_integer(call.first + 1), self.quick_integer(call.first + 2))
        {
            return shuffled(place, limit, key).map(Value::Int).map_err(|message| self.fault(message));
        }
        if function == Function::Empirical
            && let Expr::List(list) = self.code.exprs[call.first as usize]
        {
            let list = self.code.calls[list as usize];
            let items = &self.code.exprs[list.first as usize..(list.first + list.count) as usize];
            // Of constants only the drawn one is looked at.
            if !items.is_empty() && items.iter().all(|item| matches!(item, Expr::Int(_) | Expr::Constant(_)))
            {
                let at = self.random.below(items.len() as u64) as u32;
                return self.value(list.first + at);
            }
        }
        let values = self.values(call)?;
        if let Some(result) = arithmetic::function(function, &values) {
            return result.map_err(|message| self.fault(message));
        }
        let name = function.spec().name;
        if let Some(asked) = claim::asked(function, &values) {
            let Asked::Samples { statistic, times, name } = asked.map_err(|message| self.fault(message))?
            else {
                return Err(self.fault("this quantity is known when the run ends; a function of the program or a command cannot take it"));
            };
            let found = self.machine.statistic(&name, statistic, times);
            return claim::statistic_value(statistic, found)
                .ok_or_else(|| self.fault(format!("no sample of \"{name}\" has succeeded yet")));
        }
        if let (Function::Empirical, Value::List(items)) = (function, &values[0]) {
            if items.is_empty() {
                return Err(self.fault("`empirical` needs a list with at least one item"));
            }
            let at = self.random.below(items.len() as u64) as usize;
            return Ok(items[at].clone());
        }
        if let (Function::Uniform, Value::Int(from), Value::Int(to)) =
            (function, &values[0], values.get(1).unwrap_or(&Value::Unset))
        {
            if to <= from {
                return Err(self.fault(format!("`uniform({from}, {to})` has an empty range")));
            }
            let width = to.wrapping_sub(*from) as u64;
            return Ok(Value::Int(from.wrapping_add(self.random.below(width) as i64)));
        }
        if matches!(function, Function::Unused | Function::Use) {
            let numbers: Option<Vec<i64>> = values.iter().map(Value::integer).collect();
            let done = match numbers.as_deref() {
                Some(&[blocks, key]) => self.maps.free(key, blocks, &mut self.random),
                Some(&[first, count, blocks, key]) => self.maps.take(key, blocks, (first, count)),
                _ => Err(format!("`{name}` needs integers")),
            };
            return done.map(Value::Int).map_err(|message| self.fault(message));
        }
        let mut numbers = [0.0; 3];
        for (number, value) in numbers.iter_mut().zip(&values) {
            *number = self.float(value, name)?;
        }
        let drawn = self.draw(function, numbers).map_err(|message| self.fault(message))?;
        // If an argument is a time, the result is a time.
        let time = values.iter().any(|value| matches!(value, Value::Duration(_)));
        match drawn {
            Value::Float(number) if !number.is_finite() => {
                Err(self.fault(format!("`{name}` drew a number that exceeds the largest float")))
            }
            Value::Float(seconds) if time => match Value::Float((seconds * 1e9).round()).integer() {
                Some(ns) => Ok(Value::Duration(ns)),
                None => Err(self.fault(format!(
                    "`{name}` drew {seconds:.3e} s, which exceeds the longest time, 292 years"
                ))),
            },
            drawn => Ok(drawn),
        }
    }

    /// Draws a random number of the distribution of `function`.
    fn draw(&mut self, function: Function, [a, b, c]: [f64; 3]) -> Result<Value, String> {
        let name = function.spec().name;
        let require =
            |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("`{name}` needs {what}")) };
        Ok(Value::Float(match function {
            Function::Uniform => {
                require(b > a, "its second argument above its first")?;
                a + (b - a) * self.random.unit()
            }
            Function::Zipf => {
                require(a >= 1.0 && b >= 0.0, "at least one item and an exponent of 0 or more")?;
                require(a < i64::MAX as f64, "a number of items that fits an integer")?;
                return Ok(Value::Int(self.random.zipf(a as u64, b) as i64));
            }
            Function::Normal => {
                require(b >= 0.0, "a standard deviation of 0 or more")?;
                a + b * self.random.normal()
            }
            Function::Exp => {
                require(a >= 0.0, "a mean of 0 or more")?;
                self.random.exponential(a)
            }
            Function::Pareto => {
                require(a > 0.0 && b > 0.0, "a shape and a least value above 0")?;
                self.random.pareto(a, b)
            }
            Function::Gev => {
                require(b > 0.0, "a scale above 0")?;
                self.random.gev(a, b, c)
            }
            Function::Empirical => return Err(format!("`{name}` needs a list")),
            // Pure functions and statistics are evaluated elsewhere.
            other => return Err(format!("`{}` draws nothing", other.spec().name)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// What is quick is what the operator does.
        #[test]
        fn quantities_are_calculated_as_values(
            kinds in (0..3_u8, 0..3_u8),
            numbers in (proptest::num::i64::ANY, proptest::num::i64::ANY),
            shifts in (0..64_u32, 0..64_u32),
            operator in 0..14_usize,
        ) {
            use BinaryOp as Op;
            let op = [
                Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::Modulo, Op::Power, Op::Equal, Op::NotEqual,
                Op::Less, Op::AtMost, Op::Greater, Op::AtLeast, Op::And, Op::Or,
            ][operator];
            let value = |kind: u8, number: i64| match kind {
                0 => Value::Int(number),
                1 => Value::Float(number as f64 / 7.0),
                _ => Value::Duration(number),
            };
            let (a, b) = (value(kinds.0, numbers.0 >> shifts.0), value(kinds.1, numbers.1 >> shifts.1));
            let (Some(x), Some(y)) = (Quantity::of(&a), Quantity::of(&b)) else { unreachable!() };
            if let Some(quick) = quantity::quantities(op, x, y) {
                let slow = arithmetic::binary(op, &a, &b, false).map(|value| Quantity::of(&value));
                proptest::prop_assert_eq!(slow, Ok(Some(quick)));
            }
        }
    }
}
