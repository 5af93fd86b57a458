//! `file.managed`: a file with a content, an owner and a mode.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::contents::{self, Contents, TextOrBytes};
use super::difference::Ignored;
use super::install::FileInstall;
use super::permissions::{self, PermissionsSpec};
use super::source::{self, ParsedSource, Proof};
use super::{
    Decision, Flag, Plan, State, Step, Touches, Verdict, accumulated, backup, encoding, look, reading, selinux, writes,
};
use crate::machine::Probe;
use crate::{Result, catalog::file::content::sum_of};

/// Makes sure that a file is there with a content, an owner and a mode.
///
/// ```yaml
/// /etc/http/conf/http.conf:
///   file.managed:
///     - source: salt://apache/http.conf
///     - user: root
///     - group: root
///     - mode: '0644'
///     - template: jinja
///     - context:
///         port: 80
/// ```
///
/// The write is atomic: readers see the old or the new content, never a part.
#[state("file.managed")]
#[derive(Default)]
pub struct Managed {
    /// The file's path.
    pub name: String,
    /// Where the content comes from: `salt://…`, `http(s)://…` or a path; of a list, the first that there is.
    pub source: Value,
    /// The hash that a source from elsewhere must have: a hash, `sha256=…`, or the address of a list of hashes.
    pub source_hash: Value,
    /// The name to look for in a list of hashes.
    pub source_hash_name: Option<String>,
    /// Accepted and ignored: nothing of the source stays behind.
    #[allow(dead_code, reason = "nothing of the source stays behind")]
    #[default(true)]
    pub keep_source: Flag,
    /// The user it belongs to.
    pub user: Value,
    /// Salt's wrong word for `user`, taken too.
    pub owner: Value,
    /// The group it belongs to.
    pub group: Value,
    /// Its mode in octal digits, or `keep` for that of the source.
    pub mode: Value,
    /// Flags as `chattr` knows them.
    pub attrs: Option<String>,
    /// `jinja` if the content is a template.
    pub template: Option<String>,
    /// Create parent directories.
    pub makedirs: Flag,
    /// The mode of directories that are made.
    pub dir_mode: Value,
    /// Variables of the template.
    pub context: Value,
    /// Change the content of a file that is there.
    #[default(true)]
    pub replace: Flag,
    /// Variables of the template that `context` doesn't name.
    pub defaults: Value,
    /// `minion` keeps the old content in the target's cache.
    pub backup: Value,
    /// Show what differs; switch it off for secrets.
    #[default(true)]
    pub show_changes: Flag,
    /// Create the file if it doesn't exist.
    #[default(true)]
    pub create: Flag,
    /// The content itself, or a list of its lines.
    pub contents: Value,
    /// Where `check_cmd` finds the new content.
    pub tmp_dir: Option<String>,
    /// How the name of that file ends.
    pub tmp_ext: Option<String>,
    /// Content from the pillar, by its path.
    pub contents_pillar: Value,
    /// Content from the grains, by its path.
    pub contents_grains: Value,
    /// End the content's last line.
    #[default(true)]
    pub contents_newline: Flag,
    /// What stands between the parts of such a path.
    #[default(":")]
    pub contents_delimiter: String,
    /// The content's encoding; UTF-8 by default.
    pub encoding: Option<String>,
    /// What to do about letters that it lacks: `strict`, `ignore`, `replace` …
    pub encoding_errors: Option<String>,
    /// No content is content, too.
    #[default(true)]
    pub allow_empty: Flag,
    /// Change what a link leads to; else the link becomes a file.
    #[default(true)]
    pub follow_symlinks: Flag,
    /// A command that must accept the new content; its file's name is added.
    pub check_cmd: Value,
    /// Take a source from elsewhere without a hash.
    pub skip_verify: Flag,
    /// The label: `seuser`, `serole`, `setype`, `serange`.
    pub selinux: Value,
    /// Accepted for compatibility with Salt; certificates are always checked.
    #[allow(dead_code, reason = "certificates are always checked")]
    pub verify_ssl: Value,
    /// Accepted for compatibility with Salt: only a hash says that a copy is good.
    pub use_etag: Flag,
    /// Lines in another order are no reason to act for those that watch.
    pub ignore_ordering: Flag,
    /// Nor is space at the lines' ends.
    pub ignore_whitespace: Flag,
    /// Nor is what follows these signs.
    pub ignore_comment_characters: Vec<String>,
    /// Show all of a new file as a difference.
    pub new_file_diff: Flag,
    /// Not an argument of this state; said so where it is given.
    pub file_mode: Value,
    /// The directory that was there is gone by the time that this file is made.
    #[skip]
    pub removed: bool,
}

