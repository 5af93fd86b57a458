//! Takes a request to its stored result.
