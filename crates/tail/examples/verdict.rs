//! Prints the verdict on numbers from standard input (one per line, a header is skipped) as JSON.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<f64> =
        std::io::read_to_string(std::io::stdin())?.lines().filter_map(|l| l.trim().parse().ok()).collect();
    let found = tail::assess::assess(&values, &Default::default())?;
    println!("{}", serde_json::to_string_pretty(&found.verdict)?);
    Ok(())
}
