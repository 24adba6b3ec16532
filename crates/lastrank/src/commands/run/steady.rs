//! What a run is asked to be steady by: `--steady 'iops 5% over 30s'`, or the program's own rule.

use anyhow::{anyhow, bail};
use ppl::condition::Condition;
use ppl::plan::Plan;
use samples::SteadyRule;

use crate::cli::{Record, RunArgs};

/// The rule of the command line, or else the one of the program (`define report {"steady": "…"}`).
///
/// # Errors
/// A text that is no rule, or a run whose samples are counted.
pub fn rule(args: &RunArgs, plan: &Plan) -> anyhow::Result<Option<SteadyRule>> {
    let of_program = || plan.report.get("steady").map(|text| ("define report \"steady\":", text));
    let Some((option, text)) = args.steady.as_ref().map(|text| ("--steady", text)).or_else(of_program) else {
        return Ok(None);
    };
    let rule = Condition::parse_steady(text).map_err(|why| anyhow!("{option} {text}: {why}"))?;
    if args.record == Record::Histogram {
        bail!("{option} needs every sample: leave --record histogram out");
    }
    Ok(Some(rule))
}
