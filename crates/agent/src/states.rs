//! stub
use rocksalt_core::{Map, Value};
use rocksalt_modules::machine::Host;
use rocksalt_sls::Low;
#[derive(Clone, Copy)]
pub enum Mode { Ansible }
impl Mode { pub fn from_name(_: &str) -> Option<Mode> { Some(Mode::Ansible) } }
pub struct RunOptions { pub test: bool, pub mode: Mode, pub failhard: bool }
impl RunOptions { pub fn new(_: &Map) -> RunOptions { RunOptions { test: false, mode: Mode::Ansible, failhard: false } } }
pub fn run(_: Low, _: &Host, _: &RunOptions, _: Option<&(dyn Fn(&Map) + Send + Sync)>) -> Map { Map::new() }
pub fn graph(_: &Low, _: Mode) -> Value { Value::Null }
