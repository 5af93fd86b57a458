//! All tests of the functions from outside: cases on a fake machine, a few on the real one, the docs.

mod cases;
mod controller;
mod descriptions;
mod docs;
mod fixture;
mod host;
mod source;
mod states;
