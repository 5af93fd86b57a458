//! Rules on texts that Python has and Salt's users rely on; all of it pure.

pub mod crypt;
pub mod diff;
pub mod digest;
pub mod glob;
pub mod mersenne;
pub mod octal;
pub mod serialize;
pub mod words;
pub mod wrap;
