//! Why times of two runs may differ though the systems do not: a busy machine, another confinement.

use std::path::Path;

use samples::{ConfinedBy, Facts};

use crate::values::Values;

/// Warnings that a machine was not idle.
const DISTURBANCES: [&str; 7] =
    ["processor-busy", "io-busy", "memory-pressure", "memory-short", "throttled", "load-changed", "stolen"];

/// What disturbed the machine during either run, as its warnings tell.
pub fn disturbed(one: &Values, other: &Values) -> Option<String> {
    let of = |values: &Values| -> Vec<String> { values.facts.iter().flat_map(disturbances).collect() };
    let (a, b) = (of(one), of(other));
    let told = match (a.is_empty(), b.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("{} ({})", one.name, a.join(", ")),
        (true, false) => format!("{} ({})", other.name, b.join(", ")),
        (false, false) if a == b => format!("both runs ({})", a.join(", ")),
        (false, false) => format!("both runs ({}; {})", a.join(", "), b.join(", ")),
    };
    Some(format!("The machine was not idle during {told}: repeat when it is (lastrank machine)"))
}

/// What shows that the machine was not idle during a run, in words.
fn disturbances(facts: &Facts) -> Vec<String> {
    let codes = facts.warnings.iter().map(|warning| warning.code.as_str());
    codes.filter(|code| DISTURBANCES.contains(code)).map(|code| code.replace('-', " ")).collect()
}

/// How many of several runs were measured on a machine that was not idle; none where all were.
pub fn some_disturbed<'a>(folder: &Path, runs: impl Iterator<Item = &'a Facts>) -> Option<String> {
    let busy: Vec<bool> = runs.map(|facts| !disturbances(facts).is_empty()).collect();
    let count = busy.iter().filter(|busy| **busy).count();
    (count > 0).then(|| {
        format!(
            "The machine was not idle during {count} of the {} runs of {}: repeat when it is (lastrank machine)",
            busy.len(),
            folder.display()
        )
    })
}

/// Why times of opening and making files differ between the two by more than the systems do: one program was confined
/// by the kernel and the other was not.
pub fn confined_differently(one: &Values, other: &Values) -> Option<String> {
    let by = |values: &Values| {
        // What a killed run left behind does not say.
        let facts = values.facts.as_ref().filter(|facts| facts.complete || facts.confinement.is_some())?;
        Some(facts.confinement.as_ref().map_or(ConfinedBy::Nobody, |confinement| confinement.by))
    };
    let (a, b) = (by(one)?, by(other)?);
    let words = |by: ConfinedBy| match by {
        ConfinedBy::Kernel => "confined by the kernel",
        ConfinedBy::Paths => "confined by its paths",
        ConfinedBy::Nobody => "not confined",
    };
    (a != b).then(|| {
        format!(
            "{} was {} and {} {}: the kernel's checks add some 0.4 µs to each call that opens or makes a file, and \
             nothing to reads and writes",
            one.name,
            words(a),
            other.name,
            words(b)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::Warning;

    #[test]
    fn a_busy_machine_is_told_of_the_runs_that_saw_it() {
        let of = |name: &str, codes: &[&str]| {
            let warning = |code: &&str| Warning { code: (*code).into(), ..Warning::default() };
            let facts = Facts { warnings: codes.iter().map(warning).collect(), ..Facts::default() };
            let (numbers, name) = (Vec::new(), name.to_owned());
            let (facts, unsound) = (Some(facts), Vec::new());
            let takers = Vec::new();
            Values {
                numbers,
                takers,
                name,
                seconds: true,
                subject: None,
                facts,
                rows: None,
                took: None,
                limit: None,
                plain_unit: None,
                unsound,
            }
        };
        let (idle, busy) = (of("a", &["page-cache"]), of("b", &["processor-busy", "load-changed"]));
        assert_eq!(disturbed(&idle, &idle), None);
        let told = disturbed(&idle, &busy).unwrap();
        assert!(
            told.starts_with("The machine was not idle during b (processor busy, load changed)"),
            "{told}"
        );
        let facts = [&idle, &busy, &busy].map(|one| one.facts.as_ref().unwrap());
        let told = some_disturbed(Path::new("runs"), facts.into_iter()).unwrap();
        assert!(told.contains("during 2 of the 3 runs of runs"), "{told}");
        assert_eq!(some_disturbed(Path::new("runs"), facts[..1].iter().copied()), None);
        assert!(disturbed(&busy, &busy).unwrap().contains("during both runs (processor busy, load changed)"));
    }
}
