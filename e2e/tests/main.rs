//! The scenarios, in one test binary. Those that need root report that they are skipped without it.

mod scenarios;
