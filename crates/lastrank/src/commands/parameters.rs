//! Reads the parameters of a program, and the sizes of its groups, from the command line.

use anyhow::{anyhow, bail};

/// Parameters as they stand on the command line, the classic way and with `--set`.
pub fn pairs(parameters: &[String], set: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let all = parameters.iter().map(|pair| (pair, "")).chain(set.iter().map(|pair| (pair, "--set ")));
    all.map(|(pair, option)| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) => bail!("`{option}{pair}` sets no parameter: write {option}NAME=VALUE"),
        None => bail!("`{option}{pair}` sets no parameter: write `{option}{pair}=VALUE`"),
    })
    .collect()
}

/// Sizes of groups as they stand on the command line. The original (`classic`) took a name without a size, which gives
/// the group no rank.
pub fn groups(pairs: &[String], classic: bool) -> anyhow::Result<Vec<(String, u32)>> {
    pairs
        .iter()
        .map(|pair| {
            if classic && !pair.contains(':') {
                return Ok((pair.clone(), 0));
            }
            let parsed =
                pair.rsplit_once(':').and_then(|(name, size)| Some((name.to_owned(), size.parse().ok()?)));
            parsed.ok_or_else(|| anyhow!("`-g {pair}` gives no group a size: write -g GROUP:RANKS"))
        })
        .collect()
}
