//! One rank at work ([`Session`]): labels, samples and failures around each operation.

mod asynchronous;
mod blocks;
mod failures;
mod notes;
mod open_blocks;
mod own_time;
mod paces;
mod state;
mod stop;
mod work;

pub use failures::{Failed, Named};
pub(super) use open_blocks::WorkDone;
pub(super) use paces::Paces;
pub use state::JudgedBy;
pub use stop::{OnError, Stop};
pub use work::Session;
pub(super) use work::SessionSettings;
