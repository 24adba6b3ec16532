//! What a reader sees of a run that is always the same.

use report::{ReportOptions, build};

fn report() -> report::Report {
    let mut options = ReportOptions::default();
    options.fit.bootstrap = 99;
    build(&samples::example::parallel_write(16, 400, 7), &options)
}

#[test]
fn the_terminal_text_of_the_example() {
    // Comparison and verdict are the words of the statistics, which have their own tests.
    let text = report().terminal_text();
    let (until_distributions, _) = text.split_once("Which distribution describes the values best").unwrap();
    // The verdict says whether the levels may be used, so it stands before them.
    let (head, rest) = until_distributions.split_once("Verdict: ").unwrap();
    let (_, tables) = rest.split_once("\n\n").unwrap();
    assert!(!head.contains("Return levels") && tables.contains("Return levels"));
    insta::assert_snapshot!(head.to_owned() + tables);
}

#[test]
fn the_words_of_the_figures_of_the_example() {
    let words: Vec<String> = report()
        .figures()
        .map(|figure| {
            format!("{}: {}\n  {}\n  [{}]", figure.id, figure.title, figure.caption, figure.alternative)
        })
        .collect();
    insta::assert_snapshot!(words.join("\n"));
}

/// First and last numbers of every list of a figure, three significant digits: small enough to read,
/// and the same on every processor.
fn gist(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::{Value, json};
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, |number| json!(format!("{number:.2e}"))),
        Value::Array(list) if list.len() > 4 => {
            json!([
                gist(&list[0]),
                gist(&list[1]),
                format!("… of {}", list.len()),
                gist(&list[list.len() - 1])
            ])
        }
        Value::Array(list) => list.iter().map(gist).collect(),
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), gist(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_numbers_of_the_figures_of_the_example() {
    let numbers: serde_json::Map<String, serde_json::Value> = report()
        .figures()
        .map(|figure| (figure.id.clone(), gist(&serde_json::to_value(&figure.numbers).unwrap())))
        .collect();
    insta::assert_json_snapshot!(numbers);
}

#[test]
fn a_plot_is_what_plotly_takes() {
    for figure in report().figures() {
        assert!(figure.plot["data"].as_array().is_some_and(|traces| !traces.is_empty()), "{}", figure.id);
        for trace in figure.plot["data"].as_array().unwrap() {
            let lengths = [&trace["x"], &trace["y"]].map(|axis| axis.as_array().map(Vec::len));
            assert!(
                lengths[0].is_some() && lengths[0] == lengths[1],
                "{} {}: {lengths:?}",
                figure.id,
                trace["name"]
            );
        }
        for axis in ["xaxis", "yaxis"] {
            assert!(figure.plot["layout"][axis]["title"]["text"].is_string(), "{} {axis}", figure.id);
        }
    }
}
