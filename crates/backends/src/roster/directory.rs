//! A directory of rosters, merged; also Salt's `dir` roster, where each file is named after its target.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rocksalt_core::roster::Roster;
use rocksalt_core::yaml;

use super::entry::EntryBuilder;
use super::{Error, FaultReport, RosterSource, Settings, detect, names, read_text, refuse_template};

pub(super) fn open(settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    Ok(Box::new(DirectoryRoster { path: settings.path("directory")?, settings: settings.clone() }))
}

struct DirectoryRoster {
    path: PathBuf,
    settings: Settings,
}

#[async_trait]
impl RosterSource for DirectoryRoster {
    async fn load(&self) -> Result<Roster, Error> {
        let mut roster = Roster::default();
        let mut report = FaultReport::new(self.path.display().to_string());
        for path in self.files()? {
            match self.load_file(&path).await {
                Ok(part) => merge(part, &mut roster, &mut report),
                Err(Error::Faults(faults)) => report.absorb(faults),
                Err(other) => return Err(other),
            }
        }
        report.finish(roster)
    }
}

impl DirectoryRoster {
    /// The roster files by name, without hidden files, editor backups and directories.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let failed = |cause| Error::Read { path: self.path.clone(), cause };
        let mut files = Vec::new();
        for file in std::fs::read_dir(&self.path).map_err(failed)? {
            let path = file.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let backup = name.starts_with(['.', '#']) || name.ends_with(['~', '#']);
            let other = [".bak", ".orig", ".rej", ".swp", ".md"].iter().any(|end| name.ends_with(end));
            if !backup && !other && path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    async fn load_file(&self, path: &Path) -> Result<Roster, Error> {
        let kind = detect::kind(path)?;
        if kind == "flat"
            && let Some(roster) = self.single(path)?
        {
            return Ok(roster);
        }
        super::open(kind, &Settings { path: Some(path.to_owned()), ..self.settings.clone() })?.load().await
    }

    /// Reads a file that is a single entry, with a string under `host`. So no target in a directory can be called `host`.
    fn single(&self, path: &Path) -> Result<Option<Roster>, Error> {
        let text = read_text(path)?;
        let mut report = FaultReport::new(path.display().to_string());
        let Ok(node) = yaml::load(&text) else { return Ok(None) };
        let is_host =
            |(key, value): &(yaml::Node, yaml::Node)| key.as_str() == Some("host") && value.as_str().is_some();
        if !node.pairs().unwrap_or_default().iter().any(is_host) {
            return Ok(None);
        }
        if refuse_template(&text, &mut report) {
            return report.finish(None);
        }
        let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Err(message) = names::check_id(&id) {
            report.add(0, message);
        }
        let builder = EntryBuilder { settings: &self.settings, folder: path.parent() };
        let entries = builder.build(&id, node.place.line, &node, &mut report).into_iter().collect();
        report.finish(Some(Roster { entries, nodegroups: Vec::new() }))
    }
}

fn merge(part: Roster, roster: &mut Roster, report: &mut FaultReport) {
    for entry in part.entries {
        match roster.get(&entry.id) {
            Some(first) => {
                let message = format!("the id '{}' is also in {}", entry.id, first.origin);
                report.add_at(entry.origin, message);
            }
            None => roster.entries.push(entry),
        }
    }
    for (name, text) in part.nodegroups {
        match roster.nodegroups.iter_mut().find(|(known, _)| *known == name) {
            // A group of two inventories has the targets of both.
            Some((_, known)) => *known = format!("( {known} ) or ( {text} )"),
            None => roster.nodegroups.push((name, text)),
        }
    }
}
