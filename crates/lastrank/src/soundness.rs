//! What is told where a run that an answer rests on is not sound, and where there is no answer because of it.

use std::path::Path;

use report::words::unsound::{self, Unsound};
use samples::Run;

use crate::exit::BrokenInput;

/// What makes a run unsound, in a list of none or one.
pub fn unsound_of(run: &Run, file: &Path) -> Vec<Unsound> {
    Unsound::of(&file.display().to_string(), &run.judgements()).into_iter().collect()
}

/// Why there is no answer. Where a run is not sound that comes first, and the status is that of the run: too few values are left
/// because its operations failed, and no further measurement of the same mends that.
pub fn blamed_on(unsound: &[Unsound], why: anyhow::Error) -> anyhow::Error {
    let Some(headline) = unsound::headline(unsound) else { return why };
    let few = why.chain().find_map(|cause| match cause.downcast_ref::<tail::Error>() {
        Some(tail::Error::TooFew { found, needed }) => {
            let are = if *found == 1 { "value is" } else { "values are" };
            Some(format!("{found} {are} left, and at least {needed} are needed"))
        }
        _ => None,
    });
    let why = few.unwrap_or_else(|| format!("{why:#}")).replace('\n', "\\n");
    anyhow::anyhow!(BrokenInput(format!("{headline}\n  No answer is given: {why}")))
}

/// Says in a JSON document which runs are not sound, and that its code is no verdict then.
pub fn add_unsound(object: &mut serde_json::Value, unsound: &[Unsound]) {
    object["unsound"] = serde_json::json!(unsound);
    let Some(headline) = unsound::headline(unsound) else { return };
    if let Some(code) = object.get("code").cloned() {
        object["measured_code"] = code;
        object["code"] = unsound::CODE.into();
    }
    if let Some(text) = object.get("text").and_then(|text| text.as_str()) {
        object["text"] = format!("{headline} Measured all the same: {text}").into();
    }
}
