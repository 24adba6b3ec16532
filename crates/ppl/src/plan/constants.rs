//! Evaluates constant expressions with the values of parameters.

use crate::arithmetic;
use crate::code::{Builtin, Code, Expr, ExprIndex, Piece};
use crate::value::Value;

/// The values that a constant expression may refer to.
pub(super) struct ConstantScope<'a> {
    pub code: &'a Code,
    pub variables: &'a [Value],
    pub environment: &'a [String],
    pub ranks: u32,
    /// The rank for which it is evaluated, where it may depend on that.
    pub place: Option<Place>,
}

/// A rank of a group.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Among all.
    pub rank: u32,
    /// In its group.
    pub place: u32,
    /// Of the group.
    pub ranks: u32,
}

impl ConstantScope<'_> {
    /// Evaluates an expression that the checker found to be constant.
    pub fn value(&self, index: ExprIndex) -> Result<Value, String> {
        let code = self.code;
        Ok(match code.exprs[index as usize] {
            Expr::Int(value) => Value::Int(i64::from(value)),
            Expr::Constant(at) => code.constants[at as usize].clone(),
            Expr::Text(at) => Value::Text(code.text(at).into()),
            Expr::Template(at) => {
                let template = code.templates[at as usize];
                let mut out = Vec::new();
                for piece in &code.pieces[template.first as usize..][..template.count as usize] {
                    match piece {
                        Piece::Text(at) => out.extend_from_slice(code.text(*at).as_bytes()),
                        Piece::Slot(slot) => self.variables[slot.0 as usize].render(&mut out),
                        Piece::Environment(at) => {
                            out.extend_from_slice(self.environment[*at as usize].as_bytes())
                        }
                        Piece::Builtin(Builtin::Size) => Value::Int(i64::from(self.ranks)).render(&mut out),
                        Piece::Builtin(_) => return Err("the string is not constant".into()),
                    }
                }
                Value::Text(String::from_utf8_lossy(&out).into())
            }
            Expr::Slot(slot) => self.variables.get(slot.0 as usize).cloned().unwrap_or_default(),
            Expr::Builtin(Builtin::Size) => Value::Int(i64::from(self.ranks)),
            Expr::Environment(at) => Value::Text(self.environment[at as usize].as_str().into()),
            Expr::Unary(op, inner) => arithmetic::unary(op, &self.value(inner)?)?,
            Expr::Binary(op, first) => {
                arithmetic::binary(op, &self.value(first)?, &self.value(first + 1)?, code.classic)?
            }
            Expr::Choice(first) => {
                self.value(if self.value(first)?.truth() { first + 1 } else { first + 2 })?
            }
            Expr::Function(at) => {
                let call = code.calls[at as usize];
                let values = self.list(call.first, call.count)?;
                arithmetic::function(call.function(), &values)
                    .unwrap_or(Err("the function is not constant".into()))?
            }
            Expr::List(at) => {
                let call = code.calls[at as usize];
                Value::List(std::sync::Arc::new(self.list(call.first, call.count)?))
            }
            Expr::Index(first) => match (self.value(first)?, self.value(first + 1)?.integer()) {
                (Value::List(items), Some(at)) if at >= 0 && (at as usize) < items.len() => {
                    items[at as usize].clone()
                }
                _ => return Err("there is no such item in the list".into()),
            },
            Expr::Builtin(Builtin::Rank) if self.place.is_some() => {
                Value::Int(self.place.map_or(0, |place| place.rank.into()))
            }
            Expr::Builtin(Builtin::GroupRank) if self.place.is_some() => {
                Value::Int(self.place.map_or(0, |place| place.place.into()))
            }
            Expr::Builtin(_) | Expr::Command(_) | Expr::Call(_) => {
                return Err("the expression is not constant".into());
            }
        })
    }

    fn list(&self, first: ExprIndex, count: u32) -> Result<Vec<Value>, String> {
        (first..first + count).map(|at| self.value(at)).collect()
    }
}
