//! Compares groups of values, such as those of nodes: which are slower or faster than all others together.
//!
//! Each group stands against the rest by the sum of its ranks (Wilcoxon 1945; Mann, Whitney 1947), which needs no law;
//! p-values are adjusted for the number of groups (Holm 1979). Whether the groups differ at all is tested by Kruskal and
//! Wallis (1952). Values are taken as independent: where neighbours resemble each other, small p-values say too much.

use serde::{Deserialize, Serialize};

use crate::congestion::hodges_lehmann;
use crate::special::{chi_square_survival, normal_two_sided};
use crate::{Error, argument};

/// The schema of [`Groups`] as JSON.
pub const SCHEMA: &str = "lastrank.groups/1";

/// Fewest values of a group that is tested.
pub const FEWEST: usize = 5;

/// All groups, the slowest median first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// `lastrank.groups/1`.
    pub schema: String,
    /// Values of all groups.
    pub n: usize,
    /// 1 minus the chance, taken over all groups, of calling one of equal groups different.
    pub level: f64,
    /// Statistic of Kruskal and Wallis over the groups that are tested, corrected for ties; chi-square with one degree
    /// less than groups.
    pub statistic: f64,
    /// Its p-value: small, if not all groups have one law. 1 of fewer than two groups.
    pub p: f64,
    /// The groups.
    pub groups: Vec<Group>,
}

/// One group against all other values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its values.
    pub n: usize,
    /// Their median.
    pub median: f64,
    /// Their largest.
    pub max: f64,
    /// Median of all differences to a value of another group, in the unit of the data; of positive values see `factor`.
    pub shift: Option<f64>,
    /// Where all values are positive: median of all ratios to a value of another group.
    pub factor: Option<f64>,
    /// Chance that a value of the group is larger than one of another (ties count one half).
    pub larger: Option<f64>,
    /// p-value against the rest; none of a group of fewer than five values.
    pub p: Option<f64>,
    /// The same adjusted for the number of groups.
    pub p_adjusted: Option<f64>,
    /// What that says at the level.
    pub finding: GroupFinding,
}

/// What is said of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupFinding {
    /// Its values are larger than those of the others.
    Slow,
    /// Its values are smaller.
    Fast,
    /// A difference is not shown.
    AsOthers,
    /// Too few values for a test.
    TooFew,
}

/// Compares the groups of `values` that `names` give, one for each value.
///
/// # Errors
/// [`Error::Lengths`] where there are not as many names, [`Error::TooFew`] of no values, [`Error::Parameter`].
pub fn compare_groups(values: &[f64], names: &[String], level: f64) -> Result<Groups, Error> {
    argument::confidence_level(level)?;
    if values.len() != names.len() {
        let (left, right) = (names.len(), values.len());
        return Err(Error::Lengths { what: "names of groups and values", left, right });
    }
    if values.is_empty() {
        return Err(Error::TooFew { found: 0, needed: 1 });
    }
    let ranks = Ranks::of(values);
    let mut members: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for (at, name) in names.iter().enumerate() {
        let group = *known.entry(name.as_str()).or_insert_with(|| {
            members.push((name, Vec::new()));
            members.len() - 1
        });
        members[group].1.push(at);
    }
    let positive = values.iter().all(|value| *value > 0.0);
    let mut groups: Vec<Group> =
        members.iter().map(|(name, at)| group(name, at, values, &ranks, positive)).collect();
    adjust(&mut groups, 1.0 - level);
    let tested: Vec<&Vec<usize>> = members.iter().map(|(_, at)| at).filter(|at| at.len() >= FEWEST).collect();
    let (statistic, p) = ranks.kruskal_wallis(&tested);
    groups.sort_by(|a, b| b.median.total_cmp(&a.median).then_with(|| a.name.cmp(&b.name)));
    Ok(Groups { schema: SCHEMA.into(), n: values.len(), level, statistic, p, groups })
}

