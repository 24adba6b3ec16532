//! Rows that are taken without a look at more than their number, against the same rows looked at one by one.

use intake::{Error, Taken, Wanted, read_from};
use proptest::prelude::*;

/// First lines that settle how all are read.
fn head(table: bool) -> String {
    let row = |at: usize| if table { format!("n{at},{at}.5,200\n") } else { format!("{at}.5\n") };
    let header = if table { "node,wait_ms,status\n" } else { "" };
    header.to_owned() + &(0..70).map(row).collect::<String>()
}

fn read(text: &str, table: bool, one_by_one: bool) -> Result<Taken, Error> {
    // A condition that every row meets: rows are looked at one by one.
    let column = if table { "wait_ms" } else { "#1" };
    let filters = if one_by_one { vec![format!("{column}!=~").parse().unwrap()] } else { Vec::new() };
    let wanted = Wanted { filters, ..Wanted::column(table.then_some("wait_ms")) };
    read_from(text.as_bytes(), "t.csv", &wanted)
}

fn same(text: &str, table: bool) {
    let (found, wanted) = (read(text, table, false), read(text, table, true));
    match (&found, &wanted) {
        (Ok(a), Ok(b)) => {
            assert_eq!((&a.values, a.rows, a.unit), (&b.values, b.rows, b.unit), "{text}");
            let notes = |taken: &Taken| {
                taken
                    .told
                    .as_deref()
                    .and_then(|told| told.split_once("rows"))
                    .map(|(_, note)| note.to_owned())
            };
            assert_eq!(notes(a), notes(b), "{text}");
        }
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string(), "{text}"),
        _ => panic!("{found:?} and {wanted:?}: {text}"),
    }
}

/// Fields and lines that are rows, and others that have to be looked at.
const PIECES: [&str; 33] = [
    "1.5",
    "-2",
    "+3e2",
    ".5",
    "1e400",
    "nan",
    "inf",
    "NA",
    "",
    " 7.5 ",
    "7,5",
    "\"8.5\"",
    "a\"b",
    "10.7ms",
    "1_0",
    "#",
    "# 5",
    "---",
    "total",
    "Total,9.5,1",
    "n1,1.5,200",
    "n2,2.5",
    "n3,3.5,200,1",
    "n\u{e4},4.5,200",
    "\"n,5\",5.5,200",
    "n6, 6.5 ,200",
    "n7,7.5ms,200",
    " n8,8.5,200",
    "\u{a0}9.5",
    "mean,1.0,2",
    "n9,1e5,x\r",
    "x",
    "1.25\r",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn all_rows_are_those_that_are_looked_at_one_by_one(
        table: bool,
        picks in prop::collection::vec((0..PIECES.len(), 0..40_usize), 1..6),
        is_ended: bool,
    ) {
        let mut text = head(table);
        for (piece, rows) in picks {
            text += PIECES[piece];
            text.push('\n');
            let row = if table { "n,3.25,1\n" } else { "3.25\n" };
            text += &row.repeat(rows);
        }
        if !is_ended {
            text.pop();
        }
        same(&text, table);
    }
}

#[test]
fn many_rows_across_buffers_are_all_taken_and_a_wrong_one_is_named_by_its_line() {
    for table in [false, true] {
        let row = |at: usize| if table { format!("node{at},{at}.25,200\n") } else { format!("{at}.25\n") };
        let text = head(table) + &(0..60_000).map(row).collect::<String>();
        same(&text, table);
        let taken = read(&text, table, false).unwrap();
        assert_eq!((taken.values.len(), taken.values[70], taken.values[60_069]), (60_070, 0.25, 59_999.25));
        let wrong = text.clone() + if table { "n,slow,1\n" } else { "slow\n" } + &row(1).repeat(50);
        let said = read(&wrong, table, false).unwrap_err().to_string();
        let line = 60_071 + usize::from(table);
        assert!(said.starts_with(&format!("t.csv, line {line}: `slow`")), "{said}");
        same(&wrong, table);
    }
}
