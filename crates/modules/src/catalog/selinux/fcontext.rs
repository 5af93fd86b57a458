//! Rules for file labels, and comparing files with them.

use rocksalt_core::Map;
use rocksalt_macros::{arguments, function};

use super::super::file::Flag;
use super::super::{Function, tool};
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The name of a file type, by its letter in `semanage`.
pub fn file_type(letter: &str) -> Result<&'static str> {
    Ok(match letter {
        "a" => "all files",
        "f" => "regular file",
        "d" => "directory",
        "c" => "character device",
        "b" => "block device",
        "s" => "socket",
        "l" => "symbolic link",
        "p" => "named pipe",
        other => {
            return Err(Error::arguments(format!(
                "Invalid file type code '{other}'; expected one of: a, f, d, c, b, s, l, p"
            )));
        }
    })
}

/// The arguments that say which rule is meant.
#[arguments]
pub struct ContextArguments {
    /// The files, as a pattern.
    pub name: String,
    /// The kind of file: `a` for all, `f`, `d`, `c`, `b`, `s`, `l` or `p`.
    #[default("a")]
    pub filetype: String,
    /// The type.
    pub sel_type: Option<String>,
    /// The user.
    pub sel_user: Option<String>,
    /// The level.
    pub sel_level: Option<String>,
}

impl ContextArguments {
    pub fn spec(&self) -> ContextSpec<'_> {
        ContextSpec {
            name: &self.name,
            filetype: &self.filetype,
            sel_type: self.sel_type.as_deref(),
            sel_user: self.sel_user.as_deref(),
            sel_level: self.sel_level.as_deref(),
        }
    }
}

/// A rule, and the label that it sets.
#[derive(Clone, Copy)]
pub struct ContextSpec<'a> {
    pub name: &'a str,
    pub filetype: &'a str,
    pub sel_type: Option<&'a str>,
    pub sel_user: Option<&'a str>,
    pub sel_level: Option<&'a str>,
}

impl ContextSpec<'_> {
    /// The existing rule: `filespec`, `filetype` and the parts of the label.
    pub fn find(&self, machine: &dyn Probe, any_type: bool) -> Result<Option<Map>> {
        let text = tool::told(machine, &[&tool::find(machine, "semanage")?, "fcontext", "--list"])?;
        let kind = file_type(self.filetype)?;
        Ok(text.lines().find_map(|line| self.read(line, kind, any_type)))
    }

    fn read(&self, line: &str, kind: &str, any_type: bool) -> Option<Map> {
        let rest = line.strip_prefix(self.name)?;
        let rest = rest.strip_prefix(' ')?.trim_start().strip_prefix(kind)?.trim();
        let mut parts = rest.splitn(4, ':');
        let (user, role, sel_type, level) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?.trim());
        let fits = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| wanted == found);
        let right = fits(self.sel_user, user) && fits(self.sel_level, level);
        if !right || !(any_type || fits(self.sel_type, sel_type)) {
            return None;
        }
        let all = [
            ("filespec", self.name),
            ("filetype", kind),
            ("sel_user", user),
            ("sel_role", role),
            ("sel_type", sel_type),
            ("sel_level", level),
        ];
        Some(all.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }

    /// `action` is `add`, `modify` or `delete`.
    pub fn command(&self, machine: &dyn Probe, action: &str) -> Result<Vec<String>> {
        let mut argv = vec![tool::find(machine, "semanage")?, "fcontext".into(), format!("--{action}")];
        if self.filetype != "a" {
            file_type(self.filetype)?;
            argv.extend(["--ftype".into(), self.filetype.to_owned()]);
        }
        for (option, value) in [("--type", self.sel_type), ("--seuser", self.sel_user), ("--range", self.sel_level)] {
            if let Some(value) = value {
                argv.extend([option.to_owned(), value.to_owned()]);
            }
        }
        argv.extend(["--".into(), self.name.to_owned()]);
        Ok(argv)
    }
}

/// The predicted changes of `restorecon`: file, current label, label by the rules.
pub fn differing(machine: &dyn Probe, name: &str, recursive: bool) -> Result<Vec<(String, String, String)>> {
    let text = tool::told(machine, &restorecon(machine, name, recursive, true)?)?;
    let one = |line: &str| {
        let rest = line.strip_prefix("Would relabel ");
        let (file, labels) = match rest {
            Some(rest) => rest.split_once(" from ")?,
            None => line.strip_prefix("restorecon reset ")?.split_once(" context ")?,
        };
        let (old, new) = labels.split_once(" to ").or_else(|| labels.split_once("->"))?;
        Some((file.to_owned(), old.trim().to_owned(), new.trim().to_owned()))
    };
    Ok(text.lines().filter_map(one).collect())
}

pub fn restorecon(machine: &dyn Probe, name: &str, recursive: bool, dry: bool) -> Result<Vec<String>> {
    let mut argv = vec![tool::find(machine, "restorecon")?];
    // Both force the whole label: otherwise the dry run would find fewer differences.
    argv.extend(["-v", "-F"].map(str::to_owned));
    if dry {
        argv.push("-n".into());
    }
    if recursive {
        argv.push("-R".into());
    }
    argv.extend(["--".into(), name.to_owned()]);
    Ok(argv)
}

