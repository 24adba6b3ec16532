//! Tests that every program in the documentation passes the check without a diagnostic.

use ppl::plan::Settings;
use ppl::{Source, compile};

/// Programs of a page, with their first lines.
fn programs(page: &str) -> Vec<(usize, &str)> {
    let starts = page.match_indices("```ppl\n").map(|(at, mark)| at + mark.len());
    starts.map(|at| (page[..at].lines().count() + 1, page[at..].split("```").next().unwrap())).collect()
}

#[test]
fn every_program_of_the_documentation_passes_the_check() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<_> =
        std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.push(root.join("README.md"));
    // The documented programs do not set their parameters.
    let environment = |name: &str| {
        (!name.starts_with("LASTRANK_") && !name.starts_with("PARABENCH_")).then(|| name.to_owned())
    };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in pages.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let page = std::fs::read_to_string(path).unwrap();
        for (line, program) in programs(&page) {
            let settings =
                Settings { ranks: Some(4), environment: Some(&environment), ..Settings::default() };
            let (Ok((_, found)) | Err(found)) =
                compile(&mut Source::new("p", program), &settings, false, None);
            for found in found.iter().filter(|found| !found.code.as_str().starts_with('N')) {
                wrong.push(format!(
                    "{}:{line}: {}: {}\n{program}",
                    path.display(),
                    found.code,
                    found.message
                ));
            }
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= 130, "{seen}");
}
