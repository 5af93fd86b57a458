//! File trees from directories: what is listed, what can be read, and what can't.

use std::os::unix::fs::symlink;
use std::path::Path;

use rocksalt_backends::files::{Error, FileBackend, FileTreeEntryKind, Options, TreePath, open_with};
use rocksalt_core::{Map, Value, yaml};
use tempfile::TempDir;

fn write(place: &Path, name: &str, content: &str) {
    let path = place.join(name);
    std::fs::create_dir_all(path.parent().expect("it is in a directory")).expect("ours");
    std::fs::write(path, content).expect("ours");
}

/// The tree that Salt 3008.3 was tested with: files, hidden ones, an empty directory, links of all kinds.
fn tree() -> TempDir {
    let place = TempDir::new().expect("a place");
    let root = place.path().join("s");
    write(&root, "a/f.sls", "x");
    write(&root, "a/b/init.sls", "y");
    write(&root, ".hid/x", "h");
    write(&root, "top.sls", "t");
    write(place.path(), "out/file", "outside");
    write(place.path(), "second/top.sls", "second");
    write(place.path(), "second/more", "more");
    std::fs::create_dir(root.join("empty")).expect("ours");
    symlink("f.sls", root.join("a/link")).expect("ours");
    symlink("a", root.join("dirlink")).expect("ours");
    symlink("..", root.join("a/up")).expect("ours");
    symlink("nowhere", root.join("dangling")).expect("ours");
    symlink(place.path().join("out"), root.join("formula")).expect("ours");
    place
}

fn files(place: &Path, options: Options) -> Box<dyn FileBackend> {
    let roots = Map::from_iter([(
        "base".into(),
        Value::List(["s", "second", "none"].map(|name| place.join(name).display().to_string().into()).to_vec()),
    )]);
    open_with("roots", &roots, options).expect("it opens")
}

async fn shown(files: &dyn FileBackend) -> Vec<String> {
    let entries = files.entries("base").await.expect("it lists");
    let line = |kind: &FileTreeEntryKind| match kind {
        FileTreeEntryKind::File { size, .. } => format!(" {size}"),
        FileTreeEntryKind::Directory => "/".into(),
        FileTreeEntryKind::Link { target } => format!(" -> {target}"),
    };
    entries.iter().map(|entry| format!("{}{}", entry.path, line(&entry.kind))).collect()
}

#[tokio::test]
async fn links_are_followed_where_that_is_allowed() {
    let place = tree();
    let following = files(place.path(), Options::new(true, &Value::Null, &Value::Null).expect("they fit"));
    let entries = shown(&*following).await;
    for entry in [
        ".hid/x 1",
        "a/",
        "a/b/init.sls 1",
        "a/link -> f.sls",
        "a/up -> ..",
        "dangling -> nowhere",
        "dirlink -> a",
        "dirlink/f.sls 1",
        "dirlink/link -> f.sls",
        "empty/",
        "formula/",
        "formula/file 7",
        "more 4",
        "top.sls 1",
    ] {
        assert!(entries.iter().any(|known| known == entry), "{entry}: {entries:?}");
    }
    assert!(entries.len() < 60, "links lead round in circles: {}", entries.len());
    let name = |text: &str| TreePath::parse(text).expect("a name");
    assert_eq!(following.read("base", &name("formula/file"), 100).await.ok().as_deref(), Some(&b"outside"[..]));
    assert_eq!(following.read("base", &name("top.sls"), 100).await.ok().as_deref(), Some(&b"t"[..]));
    assert!(matches!(following.read("base", &name("formula/file"), 6).await, Err(Error::TooLarge { .. })));
    let list = following.list("base").await.expect("it lists");
    assert!(list.contains(&"a/link".to_owned()) && !list.contains(&"dirlink".to_owned()), "{list:?}");

    let staying = files(place.path(), Options::default());
    let entries = shown(&*staying).await;
    assert_eq!(
        entries,
        [
            ".hid/",
            ".hid/x 1",
            "a/",
            "a/b/",
            "a/b/init.sls 1",
            "a/f.sls 1",
            "a/link -> f.sls",
            "a/up -> ..",
            "dangling -> nowhere",
            "dirlink -> a",
            "empty/",
            "more 4",
            "top.sls 1",
        ]
    );
    assert!(matches!(staying.read("base", &name("formula/file"), 100).await, Err(Error::NoFile { .. })));
    assert_eq!(staying.read("base", &name("dirlink/f.sls"), 100).await.ok().as_deref(), Some(&b"x"[..]));
}

#[tokio::test]
async fn what_is_ignored_is_not_there() {
    let place = tree();
    let parse = |text: &str| yaml::parse(text).expect("YAML");
    let options = Options::new(false, &parse("['*.sls', empty]"), &parse("'^[.]hid/'")).expect("they fit");
    let files = files(place.path(), options);
    assert_eq!(
        shown(&*files).await,
        [".hid/", "a/", "a/b/", "a/link -> f.sls", "a/up -> ..", "dangling -> nowhere", "dirlink -> a", "more 4"]
    );
    let name = TreePath::parse("top.sls").expect("a name");
    assert!(matches!(files.open("base", &name).await.map(|_| ()), Err(Error::NoFile { .. })));
    assert!(Options::new(false, &Value::Null, &parse("'('")).is_err());
}

#[tokio::test]
async fn any_environment_may_have_a_directory() {
    let place = TempDir::new().expect("a place");
    write(place.path(), "envs/dev/salt/f", "dev");
    write(place.path(), "envs/release/1.0/salt/f", "release");
    write(place.path(), "secret/salt/f", "secret");
    let roots = Map::from_iter([
        ("base".into(), Value::from(place.path().join("none").display().to_string())),
        ("__env__".into(), Value::List(vec![place.path().join("envs/__env__/salt").display().to_string().into()])),
    ]);
    let files = open_with("roots", &roots, Options::default()).expect("it opens");
    let name = TreePath::parse("f").expect("a name");
    for (environment, content) in [("dev", "dev"), ("release/1.0", "release")] {
        let found = files.read(environment, &name, 100).await.expect("it is there");
        assert_eq!(String::from_utf8_lossy(&found), content);
    }
    assert!(files.read("base", &name, 100).await.is_err());
    assert!(files.entries("base").await.expect("it lists").is_empty());
    for hostile in ["../secret", "dev/../../secret", "", "/", "a\0b", "."] {
        assert!(files.read(hostile, &name, 100).await.is_err(), "{hostile:?}");
    }
    assert_eq!(files.environments(), ["base", "__env__"]);
}
