//! Compares groups of values, such as those of nodes or ranks: which are slower or faster than the others.
//!
//! Each group stands against the others that are not themselves found different, by the sum of its ranks (Wilcoxon 1945; Mann,
//! Whitney 1947), which needs no distribution. Blocks of neighbouring values are exchanged between groups, so that values may resemble those
//! before; p-values are adjusted for the number of groups by the largest statistic of each exchange (Westfall, Young 1993). Whether
//! the groups differ at all is tested by Kruskal and Wallis (1952), for independent values.

use serde::{Deserialize, Serialize};

use crate::congestion::{hodges_lehmann, hodges_lehmann_at};
use crate::independence;
use crate::special::{chi_square_survival, normal_two_sided, normal_upper_quantile};
use crate::{Error, Interval, argument};

pub(crate) mod aligned;
pub mod last;
mod level;
mod memory;
mod permuted;
mod statement;

use permuted::{Round, Stratum};
use statement::Effect;
pub use statement::GroupFinding;

/// The schema of [`Groups`] as JSON.
pub const SCHEMA: &str = "lastrank.groups/1";

/// Fewest values of a group that is tested: fewer do not show whether they resemble each other.
pub const FEWEST: usize = 10;

/// Values that are compared, at most; of more, every k-th of each group.
const MOST_VALUES: usize = 1 << 18;

/// Values of a list whose differences to another are looked at, at most; of more, as many quantiles.
const MOST_PAIRED: usize = 1 << 12;
/// The same where there are many groups.
const FEWEST_PAIRED: usize = 1 << 7;
/// The same of all groups together.
const PAIRED: usize = 1 << 20;
/// Groups of which each stands against all, itself included.
const MANY: usize = 256;

/// All groups, the slowest median first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// `lastrank.groups/1`.
    pub schema: String,
    /// Values of all groups.
    pub n: usize,
    /// Level of the intervals. A tenth of 1 - level is the chance, taken over all groups, of calling one of equal groups different.
    pub level: f64,
    /// Statistic of Kruskal and Wallis over the groups that are tested, corrected for ties; chi-square with one degree
    /// less than groups.
    pub statistic: f64,
    /// Its p-value: small, if not all groups have one distribution. 1 of fewer than two groups.
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
    /// Where all values are positive: median of all such ratios.
    pub factor: Option<f64>,
    /// Interval of `factor`, or where there is none of `shift`; joint over all groups.
    #[serde(default)]
    pub interval: Option<Interval>,
    /// Chance that a value of the group is larger than one of another (ties count one half).
    pub larger: Option<f64>,
    /// p-value against all others as independent values (Mann, Whitney); none of a group of fewer than ten values.
    pub p: Option<f64>,
    /// p-value by exchange of blocks against the others that are not found different, adjusted for all groups; none where there
    /// are too few blocks.
    pub p_adjusted: Option<f64>,
    /// What that says at the level.
    pub finding: GroupFinding,
}

/// Compares the groups of `values` that `names` give, one for each value; the values of a group are in the order of time.
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
    let mut own: Vec<&str> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let groups = names.iter().map(|name| {
        *known.entry(name.as_str()).or_insert_with(|| {
            own.push(name);
            own.len() - 1
        })
    });
    let groups = groups.collect();
    Ok(of_groups(values, groups, &own, level))
}

/// The same of groups that are called by numbers, such as ranks.
///
/// # Errors
/// As [`compare_groups`].
pub fn compare_numbered(values: &[f64], numbers: &[u32], level: f64) -> Result<Groups, Error> {
    argument::confidence_level(level)?;
    if values.len() != numbers.len() {
        let (left, right) = (numbers.len(), values.len());
        return Err(Error::Lengths { what: "numbers of groups and values", left, right });
    }
    if values.is_empty() {
        return Err(Error::TooFew { found: 0, needed: 1 });
    }
    let mut own: Vec<u32> = Vec::new();
    let mut known = std::collections::HashMap::new();
    // Values of one come together, or all take turns: a number looked up is soon asked for again.
    let mut recent = [None; 64];
    let groups = numbers.iter().map(|number| {
        let slot = &mut recent[*number as usize % 64];
        match *slot {
            Some((looked_up, at)) if looked_up == *number => at,
            _ => {
                let at = *known.entry(*number).or_insert_with(|| {
                    own.push(*number);
                    own.len() - 1
                });
                *slot = Some((*number, at));
                at
            }
        }
    });
    let groups = groups.collect();
    let names: Vec<String> = own.iter().map(u32::to_string).collect();
    Ok(of_groups(values, groups, &names.iter().map(String::as_str).collect::<Vec<_>>(), level))
}

