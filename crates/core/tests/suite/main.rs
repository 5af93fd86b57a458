//! Tests of core's public interface, in one binary.

mod dump;
mod frame_properties;
mod patterns;
mod target_cases;
mod target_errors;
mod target_properties;
