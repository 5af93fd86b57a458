//! What can be done to a machine, and how to look at it.
//!
//! [`catalog`] has a file for each noun; whatever it does to the machine goes through [`machine`].

// The small agent has every noun's file and uses few of them; what nobody uses is not in the program.
#![cfg_attr(not(feature = "whole"), allow(dead_code, unused_imports))]

pub mod catalog;
pub mod grains;
pub mod machine;

pub mod text;

mod error;

pub use error::{Error, Result, reason};
