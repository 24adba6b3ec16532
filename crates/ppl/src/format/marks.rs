//! What does the tree know of a token that the token alone does not tell?

use std::collections::HashMap;

use crate::syntax::{Form, Tag, Tree};

/// A minus or an exclamation mark before a value.
const UNARY: u8 = 1;
/// A word whose capitals mean something.
const KEPT: u8 = 2;
/// A name whose bracket follows at once.
const TIGHT: u8 = 4;

/// Properties of tokens, by where they begin.
pub(super) struct Marks(HashMap<u32, u8>);

impl Marks {
    pub fn of(tree: &Tree) -> Self {
        let mut marks: HashMap<u32, u8> = HashMap::new();
        for node in &tree.nodes {
            let mark = match node.tag {
                Tag::Unary => UNARY,
                Tag::Word => KEPT,
                Tag::CallCommand | Tag::CallFunction => TIGHT,
                Tag::CallNamed => TIGHT | KEPT,
                _ => continue,
            };
            *marks.entry(node.start).or_default() |= mark;
        }
        for row in &tree.rows {
            match row.form {
                Form::Command if row.flag == 1 => *marks.entry(row.start).or_default() |= TIGHT,
                Form::Barrier => *marks.entry(row.start).or_default() |= TIGHT,
                // The name is a word of its own, and its parameters follow at once.
                Form::Def => {
                    let name = tree.nodes[row.a as usize].start;
                    *marks.entry(name).or_default() |= TIGHT;
                }
                _ => {}
            }
        }
        Self(marks)
    }

    fn has(&self, start: u32, mark: u8) -> bool {
        self.0.get(&start).is_some_and(|marks| marks & mark != 0)
    }

    pub fn is_unary(&self, start: u32) -> bool {
        self.has(start, UNARY)
    }

    pub fn is_kept(&self, start: u32) -> bool {
        self.has(start, KEPT)
    }

    pub fn is_tight(&self, start: u32) -> bool {
        self.has(start, TIGHT)
    }
}
