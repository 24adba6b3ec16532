//! Where a plan uses its patterns, and with which groups.

use crate::code::{Expr, GroupId, SiteId, Step};
use crate::commands::{Command, Kind};

use super::Plan;

/// Every call of a command in the code: the command, its arguments, its site.
fn calls(plan: &Plan) -> impl Iterator<Item = (Command, u32, u32, SiteId)> + '_ {
    let statements = plan.code.steps.iter().filter_map(|step| match *step {
        Step::Command { command, count, first, site } => Some((command, first, u32::from(count), site)),
        _ => None,
    });
    let values = plan.code.exprs.iter().filter_map(|expr| match *expr {
        Expr::Command(at) => {
            let call = plan.code.calls[at as usize];
            Some((call.command(), call.first, call.count, call.site))
        }
        _ => None,
    });
    statements.chain(values)
}

/// The group of a command that computes the name of its pattern: each may be meant.
pub(crate) fn any_pattern_in(plan: &Plan) -> Option<GroupId> {
    calls(plan).find_map(|(command, first, count, site)| {
        let at = command.spec().position(Kind::Pattern).filter(|at| *at < count as usize)?;
        let known = matches!(plan.code.exprs.get(first as usize + at), Some(Expr::Int(_)));
        (!known).then(|| plan.site(site).group)
    })
}

/// The patterns with the groups that use them, in order; `false`: no command names it.
pub(crate) fn pattern_uses(plan: &Plan) -> Vec<(usize, GroupId, bool)> {
    let mut pairs: Vec<(usize, GroupId, bool)> = Vec::new();
    for (command, first, count, site) in calls(plan) {
        let position = |kind| command.spec().position(kind);
        let number = |kind| match plan.code.exprs.get(first as usize + position(kind)?) {
            Some(Expr::Int(number)) if position(kind)? < count as usize => Some(*number as u32),
            _ => None,
        };
        let Some(pattern) = number(Kind::Pattern) else { continue };
        let group = number(Kind::Group).map_or(plan.site(site).group, GroupId);
        let pair = (pattern as usize, group, true);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let other = any_pattern_in(plan).unwrap_or(GroupId::WORLD);
    for (at, pattern) in plan.patterns.iter().enumerate() {
        if !pairs.iter().any(|(used, ..)| *used == at) {
            pairs.push((at, pattern.group.unwrap_or(other), false));
        }
    }
    pairs.sort_by_key(|(pattern, group, _)| (*pattern, group.0));
    pairs
}
