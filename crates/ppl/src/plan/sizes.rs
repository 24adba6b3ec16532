//! Assigns ranks to the groups of a program by the sizes that the user set.

use std::collections::BTreeMap;

use crate::check::{GroupDefinition, GroupTag};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, nearest};

use super::Group;
use super::groups::{classic_ranks_of_groups, ranks_of_groups};
use super::make::PlanBuilder;

impl PlanBuilder<'_> {
    /// The groups with their ranks, and notes about how they were shared.
    pub fn groups(&mut self) -> (Vec<Group>, Vec<String>) {
        let definitions = &self.tagged_groups();
        let (ranks, classic) = (self.ranks, self.code.classic);
        let mut sizes = BTreeMap::new();
        for (name, size) in &self.settings.groups {
            if definitions.iter().any(|group| group.name == name.trim()) {
                sizes.insert(name.trim().to_owned(), *size);
                continue;
            }
            let message = format!("`-g {name}:{size}`: the program has no group \"{name}\"");
            if classic {
                let message = format!("{message}, so this is ignored");
                self.push(Diagnostic::warning(DiagnosticCode::ClassicGroups, Span::default(), message));
                continue;
            }
            let mut error = Diagnostic::error(DiagnosticCode::GroupsDoNotFit, Span::default(), message)
                .about(format!("-g {name}:{size}"));
            if let Some(near) = nearest(name, definitions.iter().map(|group| group.name.as_str())) {
                error = error.did_you_mean(near, None);
            }
            self.push(error);
        }
        let span = definitions.first().map_or(Span::default(), |group| group.span);
        if classic {
            let (groups, warnings) = classic_ranks_of_groups(definitions, &sizes, ranks);
            for (span, warning) in warnings {
                self.push(Diagnostic::warning(DiagnosticCode::ClassicGroups, span, warning));
            }
            return (groups, Vec::new());
        }
        match ranks_of_groups(definitions, &sizes, ranks) {
            Ok((groups, notes)) => {
                for note in &notes {
                    self.push(Diagnostic::note(DiagnosticCode::SharedGroups, span, note.clone()));
                }
                (groups, notes)
            }
            Err(message) => {
                self.push(Diagnostic::error(DiagnosticCode::GroupsDoNotFit, span, message).help(format!(
                    "this run has {ranks} ranks: give more (`-n`) or smaller groups (`-g name:size`)"
                )));
                (Vec::new(), Vec::new())
            }
        }
    }

    /// The groups of the program, with sub-tags that are expressions evaluated.
    fn tagged_groups(&mut self) -> Vec<GroupDefinition> {
        let definitions = self.definitions;
        let mut groups = definitions.groups.clone();
        for group in &mut groups {
            if let (GroupTag::Disjoint(tag), Some(sub)) = (&mut group.tag, group.sub) {
                *tag = self.value(sub, group.span).to_string();
            }
        }
        groups
    }
}