/// Compares groups by their indices in `names`, in which they stand as they first come.
fn of_groups(values: &[f64], groups: Vec<usize>, names: &[&str], level: f64) -> Groups {
    let mut members: Vec<Member> = names.iter().map(|name| Member { name, ..Member::default() }).collect();
    values.iter().zip(&groups).for_each(|(value, group)| members[*group].values.push(*value));
    let positive = values.iter().all(|value| *value > 0.0);
    let plain: Vec<f64> = values.iter().map(|value| if positive { value.ln() } else { *value }).collect();
    let levels = level::of_all(&plain, &groups, members.len());
    for ((value, level), group) in plain.iter().zip(levels).zip(groups) {
        members[group].residuals.push(value - level);
    }
    of_members(&members, level, FEWEST)
}

/// A group before it is compared.
#[derive(Debug, Default)]
struct Member<'a> {
    name: &'a str,
    values: Vec<f64>,
    /// The values, or their logarithms where all are positive, less the level that all groups have in common at the time.
    residuals: Vec<f64>,
}

/// Compares groups with their names; those of fewer than `fewest` values are not tested.
fn of_members(members: &[Member], level: f64, fewest: usize) -> Groups {
    let n: usize = members.iter().map(|one| one.values.len()).sum();
    let positive = members.iter().all(|one| one.values.iter().all(|value| *value > 0.0));
    let every = n.div_ceil(MOST_VALUES);
    let is_tested = |values: &[f64]| values.len() >= fewest && n - values.len() >= fewest;
    // At least a hundred of each.
    let thinned = |values: &[f64]| match is_tested(values) {
        true => values.iter().step_by(every.min(values.len() / 100).max(1)).copied().collect(),
        false => values.to_vec(),
    };
    let compared: Vec<Vec<f64>> = members.iter().map(|one| thinned(&one.values)).collect();
    let residuals: Vec<Vec<f64>> = members.iter().map(|one| thinned(&one.residuals)).collect();
    let tested: Vec<usize> = (0..members.len()).filter(|at| is_tested(&members[*at].values)).collect();
    let mut groups: Vec<Group> = members.iter().map(|one| Group::of(one.name, &one.values)).collect();
    raw(&mut groups, &compared, &tested);
    if tested.len() > 1 {
        adjusted(&mut groups, [&compared, &residuals], (&tested, positive), level);
    }
    let (statistic, p) = kruskal_wallis(&compared, &tested);
    groups.sort_by(|a, b| b.median.total_cmp(&a.median).then_with(|| a.name.cmp(&b.name)));
    Groups { schema: SCHEMA.into(), n, level, statistic, p, groups }
}

impl Group {
    fn of(name: &str, values: &[f64]) -> Group {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        Group {
            name: name.to_owned(),
            n,
            median: 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]),
            max: sorted[n - 1],
            shift: None,
            factor: None,
            interval: None,
            larger: None,
            p: None,
            p_adjusted: None,
            finding: GroupFinding::TooFew,
        }
    }
}

/// Each group against all others by the sum of its ranks, as independent values.
fn raw(groups: &mut [Group], compared: &[Vec<f64>], tested: &[usize]) {
    let pooled: Vec<f64> = compared.iter().flatten().copied().collect();
    let (ranks, ties) = ranked(&pooled);
    let starts: Vec<usize> = compared
        .iter()
        .scan(0, |from, values| {
            *from += values.len();
            Some(*from - values.len())
        })
        .collect();
    for &at in tested {
        let own = &ranks[starts[at]..starts[at] + compared[at].len()];
        let (n, all) = (own.len() as f64, pooled.len() as f64);
        let (rest, sum) = (all - n, own.iter().sum::<f64>());
        let variance = n * rest / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
        let distance = sum - 0.5 * n * (all + 1.0);
        // Ranks move in steps: half of one is taken off.
        let z = if variance > 0.0 { (distance.abs() - 0.5).max(0.0) / variance.sqrt() } else { 0.0 };
        groups[at].p = Some(normal_two_sided(z));
        groups[at].larger = Some((sum - 0.5 * n * (n + 1.0)) / (n * rest));
    }
}

