//! Salt's flat roster: a YAML map of ids, each with a host or a map of settings.

use std::path::Path;

use rocksalt_core::roster::Roster;
use rocksalt_core::yaml::{self, Node};

use super::entry::EntryBuilder;
use super::{Error, FaultReport, FileRoster, RosterSource, Settings, names, read_text, refuse_template};

pub(super) fn open(settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    Ok(Box::new(FileRoster { path: settings.path("flat")?, settings: settings.clone(), read }))
}

pub(super) fn read(path: &Path, settings: &Settings) -> Result<Roster, Error> {
    parse(&read_text(path)?, &path.display().to_string(), path.parent(), settings)
}

/// `folder` is the base of relative paths.
pub(super) fn parse(text: &str, file: &str, folder: Option<&Path>, settings: &Settings) -> Result<Roster, Error> {
    let mut report = FaultReport::new(file);
    if refuse_template(text, &mut report) {
        return report.finish(Roster::default());
    }
    match yaml::load(text) {
        Ok(node) => entries(&node, folder, settings, report),
        Err(error) => {
            report.add(error.place.line, error.message);
            report.finish(Roster::default())
        }
    }
}

fn entries(root: &Node, folder: Option<&Path>, settings: &Settings, mut report: FaultReport) -> Result<Roster, Error> {
    let mut roster = Roster::default();
    if root.is_null() {
        return report.finish(roster);
    }
    let Some(pairs) = root.pairs() else {
        report.add(root.place.line, format!("a roster is a map of ids, not {}", root.kind()));
        return report.finish(roster);
    };
    let builder = EntryBuilder { settings, folder };
    for (key, node) in pairs {
        let id = key.scalar().map(ToString::to_string).unwrap_or_default();
        if let Err(message) = names::check_id(&id) {
            report.add(key.place.line, message);
        }
        if let Some(entry) = builder.build(&id, key.place.line, node, &mut report) {
            if roster.get(&id).is_some() {
                // `1` and `'1'` are different keys and the same id.
                report.add(key.place.line, format!("the id '{id}' is defined twice"));
            }
            roster.entries.push(entry);
        }
    }
    report.finish(roster)
}
