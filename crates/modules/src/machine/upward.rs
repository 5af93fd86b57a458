//! [`Upward`]: the requests that a function may send to the controller.

use rocksalt_core::frame::Ask;
use rocksalt_core::{Problem, Value, call::ProblemKind};

use crate::Result;

pub trait Upward: Send + Sync {
    /// Sends a request, and waits for the answer.
    fn ask(&self, ask: Ask) -> Result<Value>;

    /// Sends a request that is answered by a stream; `sink` receives it piece by piece.
    fn fetch(&self, ask: Ask, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Value>;

    /// Sends a request with a stream; `source` returns it piece by piece, an empty one ends it.
    fn send(&self, ask: Ask, source: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Value>;
}

/// For machines without a controller.
pub struct NoController;

impl Upward for NoController {
    fn ask(&self, _: Ask) -> Result<Value> {
        Err(Problem::new(ProblemKind::Failed, "there is no controller to ask").into())
    }

    fn fetch(&self, ask: Ask, _: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Value> {
        self.ask(ask)
    }

    fn send(&self, ask: Ask, _: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Value> {
        self.ask(ask)
    }
}
