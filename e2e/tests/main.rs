//! The scenarios, in one binary. Those that need root say so and end where there is none.

mod scenarios;