impl State for Managed {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let mut decision = self.decide(machine, step).unwrap_or_else(Decision::Settled);
        if !self.file_mode.is_null() {
            let text = "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions.";
            let verdicts = match &mut decision {
                Decision::Settled(verdict) => vec![verdict],
                Decision::Change(plan, verdict) => vec![&mut plan.done, verdict],
            };
            verdicts.into_iter().for_each(|verdict| verdict.warnings.push(text.into()));
        }
        Ok(decision)
    }

    fn touches(&self) -> Touches {
        reading(writes(&self.name), &self.source)
    }
}

impl Managed {
    /// The decision; an early verdict is returned as `Err`.
    pub fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Destination file name is required"));
        }
        let keep_mode = self.mode.as_str().is_some_and(|mode| mode.eq_ignore_ascii_case("keep"));
        let contents = self.contents();
        self.check_arguments(&contents, keep_mode)?;
        let given = contents.read(machine)?.map(|given| self.rendered(machine, step, given)).transpose()?;
        let user = if self.user.truth() { &self.user } else { &self.owner };
        self.check_target(machine, &name, user, step.test)?;
        if !self.context.is_null() && self.context.as_map().is_none() {
            return Err(Verdict::bad("Context must be formed as a dict"));
        }
        if self.defaults.truth() && self.defaults.as_map().is_none() {
            return Err(Verdict::bad("Defaults must be formed as a dict"));
        }
        let mut request = PermissionsSpec {
            user: user.clone(),
            group: self.group.clone(),
            mode: if keep_mode { None } else { permissions::mode(&self.mode) },
            attrs: self.attrs.clone(),
            selinux: selinux::SelinuxContext::read(&self.selinux),
            follow: self.follow_symlinks.0,
        };
        let has_source = self.has_source();
        let there = look::exists(machine, &name) && !self.removed;
        let replace = self.replace.0 && (has_source || given.is_some()) && !self.has_wished_sum(machine, step, &name);
        if !replace && there {
            return Ok(self.only_permissions(machine, &name, &request, step.test));
        }
        let content = match given {
            Some(given) => Some(self.encoded(given)?),
            None if has_source => {
                let found = self.source_content(machine, step, &name)?;
                // Salt's dry run doesn't know the mode of a file that it doesn't fetch.
                let unknown = step.test
                    && self.template.is_none()
                    && matches!(ParsedSource::read(&found.source), ParsedSource::Tree(..));
                if keep_mode && !unknown {
                    request.mode = found.mode.map(|mode| format!("{mode:04o}"));
                }
                Some(found.bytes.to_vec())
            }
            None => None,
        };
        Ok(match self.install(machine, &name, content, request).decide(machine, step.test) {
            Decision::Settled(verdict) if step.test && verdict.result == Some(true) => {
                let comment = format!("The file {name} is in the correct state");
                Decision::Settled(Verdict { comment, ..verdict })
            }
            decision => decision,
        })
    }

    fn contents(&self) -> Contents<'_> {
        Contents {
            contents: &self.contents,
            contents_pillar: &self.contents_pillar,
            contents_grains: &self.contents_grains,
            contents_delimiter: &self.contents_delimiter,
            contents_newline: self.contents_newline.0,
            allow_empty: self.allow_empty.0,
        }
    }

    /// A list counts as a source even if none of its files exists.
    fn has_source(&self) -> bool {
        self.source.truth() || self.source.as_list().is_some()
    }

    fn install<'a>(
        &self,
        machine: &dyn Probe,
        name: &'a str,
        content: Option<Vec<u8>>,
        request: PermissionsSpec,
    ) -> FileInstall<'a> {
        FileInstall {
            name,
            content,
            from_source: self.has_source(),
            request,
            makedirs: self.makedirs.0,
            dir_mode: permissions::mode(&self.dir_mode),
            backup: backup::wanted(machine, &self.backup),
            show_changes: self.show_changes.0,
            new_file_diff: self.new_file_diff.0,
            ignored: Ignored {
                ordering: self.ignore_ordering,
                whitespace: self.ignore_whitespace,
                comments: self.ignore_comment_characters.clone(),
            },
            check: self
                .check_cmd
                .truth()
                .then(|| (self.check_cmd.to_string(), self.tmp_dir.clone(), self.tmp_ext.clone().unwrap_or_default())),
        }
    }

    fn check_arguments(&self, contents: &Contents<'_>, keep_mode: bool) -> Result<(), Verdict> {
        let fault = match contents.count() {
            count if self.source.truth() && count > 0 => {
                "'source' cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'"
            }
            count if keep_mode && count > 0 => {
                "Mode preservation cannot be used in combination with 'contents', 'contents_pillar', or \
                 'contents_grains'"
            }
            0 | 1 => return Ok(()),
            _ => "Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted",
        };
        Err(Verdict::bad(fault))
    }

    /// Whether the file can be there, as this user's.
    fn check_target(&self, machine: &dyn Probe, name: &str, user: &Value, test: bool) -> Result<(), Verdict> {
        if !self.create && !look::is_file(machine, name) {
            return Err(Verdict::good(format!("File {name} is not present and is not set for creation")));
        }
        if let Some(fault) = permissions::check_owners(machine, user, &self.group, test) {
            return Err(Verdict::bad(fault));
        }
        if !look::is_absolute(name) {
            return Err(Verdict::bad(format!("Specified file {name} is not an absolute path")));
        }
        if look::is_directory(machine, name) && !self.removed {
            return Err(Verdict::bad(format!("Specified target {name} is a directory")));
        }
        Ok(())
    }

    fn rendered(&self, machine: &dyn Probe, step: &Step<'_>, given: TextOrBytes) -> Result<TextOrBytes, Verdict> {
        let Some(renderer) = self.template.as_deref().filter(|renderer| !renderer.is_empty()) else {
            return Ok(given);
        };
        let TextOrBytes::Text(text) = given else {
            return Err(Verdict::bad(
                "Contents specified by contents/contents_pillar/contents_grains appears to be binary data, and as \
                 will not be able to be treated as a Jinja template.",
            ));
        };
        let context = contents::variables(&self.defaults, &self.context);
        let rendered = contents::render(machine, renderer, &text, &self.name, step.saltenv, context);
        rendered.map(TextOrBytes::Text).map_err(Verdict::bad)
    }

    fn encoded(&self, given: TextOrBytes) -> Result<Vec<u8>, Verdict> {
        match (given, self.encoding.as_deref().filter(|encoding| !encoding.is_empty())) {
            (TextOrBytes::Bytes(bytes), _) => Ok(bytes),
            (TextOrBytes::Text(text), None) => Ok(text.into_bytes()),
            (TextOrBytes::Text(text), Some(encoding)) => {
                encoding::encode(&text, encoding, self.encoding_errors.as_deref().unwrap_or("strict"))
                    .map_err(|text| Verdict::bad(format!("Unable to manage file: {text}")))
            }
        }
    }

    fn proof<'a>(&'a self, step: &Step<'_>, name: &'a str, source_hash: &'a str) -> Proof<'a> {
        Proof {
            source_hash,
            source_hash_name: self.source_hash_name.as_deref(),
            skip_verify: self.skip_verify.0 || (self.use_etag.0 && source_hash.is_empty()),
            dry: step.test,
            name,
        }
    }

    /// Whether the file already has the hash of its source, so that nothing need be fetched.
    fn has_wished_sum(&self, machine: &dyn Probe, step: &Step<'_>, name: &str) -> bool {
        if self.template.is_some() || self.skip_verify.0 || !self.source.truth() || !look::is_file(machine, name) {
            return false;
        }
        let hash = self.source_hash();
        let Ok((source, hash)) = source::choose(machine, &self.source, &hash, step.saltenv) else { return false };
        if !matches!(ParsedSource::read(&source), ParsedSource::Url(_)) {
            return false;
        }
        let wanted = source::wanted_sum(machine, &source, step.saltenv, &self.proof(step, name, &hash));
        let Ok(Some((kind, sum))) = wanted else { return false };
        sum_of(machine, name.as_ref(), kind).is_ok_and(|found| found == sum)
    }

    fn source_hash(&self) -> String {
        if self.source_hash.truth() { self.source_hash.to_string() } else { String::new() }
    }

    fn source_content(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
        name: &str,
    ) -> Result<source::SourceContent, Verdict> {
        let unable = |text: String| Verdict::bad(format!("Unable to manage file: {text}"));
        let hash = self.source_hash();
        let (chosen, hash) = source::choose(machine, &self.source, &hash, step.saltenv).map_err(unable)?;
        // A dry run reports only what is wrong.
        let told = |text: String| if step.test { Verdict::bad(text) } else { unable(text) };
        let found = source::fetch(machine, &chosen, step.saltenv, &self.proof(step, name, &hash));
        let mut found = found.map_err(|unfit| if unfit.whole { Verdict::bad(unfit.text) } else { told(unfit.text) })?;
        if let Some(renderer) = self.template.as_deref().filter(|renderer| !renderer.is_empty()) {
            let text = std::str::from_utf8(&found.bytes)
                .map_err(|_| told(format!("{} is no UTF-8 text and can't be a template", found.source)))?;
            let context = self.template_variables(machine, step, name, &found.source);
            let rendered = contents::render(machine, renderer, text, &found.source, step.saltenv, context);
            found.bytes = rendered.map_err(told)?.into_bytes().into();
        }
        Ok(found)
    }

    fn template_variables(&self, machine: &dyn Probe, step: &Step<'_>, name: &str, source: &str) -> Map {
        let mut variables = Map::new();
        for (key, value) in [
            ("name", Value::from(name)),
            ("source", source.into()),
            ("user", self.user.clone()),
            ("group", self.group.clone()),
            ("mode", permissions::mode(&self.mode).into()),
            ("attrs", self.attrs.clone().into()),
            ("saltenv", step.saltenv.into()),
        ] {
            variables.insert(key, value);
        }
        variables.extend(contents::variables(&self.defaults, &self.context));
        if let Some(texts) = accumulated::texts(machine, name) {
            variables.insert("accumulator", texts);
        }
        variables
    }

    /// Leaves the content unchanged.
    fn only_permissions(&self, machine: &dyn Probe, name: &str, request: &PermissionsSpec, test: bool) -> Decision {
        let mending = request.look(machine, name);
        if let Some(fault) = mending.faults.first() {
            return Decision::Settled(Verdict::bad(fault.as_str()));
        }
        let old = look::found(machine, name).map(|stat| format!("{:04o}", stat.mode)).unwrap_or_default();
        let comment = match &request.mode {
            Some(mode) if *mode != old => {
                format!("File {name} will be updated with permissions {mode} from its current state of {old}")
            }
            _ => format!("File {name} not updated"),
        };
        if mending.changes.is_empty() {
            let settled = format!("File {name} exists with proper permissions. No changes made.");
            let comment = if test { comment } else { settled };
            return Decision::Settled(Verdict::good(comment).output("path", name));
        }
        let done = Verdict::good("").changes(mending.changes.clone()).output("path", name);
        let would = Verdict::would(comment).changes(mending.changes);
        Decision::Change(Plan::brief(done).all(mending.actions), would)
    }
}
