//! stub
use rocksalt_core::{Map, Value, yaml};
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct Error;
pub fn parse(words: &[String]) -> Result<(Vec<Value>, Map), Error> {
    let mut a = Vec::new(); let mut k = Map::new();
    for w in words { match w.split_once('=') { Some((n, v)) if n.chars().all(|c| c.is_alphanumeric() || c == '_') => { k.insert(n, yaml::parse(v).unwrap_or(v.into())); } _ => a.push(yaml::parse(w).ok().filter(|v| v.is_scalar()).unwrap_or(w.as_str().into())) } }
    Ok((a, k))
}
