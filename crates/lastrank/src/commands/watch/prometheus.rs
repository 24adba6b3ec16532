//! Writes the state of the monitor as a Prometheus metrics file.
//!
//! The text format 0.0.4 for the text-file collector of the node_exporter: base units (seconds), a HELP and
//! a TYPE line for each metric, label values escaped, no timestamps (the collector refuses them).

use tail::alarm::{Level, Watch};

use super::state::{Counts, Recent};

/// What a file of metrics says.
pub struct Metrics<'a> {
    /// Names of baseline and stream, for the labels.
    pub baseline: &'a str,
    pub stream: &'a str,
    /// The operation or label that was chosen; none where nobody chose.
    pub of: Option<&'a str>,
    pub watch: &'a Watch,
    pub counts: &'a Counts,
    /// The last value, in seconds.
    pub last: Option<f64>,
    /// What was seen lately.
    pub recent: &'a Recent,
    /// Seconds since 1970.
    pub now: f64,
}

impl Metrics<'_> {
    /// The whole file.
    pub fn text(&self) -> String {
        let watch = self.watch;
        let of = self.of.map_or(String::new(), |of| format!(",of=\"{}\"", escaped(of)));
        let labels =
            format!("baseline=\"{}\",stream=\"{}\"{of}", escaped(self.baseline), escaped(self.stream));
        let mut out = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, samples: &[(&str, f64)]| {
            out += &format!("# HELP lastrank_watch_{name} {help}\n# TYPE lastrank_watch_{name} {kind}\n");
            for (extra, value) in samples {
                out += &format!("lastrank_watch_{name}{{{labels}{extra}}} {}\n", number(*value));
            }
        };
        let yes = |is: bool| f64::from(u8::from(is));
        let counts = self.counts;
        metric(
            "alarmed",
            "gauge",
            "1 while there is an alarm: level slow, or the last run a spike.",
            &[("", yes(watch.alarmed()))],
        );
        metric(
            "level",
            "gauge",
            "1 for the level of the stream against its baseline.",
            &[
                (",level=\"quiet\"", yes(watch.level == Level::Quiet)),
                (",level=\"slow\"", yes(watch.level == Level::Slow)),
                (",level=\"fast\"", yes(watch.level == Level::Fast)),
            ],
        );
        metric(
            "events_total",
            "counter",
            "Events told.",
            &[
                (",event=\"spike\"", counts.spikes as f64),
                (",event=\"slow\"", counts.slow as f64),
                (",event=\"fast\"", counts.fast as f64),
                (",event=\"recovered\"", counts.recovered as f64),
                (",event=\"rebaselined\"", counts.rebaselined as f64),
            ],
        );
        metric("runs_total", "counter", "Runs watched.", &[("", watch.runs as f64)]);
        metric(
            "bad_lines_total",
            "counter",
            "Lines or files that could not be read.",
            &[("", (counts.bad + watch.skipped) as f64)],
        );
        if let Some(last) = self.last {
            metric("last_duration_seconds", "gauge", "Duration of the last run.", &[("", last)]);
        }
        let baseline = &watch.baseline;
        metric(
            "spike_threshold_seconds",
            "gauge",
            "A run above this is a spike.",
            &[("", baseline.spike.value)],
        );
        metric("baseline_median_seconds", "gauge", "Median of the baseline.", &[("", baseline.median())]);
        metric(
            "false_alarm_rate",
            "gauge",
            "Share of healthy values that give a spike alarm.",
            &[("", baseline.spike.false_alarms)],
        );
        metric(
            "run_length_runs",
            "gauge",
            "Mean number of healthy values between false alarms of the level.",
            &[("", baseline.options.run_length)],
        );
        metric(
            "cusum",
            "gauge",
            "Evidence for a changed level; an alarm at the threshold.",
            &[
                (",side=\"slow\"", watch.cusum[0]),
                (",side=\"fast\"", watch.cusum[1]),
                (",side=\"recovered\"", watch.cusum[2]),
            ],
        );
        metric(
            "cusum_threshold",
            "gauge",
            "Evidence at which the level has changed.",
            &[(",side=\"slow\"", baseline.cusum), (",side=\"fast\"", baseline.cusum_fast)],
        );
        metric(
            "updated_timestamp_seconds",
            "gauge",
            "When this file was written, in Unix time.",
            &[("", self.now)],
        );
        out + &self.durations(&labels)
    }

    /// Quantiles of what was watched, and of the operations of the last run file.
    fn durations(&self, labels: &str) -> String {
        let mut out = String::new();
        let quantile = |name: &str, p: f64, seconds: f64| {
            format!("{name}{{{labels},quantile=\"{p}\"}} {}\n", number(seconds))
        };
        if !self.recent.run.is_empty() {
            let name = "lastrank_watch_operation_seconds";
            out += &format!(
                "# HELP {name} Quantiles of the operations of the last run file.\n# TYPE {name} gauge\n"
            );
            self.recent.run.iter().for_each(|(p, seconds)| out += &quantile(name, *p, *seconds));
        }
        if !self.recent.values.is_empty() {
            let name = "lastrank_watch_duration_seconds";
            out += &format!(
                "# HELP {name} Durations watched; quantiles of the newest 1000.\n# TYPE {name} summary\n"
            );
            self.recent.quantiles().iter().for_each(|(p, seconds)| out += &quantile(name, *p, *seconds));
            out += &format!("{name}_sum{{{labels}}} {}\n", number(self.recent.sum));
            out += &format!("{name}_count{{{labels}}} {}\n", number(self.watch.runs as f64));
        }
        out
    }
}

/// A label value: backslash, quote and line feed escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A value as the format spells it.
fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".into(),
        v if v == f64::INFINITY => "+Inf".into(),
        v if v == f64::NEG_INFINITY => "-Inf".into(),
        v => v.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_numbers_spelt_as_the_format_wants() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
        assert_eq!(
            [0.001, 1e-9, f64::INFINITY, f64::NAN].map(number),
            ["0.001", "0.000000001", "+Inf", "NaN"]
        );
    }
}
