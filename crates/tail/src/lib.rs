//! Extreme-value statistics for durations. Pure: slices of numbers in, plain structs out.
#![forbid(unsafe_code)]
