//! Unified diffs as in Python's `difflib`, which Salt uses.
//!
//! The algorithm takes the longest common block first, then continues before and after it; in long texts, lines that
//! occur very often are no anchors. Other algorithms have other (also correct) results, but users compare ours with
//! Salt's.

use std::collections::HashMap;
use std::fmt::Write;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The difference between two texts, empty if there is none.
pub fn unified(before: &str, after: &str, from: &str, to: &str) -> String {
    let a: Vec<&str> = before.split_inclusive('\n').collect();
    let b: Vec<&str> = after.split_inclusive('\n').collect();
    lines(&a, &b, from, to)
}

/// As [`unified`], for lines that contain their line ends.
pub fn lines(a: &[&str], b: &[&str], from: &str, to: &str) -> String {
    let mut out = String::new();
    for group in groups(a, b) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        if out.is_empty() {
            let _ = write!(out, "--- {from}\n+++ {to}\n");
        }
        let _ = writeln!(out, "@@ -{} +{} @@", range(first.a, last.a_end), range(first.b, last.b_end));
        for piece in &group {
            if piece.equal {
                prefixed(&mut out, ' ', &a[piece.a..piece.a_end]);
            } else {
                prefixed(&mut out, '-', &a[piece.a..piece.a_end]);
                prefixed(&mut out, '+', &b[piece.b..piece.b_end]);
            }
        }
    }
    out
}

fn prefixed(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
    }
}

fn range(start: usize, end: usize) -> String {
    match end - start {
        1 => (start + 1).to_string(),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

/// Lines `a..a_end` of one text against `b..b_end` of the other.
#[derive(Clone, Copy)]
struct DiffBlock {
    equal: bool,
    a: usize,
    a_end: usize,
    b: usize,
    b_end: usize,
}

/// Changes with the unchanged lines around them; neighbouring ones are joined.
fn groups(a: &[&str], b: &[&str]) -> Vec<Vec<DiffBlock>> {
    let mut pieces = pieces(a, b);
    if let Some(first) = pieces.first_mut().filter(|piece| piece.equal) {
        first.a = first.a.max(first.a_end.saturating_sub(CONTEXT));
        first.b = first.b.max(first.b_end.saturating_sub(CONTEXT));
    }
    if let Some(last) = pieces.last_mut().filter(|piece| piece.equal) {
        last.a_end = last.a_end.min(last.a + CONTEXT);
        last.b_end = last.b_end.min(last.b + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group: Vec<DiffBlock> = Vec::new();
    for mut piece in pieces {
        if piece.equal && piece.a_end - piece.a > 2 * CONTEXT {
            group.push(DiffBlock { a_end: piece.a + CONTEXT, b_end: piece.b + CONTEXT, ..piece });
            groups.push(std::mem::take(&mut group));
            piece.a = piece.a_end - CONTEXT;
            piece.b = piece.b_end - CONTEXT;
        }
        group.push(piece);
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|piece| !piece.equal));
    groups
}

fn pieces(a: &[&str], b: &[&str]) -> Vec<DiffBlock> {
    let mut pieces = Vec::new();
    let (mut at_a, mut at_b) = (0, 0);
    for (start_a, start_b, length) in blocks(a, b) {
        if at_a < start_a || at_b < start_b {
            pieces.push(DiffBlock { equal: false, a: at_a, a_end: start_a, b: at_b, b_end: start_b });
        }
        (at_a, at_b) = (start_a + length, start_b + length);
        if length > 0 {
            pieces.push(DiffBlock { equal: true, a: start_a, a_end: at_a, b: start_b, b_end: at_b });
        }
    }
    pieces
}

/// The common blocks in order, an empty one at the end.
fn blocks(a: &[&str], b: &[&str]) -> Vec<(usize, usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    if b.len() >= 200 {
        let popular = b.len() / 100 + 1;
        places.retain(|_, found| found.len() <= popular);
    }
    let mut found = Vec::new();
    let mut todo = vec![(0, a.len(), 0, b.len())];
    while let Some((a_low, a_high, b_low, b_high)) = todo.pop() {
        let (start_a, start_b, length) = longest(a, b, &places, (a_low, a_high, b_low, b_high));
        if length > 0 {
            found.push((start_a, start_b, length));
            if a_low < start_a && b_low < start_b {
                todo.push((a_low, start_a, b_low, start_b));
            }
            if start_a + length < a_high && start_b + length < b_high {
                todo.push((start_a + length, a_high, start_b + length, b_high));
            }
        }
    }
    found.sort_unstable();
    let mut merged: Vec<(usize, usize, usize)> = Vec::new();
    for block in found {
        match merged.last_mut() {
            Some(last) if last.0 + last.2 == block.0 && last.1 + last.2 == block.1 => last.2 += block.2,
            _ => merged.push(block),
        }
    }
    merged.push((a.len(), b.len(), 0));
    merged
}

fn longest(
    a: &[&str],
    b: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (a_low, a_high, b_low, b_high): (usize, usize, usize, usize),
) -> (usize, usize, usize) {
    let mut best = (a_low, b_low, 0);
    // The length of the common run that ends at each line of `b`, for the previous line of `a`.
    let mut runs: HashMap<usize, usize> = HashMap::new();
    for (index, line) in a.iter().enumerate().take(a_high).skip(a_low) {
        let mut next = HashMap::new();
        for place in places.get(line).into_iter().flatten().copied().filter(|place| (b_low..b_high).contains(place)) {
            let length = place.checked_sub(1).and_then(|before| runs.get(&before)).copied().unwrap_or(0) + 1;
            next.insert(place, length);
            if length > best.2 {
                best = (index + 1 - length, place + 1 - length, length);
            }
        }
        runs = next;
    }
    // Frequent lines are no anchors, but a block is extended over them.
    while best.0 > a_low && best.1 > b_low && a[best.0 - 1] == b[best.1 - 1] {
        best = (best.0 - 1, best.1 - 1, best.2 + 1);
    }
    while best.0 + best.2 < a_high && best.1 + best.2 < b_high && a[best.0 + best.2] == b[best.1 + best.2] {
        best.2 += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_are_pythons() {
        let cases = [
            ("", "", ""),
            ("a\n", "a\n", ""),
            ("one\ntwo\nthree\n", "one\n2\nthree\n", "--- \n+++ \n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"),
            ("", "q\n", "--- \n+++ \n@@ -0,0 +1 @@\n+q\n"),
            ("q\n", "", "--- \n+++ \n@@ -1 +0,0 @@\n-q\n"),
            ("one\ntwo", "one\ntwo\nnew\n", "--- \n+++ \n@@ -1,2 +1,3 @@\n one\n-two+two\n+new\n"),
            (
                "a\n1\n2\n3\n4\n5\n6\n7\n8\nb\n",
                "q\n1\n2\n3\n4\n5\n6\n7\n8\nq\n",
                "--- \n+++ \n@@ -1,4 +1,4 @@\n-a\n+q\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-b\n+q\n",
            ),
            ("a\nb\nc\na\nb\n", "a\nb\n", "--- \n+++ \n@@ -1,5 +1,2 @@\n a\n b\n-c\n-a\n-b\n"),
        ];
        for (before, after, diff) in cases {
            assert_eq!(unified(before, after, "", ""), diff, "{before:?} {after:?}");
        }
    }

    #[test]
    fn names_stand_in_the_head() {
        assert!(unified("a\n", "b\n", "old", "new").starts_with("--- old\n+++ new\n@@ -1 +1 @@\n"));
    }
}
