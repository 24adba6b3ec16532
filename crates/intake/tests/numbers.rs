//! Numbers come from one-a-line files and from CSV tables; anything else is named with its line.

use intake::{Filter, NumberLines, Unit, Wanted, read_from};

fn read(text: &str, column: Option<&str>) -> Result<Vec<f64>, String> {
    read_from(text.as_bytes(), "t.csv", &Wanted::column(column))
        .map(|t| t.values)
        .map_err(|error| error.to_string())
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
        ("1\nNaN\n", "t.csv, line 2: `NaN` is a missing value: --missing drop leaves such rows out"),
        ("inf\n1\n", "t.csv, line 1: `inf` is infinite (or too large for a double)"),
        ("1\n-inf\n", "t.csv, line 2: `-inf` is infinite (or too large for a double)"),
        ("1\n1e999\n", "t.csv, line 2: `1e999` is infinite (or too large for a double)"),
        ("", "t.csv: it holds no numbers"),
        ("# nothing\n\n", "t.csv: it holds no numbers"),
        ("x\n", "t.csv: it holds no numbers"),
        (
            "1\n2,3\n",
            "t.csv, line 2: `2,3` has a comma in it: --decimal , reads it as the decimal sign, --thousands , as one between groups of digits",
        ),
    ];
    for (text, said) in cases {
        assert_eq!(read(text, None).unwrap_err(), said);
    }
    assert_eq!(
        read("a,b\n1,\n", Some("b")).unwrap_err(),
        "t.csv, line 2: `` is empty where a number is expected (--missing drop leaves such rows out)"
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
    for first in ["-2x", "1.2.3", ".5x", "1_000"] {
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
    let error = read_from(&b"1\n\xff\xfe\n"[..], "t.csv", &Wanted::default()).unwrap_err();
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
        assert!(said.contains("has a comma in it: --decimal , reads it"), "{text}: {said}");
    }
    // Two columns are shown by a header, a blank, or a number with a point.
    assert_eq!(read("a,b\n10,4\n", Some("1")).unwrap(), [10.0]);
    assert_eq!(read("10, 4\n13,5\n", Some("2")).unwrap(), [4.0, 5.0]);
    assert_eq!(read("10.5,4\n", Some("1")).unwrap(), [10.5]);
    assert_eq!(read("1,2,3\n", Some("3")).unwrap(), [3.0]);
}

