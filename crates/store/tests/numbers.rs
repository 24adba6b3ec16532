//! Numbers come from one-a-line files and from CSV tables; anything else is named with its line.

fn read(text: &str, column: Option<&str>) -> Result<Vec<f64>, String> {
    store::numbers_from(text.as_bytes(), "t.csv", column).map_err(|error| error.to_string())
}

#[test]
fn one_number_a_line_with_comments_and_blank_lines() {
    assert_eq!(read("# seconds\n1.5\n\n 2e-3 \r\n-4\n", None).unwrap(), [1.5, 2e-3, -4.0]);
}

#[test]
fn a_single_column_needs_no_choice() {
    assert_eq!(read("x\n1\n2\n", None).unwrap(), [1.0, 2.0]);
}

#[test]
fn a_column_is_chosen_by_name_or_position() {
    let text = "node,\"time, s\"\n\"a,b\",1.5\nc,2\n";
    assert_eq!(read(text, Some("time, s")).unwrap(), [1.5, 2.0]);
    assert_eq!(read(text, Some("2")).unwrap(), [1.5, 2.0]);
}

#[test]
fn semicolons_tabs_and_a_byte_order_mark_are_understood() {
    assert_eq!(read("\u{feff}a;b\n1;2\n", Some("a")).unwrap(), [1.0]);
    assert_eq!(read("a\tb\n1\t2\n", Some("b")).unwrap(), [2.0]);
    assert_eq!(read("1 , 2\n3,4\n", Some("2")).unwrap(), [2.0, 4.0]);
}

#[test]
fn what_cannot_be_a_number_is_named_with_its_line() {
    let cases = [
        ("1\ntwo\n", "t.csv, line 2: `two` is not a number"),
        (
            "1\nNaN\n",
            "t.csv, line 2: `NaN` is a missing value; remove such lines, or say how they came about",
        ),
        ("1\n-inf\n", "t.csv, line 2: `-inf` is infinite (or too large for a double)"),
        ("1\n1e999\n", "t.csv, line 2: `1e999` is infinite (or too large for a double)"),
        ("", "t.csv: it holds no numbers"),
        ("# nothing\n\n", "t.csv: it holds no numbers"),
        ("x\n", "t.csv: it holds no numbers"),
        (
            "1\n2,3\n",
            "t.csv, line 2: `2,3` has a comma in it: write decimals with a point, and groups of digits without a mark",
        ),
    ];
    for (text, said) in cases {
        assert_eq!(read(text, None).unwrap_err(), said);
    }
    assert_eq!(
        read("a,b\n1,\n", Some("b")).unwrap_err(),
        "t.csv, line 2: `` is empty where a number is expected"
    );
    assert_eq!(
        read("a,b\n1,2\n3\n", Some("a")).unwrap_err(),
        "t.csv: line 3 has 1 fields where the first has 2: `3`"
    );
}

#[test]
fn a_first_row_is_not_lost_because_another_field_of_it_is_text() {
    assert_eq!(read("node1,1.5\nnode2,2.5\n", Some("2")).unwrap(), [1.5, 2.5]);
    assert_eq!(read("node,seconds\nnode2,2.5\n", Some("2")).unwrap(), [2.5]);
    assert_eq!(read("2,node1,7\n3,node2,8\n", Some("3")).unwrap(), [7.0, 8.0]);
}

#[test]
fn a_first_line_that_begins_as_a_number_is_no_header() {
    for first in ["1.5ms", "-2x", "1.2.3", ".5s", "1_000"] {
        let text = format!("{first}\n1\n2\n");
        assert_eq!(read(&text, None).unwrap_err(), format!("t.csv, line 1: `{first}` is not a number"));
    }
    assert_eq!(read("99th\n1\n2\n", Some("99th")).unwrap(), [1.0, 2.0], "named, it is a header");
}

#[test]
fn an_unclear_choice_lists_the_columns() {
    assert_eq!(read("a,b\n1,2\n", None).unwrap_err(), "t.csv: choose one of its columns: `a`, `b`");
    assert_eq!(
        read("a,b\n1,2\n", Some("c")).unwrap_err(),
        "t.csv: it has no column `c`; its columns are `a`, `b`"
    );
    assert_eq!(
        read("1.5,2\n", None).unwrap_err(),
        "t.csv: it has 2 columns and no header: choose one by position, from 1"
    );
}

#[test]
fn bytes_that_are_no_text_are_named_with_their_line() {
    let error = store::numbers_from(&b"1\n\xff\xfe\n"[..], "t.csv", None).unwrap_err();
    assert_eq!(error.to_string(), "t.csv: line 2 is not text (UTF-8)");
}

proptest::proptest! {
    #[test]
    fn any_finite_number_and_any_text_is_answered(values: Vec<f64>, junk: String) {
        let finite: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let text: String = finite.iter().map(|value| format!("{value:e}\n")).collect();
        if !finite.is_empty() {
            proptest::prop_assert_eq!(read(&text, None).unwrap(), finite);
        }
        let _ = read(&junk, None);
    }
}

#[test]
fn a_decimal_comma_is_seen_and_refused_never_cut_off() {
    // One column whose comma looks like a separator: 10 and 13 were read.
    for column in [None, Some("1"), Some("2")] {
        let said = read("10,408948\n13,471287\n", column).unwrap_err();
        assert!(said.contains("`10,408948` may be one number with a decimal comma or two columns"), "{said}");
    }
    // Beside another separator it is one.
    for text in [
        "name;seconds\na;10,408948\n",
        "a;10,408948\n",
        "10,5;13,2\n",
        "10,5\t13,2\n",
        "x,y\tseconds\n1\t10,5\n",
    ] {
        let said = read(text, Some("2")).unwrap_err();
        assert!(said.contains("has a comma in it: write decimals with a point"), "{text}: {said}");
    }
    // Two columns are shown by a header, a blank, or a number with a point.
    assert_eq!(read("a,b\n10,4\n", Some("1")).unwrap(), [10.0]);
    assert_eq!(read("10, 4\n13,5\n", Some("2")).unwrap(), [4.0, 5.0]);
    assert_eq!(read("10.5,4\n", Some("1")).unwrap(), [10.5]);
    assert_eq!(read("1,2,3\n", Some("3")).unwrap(), [3.0]);
}
