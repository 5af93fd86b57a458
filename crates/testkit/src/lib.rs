//! Throw-away hosts and fakes for tests.
