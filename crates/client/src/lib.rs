//! The HTTP client library.
