//! `file.uncomment`: uncomments lines.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::comment::{changed, finish};
use super::edit::{self, FileText};
use super::{Decision, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that lines are not commented out.
///
/// ```yaml
/// /etc/adduser.conf:
///   file.uncomment:
///     - regex: EXTRA_GROUPS
/// ```
#[state("file.uncomment", strict, required("regex"))]
pub struct Uncomment {
    /// The file's path.
    name: String,
    /// A regular expression for the lines, as they are without the comment sign.
    #[default]
    regex: String,
    /// The comment sign.
    #[default("#")]
    char: String,
    /// The ending of the old content's copy, or `False` for none.
    #[default(".bak")]
    backup: Value,
}

impl State for Uncomment {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Uncomment {
    fn decide(&self, machine: &dyn Probe) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.uncomment"));
        }
        edit::check_file(machine, &name)?;
        let text = FileText::read(machine, &name)?;
        let bare = self.regex.trim_start_matches('^');
        let expected = format!("^[ \t]*{bare}");
        if !text.has(&format!("{}[ \t]*{bare}", self.char))? {
            return Err(match text.has(&expected)? {
                true => Verdict::good("Pattern already uncommented").output("path", name),
                false => Verdict::bad(format!("{}: Pattern not found", self.regex)),
            });
        }
        let new = changed(&text, &self.regex, &self.char, false)?;
        let texts = ["Uncommented lines successfully", "Expected uncommented lines not found"];
        finish(machine, &name, &text, new, &self.backup, &expected, texts)
    }
}
