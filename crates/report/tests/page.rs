//! The page is one self-contained, well-formed file, whatever stands in the run.

use report::{Report, ReportOptions, build};
use samples::Run;

fn quick() -> ReportOptions {
    let mut options = ReportOptions::default();
    options.fit.bootstrap = 19;
    options
}

fn report_of(run: &Run) -> Report {
    build(run, &quick())
}

/// The page without the embedded library, which is not ours.
fn own_part(html: &str) -> String {
    let begin = html.find("<script type=\"text/javascript\">").unwrap();
    let end = begin + html[begin..].find("</script>").unwrap() + "</script>".len();
    format!("{}{}", &html[..begin], &html[end..])
}

#[test]
fn plotly_is_embedded_once_and_only_what_draws_our_figures() {
    let html = report_of(&samples::example::parallel_write(4, 60, 1)).html();
    assert_eq!(html.matches("* plotly.js (basic").count(), 1);
    // The whole library would be 4.6 MB.
    assert!(html.len() < 1_800_000, "{} bytes", html.len());
}

#[test]
fn nothing_on_the_page_names_a_network_address() {
    let own = own_part(&report_of(&samples::example::parallel_write(4, 60, 1)).html());
    for forbidden in ["http:", "https:", "src=", "@import", "url(", "fetch(", "<link"] {
        assert!(!own.contains(forbidden), "{forbidden}");
    }
    assert!(own.contains("default-src 'none'"), "the browser itself is told to refuse requests");
}

#[test]
fn every_tag_that_opens_closes() {
    let own = own_part(&report_of(&samples::example::parallel_write(4, 60, 1)).html());
    let own = own.split("<script").next().unwrap().to_string();
    for tag in [
        "main",
        "section",
        "figure",
        "figcaption",
        "table",
        "thead",
        "tbody",
        "dl",
        "dt",
        "dd",
        "div",
        "ol",
        "li",
        "p",
        "h2",
    ] {
        let opened = own.matches(&format!("<{tag}>")).count() + own.matches(&format!("<{tag} ")).count();
        assert!(opened > 0, "<{tag}> is not used");
        assert_eq!(opened, own.matches(&format!("</{tag}>")).count(), "<{tag}>");
    }
    // Cells and rows end where the next begins, as HTML has it: each row has as many cells as its table has columns.
    assert!(["</tr>", "</td>", "</th>"].iter().all(|end| !own.contains(end)));
    let tables: Vec<&str> =
        own.split("<table").skip(1).map(|part| part.split("</table>").next().unwrap()).collect();
    for table in &tables {
        let mut rows = table.split("<tr").skip(1);
        let columns = rows.next().unwrap().matches("<th ").count();
        let cells: Vec<usize> = rows.map(|row| row.matches("<td").count()).collect();
        assert!(columns > 1 && cells.iter().all(|count| *count == columns), "{columns}: {cells:?}");
    }
    assert!(tables.len() > 5);
}

/// A run of many operations of `count` kinds, each of 20,000 values that differ and a few that are slow.
fn many_operations(count: u64, answer: bool) -> Run {
    let mut run = Run::default();
    run.facts.name = "many".into();
    (run.facts.ranks, run.facts.complete) = (1, true);
    if answer {
        run.facts.report.insert("answer".into(), "calls".into());
    }
    let mut state = 1u64;
    for site in 0..count {
        for batch in [1u32, 1000] {
            run.sites.push(samples::Site {
                line: 7 + run.sites.len() as u32,
                column: 1,
                labels: vec![if batch == 1 { "single" } else { "batch" }.into()],
                operation: format!("operation_{site}"),
                kind: samples::SiteKind::Operation,
                group: String::new(),
                expects: None,
            });
            for n in 0..if batch == 1 { 20_000 } else { 60 } {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let slow = if state >> 54 == 0 { 100 } else { 1 };
                run.samples.push(samples::Sample {
                    start_ns: n * 40_000 + site * 2_000_000_000 + u64::from(batch),
                    duration_ps: u64::from(batch) * slow * (100_000 * (site + 1) + (state >> 40) % 90_000),
                    site: run.sites.len() as u32 - 1,
                    batch,
                    ..samples::Sample::default()
                });
            }
        }
    }
    run
}

#[test]
fn a_page_of_many_operations_stays_small_and_a_detailed_one_has_every_figure() {
    /// Figures of a page, and bytes of all but the library that draws them.
    const MOST: (usize, usize) = (12, 300_000);
    for (answer, figures) in [(true, MOST.0), (false, 22)] {
        let report = report_of(&many_operations(24, answer));
        let page = report.html();
        let (count, bytes) = (page.matches("<figure").count(), own_part(&page).len());
        assert!(count <= figures && bytes <= MOST.1, "answer {answer}: {count} figures, {bytes} bytes");
        assert!(page.contains("plot-normal\""), "all operations in one figure");
        // Whatever is left out is named, and is there for those who ask.
        let left_out: usize = page
            .split("<p class=\"note\">")
            .filter(|note| note.contains("report RUN --details"))
            .map(|note| note.split(' ').next().unwrap().parse::<usize>().unwrap())
            .sum();
        let detailed = report.html_with_details();
        let of_operations = detailed.matches("plot-normal-").count();
        assert_eq!(detailed.matches("<figure").count(), report.figures().count());
        assert_eq!(report.figures().count(), count + left_out + of_operations);
        assert!(of_operations >= 24 * 3, "{of_operations}");
        // Tables are the same.
        assert_eq!(page.matches("<table").count(), detailed.matches("<table").count());
    }
}

