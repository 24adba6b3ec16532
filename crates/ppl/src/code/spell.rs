//! Formats an expression as program text, for messages.

use crate::commands::{Command, Function};
use crate::condition::{Compared, Scope, estimate_of};
use crate::syntax::UnaryOp;
use crate::value::Value;

use super::{Builtin, Code, Expr, ExprIndex, Piece, Slot};

/// Longer expressions are truncated, since a message is one line.
const MOST: usize = 120;

/// Formats an expression as program text. Local variables have no names here: `local` returns a text for
/// them.
///
/// `inner`: as an operand, in parentheses if it has operands itself.
pub(crate) fn spell(code: &Code, index: ExprIndex, inner: bool, local: &dyn Fn(Slot) -> String) -> String {
    let mut out = String::new();
    Speller { code, local }.write(index, inner, &mut out);
    if let Some((cut, _)) = out.char_indices().nth(MOST) {
        out.truncate(cut);
        out.push('…');
    }
    out
}

struct Speller<'a> {
    code: &'a Code,
    local: &'a dyn Fn(Slot) -> String,
}

impl Speller<'_> {
    fn write(&self, index: ExprIndex, inner: bool, out: &mut String) {
        // The rest is truncated anyway.
        if out.len() > 8 * MOST {
            return;
        }
        let code = self.code;
        match code.exprs[index as usize] {
            Expr::Int(value) => *out += &value.to_string(),
            Expr::Constant(at) => match &code.constants[at as usize] {
                Value::Text(text) => *out += &format!("\"{text}\""),
                other => *out += &other.to_string(),
            },
            Expr::Text(at) => *out += &format!("\"{}\"", code.text(at)),
            Expr::Template(at) => self.template(at, out),
            Expr::Slot(slot) => self.slot(slot, out),
            Expr::Builtin(builtin) => *out += &format!("$${}", name(builtin)),
            Expr::Environment(at) => *out += &format!("$$env({})", self.environment(at)),
            Expr::Unary(op, operand) => {
                out.push(if op == UnaryOp::Negate { '-' } else { '!' });
                self.write(operand, true, out);
            }
            Expr::Binary(op, first) => {
                self.open(inner, out);
                self.write(first, true, out);
                *out += &format!(" {} ", op.sign());
                self.write(first + 1, true, out);
                self.close(inner, out);
            }
            Expr::Choice(first) => {
                self.open(inner, out);
                self.write(first, true, out);
                *out += " ? ";
                self.write(first + 1, true, out);
                *out += " : ";
                self.write(first + 2, true, out);
                self.close(inner, out);
            }
            Expr::Command(at) => self.call(Command::from_index(self.target(at)).name(), at, out),
            Expr::Function(at) if self.target(at) == Function::Estimate as usize => self.estimate(at, out),
            Expr::Function(at) => self.call(Function::from_index(self.target(at)).spec().name, at, out),
            Expr::Call(at) => self.call(&code.procedures[self.target(at)].name, at, out),
            Expr::List(at) => {
                let call = code.calls[at as usize];
                out.push('[');
                self.several(call.first, call.count, out);
                out.push(']');
            }
            Expr::Index(first) => {
                self.write(first, true, out);
                out.push('[');
                self.write(first + 1, false, out);
                out.push(']');
            }
        }
    }

    fn target(&self, call: u32) -> usize {
        self.code.calls[call as usize].target as usize
    }

    fn open(&self, inner: bool, out: &mut String) {
        if inner {
            out.push('(');
        }
    }

    fn close(&self, inner: bool, out: &mut String) {
        if inner {
            out.push(')');
        }
    }

    fn call(&self, name: &str, at: u32, out: &mut String) {
        let call = self.code.calls[at as usize];
        *out += name;
        out.push('(');
        self.several(call.first, call.count, out);
        out.push(')');
    }

    /// `p99`, `iops("read")`, `width(p99("read"))`
    fn estimate(&self, at: u32, out: &mut String) {
        let code = self.code;
        let call = code.calls[at as usize];
        let text = |at: ExprIndex| match code.exprs[at as usize] {
            Expr::Text(at) => code.text(at),
            _ => "",
        };
        let found = estimate_of(text(call.first), text(call.first + 1));
        let Some((quantity, _, scope)) = found else { return };
        if scope != Scope::Named {
            *out += &quantity.to_string();
            return;
        }
        let around = match quantity {
            Compared::Value(_) => "",
            Compared::Width(_) => "width(",
            Compared::EffectiveN(_) => "n_eff(",
        };
        *out += &format!("{around}{}(", quantity.estimate());
        self.write(call.first + 2, false, out);
        *out += if around.is_empty() { ")" } else { "))" };
    }

    fn several(&self, first: ExprIndex, count: u32, out: &mut String) {
        for index in first..first + count {
            if index > first {
                *out += ", ";
            }
            self.write(index, false, out);
        }
    }

    fn slot(&self, slot: Slot, out: &mut String) {
        if slot.0 & Slot::LOCAL == 0 {
            *out += &format!("${}", self.code.variables[slot.0 as usize]);
        } else {
            *out += &(self.local)(slot);
        }
    }

    fn environment(&self, at: u32) -> &str {
        self.code.environment.get(at as usize).map_or("…", |(name, _)| name)
    }

    fn template(&self, at: u32, out: &mut String) {
        let template = self.code.templates[at as usize];
        out.push('"');
        for piece in &self.code.pieces[template.first as usize..][..template.count as usize] {
            match *piece {
                Piece::Text(at) => *out += self.code.text(at),
                Piece::Slot(slot) => self.slot(slot, out),
                Piece::Builtin(builtin) => *out += &format!("$${}", name(builtin)),
                Piece::Environment(at) => *out += &format!("$$env({})", self.environment(at)),
            }
        }
        out.push('"');
    }
}

fn name(builtin: Builtin) -> &'static str {
    Builtin::ALL.iter().find(|(known, ..)| *known == builtin).map_or("", |(_, name, _)| name)
}