/// Mid-ranks, and Σ t³ - t over groups of ties.
fn ranked(values: &[f64]) -> (Vec<f64>, f64) {
    let ranks = independence::ranks(values);
    let mut sorted = ranks.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let ties =
        sorted.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    (ranks, ties)
}

/// Each group against the others that are not found different.
fn adjusted(
    groups: &mut [Group],
    [compared, residuals]: [&[Vec<f64>]; 2],
    (tested, positive): (&[usize], bool),
    level: f64,
) {
    let mut inflation = 1.0;
    let steps = permuted::step_down(tested, statement::error(level), |active| {
        let (found, factor) = round(residuals, active);
        inflation = factor;
        found
    });
    let alike = steps.as_ref().map_or(tested, |steps| &steps.alike);
    let sorted = |lists: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let ascending = |values: &Vec<f64>| {
            let mut own = values.clone();
            own.sort_unstable_by(f64::total_cmp);
            own
        };
        lists.iter().map(ascending).collect()
    };
    let (raw, left) = (sorted(compared), sorted(residuals));
    let z = normal_upper_quantile(
        0.5 * (1.0 - level) / if tested.len() == 2 { 1.0 } else { tested.len() as f64 },
    );
    let most = (PAIRED / tested.len()).clamp(FEWEST_PAIRED, MOST_PAIRED);
    let together = |lists: &[Vec<f64>]| -> Vec<(f64, usize)> {
        let mut all: Vec<(f64, usize)> =
            alike.iter().flat_map(|at| lists[*at].iter().map(move |value| (*value, *at))).collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        if tested.len() > MANY {
            // Of very many groups one is a small part of all: quantiles of these stand for the others.
            let count = MOST_PAIRED.min(all.len());
            all = (0..count).map(|at| (all[at * all.len() / count].0, usize::MAX)).collect();
        }
        all
    };
    let (all_raw, all_left) = (together(compared), together(residuals));
    let without = |all: &[(f64, usize)], group: usize| -> Vec<f64> {
        all.iter().filter(|(_, of)| *of != group).map(|(value, _)| *value).collect()
    };
    let spread = z * inflation.sqrt();
    for &at in tested {
        let rest = without(&all_left, at);
        if rest.is_empty() {
            continue;
        }
        let group = &mut groups[at];
        let rest_raw = without(&all_raw, at);
        group.shift = Some(Paired { rest: &rest_raw, own: &raw[at], spread, most }.effect().value);
        let effect = Paired { rest: &rest, own: &left[at], spread, most }.effect();
        let of = |value: f64| if positive { value.exp() } else { value };
        group.factor = positive.then(|| effect.value.exp());
        group.interval = Some(Interval::new(of(effect.lower), of(effect.upper), level));
        let Some(p) = steps.as_ref().map(|steps| steps.p[at]) else { continue };
        group.p_adjusted = Some(p);
        group.finding = match positive {
            true => effect.finding(p, level),
            false if p < statement::error(level) && effect.lower > 0.0 => GroupFinding::Slow,
            false if p < statement::error(level) && effect.upper < 0.0 => GroupFinding::Fast,
            false => GroupFinding::AsOthers,
        };
    }
}

/// One round over the active groups, and by how much dependence in time inflates variances.
fn round(compared: &[Vec<f64>], active: &[usize]) -> (Option<Round>, f64) {
    let pooled: Vec<f64> = active.iter().flat_map(|at| &compared[*at]).copied().collect();
    let mut scores = independence::ranks(&pooled);
    let centre = 0.5 * (pooled.len() as f64 + 1.0);
    scores.iter_mut().for_each(|score| *score -= centre);
    let mut rest = scores.as_slice();
    let series: Vec<Vec<f64>> = active
        .iter()
        .map(|at| {
            let (own, others) = rest.split_at(compared[*at].len());
            rest = others;
            own.to_vec()
        })
        .collect();
    let inflation = memory::inflation(&series, active.len() as f64);
    let block = if inflation > 1.0 { (2.0 * inflation).ceil() as usize } else { 1 };
    if series.iter().any(|own| own.len() / block < memory::FEWEST_BLOCKS.min(own.len())) {
        return (None, inflation);
    }
    let sums: Vec<Vec<f64>> = series
        .iter()
        .map(|own| memory::bounds(own.len(), block).map(|range| own[range].iter().sum()).collect())
        .collect();
    let left = memory::between_blocks(&sums, active.len() as f64);
    let mut stratum = Stratum::default();
    for (group, sums) in (0..).zip(&sums) {
        stratum.groups.extend(std::iter::repeat_n(group, sums.len()));
        stratum.sums.extend(sums);
    }
    (Some(permuted::test(vec![stratum], active.len(), left)), inflation * left)
}

