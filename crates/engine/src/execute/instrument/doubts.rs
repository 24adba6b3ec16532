//! Why content that was read is not known to be right, or not in all.

use samples::{FIRST, Warning};

use crate::content::shown;

/// Why something that was read was not verified, or not in all.
#[derive(Clone, Copy)]
pub(super) struct Unverified {
    code: &'static str,
    text: &'static str,
    advice: &'static str,
}

impl From<Unverified> for Warning {
    fn from(Unverified { code, text, advice }: Unverified) -> Self {
        Self { code: code.into(), text: text.into(), advice: advice.into() }
    }
}

pub(super) const HOLES: Unverified = Unverified {
    code: "holes-not-verified",
    text: "zeros in holes that ftruncate left were not verified: another rank or worker may have written there",
    advice: "verify on the rank that wrote, or by a program of one rank",
};
pub(super) const RENAMED_BY_OTHERS: Unverified = Unverified {
    code: "names-not-verified",
    text: "whether reads were of the right file was not verified: they found the content of a file of another name, \
           and other ranks or workers rename or link files",
    advice: "verify on the rank that renamed it; places and bytes were verified",
};
pub(super) const RENAMED_BEFORE: Unverified = Unverified {
    code: "names-not-verified",
    text: "whether reads were of the right file was not verified: an earlier run wrote what they found under another name",
    advice: "it may have been renamed or linked since: verify in the run that renames; places and bytes were verified, and \
             that all of a file is of one file",
};
pub(super) const OF_EARLIER_RUN: Unverified = Unverified {
    code: "earlier-run-verified",
    text: "verified reads found what an earlier run wrote, and this program writes too: whether it should have been \
           there was not verified",
    advice: "verify on the rank that wrote, without workers, or read files in a program of their own",
};
pub(super) const TOO_SHORT: Unverified = Unverified {
    code: "not-verified",
    text: "a read was too short to tell what it read: the 512 bytes around it say who wrote them, and what was read \
           does not hold their beginning",
    advice: "read from a multiple of 512 on, or a KiB at a time, to verify what another run wrote",
};
pub(super) const APPENDED: Unverified = Unverified {
    code: "not-verified",
    text: "what several ranks or workers appended was verified in part: shorter pieces than 592 bytes do not hold who \
           appended which of them",
    advice: "append a KiB at a time, or write to offsets of each rank's own",
};
pub(super) const NOTHING_READ: Unverified = Unverified {
    code: "nothing-read",
    text: "a verified read found an empty file: whether something was to be in it was not verified",
    advice: "read with a length: less is then an error",
};
pub(super) const END_UNKNOWN: Unverified = Unverified {
    code: "ends-not-verified",
    text: "`read` without a length takes what is there: of files that this rank did not write in this run, whether they \
           should be longer was not verified",
    advice: "read with the length that was written: less is then an error",
};
pub(super) const MAY_BE_CUT: Unverified = Unverified {
    code: "length-not-verified",
    text: "a file ended before what was written to it, and another rank or worker may have cut it",
    advice: "write to files of each rank's own, or from one rank, to know",
};
pub(super) const COPIED: Unverified = Unverified {
    code: "copies-not-verified",
    text: "what fcopy, memory of alloc that was not filled, or a range that was collapsed or inserted may have put there \
           was not verified: such content does not name the place at which it lies",
    advice: "verify what is copied where it comes from, or write it by fread and fwrite",
};

/// The same of a file of this name, which has the content of one of another name: the first one is named.
pub(super) fn of_other_name(why: Unverified, name: &[u8], written: &[u8]) -> Warning {
    let mut warning = Warning::from(why);
    if why.code == RENAMED_BEFORE.code {
        warning.text +=
            &format!("{FIRST}\"{}\" holds what was written to \"{}\")", shown(name), shown(written));
    }
    warning
}
