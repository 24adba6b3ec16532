//! What is called when a program says `fwrite`?
//!
//! [`posix`] makes the system calls, [`flags`] reads open modes and names errnos, [`buffers`] holds
//! the memory that transfers use, [`ring`] hands calls over without waiting, [`mpiio`] what ranks do to one file together.

pub mod buffers;
pub mod collective;
mod collective_calls;
pub mod flags;
pub mod names;
pub mod posix;
pub mod ring;
pub mod stripes;
