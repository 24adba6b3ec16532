//! How this executable was built, and whether its figures can be those of the machine.

use crate::output;

/// Says once, before loops of lastrank's own code are timed, that the compiler did not optimise them.
pub fn warn() {
    if cfg!(debug_assertions) {
        output::say(format_args!(
            "warning: built without optimisation: figures are not of this machine; build with `cargo build --release`\n"
        ));
    }
}
