//! A line a sample, for spreadsheets and scripts.

use std::io::{self, Write};

use samples::{Run, SiteKind};

/// The columns of the run file but for those that point into its footer.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "label,operation,kind,line,group,rank,iteration,start_ns,duration_ps,late_ns,bytes,errno,batch,cpu,causes,queue_ns,blocked_ns"
    )?;
    let heads: Vec<String> = run
        .sites
        .iter()
        .map(|site| {
            let label = site.labels.last().map(String::as_str).unwrap_or_default();
            let kind = match site.kind {
                SiteKind::Operation => "operation",
                SiteKind::Time => "time",
                SiteKind::CommandTime => "command_time",
                SiteKind::Barrier => "barrier",
                SiteKind::Phase => "phase",
            };
            format!("{},{},{kind},{},{}", field(label), field(&site.operation), site.line, field(&site.group))
        })
        .collect();
    let mut iterations = std::collections::HashMap::<(u32, u32), u64>::new();
    for sample in &run.samples {
        let head = heads.get(sample.site as usize).map(String::as_str).unwrap_or(",,,,");
        let iteration = iterations.entry((sample.rank, sample.site)).or_default();
        let cpu = if sample.cpu == u16::MAX { -1 } else { i32::from(sample.cpu) };
        writeln!(
            out,
            "{head},{},{iteration},{},{},{},{},{},{},{cpu},{},{},{}",
            sample.rank,
            sample.start_ns,
            sample.duration_ps,
            sample.late_ns,
            sample.bytes,
            sample.errno,
            sample.batch,
            sample.causes,
            sample.queue_ns,
            sample.blocked_ns
        )?;
        *iteration += 1;
    }
    Ok(())
}

/// A field of RFC 4180: in quotes where it must be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