#[test]
fn text_from_a_run_cannot_become_markup() {
    let attack = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u{0}";
    let mut run = samples::example::parallel_write(2, 60, 1);
    run.facts.name = attack.into();
    run.facts.program = format!("{attack}\n# {attack}");
    run.facts.parameters.insert(attack.into(), attack.into());
    run.facts.machine =
        serde_json::from_value(serde_json::json!({ attack: attack, "processor": {"model": attack} }))
            .unwrap();
    run.facts.failures = vec![attack.into()];
    run.facts.complete = false;
    run.facts.warnings[0].text = attack.into();
    run.facts.command_line.push(attack.into());
    run.sites.iter_mut().for_each(|site| site.labels = vec![attack.into()]);
    run.facts.report.clear();
    let html = report_of(&run).html();
    // The library of the figures would make a link of it.
    assert!(
        !own_part(&html).contains("\\u003cimg") && own_part(&html).contains("&lt;img"),
        "an element got into a figure"
    );
    assert!(!html.contains("<script>alert"), "a script got in");
    assert!(!html.contains("<img"), "an element got in");
    // Three scripts of ours and one that begins the library: no script ended early.
    assert_eq!(own_part(&html).matches("</script>").count(), 2);
}

#[test]
fn figure_data_inside_the_page_is_the_data_of_the_report() {
    let report = report_of(&samples::example::parallel_write(4, 60, 1));
    let html = report.html();
    let begin = html.find("id=\"figure-data\">").unwrap() + "id=\"figure-data\">".len();
    let end = begin + html[begin..].find("</script>").unwrap();
    let inside: serde_json::Value = serde_json::from_str(&html[begin..end]).unwrap();
    let ids: Vec<&str> =
        inside.as_array().unwrap().iter().map(|figure| figure["id"].as_str().unwrap()).collect();
    assert_eq!(ids, report.figures().map(|figure| figure.id.as_str()).collect::<Vec<_>>());
    for figure in inside.as_array().unwrap() {
        assert!(html.contains(&format!("id=\"plot-{}\"", figure["id"].as_str().unwrap())));
    }
}

#[test]
fn a_run_with_nothing_in_it_still_makes_a_page() {
    for run in [
        Run::default(),
        samples::example::parallel_write(2, 1, 1),
        samples::example::parallel_write(1, 12, 1),
    ] {
        let report = report_of(&run);
        assert!(report.html().contains("</html>"));
        assert!(!report.terminal_text().is_empty());
        assert_eq!(report.json(report::With::ALL)["schema"], "lastrank.report/1");
    }
}

#[test]
fn values_that_are_all_equal_are_shown_and_not_fitted() {
    let mut run = samples::example::parallel_write(2, 50, 1);
    run.samples.iter_mut().for_each(|sample| sample.duration_ps = 5_000_000);
    let report = report_of(&run);
    let text = report.terminal_text();
    assert!(text.contains("all 50 values equal 0.000005: nothing"), "{text}");
    assert_eq!(
        report.figures().map(|figure| figure.id.as_str()).collect::<Vec<_>>(),
        ["series", "survival", "last", "spread", "ranges", "distributions"]
    );
    assert!(report.html().contains("No distribution was fitted"));
}

#[test]
fn a_distribution_that_does_not_hold_predicts_nothing_on_the_page() {
    let mut run = samples::example::parallel_write(4, 200, 1);
    assert!(report_of(&run).html().contains("Expected once in"));
    for sample in run.samples.iter_mut().filter(|sample| sample.start_ns > 100 * 30_000_000) {
        sample.duration_ps += 3_000_000_000;
    }
    let report = report_of(&run);
    assert_eq!(report.tail().unwrap().code(), "not-independent");
    assert!(!report.html().contains("Expected once in"));
    assert!(report.terminal_text().contains("do not rely on them"));
}

#[test]
fn the_command_line_of_the_kernel_is_for_those_who_ask_for_details() {
    let mut run = samples::example::parallel_write(2, 30, 1);
    run.facts.machine.get_or_insert_default().kernel.command_line =
        Some("ro quiet root=/dev/disk/by-id/nvme-of-someone".into());
    let report = report_of(&run);
    let (plain, detailed) = (report.html(), report.html_with_details());
    assert!(!plain.contains("nvme-of-someone") && !plain.contains("kernel command line"));
    assert!(detailed.contains("nvme-of-someone") && detailed.contains("kernel command line"));
    // It is all that is left out.
    assert_eq!(detailed.matches("<figure").count(), plain.matches("<figure").count());
}