/// Mid-ranks of values, and what ties take from their variance.
struct Ranks {
    of: Vec<f64>,
    /// Σ t³ - t over groups of ties.
    ties: f64,
}

impl Ranks {
    fn of(values: &[f64]) -> Ranks {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
        let (mut of, mut ties, mut from) = (vec![0.0; values.len()], 0.0, 0);
        while from < order.len() {
            let value = values[order[from]];
            let count = order[from..].iter().take_while(|at| values[**at] == value).count();
            let rank = from as f64 + 0.5 * (count as f64 + 1.0);
            order[from..from + count].iter().for_each(|at| of[*at] = rank);
            ties += (count as f64).powi(3) - count as f64;
            from += count;
        }
        Ranks { of, ties }
    }

    /// Two-sided p-value of the sum of some ranks against the others, and the chance that one of them is larger.
    fn against_rest(&self, members: &[usize]) -> (f64, f64) {
        let (n, all) = (members.len() as f64, self.of.len() as f64);
        let rest = all - n;
        let sum: f64 = members.iter().map(|at| self.of[*at]).sum();
        let larger = (sum - 0.5 * n * (n + 1.0)) / (n * rest);
        let variance = n * rest / 12.0 * (all + 1.0 - self.ties / (all * (all - 1.0)));
        let distance = sum - 0.5 * n * (all + 1.0);
        // Ranks move in steps: half of one is taken off.
        let z = if variance > 0.0 { (distance.abs() - 0.5).max(0.0) / variance.sqrt() } else { 0.0 };
        (normal_two_sided(z), larger)
    }

    fn kruskal_wallis(&self, groups: &[&Vec<usize>]) -> (f64, f64) {
        if groups.len() < 2 {
            return (0.0, 1.0);
        }
        // Ranks among the tested values only.
        let at: Vec<usize> = groups.iter().flat_map(|group| group.iter().copied()).collect();
        let values: Vec<f64> = at.iter().map(|at| self.of[*at]).collect();
        let again = Ranks::of(&values);
        let n = values.len() as f64;
        let (mut from, mut sum) = (0, 0.0);
        for group in groups {
            let total: f64 = again.of[from..from + group.len()].iter().sum();
            sum += total * total / group.len() as f64;
            from += group.len();
        }
        let correction = 1.0 - again.ties / (n * n * n - n);
        if correction <= 0.0 {
            return (0.0, 1.0);
        }
        let statistic = ((12.0 / (n * (n + 1.0)) * sum - 3.0 * (n + 1.0)) / correction).max(0.0);
        (statistic, chi_square_survival(statistic, groups.len() as f64 - 1.0))
    }
}

fn group(name: &str, members: &[usize], values: &[f64], ranks: &Ranks, positive: bool) -> Group {
    let mut own: Vec<f64> = members.iter().map(|at| values[*at]).collect();
    own.sort_unstable_by(f64::total_cmp);
    let n = own.len();
    let tested = n >= FEWEST && values.len() - n >= FEWEST;
    let (p, larger) = if tested { ranks.against_rest(members) } else { (1.0, 0.5) };
    let (mut shift, mut factor) = (None, None);
    if tested {
        let mut is_own = vec![false; values.len()];
        members.iter().for_each(|at| is_own[*at] = true);
        let mut rest: Vec<f64> =
            values.iter().zip(&is_own).filter(|(_, own)| !**own).map(|(value, _)| *value).collect();
        rest.sort_unstable_by(f64::total_cmp);
        let logs = |list: &[f64]| list.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        if positive {
            factor = Some(hodges_lehmann(&logs(&rest), &logs(&own)).exp());
        }
        shift = Some(hodges_lehmann(&rest, &own));
    }
    Group {
        name: name.to_owned(),
        n,
        median: 0.5 * (own[(n - 1) / 2] + own[n / 2]),
        max: own[n - 1],
        shift,
        factor,
        larger: tested.then_some(larger),
        p: tested.then_some(p),
        p_adjusted: None,
        finding: GroupFinding::TooFew,
    }
}