/// The parts in which two labels differ, by file.
pub fn changes(differing: &[(String, String, String)]) -> Map {
    let keys = ["sel_user", "sel_role", "sel_type", "sel_level"];
    let mut all = Map::new();
    for (file, old, new) in differing {
        let (mut before, mut after) = (Map::new(), Map::new());
        for (key, (old, new)) in keys.into_iter().zip(old.splitn(4, ':').zip(new.splitn(4, ':'))) {
            if old != new {
                before.insert(key, old);
                after.insert(key, new);
            }
        }
        let change: Map = [("old".into(), before.into()), ("new".into(), after.into())].into_iter().collect();
        all.insert(file.as_str(), change);
    }
    all
}

/// The rule for some files; nothing if there is none.
///
/// ```text
/// rocksalt '*' selinux.fcontext_get_policy '/srv/www(/.*)?'
/// ```
#[function("selinux.fcontext_get_policy", reads)]
pub struct GetPolicy(ContextArguments);

impl Function for GetPolicy {
    type Output = Option<Map>;

    fn call(self, machine: &dyn System) -> Result<Option<Map>> {
        let request = self.0.spec();
        request.find(machine, false)
    }
}

/// Adds a rule for some files, or changes it. Files get their labels by `selinux.fcontext_apply_policy`.
///
/// ```text
/// rocksalt '*' selinux.fcontext_add_policy '/srv/www(/.*)?' sel_type=httpd_sys_content_t
/// ```
#[function("selinux.fcontext_add_policy", changes)]
pub struct AddPolicy(ContextArguments);

impl Function for AddPolicy {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let request = self.0.spec();
        let action = if request.find(machine, true)?.is_some() { "modify" } else { "add" };
        tool::done(machine, &request.command(machine, action)?)?;
        Ok(true)
    }
}

/// Removes a rule for some files.
///
/// ```text
/// rocksalt '*' selinux.fcontext_delete_policy '/srv/www(/.*)?' sel_type=httpd_sys_content_t
/// ```
#[function("selinux.fcontext_delete_policy", changes)]
pub struct DeletePolicy(ContextArguments);

impl Function for DeletePolicy {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let request = self.0.spec();
        tool::done(machine, &request.command(machine, "delete")?)?;
        Ok(true)
    }
}

/// What would be changed so that files have their labels; an empty text if they have.
///
/// ```text
/// rocksalt '*' selinux.fcontext_policy_is_applied /srv/www recursive=True
/// ```
#[function("selinux.fcontext_policy_is_applied", reads)]
pub struct PolicyIsApplied {
    /// The path.
    name: String,
    /// Include everything below it.
    recursive: Flag,
}

impl Function for PolicyIsApplied {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let argv = restorecon(machine, &self.name, self.recursive.0, true)?;
        Ok(tool::told(machine, &argv)?.trim_end().to_owned())
    }
}

/// Labels files according to the rules, and returns what was changed.
///
/// ```text
/// rocksalt '*' selinux.fcontext_apply_policy /srv/www recursive=True
/// ```
#[function("selinux.fcontext_apply_policy", changes)]
pub struct ApplyPolicy {
    /// The path.
    name: String,
    /// Include everything below it.
    recursive: Flag,
}

impl Function for ApplyPolicy {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let differing = differing(machine, &self.name, self.recursive.0)?;
        tool::done(machine, &restorecon(machine, &self.name, self.recursive.0, false)?)?;
        Ok([("changes".into(), changes(&differing).into())].into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Output};

    const LIST: &str = "SELinux fcontext     type               Context\n\n/srv/www(/.*)?       all files          \
        system_u:object_r:httpd_sys_content_t:s0 \n/srv/www/x           regular file       \
        system_u:object_r:var_t:s0\n";

    fn machine() -> Fake {
        let output = Output { stdout: LIST.into(), ..Output::default() };
        let fake = Fake::new().command(&["/usr/sbin/semanage", "fcontext", "--list"], output);
        fake.file("/usr/sbin/semanage", "").owned("/usr/sbin/semanage", 0, 0, 0o755)
    }

    #[test]
    fn rules_are_found() {
        let request =
            ContextSpec { name: "/srv/www(/.*)?", filetype: "a", sel_type: None, sel_user: None, sel_level: None };
        let found = request.find(&machine(), false).expect("it is asked").expect("it is there");
        assert_eq!(found.get("sel_type"), Some(&"httpd_sys_content_t".into()));
        assert_eq!(found.get("sel_level"), Some(&"s0".into()));
        let other = ContextSpec { sel_type: Some("var_t"), ..request };
        assert!(other.find(&machine(), false).expect("it is asked").is_none());
        assert!(other.find(&machine(), true).expect("it is asked").is_some());
        assert!(ContextSpec { filetype: "f", ..request }.find(&machine(), false).expect("it is asked").is_none());
    }

    #[test]
    fn only_the_parts_that_differ_are_changes() {
        let one =
            ("/srv/www".to_owned(), "u:object_r:var_t:s0".to_owned(), "u:object_r:httpd_sys_content_t:s0".to_owned());
        assert_eq!(
            rocksalt_core::Value::from(changes(&[one])).to_string(),
            "{'/srv/www': {'old': {'sel_type': 'var_t'}, 'new': {'sel_type': 'httpd_sys_content_t'}}}"
        );
    }
}
