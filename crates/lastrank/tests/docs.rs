//! Runs the commands of the documentation and compares their output with what it shows.
//!
//! A block ```` ```console ```` after a line `<!-- example -->` holds commands and their output; those of one
//! page run one after another in one folder. `INSTA_UPDATE=always` writes the output into the page.

mod common;

use std::path::{Path, PathBuf};

use common::lastrank;

const MARK: &str = "<!-- example -->\n```console\n";

/// The page with the output of its commands as they print it now.
fn played(page: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut out = String::new();
    let mut rest = page;
    while let Some(start) = rest.find(MARK) {
        let (before, block) = rest.split_at(start + MARK.len());
        let end = block.find("```").unwrap();
        out += before;
        for command in block[..end].lines().filter(|line| line.starts_with("$ ")) {
            let arguments = words(command.strip_prefix("$ lastrank ").unwrap());
            let done = lastrank(folder.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(done.err, "", "{command}");
            assert!(done.status.is_some_and(|status| status < 2), "{command}: {:?}", done.status);
            out += &format!("{command}\n{}", done.out);
        }
        rest = &block[end..];
    }
    out + rest
}

/// A command line with quotes `'…'`.
fn words(line: &str) -> Vec<String> {
    line.split('\'')
        .enumerate()
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(String::from).collect::<Vec<_>>(),
            _ => vec![part.to_string()],
        })
        .collect()
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_examples_of_the_statistics_page_print_what_it_shows() {
    let path = page("statistics.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let now = played(&text);
    assert!(now.matches(MARK).count() >= 6, "the page has lost its examples");
    if now != text && std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &now).unwrap();
        return;
    }
    for (at, (shown, printed)) in text.lines().zip(now.lines()).enumerate() {
        assert_eq!(shown, printed, "docs/statistics.md, line {}", at + 1);
    }
    assert_eq!(text.lines().count(), now.lines().count());
}

/// An application that reads its input, keeps secrets in a directory of its own, and looks at files elsewhere.
const APPLICATION: &str = r#"#!/bin/sh
set -e
test -e ../elsewhere || true
test -e ../elsewhere/../../x || true
mkdir secrets
for number in 1 2 3 4; do cat "$2" > secrets/customer-$number; done
cat secrets/customer-* > all
rm secrets/customer-3
"#;

#[test]
fn the_first_commands_of_the_page_on_applications_do_what_it_says() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (home, replay) = (folder.path().join("home"), folder.path().join("replay"));
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("app"), APPLICATION).unwrap();
    std::fs::set_permissions(home.join("app"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(home.join("data"), vec![7; 30_000]).unwrap();
    let text = std::fs::read_to_string(page("import.md")).unwrap();
    let block = text.split_once("```text\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    let mut said = String::new();
    for line in block.replace("/mnt/nfs/replay", replay.to_str().unwrap()).lines() {
        let arguments: Vec<&str> = line.strip_prefix("lastrank ").unwrap().split(' ').collect();
        let done = lastrank(&home, &arguments);
        assert_eq!(done.status, Some(0), "{line}\n{}{}", done.err, done.out);
        said += &done.out;
    }
    assert_eq!(block.lines().count(), 5, "{block}");
    assert!(!replay.join("all").exists(), "the run left its files there");
    assert!(said.contains("✔ The replay does the same "), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let home = home.canonicalize().unwrap();
    assert!(said.contains(&format!("As in the program, only files in {} count.", home.display())), "{said}");
    let program = std::fs::read_to_string(home.join("app.ppl")).unwrap();
    assert!(program.contains("customer-"), "{program}");
    let anonymous = std::fs::read_to_string(home.join("anonymous.ppl")).unwrap();
    for word in ["customer", "secret", "data", "home", "cat"] {
        let body: Vec<&str> = anonymous.lines().filter(|line| line.contains(word)).collect();
        assert!(body.is_empty(), "{body:?}");
    }
}
