//! `git.present`: a repository with any content.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::change::init_words;
use super::look;
use super::run::Git;
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that there is a repository in a directory; an empty one is made where there is none.
///
/// ```yaml
/// /srv/git/site.git:
///   git.present:
///     - shared: group
/// ```
#[state("git.present", strict)]
pub struct Present {
    /// The directory, absolute.
    name: String,
    /// Remove a directory that is no repository.
    force: Flag,
    /// Without a working tree.
    #[default(true)]
    bare: Flag,
    /// A directory whose files a new repository begins with.
    template: Option<String>,
    /// Where a new repository keeps its own files.
    separate_git_dir: Option<String>,
    /// Who may use it besides: `group`, `all`, or permissions in octal.
    shared: Value,
    /// The user to run git as.
    user: Option<String>,
    /// Only used on Windows.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    #[secret]
    password: Option<String>,
    /// Accepted and ignored: output is read as UTF-8.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    output_encoding: Option<String>,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (name, bare) = (&self.name, if self.bare.0 { "bare " } else { "" });
        if !name.starts_with('/') {
            return Ok(Decision::Settled(Verdict::bad(format!("'{name}' is not an absolute path"))));
        }
        let mut forced = false;
        if look::is_directory(machine, name) {
            let there = match self.bare.0 {
                true => look::is_file(machine, &format!("{name}/HEAD")),
                false => {
                    look::is_directory(machine, &format!("{name}/.git"))
                        || look::is_worktree(machine, name, self.user.as_deref())
                }
            };
            if there {
                return Ok(Decision::Settled(Verdict::good("")));
            }
            if self.force.0 {
                forced = true;
            } else if !machine.list(Path::new(name)).unwrap_or_default().is_empty() {
                return Ok(Decision::Settled(Verdict::bad(format!(
                    "Target '{name}' exists, is non-empty, and is not a git repository. Set the 'force' option to \
                     True to remove this directory's contents and proceed with initializing a repository"
                ))));
            }
        }
        let dry = match forced {
            true => Verdict::would(format!(
                "Target directory {name} exists. Since force=True, the contents of {name} would be deleted, and a \
                 {bare}repository would be initialized in its place."
            ))
            .change("forced init", true),
            false => Verdict::would(format!("New {bare}repository would be created")),
        };
        Decision::own(&forced, dry.change("new", name.as_str()))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let forced: bool = plan.into_own()?;
        let name = &self.name;
        let mut done = Verdict::good("");
        if forced {
            if let Err(error) = machine.remove(Path::new(name)) {
                return Ok(Verdict::bad(format!("Unable to remove {name}: {}", crate::error::reason(&error))));
            }
            done = done.change("forced init", true);
        }
        let (template, separate) = (self.template.as_deref(), self.separate_git_dir.as_deref());
        let mut words = init_words(self.bare.0, template, separate, &self.shared);
        words.extend(["--".into(), name.clone()]);
        if let Err(fault) = Git::acting(machine, "/", self.user.as_deref()).output(&words) {
            return Ok(Verdict { comment: fault.to_string(), result: Some(false), ..done });
        }
        let mut comments = vec![format!("Initialized {}repository in {name}", if self.bare.0 { "bare " } else { "" })];
        comments.extend(template.map(|template| format!("Template directory set to {template}")));
        comments.extend(separate.map(|separate| format!("Gitdir set to {separate}")));
        Ok(Verdict { comment: super::comments(&comments), ..done.change("new", name.as_str()) })
    }

    fn touches(&self) -> Touches {
        let touches = Touches::nothing().writes(Thing::Path(self.name.clone()));
        let others = [&self.template, &self.separate_git_dir];
        let touches = others.into_iter().flatten().fold(touches, |all, path| all.writes(Thing::Path(path.clone())));
        match &self.user {
            Some(user) => touches.reads(Thing::User(user.clone())),
            None => touches,
        }
    }
}
