//! Runs the cases of a comparison with real Salt that is outside of this repository.
//!
//! `ROCKSALT_COMPAT` names its folder, with `cases/` and `grains.base.json`; without it the test does nothing.
//! `ROCKSALT_COMPAT_FAMILY` selects some of the cases.

use std::path::Path;

use rocksalt_core::{Value, json};

use crate::case::Case;
use crate::compare::differences;
use crate::run::{STEPS, run};

#[test]
fn cases_outside_of_the_repository_agree() {
    let Ok(folder) = std::env::var("ROCKSALT_COMPAT") else { return };
    let family = std::env::var("ROCKSALT_COMPAT_FAMILY").unwrap_or_default();
    let grains = std::fs::read_to_string(Path::new(&folder).join("grains.base.json")).expect("the grains can be read");
    let Ok(Value::Map(grains)) = json::parse(&grains) else { panic!("the grains are no map") };
    let (mut steps, mut wrong) = (0, Vec::new());
    for family in sorted(&Path::new(&folder).join("cases"))
        .into_iter()
        .filter(|path| path.ends_with(&family) || family.is_empty())
    {
        for path in sorted(&family) {
            let case = Case::from_folder(&path, &grains);
            for expected in &case.expected {
                let step = expected.as_map().and_then(|map| map.get("step")).map(Value::to_string).unwrap_or_default();
                if !STEPS.contains(&step.as_str()) {
                    continue;
                }
                steps += 1;
                if let Some(difference) = differences(&step, &case.what, expected, &run(&case, &step)) {
                    wrong.push(format!("{} {step}: {difference}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {steps} steps differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn sorted(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the folder can be listed").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
