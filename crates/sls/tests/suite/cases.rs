//! Runs the cases of this crate, recorded from real Salt by `tests/record.py`.

use std::path::{Path, PathBuf};

use rocksalt_core::{Value, json};

use crate::case::Case;
use crate::compare::differences;
use crate::run::run;

#[test]
fn every_case_is_as_in_salt() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let paths = cases(&folder);
    assert!(paths.len() >= 192, "only {} cases were found", paths.len());
    check(&paths);
}

/// Runs the cases in the folder `ROCKSALT_SLS_CASES`: more random trees than are worth keeping.
#[test]
fn cases_of_another_folder_are_as_in_salt() {
    if let Ok(folder) = std::env::var("ROCKSALT_SLS_CASES") {
        check(&cases(Path::new(&folder)));
    }
}

fn check(paths: &[PathBuf]) {
    let grains = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/grains.json");
    let grains = std::fs::read_to_string(grains).expect("the grains can be read");
    let Ok(Value::Map(grains)) = json::parse(&grains) else { panic!("the grains are no map") };
    let mut wrong = Vec::new();
    for path in paths {
        let case = Case::from_file(path, &grains);
        for expected in &case.expected {
            let step = expected.as_map().and_then(|map| map.get("step")).map(Value::to_string).unwrap_or_default();
            if let Some(difference) = differences(&step, &case.what, expected, &run(&case, &step)) {
                wrong.push(format!("{} {step}: {difference}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ from Salt:\n{}", wrong.len(), wrong.join("\n"));
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the cases can be listed").flatten() {
        let path = entry.path();
        if path.is_dir() {
            paths.extend(cases(&path));
        } else if path.extension().is_some_and(|extension| extension == "yml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}