fn series(rows: impl Iterator<Item = String>) -> String {
    rows.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn a_header_of_numbers_is_a_header() {
    // A series of pandas, without and with its index: `0` is the name of the column.
    let plain = series((0..9).map(|i| if i == 0 { "0".into() } else { format!("10.{i}5") }));
    let taken = read_from(plain.as_bytes(), "t.csv", &Wanted::default()).unwrap();
    assert_eq!((taken.values.len(), taken.values[0]), (8, 10.15));
    assert!(taken.told.unwrap().contains("its first line names the columns: --no-header takes it as values"));
    let kept = Wanted { header: Some(false), ..Wanted::default() };
    assert_eq!(read_from(plain.as_bytes(), "t.csv", &kept).unwrap().values.len(), 9);
    let indexed = series((0..9).map(|i| if i == 0 { ",0".into() } else { format!("{},10.{i}5", i - 1) }));
    assert_eq!(read(&indexed, Some("0")).unwrap().len(), 8);
    // Numbers of threads: names before places.
    let threads =
        series((0..9).map(|i| if i == 0 { "4,1,2".into() } else { format!("4.{i}5,1.{i}5,2.{i}5") }));
    for (wanted, first) in [("4", 4.15), ("1", 1.15), ("2", 2.15), ("#1", 4.15), ("#3", 2.15)] {
        let found = read(&threads, Some(wanted)).unwrap();
        assert_eq!((found.len(), found[0]), (8, first), "{wanted}");
    }
    // Numbers that could be values are values.
    for text in ["0\n1\n2\n3\n", "12\n10.5\n11.5\n10.7\n", "0,1\n1,2.5\n2,3.5\n3,4.5\n"] {
        let lines = text.lines().count();
        let column = text.contains(',').then_some("1");
        assert_eq!(read(text, column).unwrap().len(), lines, "{text}");
    }
    assert!(read("a,a\n1,2\n3,4\n", Some("a")).unwrap_err().contains("choose one by place, such as #1"));
}

#[test]
fn the_header_is_decided_once_for_all_columns() {
    let text = "12.4,write\n9.3,read\n9.5,write\n";
    let wanted = Wanted { beside: Some("2".into()), ..Wanted::column(Some("1")) };
    let taken = read_from(text.as_bytes(), "t.csv", &wanted).unwrap();
    assert_eq!(taken.values, [12.4, 9.3, 9.5]);
    assert_eq!(taken.beside, ["write", "read", "write"]);
}

#[test]
fn rows_are_chosen_and_what_is_left_out_is_said() {
    let text = "node,status,ms\na,200,1.5\nb,500,9\na,200,\nb,200,2.5\na,404,7\n";
    let filters = |all: &[&str]| all.iter().map(|one| one.parse::<Filter>().unwrap()).collect();
    let wanted =
        Wanted { filters: filters(&["status<300"]), drop_missing: true, ..Wanted::column(Some("ms")) };
    let taken = read_from(text.as_bytes(), "t.csv", &wanted).unwrap();
    assert_eq!(taken.values, [1.5, 2.5]);
    assert_eq!(
        taken.told.unwrap(),
        "table: ms, 2 of 5 rows (2 left out by --where; 1 without a value left out)"
    );
    let wanted = Wanted { filters: filters(&["node=b", "status!=500"]), ..Wanted::column(Some("ms")) };
    assert_eq!(read_from(text.as_bytes(), "t.csv", &wanted).unwrap().values, [2.5]);
    let none = Wanted { filters: filters(&["node=z"]), ..Wanted::column(Some("ms")) };
    let said = read_from(text.as_bytes(), "t.csv", &none).unwrap_err().to_string();
    assert_eq!(said, "t.csv: no row is left (5 left out by --where)");
    let unknown = Wanted { filters: filters(&["host=z"]), ..Wanted::column(Some("ms")) };
    assert!(
        read_from(text.as_bytes(), "t.csv", &unknown).unwrap_err().to_string().contains("no column `host`")
    );
}

#[test]
fn tables_of_other_makes_are_read() {
    let of = |text: &str, wanted: &Wanted| read_from(text.as_bytes(), "t", wanted).unwrap();
    let plain = |text: &str, column: &str| of(text, &Wanted::column(Some(column)));
    // Blanks, and a unit in the name of a column.
    let blanks = plain("TIME(s)  COMM  LAT(ms)\n0.0  dd    1.5\n0.2  fio   2.5\n", "LAT(ms)");
    assert_eq!((blanks.values, blanks.unit), (vec![1.5, 2.5], Some(Unit::Ms)));
    // A table with bars and rules, of Markdown or psql.
    assert_eq!(plain("| n | us |\n|---|---|\n| a | 1 |\n| b | 2 |\n", "us").values, [1.0, 2.0]);
    assert_eq!(plain(" n | us \n---+----\n a |  1 \n b |  2 \n", "us").values, [1.0, 2.0]);
    // The row of widths of an RDB table, and a row of units.
    assert_eq!(plain("# USGS\nsite\tflow\n15s\t8n\n01\t1.5\n02\t2.5\n", "flow").values, [1.5, 2.5]);
    let units = plain("step,took\n-,[us]\n1,5\n2,6\n", "took");
    assert_eq!((units.values, units.unit), (vec![5.0, 6.0], Some(Unit::Us)));
    // Values with units, which may differ.
    let mixed = of("10.5ms\n1.25 s\n300us\n", &Wanted::default());
    assert_eq!((mixed.values, mixed.unit), (vec![10.5, 1250.0, 0.3], Some(Unit::Ms)));
    assert!(
        read("10.5ms\n11\n", None).unwrap_err().contains("is in no unit, where values before it have ms")
    );
    // A decimal comma.
    let comma = Wanted { decimal: ',', ..Wanted::default() };
    assert_eq!(of("10,5\n11\n", &comma).values, [10.5, 11.0]);
    assert_eq!(of("a;t\nx;1,5\ny;2,5\n", &Wanted { column: Some("t".into()), ..comma }).values, [1.5, 2.5]);
    // Lines before the table; blank fields at the end.
    let skip = Wanted { skip: 2, ..Wanted::column(Some("b")) };
    assert_eq!(of("made by x,y,z\non Monday\na\tb\n1\t2\n3\t4\n", &skip).values, [2.0, 4.0]);
    let last = Wanted { drop_missing: true, ..Wanted::column(Some("b")) };
    assert_eq!(of("a\tb\n1\t2\n3\t\n", &last).values, [2.0]);
}

#[test]
fn packed_and_wide_text_is_read_as_it_is() {
    use std::io::Write;
    let text = "ms\n1.5\n2.5\n";
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let zst = zstd::encode_all(text.as_bytes(), 3).unwrap();
    // `printf 'ms\n1.5\n2.5\n' | xz`
    let xz = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\
        \x00\x0a\x6d\x73\x0a\x31\x2e\x35\x0a\x32\x2e\x35\x0a\x00\x00\x23\xf8\x91\x60\x28\x8d\xe5\x1b\x00\x01\
        \x23\x0b\xc2\x1b\xfd\x09\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";
    let wide = |mark: &[u8], of: fn(u16) -> [u8; 2]| {
        [mark, &text.encode_utf16().flat_map(of).collect::<Vec<_>>()].concat()
    };
    let all = [
        gz.clone(),
        zst,
        xz.to_vec(),
        wide(&[0xff, 0xfe], u16::to_le_bytes),
        wide(&[0xfe, 0xff], u16::to_be_bytes),
        wide(&[], u16::to_le_bytes),
        [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat(),
    ];
    for bytes in &all {
        assert_eq!(read_from(&bytes[..], "t", &Wanted::default()).unwrap().values, [1.5, 2.5], "{bytes:?}");
    }
    let cut = read_from(&gz[..gz.len() - 6], "t.gz", &Wanted::default()).unwrap_err().to_string();
    assert!(cut.contains("cannot be unpacked"), "{cut}");
    let cut = read_from(&xz[..xz.len() - 40], "t.xz", &Wanted::default()).unwrap_err().to_string();
    assert!(cut.contains("cannot be unpacked"), "{cut}");
    for (bytes, way) in [(&b"ARROW1.."[..], "pyarrow.parquet"), (b"PK\x03\x04..", "as CSV")] {
        let said = read_from(bytes, "t", &Wanted::default()).unwrap_err().to_string();
        assert!(said.contains(way), "{said}");
    }
}

#[test]
fn json_is_read_by_its_path() {
    let of = |text: &str, column: Option<&str>| read(text, column);
    assert_eq!(of("[1.5, 2.5]", None).unwrap(), [1.5, 2.5]);
    let document =
        r#"{"run": "x", "requests": [{"latency": 1.5, "ok": true}, {"latency": 2.5, "ok": false}]}"#;
    assert_eq!(of(document, Some("requests.latency")).unwrap(), [1.5, 2.5]);
    assert_eq!(of(document, None).unwrap(), [1.5, 2.5], "there is nothing else");
    let two = r#"{"at": 1, "ms": "1.5ms"}"#;
    let said = of(two, None).unwrap_err();
    assert_eq!(said, "t.csv: it is JSON: choose with --column one of `at`, `ms`");
    let later = "{\"ms\": 1.5}\n{\"ms\": 2.5, \"at\": 7}\n";
    assert!(of(later, None).unwrap_err().contains("choose with --column one of `at`, `ms`"));
    assert!(of(document, Some("latency")).unwrap_err().contains("it has `requests.latency`"));
    let wanted =
        Wanted { filters: vec!["ok=true".parse().unwrap()], ..Wanted::column(Some("requests.latency")) };
    assert_eq!(read_from(document.as_bytes(), "t", &wanted).unwrap().values, [1.5]);
    let lines = "{\"t\": 1, \"ms\": \"1.5ms\"}\n{\"t\": 2, \"ms\": \"2.5ms\"}\n";
    let taken = read_from(lines.as_bytes(), "t", &Wanted::column(Some("ms"))).unwrap();
    assert_eq!((taken.values, taken.unit), (vec![1.5, 2.5], Some(Unit::Ms)));
    assert!(of("{\"a\": 1", None).unwrap_err().contains("begins as JSON and is none"));
    assert!(of("[1, null]", None).unwrap_err().contains("null"));
    let pairs = r#"{"values": [[1, "0.5"], [2, "0.6"]]}"#;
    assert_eq!(of(pairs, Some("values.#2")).unwrap(), [0.5, 0.6]);
}

#[test]
fn columns_of_any_parquet_file_are_read() {
    use parquet::data_type::{ByteArrayType, DoubleType};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let schema = "message t { optional double seconds; required binary node (UTF8); }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.5, 2.5, 3.5], Some(&[1, 0, 1, 1]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let nodes = ["a", "a", "b", "a"].map(Into::into);
    column.typed::<ByteArrayType>().write_batch(&nodes, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let of = |wanted: &Wanted| intake::read(&path, wanted).map_err(|error| error.to_string());
    let wanted =
        Wanted { drop_missing: true, beside: Some("node".into()), ..Wanted::column(Some("seconds")) };
    let taken = of(&wanted).unwrap();
    assert_eq!((taken.values, taken.beside), (vec![1.5, 2.5, 3.5], vec!["a".into(), "b".into(), "a".into()]));
    assert_eq!(taken.told.unwrap(), "Parquet: seconds, 3 of 4 rows (1 without a value left out)");
    let of_a = Wanted { filters: vec!["node=a".parse().unwrap()], ..wanted.clone() };
    assert_eq!(of(&of_a).unwrap().values, [1.5, 3.5]);
    assert!(of(&Wanted::default()).unwrap_err().contains("choose one of its columns: `seconds`, `node`"));
    assert!(of(&Wanted::column(Some("seconds"))).unwrap_err().contains("--missing drop"));
    assert!(
        of(&Wanted { beside: None, ..Wanted::column(Some("node")) })
            .unwrap_err()
            .contains("`a` is not a number")
    );
}

#[test]
fn parquet_packed_by_any_codec_is_read() {
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::data_type::DoubleType;
    let values: Vec<f64> = (0..2000).map(|n| f64::from(n % 37)).collect();
    let folder = tempfile::tempdir().unwrap();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    for codec in codecs {
        let path = folder.path().join("t.parquet");
        let schema =
            parquet::schema::parser::parse_message_type("message t { required double ms; }").unwrap();
        let settings = parquet::file::properties::WriterProperties::builder().set_compression(codec).build();
        let file = std::fs::File::create(&path).unwrap();
        let writer = parquet::file::writer::SerializedFileWriter::new(file, schema.into(), settings.into());
        let mut writer = writer.unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        assert_eq!(intake::read(&path, &Wanted::default()).unwrap().values, values, "{codec:?}");
    }
}

#[test]
fn a_stream_says_once_what_it_takes_and_mixes_no_series() {
    let read = |wanted: Option<&str>, lines: &[&str]| {
        let mut numbers = NumberLines::new(&Wanted::column(wanted), "results.jtl");
        let mut told = Vec::new();
        let all: Result<Vec<_>, _> = lines
            .iter()
            .map(|line| {
                let number = numbers.number(line);
                told.extend(numbers.took());
                number
            })
            .collect();
        (all.map(|all| all.into_iter().flatten().collect::<Vec<f64>>()), told)
    };
    const LOG: [&str; 5] = [
        "timeStamp,elapsed,label,success",
        "1700000000000,120,login,true",
        "1700000000200,3,login,false",
        "1700000000300,45,home,true",
        "1700000000400,135,login,true",
    ];
    let (numbers, told) = read(Some("login"), &LOG);
    assert_eq!((numbers.unwrap(), told), (vec![120.0, 135.0], vec!["JMeter JTL: login in ms".to_owned()]));
    let (numbers, _) = read(None, &LOG);
    let said = numbers.unwrap_err().to_string();
    assert_eq!(said, "it holds several series: choose one of them: `login`, `home`");
    // Plain numbers need no words.
    assert_eq!(read(None, &["1", "2"]), (Ok(vec![1.0, 2.0]), vec![]));
    assert_eq!(read(None, &["t [ms]", "1"]), (Ok(vec![1.0]), vec!["table: t [ms] in ms".to_owned()]));
}

#[test]
fn titles_and_footers_are_no_rows_and_are_told() {
    let told = |text: &str, column: Option<&str>| {
        let taken = read_from(text.as_bytes(), "t.csv", &Wanted::column(column))
            .map_err(|error| error.to_string())?;
        Ok::<_, String>((taken.values, taken.told.unwrap_or_default()))
    };
    let rows = "t,lat\n1,1.5\n2,2.5\n3,3.5\n";
    let (values, said) = told(&format!("My results\n\nof today\n{rows}"), Some("lat")).unwrap();
    assert_eq!((values.len(), said.as_str()), (3, "table: lat, 3 rows (2 lines above the table left out)"));
    let (values, said) = told(&format!("{rows}Total,7.5\nMean,2.5\n"), Some("lat")).unwrap();
    assert_eq!(values, [1.5, 2.5, 3.5]);
    assert_eq!(said, "table: lat, 3 rows (2 lines below the table left out: `Total,7.5`)");
    assert_eq!(told(&format!("{rows}(3 rows)\n"), Some("lat")).unwrap().0, [1.5, 2.5, 3.5]);
    // What a row follows is a row, or a mistake.
    assert_eq!(told("kind,lat\ntotal,9\na,1.5\nb,2.5\n", Some("lat")).unwrap().0, [9.0, 1.5, 2.5]);
    assert!(
        told(&format!("{rows}broken\n4,4.5\n"), Some("lat")).unwrap_err().contains("line 5 has 1 fields")
    );
    // The words are the values of the first column only.
    assert_eq!(told("total\n1.5\n2.5\n", None).unwrap().0, [1.5, 2.5]);
}

#[test]
fn numbers_that_mean_none_are_asked_about() {
    let told = |text: &str| read_from(text.as_bytes(), "t.csv", &Wanted::default()).unwrap().told;
    let said = told("1.5\n2.5\n-999\n3.5\n-999\n").expect("a note");
    assert!(said.contains("2 values are -999: does that mean none? `--where COLUMN!=-999`"), "{said}");
    for plain in ["1.5\n2.5\n-999\n3.5\n", "-1\n-2\n-1\n3\n", "999\n1000\n999\n1200\n", "-1\n-1\n-1\n5\n"] {
        assert_eq!(told(plain), None, "{plain}");
    }
}

#[test]
fn the_only_column_of_numbers_needs_no_name() {
    let of = |text: &str| {
        read_from(text.as_bytes(), "t.csv", &Wanted::default()).map(|taken| (taken.values, taken.told))
    };
    let told = Some("table: write, 2 rows".to_owned());
    assert_eq!(of("host,write\na,1.5\nb,2.5\n").unwrap(), (vec![1.5, 2.5], told));
    assert!(of("host,write,read\na,1.5,1\nb,2.5,2\n").is_err());
    assert!(of("host,write\n1,1.5\n2,2.5\n").is_err());
}

#[test]
fn quotes_that_stay_open_are_refused_and_lines_inside_of_fields_told() {
    let rows = |bad: &str| {
        let row = |at: u32| if at == 20 { format!("{bad}\n") } else { format!("{at},\"a\",{at}.5\n") };
        "n,name,ms\n".to_owned() + &(1..100).map(row).collect::<String>()
    };
    let told = |bad: &str| {
        let taken = read_from(rows(bad).as_bytes(), "t.csv", &Wanted::column(Some("ms")));
        taken.map(|taken| (taken.values.len(), taken.told)).map_err(|error| error.to_string())
    };
    assert_eq!(told("20,\"a\",20.5").unwrap(), (99, None));
    let error = told("20,\"a,20.5").unwrap_err();
    assert!(error.starts_with("t.csv: line 21: a quote begins there"), "{error}");
    let error = told("20,\"a,20.5\n21,\"b,21.5").unwrap_err();
    assert!(error.ends_with("and does not end before another one on line 22"), "{error}");
    // Nothing closes it.
    let error = read("n,ms\n1,2\n\"2,3\n4,5\n", Some("ms")).unwrap_err();
    assert_eq!(error, "t.csv: line 3: a quote begins there and does not end");
    let (rows, note) = told("20,\"a\nb, \"\"c\"\"\n\",20.5").unwrap();
    assert_eq!((rows, &*note.unwrap()), (99, "table: ms, 99 rows (2 lines inside of quoted fields)"));
}
