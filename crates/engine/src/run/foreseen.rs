//! What a run would be refused as files are now, found without a run.

use std::ffi::CString;

use ppl::count::{Touch, Touched};

use super::{Confine, Options, confined};
use crate::files::{Confinement, MAKE, Reason, Refusal, look};

const WRITE: &str = "write to";

/// What the confinement of these options would refuse of what a program does first with names, by the checks of a run and the
/// files as they are. `in_mpi`: under a launcher. Nothing where nobody confines, and where files are elsewhere.
pub fn foreseen(options: &Options, in_mpi: bool, touched: &Touched) -> Vec<Refusal> {
    let capabilities = options.backend.capabilities();
    if options.confine == Confine::Nobody
        || options.room
        || !capabilities.local_files
        || capabilities.virtual_time
    {
        return Vec::new();
    }
    let mut confinement = confined::checks_of(options);
    let own = confined::ownership(options, in_mpi);
    confinement = confinement.owning(own);
    let refusal = |(name, touch)| refused(&mut confinement, &CString::new::<&str>(name).ok()?, touch).err();
    touched.iter().filter_map(refusal).collect()
}

fn refused(confinement: &mut Confinement, name: &std::ffi::CStr, touch: Touch) -> Result<(), Refusal> {
    let what = match touch {
        Touch::Reads => return confinement.reach_to_read(name).map(drop),
        Touch::MakesNew => return confinement.check(MAKE, name).map(drop),
        Touch::Makes => WRITE,
        Touch::Removes => "remove",
        Touch::Renames => "rename",
        Touch::Replaces => "rename to",
    };
    let around = confinement.check(what, name)?;
    // What is opened is what a link leads to; what is removed is the link.
    let found = match (look(name), touch) {
        (Some(found), Touch::Makes) if found.is_link() => {
            let real = confinement.check_followed(what, name)?;
            CString::new(real.into_os_string().into_encoded_bytes()).ok().and_then(|real| look(&real))
        }
        (found, _) => found,
    };
    match found {
        // What the user named as a place may only be written to.
        Some(_) if touch == Touch::Makes && confinement.named(name).is_some() => Ok(()),
        Some(found) if !confinement.may_change(around, found.object()) => {
            Err(confinement.refusal(what, name, Reason::NotMade))
        }
        _ => Ok(()),
    }
}
