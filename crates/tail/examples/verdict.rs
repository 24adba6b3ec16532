//! What does an assessment of a file of numbers look like? One number a line (a header is skipped) on standard
//! input; JSON without the figures on standard output.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<f64> =
        std::io::read_to_string(std::io::stdin())?.lines().filter_map(|l| l.trim().parse().ok()).collect();
    let found = tail::assess::assess(&values, &Default::default())?;
    println!("{}", serde_json::to_string_pretty(&found.verdict)?);
    Ok(())
}
