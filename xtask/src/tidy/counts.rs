//! Pages that say how many functions and states there are say what the reference has.

use crate::tree::Tree;

const REFERENCES: [(&str, &str); 2] =
    [("functions", "docs/reference/functions.md"), ("states", "docs/reference/states.md")];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for (noun, reference) in REFERENCES {
        let Some(text) = tree.files.get(reference) else { continue };
        let listed = text.lines().filter(|line| line.starts_with("### ")).count();
        let modules = text.lines().filter(|line| line.starts_with("## ")).count();
        let pages = tree.files.iter().filter(|(path, _)| path.ends_with(".md") && !path.starts_with("bench/"));
        for (path, text) in pages {
            for (number, line) in (1..).zip(text.lines()) {
                for (count, of) in claims(line, noun).filter(|said| *said != (listed, modules)) {
                    findings.push(format!("{path}:{number}: says {count} {noun} in {of}, not {listed} in {modules}"));
                }
            }
        }
    }
    findings
}

/// `218 states in 60 modules`, also with emphasis: both numbers.
fn claims<'l>(line: &'l str, noun: &'l str) -> impl Iterator<Item = (usize, usize)> + 'l {
    let bare = |word: &'l str| word.trim_matches(['*', ',', '.', '(', ')', '|']);
    let words: Vec<&str> = line.split_whitespace().map(bare).collect();
    (0..words.len().saturating_sub(3)).filter_map(move |at| match words[at..at + 4] {
        [count, of, "in", modules] if of == noun => Some((count.parse().ok()?, modules.parse().ok()?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;

    #[test]
    fn a_count_that_is_not_the_reference_s_is_found() {
        let reference = "## file\n\n### file.a\n\n## pkg\n\n### pkg.b\n";
        let page = "- **102 states** in 3 modules\n- 2 functions in 2 modules\n- 12 states of it\n";
        let found = super::check(&tree(&[
            ("docs/reference/functions.md", reference),
            ("docs/reference/states.md", reference),
            ("README.md", page),
        ]));
        assert_eq!(found, ["README.md:1: says 102 states in 3, not 2 in 2"]);
    }
}