/// Two ascending lists, and how many standard deviations an interval reaches.
struct Paired<'a> {
    rest: &'a [f64],
    own: &'a [f64],
    spread: f64,
    /// Values of each that are looked at.
    most: usize,
}

impl Paired<'_> {
    /// Median of all differences, and its interval by the sum of ranks.
    fn effect(&self) -> Effect {
        let list = |values: &[f64]| -> Vec<f64> {
            let most = values.len().min(self.most);
            (0..most).map(|at| values[(2 * at + 1) * values.len() / (2 * most)]).collect()
        };
        let (rest, own) = (list(self.rest), list(self.own));
        let (n, others) = (self.own.len() as f64, self.rest.len() as f64);
        let half = self.spread * ((n + others + 1.0) / (12.0 * n * others)).sqrt();
        let pairs = (rest.len() * own.len()) as f64;
        let at = |share: f64| match share * pairs {
            place if place < 1.0 => f64::NEG_INFINITY,
            place if place > pairs => f64::INFINITY,
            place => hodges_lehmann_at(&rest, &own, place.round() as u64),
        };
        Effect { value: hodges_lehmann(&rest, &own), lower: at(0.5 - half), upper: at(0.5 + half) }
    }
}

/// Statistic and p-value over the groups that are tested.
fn kruskal_wallis(compared: &[Vec<f64>], tested: &[usize]) -> (f64, f64) {
    if tested.len() < 2 {
        return (0.0, 1.0);
    }
    let values: Vec<f64> = tested.iter().flat_map(|at| &compared[*at]).copied().collect();
    let (ranks, ties) = ranked(&values);
    let n = values.len() as f64;
    let (mut from, mut sum) = (0, 0.0);
    for at in tested {
        let count = compared[*at].len();
        let total: f64 = ranks[from..from + count].iter().sum();
        sum += total * total / count as f64;
        from += count;
    }
    let correction = 1.0 - ties / (n * n * n - n);
    if correction <= 0.0 {
        return (0.0, 1.0);
    }
    let statistic = ((12.0 / (n * (n + 1.0)) * sum - 3.0 * (n + 1.0)) / correction).max(0.0);
    (statistic, chi_square_survival(statistic, tested.len() as f64 - 1.0))
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
        let of = |(name, values): (_, &[f64])| Member {
            name,
            values: values.to_vec(),
            residuals: values.iter().map(|value| value.ln()).collect(),
        };
        let members: Vec<Member> = ["a", "b", "c"].into_iter().zip(values.chunks(5)).map(of).collect();
        let found = of_members(&members, 0.95, 5);
        assert_eq!(found.groups.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 2e-4, "{found} {wanted}");
        near(found.statistic, GOLD[0]);
        near(found.p, GOLD[1]);
        let of = |name: &str| found.groups.iter().find(|one| one.name == name).unwrap();
        near(of("a").p.unwrap(), GOLD[2]);
        near(of("b").p.unwrap(), GOLD[3]);
        near(of("c").p.unwrap(), GOLD[4]);
        // By exchange, over three groups.
        let p = of("b").p_adjusted.unwrap();
        assert!(p > 0.5 * GOLD[3] && p < 3.5 * GOLD[3], "{p}");
        assert_eq!(of("b").finding, GroupFinding::AsOthers);
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
        // 0.5% of 200 is 1; more than 5 has a probability of 0.0005.
        assert!(wrong <= 5 && found >= 195, "{wrong} {found}");
    }

    #[test]
    fn numbers_are_names_of_groups() {
        let mut random = Xoshiro::new(5);
        let numbers: Vec<u32> = (0..3_000).map(|n| [7, 71, 1, 135][n * n % 7 % 4]).collect();
        let values: Vec<f64> =
            numbers.iter().map(|one| random.normal().exp() * f64::from(1 + one % 2)).collect();
        let names: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let by_names = compare_groups(&values, &names, 0.95).unwrap();
        assert_eq!(compare_numbered(&values, &numbers, 0.95).unwrap(), by_names);
        assert_eq!(by_names.groups.iter().map(|one| one.n).sum::<usize>(), 3_000);
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
