//! Comments refer to pages of this repository, not to unpublished papers: `docs/faults.md#f3`, not "F3".

use crate::tree::Tree;

/// Text that precedes the number of a rule, a fault or a decision in those papers.
const BEFORE: [&str; 6] = ["(", "rule ", "rules ", "fault ", "faults ", "decision "];

pub fn check(tree: &Tree) -> Vec<String> {
    let lines = tree.rust().flat_map(|(path, text)| text.lines().enumerate().map(move |line| (path, line)));
    let found = lines.filter_map(|(path, (index, line))| {
        let (_, comment) = line.split_once("//")?;
        let reference = references(comment).next()?;
        let place = format!("{path}:{}", index + 1);
        Some(format!("{place}: {reference} is on no page here: link docs/security-rules.md or docs/faults.md instead"))
    });
    found.collect()
}

/// Finds words such as `R17` and `D5` after one of [`BEFORE`].
fn references(comment: &str) -> impl Iterator<Item = &str> {
    let starts = comment.char_indices().filter(|(_, letter)| matches!(letter, 'D' | 'E' | 'F' | 'H' | 'R'));
    starts.filter_map(|(start, _)| {
        let digits = comment[start + 1..].chars().take_while(char::is_ascii_digit).count();
        let end = start + 1 + digits;
        let alone = !comment[end..].starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let named = BEFORE.iter().any(|before| comment[..start].to_ascii_lowercase().ends_with(before));
        ((1..=2).contains(&digits) && alone && named).then(|| &comment[start..end])
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn papers_that_are_not_here_are_found() {
        // The words are assembled here, so that this file itself doesn't contain any.
        let [rule, decision, fault] = ["R1", "D11", "F17"];
        let text = format!(
            "// Who asks comes first (rule {rule}).\n//! A store (decision {decision}).\n/// Floods ({fault}).\n\
             let x = f(R1);\n// See `docs/faults.md#f17`, decision 0018 and (R2D2), or F1 on the keyboard.\n"
        );
        let findings = check(&tree(&[("crates/a.rs", &text)]));
        let found: Vec<&str> = findings.iter().filter_map(|finding| finding.split(' ').nth(1)).collect();
        assert_eq!(found, [rule, decision, fault]);
    }
}
