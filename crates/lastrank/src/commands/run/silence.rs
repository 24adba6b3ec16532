//! Says who did not answer after a run.

use std::io::Write;

use samples::NodeFacts;

/// Says on standard error which nodes, or which ranks, did not answer: their parts may be missing.
pub fn tell(nodes: &[NodeFacts], silent: &[u32], ranks: u32) {
    let told = samples::who_answered(nodes, silent).unwrap_or_else(|| of_ranks(silent, ranks));
    // The launcher, which may have read this, may be gone by now.
    drop(writeln!(std::io::stderr(), "error: {told}"));
}

/// `6 of 8 ranks; 3, 5 did not answer`.
fn of_ranks(silent: &[u32], ranks: u32) -> String {
    const MOST: usize = 5;
    let first: Vec<String> = silent.iter().take(MOST).map(u32::to_string).collect();
    let more = if silent.len() > MOST { " and others" } else { "" };
    let answered = (ranks as usize).saturating_sub(silent.len());
    format!("{answered} of {ranks} ranks; {}{more} did not answer", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_node_are_told_by_number() {
        assert_eq!(of_ranks(&[3, 5], 8), "6 of 8 ranks; 3, 5 did not answer");
        let all: Vec<u32> = (1..8).collect();
        assert_eq!(of_ranks(&all, 8), "1 of 8 ranks; 1, 2, 3, 4, 5 and others did not answer");
    }
}
