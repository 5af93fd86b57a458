//! Text functions that behave as in Python, on which Salt's users rely; all of them are pure.

pub mod crypt;
pub mod diff;
pub mod digest;
pub mod glob;
pub mod mersenne;
pub mod octal;
pub mod serialize;
pub mod words;
pub mod wrap;
