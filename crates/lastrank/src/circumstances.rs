//! Why times of two runs may differ though the systems do not: a busy machine, another confinement.

use samples::ConfinedBy;

use crate::values::Values;

/// What disturbed the machine during either run, as its warnings tell.
pub fn disturbed(one: &Values, other: &Values) -> Option<String> {
    const DISTURBANCES: [&str; 7] = [
        "processor-busy",
        "io-busy",
        "memory-pressure",
        "memory-short",
        "throttled",
        "load-changed",
        "stolen",
    ];
    let of = |values: &Values| -> Vec<String> {
        let warnings = values.facts.iter().flat_map(|facts| &facts.warnings);
        let codes = warnings.map(|warning| warning.code.as_str());
        codes.filter(|code| DISTURBANCES.contains(code)).map(|code| code.replace('-', " ")).collect()
    };
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
    use samples::{Facts, Warning};

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
        assert!(disturbed(&busy, &busy).unwrap().contains("during both runs (processor busy, load changed)"));
    }
}
