//! What can be done to a machine, and how to look at it.
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
