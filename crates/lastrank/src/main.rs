//! Measure every operation, program the load, explain the tail.
#![forbid(unsafe_code)]

fn main() {
    println!("lastrank {}", env!("CARGO_PKG_VERSION"));
}
