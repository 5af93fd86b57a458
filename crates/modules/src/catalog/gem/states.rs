//! `gem`'s states.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::{GemRequest, listed, sound, sources, tool};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::Probe;

/// Makes sure that a gem is installed.
///
/// ```yaml
/// rake:
///   gem.installed:
///     - version: 13.0.6
/// ```
#[state("gem.installed", strict)]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct Installed {
    /// The gem.
    name: String,
    /// Refused: name the gem program with `gem_bin`.
    ruby: Option<String>,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    user: Option<String>,
    /// The version, or `>= 1.0`.
    version: Option<String>,
    /// With documentation.
    rdoc: Flag,
    /// As `rdoc`.
    ri: Flag,
    /// Include prereleases.
    pre_releases: Flag,
    /// The proxy.
    proxy: Option<String>,
    /// Where to get it from.
    source: Option<String>,
}

impl State for Installed {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = sound(&self.name)?;
        if self.ruby.is_some() {
            let text = "ruby: there is no support for rvm and rbenv; name the gem program with gem_bin";
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let known = listed(machine, &tool(self.gem_bin.as_deref(), self.user.as_deref()))?;
        let versions: Vec<String> =
            known.get(name).and_then(Value::as_list).unwrap_or_default().iter().map(ToString::to_string).collect();
        let good = |text: &str| Ok(Decision::Settled(Verdict::good(text)));
        match self.version.as_deref() {
            None if !versions.is_empty() => return good("Gem is already installed."),
            Some(version) if versions.iter().any(|known| known == version) => return good("Gem is already installed."),
            Some(version) if versions.iter().any(|known| meets(known, version)) => {
                return good("Installed Gem meets version requirements.");
            }
            _ => {}
        }
        let request = GemRequest {
            names: vec![name.to_owned()],
            version: self.version.as_deref(),
            rdoc: self.rdoc.0 || self.ri.0,
            pre_releases: self.pre_releases.0,
            proxy: self.proxy.as_deref(),
            source: self.source.as_deref(),
        };
        let done = Verdict::good("Gem was successfully installed").change(name, "Installed");
        let dry = Verdict::would(format!("The gem {name} would have been installed")).change(name, "Installed");
        let command = tool(self.gem_bin.as_deref(), self.user.as_deref()).command(machine, &request.words())?;
        Ok(Decision::Change(Plan::command(command, done, "Could not install gem. "), dry))
    }

    fn touches(&self) -> Touches {
        Touches::everything()
    }
}

/// Makes sure that a gem is not installed.
///
/// ```yaml
/// rake:
///   gem.removed: []
/// ```
#[state("gem.removed", strict)]
pub struct Removed {
    /// The gem.
    name: String,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    user: Option<String>,
}

impl State for Removed {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = sound(&self.name)?;
        let known = listed(machine, &tool(self.gem_bin.as_deref(), self.user.as_deref()))?;
        if !known.contains_key(name) {
            return Ok(Decision::Settled(Verdict::good("Gem is not installed.")));
        }
        let words = ["uninstall", "--all", "--executables", "--ignore-dependencies", name].map(str::to_owned).to_vec();
        let done = Verdict::good("Gem was successfully removed.").change(name, "Removed");
        let dry = Verdict::would(format!("The gem {name} would have been removed")).change(name, "Removed");
        let command = tool(self.gem_bin.as_deref(), self.user.as_deref()).command(machine, &words)?;
        Ok(Decision::Change(Plan::command(command, done, "Could not remove gem. "), dry))
    }

    fn touches(&self) -> Touches {
        Touches::everything()
    }
}

/// Makes sure that gems come from an address too.
///
/// ```yaml
/// https://gems.example.com/:
///   gem.sources_add: []
/// ```
#[state("gem.sources_add", strict)]
pub struct SourcesAdd {
    /// The address.
    name: String,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    user: Option<String>,
}

impl State for SourcesAdd {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = sound(&self.name)?;
        if sources(machine, &tool(self.gem_bin.as_deref(), self.user.as_deref()))?.iter().any(|known| known == name) {
            return Ok(Decision::Settled(Verdict::good("Gem source is already added.")));
        }
        let words = ["sources", "--add", name].map(str::to_owned).to_vec();
        let done = Verdict::good("Gem source was successfully added.").change(name, "Installed");
        let dry = Verdict::would(format!("The gem source {name} would have been added.")).change(name, "Installed");
        let command = tool(self.gem_bin.as_deref(), self.user.as_deref()).command(machine, &words)?;
        Ok(Decision::Change(Plan::command(command, done, "Could not add gem source. "), dry))
    }

    fn touches(&self) -> Touches {
        settings(self.user.as_deref())
    }
}

/// Makes sure that gems don't come from an address.
///
/// ```yaml
/// https://gems.example.com/:
///   gem.sources_remove: []
/// ```
#[state("gem.sources_remove", strict)]
pub struct SourcesRemove {
    /// The address.
    name: String,
    /// The gem program.
    gem_bin: Option<String>,
    /// The user to run as.
    user: Option<String>,
}

impl State for SourcesRemove {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = sound(&self.name)?;
        if !sources(machine, &tool(self.gem_bin.as_deref(), self.user.as_deref()))?.iter().any(|known| known == name) {
            return Ok(Decision::Settled(Verdict::good("Gem source is already removed.")));
        }
        let words = ["sources", "--remove", name].map(str::to_owned).to_vec();
        let done = Verdict::good("Gem source was successfully removed.").change(name, "Removed");
        let dry = Verdict::would("The gem source would have been removed.").change(name, "Removed");
        let command = tool(self.gem_bin.as_deref(), self.user.as_deref()).command(machine, &words)?;
        Ok(Decision::Change(Plan::command(command, done, "Could not remove gem source. "), dry))
    }

    fn touches(&self) -> Touches {
        settings(self.user.as_deref())
    }
}

fn settings(user: Option<&str>) -> Touches {
    let home = user.filter(|user| *user != "root").map_or("/root".into(), |user| format!("/home/{user}"));
    Touches::nothing().writes(Thing::Path(format!("{home}/.gemrc")))
}

/// Whether a version meets a requirement such as `>= 1.0`.
fn meets(version: &str, request: &str) -> bool {
    let end = request.find(|sign: char| !"<>=!~".contains(sign)).unwrap_or(request.len());
    let (operator, request) = (&request[..end], request[end..].trim());
    let parts = |text: &str| -> Vec<u64> { text.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    let (mut known, mut wanted) = (parts(version), parts(request));
    let length = known.len().max(wanted.len());
    known.resize(length, 0);
    wanted.resize(length, 0);
    match operator {
        ">=" => known >= wanted,
        ">" => known > wanted,
        "<=" => known <= wanted,
        "<" => known < wanted,
        "=" => known == wanted,
        "!=" => known != wanted,
        "~>" => {
            let fixed = request.split('.').count().saturating_sub(1).max(1);
            known >= wanted && known[..fixed] == wanted[..fixed]
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::meets;

    #[test]
    fn wishes_are_understood() {
        for (version, request) in
            [("1.2", ">= 1.0"), ("1.10", "> 1.9"), ("1.4.5", "~> 1.4.2"), ("1.9", "~> 1.4"), ("2.0", "!= 1.0")]
        {
            assert!(meets(version, request), "{version} {request}");
        }
        for (version, request) in [("1.0", "> 1.0"), ("1.5.0", "~> 1.4.2"), ("2.0", "~> 1.4"), ("2.0", "1.0")] {
            assert!(!meets(version, request), "{version} {request}");
        }
    }
}
