//! `quiet` and `no_out`: no output, if only the exit code matters.

use rocksalt_core::Value;

use super::{Outputter, Style};

pub struct Quiet;

impl Outputter for Quiet {
    fn one(&self, _: &str, _: &Value, _: &Style) -> String {
        String::new()
    }
}
