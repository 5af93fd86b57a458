//! [`Upward`]: what a function may ask of the controller.

use rocksalt_core::frame::Ask;
use rocksalt_core::{Problem, Value, call::ProblemKind};

use crate::Result;

pub trait Upward: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, ask: Ask) -> Result<Value>;

    /// Asks for something that comes as a stream; `sink` gets it piece by piece.
    fn fetch(&self, ask: Ask, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Value>;

    /// Asks and sends a stream along; `source` gives it piece by piece, an empty one ends it.
    fn send(&self, ask: Ask, source: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Value>;
}

/// For machines that nobody controls.
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
