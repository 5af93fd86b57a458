//! [`ArchiveContents`]: the members of an archive in Salt's order, and a check that none leads out of the directory.

use serde::{Deserialize, Serialize};

use rocksalt_core::{Map, Value};

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The path in the archive, for directories without the final slash.
    pub path: String,
    pub kind: MemberKind,
    /// Name or id of its owner and group, if the archive's listing has them.
    pub owner: Option<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberKind {
    File,
    Directory,
    /// A symbolic link with its target.
    Link(String),
    /// A hard link to this member.
    HardLink(String),
}

#[derive(Default, Serialize, Deserialize)]
pub struct ArchiveContents {
    pub members: Vec<Member>,
    /// Sorted; directories with a slash at the end.
    pub dirs: Vec<String>,
    pub files: Vec<String>,
    pub links: Vec<String>,
    pub top_level_dirs: Vec<String>,
    pub top_level_files: Vec<String>,
    pub top_level_links: Vec<String>,
}

impl ArchiveContents {
    /// `strip` is the number of leading parts to remove from each path.
    pub fn new(members: Vec<Member>, strip: usize) -> ArchiveContents {
        let mut contents = ArchiveContents::default();
        for member in &members {
            let directory = member.kind == MemberKind::Directory;
            let path = if directory { format!("{}/", member.path) } else { member.path.clone() };
            let path = path.splitn(strip + 1, '/').nth(strip).unwrap_or_default().to_owned();
            if path.is_empty() {
                continue;
            }
            match member.kind {
                MemberKind::Directory => contents.dirs.push(path),
                MemberKind::Link(_) => contents.links.push(path),
                MemberKind::File | MemberKind::HardLink(_) => contents.files.push(path),
            }
        }
        contents.members = members;
        for list in [&mut contents.dirs, &mut contents.files, &mut contents.links] {
            list.sort();
        }
        contents.dirs.dedup();
        let slashes = |path: &str| path.matches('/').count();
        let top = |list: &[String], count| list.iter().filter(|path| slashes(path) == count).cloned().collect();
        contents.top_level_dirs = top(&contents.dirs, 1);
        contents.top_level_files = top(&contents.files, 0);
        contents.top_level_links = top(&contents.links, 0);
        if let Some(first) = common_directory([&contents.dirs, &contents.files, &contents.links])
            && !contents.top_level_dirs.contains(&first)
        {
            contents.top_level_dirs.push(first);
        }
        contents
    }

    /// The result of `archive.list` with `verbose`.
    pub fn sorted(&self) -> Map {
        let list = |list: &[String]| Value::List(list.iter().map(|path| path.as_str().into()).collect());
        Map::from_iter([
            ("dirs".into(), list(&self.dirs)),
            ("files".into(), list(&self.files)),
            ("links".into(), list(&self.links)),
            ("top_level_dirs".into(), list(&self.top_level_dirs)),
            ("top_level_files".into(), list(&self.top_level_files)),
            ("top_level_links".into(), list(&self.top_level_links)),
        ])
    }

    /// The first member whose path, or link target, is outside of the directory.
    pub fn escape(&self) -> Option<String> {
        self.members.iter().find_map(|member| {
            let path = &member.path;
            if path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Some(format!("'{path}' would be extracted outside of the directory"));
            }
            match &member.kind {
                MemberKind::Link(target) => {
                    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
                    leaves(above, target).then(|| format!("'{path}' is a link to '{target}', outside of the directory"))
                }
                MemberKind::HardLink(target) => {
                    leaves("", target).then(|| format!("'{path}' is a link to '{target}', outside of the directory"))
                }
                MemberKind::File | MemberKind::Directory => None,
            }
        })
    }
}

/// Whether a link in a directory of the archive leads out of the archive.
fn leaves(above: &str, target: &str) -> bool {
    let mut depth = above.split('/').filter(|part| !part.is_empty() && *part != ".").count() as i64;
    target.starts_with('/')
        || target.split('/').any(|part| {
            depth += match part {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            depth < 0
        })
}

/// The first directory if it is common to all paths.
fn common_directory(lists: [&Vec<String>; 3]) -> Option<String> {
    let mut all = lists.into_iter().flatten();
    let mut common = all.next()?.clone();
    for path in all {
        let length = common.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
        let length = (0..=length).rev().find(|end| common.is_char_boundary(*end)).unwrap_or(0);
        common.truncate(length);
    }
    common.split_once('/').map(|(first, _)| format!("{first}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(path: &str, kind: MemberKind) -> Member {
        Member { path: path.into(), kind, owner: None }
    }

    #[test]
    fn members_are_sorted_as_in_salt() {
        let contents = ArchiveContents::new(
            vec![
                member("a/x/f", MemberKind::File),
                member("a", MemberKind::Directory),
                member("a/l", MemberKind::Link("x".into())),
            ],
            0,
        );
        assert_eq!(
            (contents.dirs, contents.files, contents.links),
            (vec!["a/".into()], vec!["a/x/f".into()], vec!["a/l".into()])
        );
        assert_eq!(contents.top_level_dirs, ["a/"]);
        let stripped =
            ArchiveContents::new(vec![member("a", MemberKind::Directory), member("a/f", MemberKind::File)], 1);
        assert!(stripped.dirs.is_empty() && stripped.top_level_files == ["f"]);
        let implied = ArchiveContents::new(vec![member("a/f", MemberKind::File), member("a/g", MemberKind::File)], 0);
        assert_eq!(implied.top_level_dirs, ["a/"]);
        let two = ArchiveContents::new(vec![member("f", MemberKind::File), member("b/g", MemberKind::File)], 0);
        assert!(two.top_level_dirs.is_empty() && two.top_level_files == ["f"]);
    }

    #[test]
    fn nothing_leaves_the_directory() {
        let refused = [
            member("/etc/passwd", MemberKind::File),
            member("a/../../b", MemberKind::File),
            member("..", MemberKind::Directory),
            member("l", MemberKind::Link("/etc".into())),
            member("a/l", MemberKind::Link("../../etc".into())),
            member("a/l", MemberKind::Link("x/../../../etc".into())),
            member("h", MemberKind::HardLink("../x".into())),
        ];
        for member in refused {
            assert!(ArchiveContents::new(vec![member.clone()], 0).escape().is_some(), "{member:?}");
        }
        let fine = [
            member("./a/f", MemberKind::File),
            member("a/l", MemberKind::Link("../b".into())),
            member("..a", MemberKind::File),
        ];
        assert_eq!(ArchiveContents::new(fine.to_vec(), 0).escape(), None);
    }
}
