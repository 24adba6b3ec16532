//! Provides the stack that the process needs, where a limit is lower than what it may be.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes that every command does with.
const NEEDED: u64 = 1 << 20;
/// Bytes that are asked for: what systems grant by default.
const WANTED: u64 = 8 << 20;

/// Raises the limit of the stack as far as it may be; the stack grows into it.
///
/// # Errors
/// Bytes of the limit, where they are too few.
pub fn provide_stack() -> Result<(), u64> {
    let limit = getrlimit(Resource::Stack);
    let Some(current) = limit.current.filter(|current| *current < WANTED) else { return Ok(()) };
    let most = limit.maximum.map_or(WANTED, |most| most.min(WANTED));
    let raised = setrlimit(Resource::Stack, Rlimit { current: Some(most), maximum: limit.maximum });
    let granted = if raised.is_ok() { most.max(current) } else { current };
    if granted < NEEDED { Err(granted) } else { Ok(()) }
}