/// Name, number and note of every tile.
fn tiles_of(html: &str) -> Vec<[String; 3]> {
    let plain = |markup: &str| {
        let mut text = String::new();
        for part in markup.split('<') {
            text += part.split_once('>').map_or(part, |(_, rest)| rest);
            text.push(' ');
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let Some((_, list)) = html.split_once("<dl class=\"tiles\">") else { return Vec::new() };
    let list = list.split("</dl>").next().unwrap();
    let tile = |tile: &str| {
        let (name, rest) = tile.split_once("</dt>").unwrap();
        let (value, note) = rest.split_once("<div class=\"note\">").unwrap();
        [name, value, note].map(|part| plain(&format!("<{part}")))
    };
    list.split("<dt>").skip(1).map(|part| tile(&format!(">{part}"))).collect()
}

#[test]
fn tiles_have_the_digits_and_the_doubt_of_the_screen() {
    for (steps, open) in [(200, true), (2_000, false)] {
        let report = report_of(&samples::example::parallel_write(4, steps, 1));
        let in_short = report.one_line();
        let tiles = tiles_of(&report.html());
        let of = |name: &str| tiles.iter().find(|[found, ..]| found.starts_with(name)).expect("a tile");
        let [name, p99, note] = of("99 of 100");
        assert!(in_short.contains(&format!("p99 {p99},")), "{p99}: {in_short}");
        assert_eq!((p99.ends_with('?'), note.starts_with("uncertain: ")), (open, open), "{p99} {note}");
        assert_eq!(name.contains(" were "), open, "{name}");
        for (name, said) in [("Median", "p50"), ("Slowest", "max")] {
            let [_, value, _] = of(name);
            assert!(in_short.contains(&format!("{said} {value},")), "{value}: {in_short}");
        }
        // Only what the screen says too: nothing of one in ten.
        assert!(tiles.iter().all(|[name, ..]| !name.starts_with("9 of 10")), "{tiles:?}");
        let table = report.tables().find(|table| table.title == "Durations").unwrap();
        let row = table.rows.iter().find(|row| row.cells[0].starts_with("T = ")).unwrap();
        assert!(row.cells.contains(p99), "{p99}: {:?}", row.cells);
    }
}

#[test]
fn the_page_of_a_run_with_wrong_data_shows_no_rates_and_times_unless_opened() {
    let mut run = samples::example::parallel_write(4, 200, 1);
    run.facts.judgements.get_or_insert_default().add(samples::Judgement {
        kind: samples::JudgementKind::WrongContent,
        operation: "fread".into(),
        line: 3,
        count: 1,
        ..samples::Judgement::default()
    });
    let html = report_of(&run).html();
    assert!(html.contains("WRONG DATA") && tiles_of(&html).is_empty());
    assert!(html.contains("Rates and times of a run with wrong data are no answer"));
    assert!(!html.contains("are not shown") && !html.contains("<p class=\"label\">Verdict"));
    let figures = html.matches("<figure class").count();
    let folded: usize = html
        .split("<details class=\"chapter")
        .skip(1)
        .map(|chapter| chapter.split("</details></div>").next().unwrap().matches("<figure class").count())
        .sum();
    assert_eq!((figures, html.matches("<section id=").count()), (folded, 0));
    run.facts.judgements = Some(samples::Judgements::default());
    assert!(!tiles_of(&report_of(&run).html()).is_empty());
}

#[test]
fn the_page_of_a_gate_is_smaller_than_its_bound() {
    let page = report_of(&samples::example::parallel_write(16, 4_000, 1)).html();
    let (figures, bytes) = (page.matches("<figure").count(), own_part(&page).len());
    assert!(figures < 24 && bytes < 300_000, "{figures} figures, {bytes} bytes");
}

/// Letters of two lines of a caption at the whole width of a page, and at half of it.
const TWO_LINES: (usize, usize) = (240, 120);

#[test]
fn a_caption_takes_two_lines() {
    let mut changed = samples::example::parallel_write(16, 400, 1);
    for sample in changed.samples.iter_mut().filter(|sample| sample.start_ns > 200 * 30_000_000) {
        sample.duration_ps += 3_000_000_000;
    }
    let runs = [
        samples::example::parallel_write(16, 400, 1),
        samples::example::parallel_write(4, 2_500, 2),
        samples::example::parallel_write(2, 30, 1),
        changed,
        many_operations(24, true),
        many_operations(3, false),
    ];
    let mut longest = Vec::new();
    for run in &runs {
        for figure in report_of(run).figures() {
            let most = if figure.wide { TWO_LINES.0 } else { TWO_LINES.1 };
            let letters = figure.caption.chars().count();
            if letters > most {
                longest.push(format!("{} {letters}: {}", figure.id, figure.caption));
            }
            assert!(!figure.caption.is_empty(), "{}", figure.id);
        }
    }
    longest.sort();
    longest.dedup();
    assert!(longest.is_empty(), "{}", longest.join("\n"));
}
