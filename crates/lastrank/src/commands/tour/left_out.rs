//! Words what a tour left out.

/// What was left out, a line for each reason.
pub fn left_out(skipped: &[String]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, why) in skipped.iter().map(|one| one.split_once(": ").unwrap_or((one, ""))) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let line = |(why, names): &(&str, Vec<&str>)| match why.is_empty() {
        true => format!("left out: {}\n", names.join(", ")),
        false => format!("left out, {why}: {}\n", names.join(", ")),
    };
    reasons.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_has_a_line_for_each_reason() {
        let skipped =
            ["stat: no time was left", "fork: no time was left", "Pipe: refused"].map(str::to_owned);
        assert_eq!(left_out(&skipped), "left out, no time was left: stat, fork\nleft out, refused: Pipe\n");
    }
}
