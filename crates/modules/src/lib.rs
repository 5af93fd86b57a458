//! Functions and states that change a machine, and functions that read it.
//!
//! [`catalog`] has a file for each noun; everything that it does to the machine passes through [`machine`].

// The small agent compiles every noun's file but uses few of them; the linker drops the rest.
#![cfg_attr(not(feature = "whole"), allow(dead_code, unused_imports))]

pub mod catalog;
pub mod grains;
pub mod machine;

pub mod text;

mod error;

pub use error::{Error, Result, reason};
