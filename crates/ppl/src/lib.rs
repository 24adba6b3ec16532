//! The Parabench Programming Language: parse, check, plan, interpret, format, explain. Pure.
#![forbid(unsafe_code)]
