//! No file is too long to read: about 150 lines, rarely over 500, never over 600.

use crate::tree::Tree;

const SELDOM: usize = 500;
const NEVER: usize = 600;

pub fn check(tree: &Tree) -> Vec<String> {
    let long = tree.rust().map(|(path, text)| (path, text.lines().count())).filter(|(_, lines)| *lines > NEVER);
    long.map(|(path, lines)| format!("{path} has {lines} lines, {NEVER} are the most: it has more than one idea in it"))
        .collect()
}

/// Files that are close to the limit, which isn't a fault yet.
pub fn notices(tree: &Tree) -> Vec<String> {
    let lengths = tree.rust().map(|(path, text)| (path, text.lines().count()));
    let near = lengths.filter(|(_, lines)| (SELDOM + 1..=NEVER).contains(lines));
    near.map(|(path, lines)| format!("{path} has {lines} lines")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn only_what_is_over_the_limit_is_a_fault() {
        let lines = |count| "x\n".repeat(count);
        let tree = tree(&[
            ("a.rs", &lines(500)),
            ("b.rs", &lines(501)),
            ("c.rs", &lines(600)),
            ("d.rs", &lines(601)),
            ("e.md", &lines(900)),
        ]);
        assert_eq!(notices(&tree).len(), 2);
        assert_eq!(check(&tree).len(), 1);
        assert!(check(&tree)[0].starts_with("d.rs has 601 lines"));
    }
}
