//! Which of two versions is newer, by each package manager's own rules.

mod apk;
mod dpkg;
mod pacman;
mod rpm;

pub use apk::compare as apk;
pub use dpkg::compare as dpkg;
pub use pacman::compare as pacman;
pub use rpm::compare as rpm;

/// Runs `cases` in both directions.
#[cfg(test)]
fn check(compare: fn(&str, &str) -> std::cmp::Ordering, cases: &[(&str, &str, std::cmp::Ordering)]) {
    for (one, other, expected) in cases {
        assert_eq!(compare(one, other), *expected, "{one} {other}");
        assert_eq!(compare(other, one), expected.reverse(), "{other} {one}");
    }
}
