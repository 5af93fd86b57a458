//! Salt's API as its clients use it: recorded from real ones, and what no client should do.

mod bed;
mod hostile;
mod recorded;
mod runners;
mod shapes;
mod streams;
