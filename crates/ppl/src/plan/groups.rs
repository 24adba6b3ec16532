//! Assigns ranks to groups.

use std::collections::BTreeMap;

use crate::check::{GroupDefinition, GroupTag};
use crate::diagnostic::Span;

use super::Group;

/// The groups with a note about how their ranks were chosen, or an error if they do not fit.
///
/// `S` groups take consecutive exclusive ranks from 0 on. `D` groups with the same sub-tag are disjoint and
/// follow the `S` groups; each sub-tag starts again at the first rank after them. Groups without a tag start
/// there too and may overlap. Groups without a size share the remaining ranks of their kind evenly; a group
/// without a tag takes all of them.
///
/// The original assigned the available ranks instead: see [`classic_ranks_of_groups`].
pub(super) fn ranks_of_groups(
    definitions: &[GroupDefinition],
    sizes: &BTreeMap<String, u32>,
    ranks: u32,
) -> Result<(Vec<Group>, Vec<String>), String> {
    let mut places: Vec<(u32, u32)> = vec![(0, 0); definitions.len()];
    let mut notes = Vec::new();
    let size = |at: usize| sizes.get(&definitions[at].name).copied();
    let mut kinds: BTreeMap<&GroupTag, Vec<usize>> = BTreeMap::new();
    for (at, definition) in definitions.iter().enumerate() {
        kinds.entry(&definition.tag).or_default().push(at);
    }
    let mut start = 0;
    for (tag, members) in &kinds {
        if **tag == GroupTag::Free {
            for &at in members {
                places[at] = (start, size(at).unwrap_or(ranks - start));
                if u64::from(start) + u64::from(places[at].1) > u64::from(ranks) {
                    return Err(too_large(&definitions[at].name, places[at].1, ranks - start));
                }
            }
            continue;
        }
        let room = ranks - start;
        let taken: u64 = members.iter().filter_map(|&at| size(at)).map(u64::from).sum();
        if taken > u64::from(room) {
            let names: Vec<&str> = members.iter().map(|&at| definitions[at].name.as_str()).collect();
            return Err(format!(
                "the groups \"{}\" need {taken} ranks, but {room} are there for them",
                names.join("\", \"")
            ));
        }
        let unsized_: Vec<usize> = members.iter().copied().filter(|&at| size(at).is_none()).collect();
        // Other groups that need ranks after the exclusive ones count as one more group when sharing.
        let others = u32::from(**tag == GroupTag::Exclusive && kinds.len() > 1);
        let sharers = unsized_.len() as u32 + others;
        let left = room - taken as u32;
        let mut next = start;
        for &at in members {
            let count = match size(at) {
                Some(count) => count,
                None => {
                    let nth = unsized_.iter().position(|&other| other == at).unwrap_or(0) as u32;
                    left / sharers + u32::from(nth < left % sharers)
                }
            };
            places[at] = (next, count);
            next += count;
        }
        if !unsized_.is_empty() {
            let shared: Vec<String> =
                unsized_.iter().map(|&at| format!("{}:{}", definitions[at].name, places[at].1)).collect();
            notes.push(format!(
                "no size was given for these groups, so they share {left} ranks evenly: {}",
                shared.join(", ")
            ));
        }
        if **tag == GroupTag::Exclusive {
            start = next;
        }
    }
    Ok((groups_at(definitions, &places, ranks), notes))
}

/// The groups as the original assigns them, with warnings: a group without a size gets no rank, and one that
/// needs more ranks than are left gets those.
pub(super) fn classic_ranks_of_groups(
    definitions: &[GroupDefinition],
    sizes: &BTreeMap<String, u32>,
    ranks: u32,
) -> (Vec<Group>, Vec<(Span, String)>) {
    let mut places: Vec<(u32, u32)> = vec![(0, 0); definitions.len()];
    let mut warnings = Vec::new();
    let mut kinds: BTreeMap<&GroupTag, Vec<usize>> = BTreeMap::new();
    for (at, definition) in definitions.iter().enumerate() {
        kinds.entry(&definition.tag).or_default().push(at);
    }
    let mut start = 0;
    for (tag, members) in &kinds {
        let mut next = start;
        for &at in members {
            let GroupDefinition { name, span, .. } = &definitions[at];
            let wanted = sizes.get(name).copied().unwrap_or(0);
            let first = if **tag == GroupTag::Free { start } else { next };
            let count = wanted.min(ranks - first);
            if wanted == 0 {
                let message = format!(
                    "the group \"{name}\" has no size, so it has no ranks: give it one, `-g {name}:N`"
                );
                warnings.push((*span, message));
            } else if count < wanted {
                let message =
                    format!("the group \"{name}\" has {count} of the {wanted} ranks that it asks for");
                warnings.push((*span, message));
            }
            places[at] = (first, count);
            next = first + count;
        }
        if **tag == GroupTag::Exclusive {
            start = next;
        }
    }
    (groups_at(definitions, &places, ranks), warnings)
}

/// The world and the groups; `places` holds the first rank and the number of ranks of each.
fn groups_at(definitions: &[GroupDefinition], places: &[(u32, u32)], ranks: u32) -> Vec<Group> {
    let world = Group { name: "world".into(), ranks: (0..ranks).collect() };
    let groups = definitions.iter().zip(places).map(|(definition, (first, count))| Group {
        name: definition.name.clone(),
        ranks: (*first..first + count).collect(),
    });
    std::iter::once(world).chain(groups).collect()
}

fn too_large(name: &str, wanted: u32, room: u32) -> String {
    format!("the group \"{name}\" needs {wanted} ranks, but {room} are there for it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(spec: &[(&str, GroupTag)], sizes: &[(&str, u32)], ranks: u32) -> Result<Vec<Vec<u32>>, String> {
        let definitions: Vec<GroupDefinition> = spec
            .iter()
            .map(|(name, tag)| GroupDefinition {
                name: (*name).into(),
                tag: tag.clone(),
                sub: None,
                span: Span::default(),
            })
            .collect();
        let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        ranks_of_groups(&definitions, &sizes, ranks)
            .map(|(groups, _)| groups.into_iter().skip(1).map(|g| g.ranks).collect())
    }

    fn disjoint(sub: &str) -> GroupTag {
        GroupTag::Disjoint(sub.into())
    }

    #[test]
    fn two_disjoint_groups_without_sizes_share_the_ranks_evenly() {
        let found = groups(&[("writers", disjoint("")), ("readers", disjoint(""))], &[], 5);
        assert_eq!(found, Ok(vec![vec![0, 1, 2], vec![3, 4]]));
    }

    #[test]
    fn exclusive_groups_come_first_and_each_subtag_starts_behind_them() {
        let spec =
            [("d", disjoint("1")), ("s", GroupTag::Exclusive), ("e", disjoint("2")), ("f", GroupTag::Free)];
        let found = groups(&spec, &[("s", 2), ("d", 2), ("e", 1)], 6);
        assert_eq!(found, Ok(vec![vec![2, 3], vec![0, 1], vec![2], vec![2, 3, 4, 5]]));
    }

    #[test]
    fn groups_that_need_more_ranks_than_there_are_are_refused() {
        assert!(groups(&[("s", GroupTag::Exclusive)], &[("s", 3)], 2).unwrap_err().contains("need 3 ranks"));
    }
}
