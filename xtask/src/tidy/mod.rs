//! The rules. Each file has the check of one rule, and tests that show that it finds a violation.

mod budget;
mod cases;
mod catalog_cases;
mod changelog;
mod counts;
mod dependencies;
mod docs;
mod first_lines;
pub mod length;
mod machine;
mod modules;
mod named_tests;
mod references;
mod runtime;
mod test_binaries;

use crate::tree::Tree;

pub struct TidyRule {
    pub name: &'static str,
    pub about: &'static str,
    pub check: fn(&Tree) -> Vec<String>,
}

pub const RULES: &[TidyRule] = &[
    TidyRule { name: "budget", about: "the agent stays small", check: budget::check },
    TidyRule { name: "cases", about: "no folder of test cases is empty", check: cases::check },
    TidyRule {
        name: "catalog-cases",
        about: "every function and state of the catalog is named by a case or test",
        check: catalog_cases::check,
    },
    TidyRule { name: "changelog", about: "CHANGELOG.md has an Unreleased section", check: changelog::check },
    TidyRule {
        name: "counts",
        about: "pages count functions and states as the reference has them",
        check: counts::check,
    },
    TidyRule { name: "dependencies", about: "a crate uses only those that it may", check: dependencies::check },
    TidyRule { name: "docs", about: "every page is linked from a README", check: docs::check },
    TidyRule {
        name: "first-lines",
        about: "every file and crate says in its first line what it is",
        check: first_lines::check,
    },
    TidyRule { name: "length", about: "no file is too long to read", check: length::check },
    TidyRule {
        name: "machine",
        about: "no path of a builder's machine, no registry's host name",
        check: machine::check,
    },
    TidyRule { name: "modules", about: "no Rust file is forgotten", check: modules::check },
    TidyRule { name: "named-tests", about: "pages name files, types and tests that exist", check: named_tests::check },
    TidyRule { name: "references", about: "comments refer to pages of this repository", check: references::check },
    TidyRule { name: "runtime", about: "no async runtime below the agent", check: runtime::check },
    TidyRule { name: "test-binaries", about: "one test binary a crate", check: test_binaries::check },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a tree of these files, for the rules' own tests.
    pub(super) fn tree(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Tree { files, ..Tree::default() }
    }

    #[test]
    fn the_list_is_alphabetical_and_whole() {
        let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tidy");
        let files = std::fs::read_dir(directory).expect("the folder of rules").count();
        assert_eq!(names.len(), files - 1, "every file but mod.rs is a rule");
    }
}