/// Holm's step-down adjustment, and what it says.
fn adjust(groups: &mut [Group], error: f64) {
    let mut order: Vec<(f64, usize)> =
        groups.iter().enumerate().filter_map(|(at, group)| Some((group.p?, at))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tests = order.len();
    let mut largest = 0.0_f64;
    for (step, (p, at)) in order.into_iter().enumerate() {
        largest = largest.max((p * (tests - step) as f64).min(1.0));
        let group = &mut groups[at];
        group.p_adjusted = Some(largest);
        let larger = group.larger.unwrap_or(0.5);
        group.finding = match largest < error {
            true if larger > 0.5 => GroupFinding::Slow,
            true => GroupFinding::Fast,
            false => GroupFinding::AsOthers,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Statistic and p-value of Kruskal and Wallis, then p-values of a, b and c against the rest, computed from the
    /// definitions by counting pairs.
    const GOLD: [f64; 5] = [7.873118, 0.019515, 0.667612, 0.009979, 0.036997];

    #[test]
    fn statistics_are_those_of_counted_pairs() {
        let values = [2.1, 3.4, 1.9, 5.6, 2.8, 4.4, 5.1, 6.2, 3.4, 7.0, 1.2, 2.2, 3.0, 2.8, 0.9];
        let groups = names(&["a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "c", "c", "c", "c", "c"]);
        let found = compare_groups(&values, &groups, 0.95).unwrap();
        assert_eq!(found.groups.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 2e-4, "{found} {wanted}");
        near(found.statistic, GOLD[0]);
        near(found.p, GOLD[1]);
        let of = |name: &str| found.groups.iter().find(|one| one.name == name).unwrap();
        near(of("a").p.unwrap(), GOLD[2]);
        near(of("b").p.unwrap(), GOLD[3]);
        near(of("c").p.unwrap(), GOLD[4]);
        near(of("b").p_adjusted.unwrap(), 3.0 * GOLD[3]);
        assert_eq!(of("b").finding, GroupFinding::Slow);
    }

    #[test]
    fn equal_groups_are_called_different_seldom_and_a_slow_one_is_found() {
        let mut random = Xoshiro::new(11);
        let (mut wrong, mut found) = (0, 0);
        for _ in 0..200 {
            let groups: Vec<String> = (0..400).map(|n| format!("node{}", n % 8)).collect();
            let mut values: Vec<f64> = (0..400).map(|_| random.normal().exp()).collect();
            let equal = compare_groups(&values, &groups, 0.95).unwrap();
            wrong += usize::from(equal.groups.iter().any(|one| one.finding != GroupFinding::AsOthers));
            values.iter_mut().skip(3).step_by(8).for_each(|value| *value *= 3.0);
            let slow = compare_groups(&values, &groups, 0.95).unwrap();
            let one = slow.groups.iter().find(|one| one.name == "node3").unwrap();
            found += usize::from(one.finding == GroupFinding::Slow && slow.groups[0].name == "node3");
        }
        assert!(wrong <= 20 && found >= 195, "{wrong} {found}");
    }

    #[test]
    fn few_or_equal_values_are_no_finding() {
        let groups = names(&["a", "a", "b", "b", "b", "b", "b", "b"]);
        let found = compare_groups(&[1.0; 8], &groups, 0.95).unwrap();
        assert!(found.groups.iter().all(|one| one.finding == GroupFinding::TooFew), "{found:?}");
        let groups = names(&["a"; 10]);
        let found = compare_groups(&[1.0; 10], &groups, 0.95).unwrap();
        assert_eq!((found.p, found.groups.len()), (1.0, 1));
        assert!(compare_groups(&[1.0], &[], 0.95).is_err());
    }
}
