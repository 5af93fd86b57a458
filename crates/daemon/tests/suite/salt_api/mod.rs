//! Salt's API: recordings of real clients, and what no client may do.

mod bed;
mod hostile;
mod recorded;
mod runners;
mod shapes;
mod streams;
