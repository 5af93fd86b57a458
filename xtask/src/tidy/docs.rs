//! Every page is linked from a README, so that readers can find it.

use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let readme = tree.files.get("README.md").map(String::as_str).unwrap_or_default();
    let index = tree.files.get("docs/README.md").map(String::as_str).unwrap_or_default();
    let linked = |path: &str| {
        let below = path.trim_start_matches("docs/");
        links(readme, path) || links(index, below)
    };
    let pages = tree.files.keys().filter(|path| path.starts_with("docs/") && path.ends_with(".md"));
    let forgotten = pages.filter(|path| !linked(path));
    forgotten.map(|path| format!("{path} is linked neither from README.md nor from docs/README.md")).collect()
}

/// Whether a Markdown text links to the path, to the whole page or to a section.
fn links(text: &str, path: &str) -> bool {
    ["", "./"].iter().any(|start| [')', '#', ' '].iter().any(|end| text.contains(&format!("]({start}{path}{end}"))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn a_page_without_a_link_is_found() {
        let readme = "[Start](docs/start.md) [all](docs/README.md)";
        let index = "[Rosters](roster.md#flat) [why](decisions/001-agent.md) other.md";
        let page = |name| (name, "x");
        let tree = tree(&[
            ("README.md", readme),
            ("docs/README.md", index),
            page("docs/start.md"),
            page("docs/roster.md"),
            page("docs/decisions/001-agent.md"),
            page("docs/other.md"),
        ]);
        assert_eq!(check(&tree), ["docs/other.md is linked neither from README.md nor from docs/README.md"]);
    }
}
