//! `archive.extracted`: the content of an archive is in a directory.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::cp;
use super::super::cp::source::ContentSource as Place;
use super::super::file::{self, Flag};
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::ArchiveFormat;
use super::contents::ArchiveContents;
use super::place::Archive;
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{FileKind, Probe, System};
use crate::text::digest;

/// Makes sure that an archive has been extracted: every path in it is there, of the right kind.
///
/// ```yaml
/// /opt:
///   archive.extracted:
///     - source: https://example.com/tool-1.2.tar.gz
///     - source_hash: sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
/// ```
///
/// An archive with a member that would end up outside of the directory, or a link that leads there, is refused.
#[state("archive.extracted", required("source"))]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct Extracted {
    /// The directory, absolute.
    pub(super) name: String,
    /// `salt://…`, `http(s)://…` or a path; of a list, the first that there is.
    source: Value,
    /// The hash that it must have: a hash, `sha256=…`, or the address of a list of hashes.
    source_hash: Value,
    /// The name to look for in a list of hashes.
    source_hash_name: Option<String>,
    /// Extract again when the archive has changed.
    source_hash_update: Flag,
    /// Don't look at single files as long as the archive is the same as last time.
    skip_files_list_verify: Flag,
    /// Take what is from elsewhere without a hash.
    skip_verify: Flag,
    /// The password of a zip archive.
    #[secret]
    pub(super) password: Option<String>,
    /// Options for tar or unzip.
    pub(super) options: Option<String>,
    /// A command that decompresses the archive, where tar can't by itself.
    list_options: Option<String>,
    /// Remove what is in the way and of another kind.
    force: Flag,
    /// Extract even if all is there.
    overwrite: Flag,
    /// Remove what the archive has at its top before it is extracted.
    pub(super) clean: Flag,
    /// Remove the directory before the archive is extracted.
    pub(super) clean_parent: Flag,
    /// The owner of everything that is extracted.
    pub(super) user: Value,
    /// The group of everything that is extracted.
    pub(super) group: Value,
    /// Do nothing if this path is there.
    if_missing: Option<String>,
    /// Show only so many files; `True`: 100.
    trim_output: Value,
    /// Use the target's `unzip`; needed for `options`.
    pub(super) use_cmd_unzip: Option<bool>,
    /// With the permissions that a zip archive has.
    #[default(true)]
    pub(super) extract_perms: Flag,
    /// Refuse an archive that has more than one thing at its top.
    #[default(true)]
    enforce_toplevel: Flag,
    /// Set the owner and group of this path only.
    pub(super) enforce_ownership_on: Option<String>,
    /// `tar`, `zip` or `rar`; else by the source's name.
    archive_format: Option<String>,
    /// As `skip_verify`: only a hash says that a copy is good.
    use_etag: Flag,
    /// Keep the copy of an archive from elsewhere.
    keep_source: Option<bool>,
    /// As `keep_source`.
    keep: Option<bool>,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

/// The facts that are known without reading the archive.
#[derive(Serialize, Deserialize)]
pub struct ExtractPlan {
    pub(super) source: String,
    pub(super) format: ArchiveFormat,
    pub(super) trim: Option<usize>,
    wanted: Option<(digest::DigestAlgorithm, String)>,
    saltenv: String,
    /// The archive must be fetched first.
    fetch: bool,
    archive: Archive,
    found: Option<ArchiveState>,
}

/// The result of comparing archive and directory.
#[derive(Serialize, Deserialize)]
pub struct ArchiveState {
    pub(super) contents: ArchiveContents,
    pub(super) extract: bool,
    pub(super) missing: bool,
    pub(super) trigger: bool,
    pub(super) in_the_way: Vec<String>,
    /// Paths with another owner or group than requested.
    pub(super) foreign: bool,
}

impl ExtractPlan {
    pub(super) fn archive(&self) -> &Archive {
        &self.archive
    }
}

impl State for Extracted {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let mut plan = match self.check(machine, step)? {
            Ok(plan) => plan,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let mut cached = None;
        if plan.fetch && !step.test {
            // The run fetches the archive into the cache; planning can't.
            return Decision::own(&plan, Verdict::default());
        }
        if plan.fetch {
            let found = match self.fetch_to_look(machine, &plan) {
                Ok(bytes) => bytes,
                Err(text) => return Ok(Decision::Settled(Verdict::bad(text))),
            };
            cached = Some(std::mem::replace(&mut plan.archive, Archive::Bytes(found)));
        }
        let found = match self.look(machine, &plan) {
            Ok(found) => found,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let done = self.predicted(machine, &plan, &found);
        let nothing = !found.extract && !found.foreign;
        let remembers = self.remembers() && self.stored(machine, &plan) != self.sum(machine, &plan);
        if nothing && !remembers {
            return Ok(Decision::Settled(done));
        }
        plan.found = Some(found);
        if let Some(cached) = cached {
            plan.archive = cached;
        }
        Decision::own(&plan, done)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let mut plan: ExtractPlan = plan.into_own()?;
        if plan.fetch {
            if let Err(text) = self.fetch(machine, &mut plan) {
                return Ok(Verdict::bad(text));
            }
            plan.found = match self.look(machine, &plan) {
                Ok(found) => Some(found),
                Err(verdict) => return Ok(verdict),
            };
        }
        let Some(found) = plan.found.take() else { return Ok(Verdict::bad("the archive was not looked at")) };
        let Archive::File(archive) = &plan.archive else { return Ok(Verdict::bad("the archive is not at hand")) };
        let sum = self.remembers().then(|| self.sum(machine, &plan)).flatten();
        let verdict = self.carry_out(machine, &plan, &found, archive)?;
        if let Some(sum) = sum.filter(|_| verdict.result == Some(true)) {
            let path = self.sum_file(machine, &plan);
            file::make_all(machine, path.parent().unwrap_or(Path::new("/")), Some(0o700))?;
            machine
                .write(&path, format!("sha256:{sum}\n").as_bytes(), Some(0o600))
                .map_err(|error| crate::Error::io("write", &path, &error))?;
        }
        if plan.fetch && !self.keep_source.or(self.keep).unwrap_or(true) {
            let _ = machine.remove(archive);
        }
        Ok(verdict)
    }

    fn touches(&self) -> Touches {
        let touches = Touches::nothing().writes(Thing::Path(self.name.clone()));
        let paths = match &self.source {
            Value::List(sources) => sources.iter().map(ToString::to_string).collect(),
            source => vec![source.to_string()],
        };
        let touches = paths.iter().chain(&self.if_missing).fold(touches, |touches, path| touches.from(path));
        let touches = if self.user.truth() { touches.reads(Thing::User(self.user.to_string())) } else { touches };
        if self.group.truth() { touches.reads(Thing::Group(self.group.to_string())) } else { touches }
    }
}

impl Extracted {
    /// The directory with a final slash, as Salt prints it.
    pub(super) fn directory(&self) -> String {
        format!("{}/", self.name.trim_end_matches('/'))
    }

    /// The facts that are known without reading the archive; the inner error is a verdict that ends the state early.
    fn check(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Result<ExtractPlan, Verdict>> {
        let fail = |text: String| Ok(Err(Verdict::bad(text)));
        if let Err(verdict) = self.check_arguments(machine) {
            return Ok(Err(verdict));
        }
        let saltenv = self.saltenv.as_deref().unwrap_or(step.saltenv).to_owned();
        let hash = if self.source_hash.truth() { self.source_hash.to_string() } else { String::new() };
        if !self.source.truth() {
            return fail(format!("Invalid source \"{}\"", self.source));
        }
        let (source, hash) = match file::choose(machine, &self.source, &hash, &saltenv) {
            Ok(found) => found,
            Err(text) => return fail(text),
        };
        let place = Place::parse(machine, &source, Some(&saltenv))?;
        if let Place::Local(path) = &place
            && kind(machine, path) != Some(FileKind::File)
        {
            return fail(format!("Source file '{}' does not exist", path.display()));
        }
        let format = match self.format(&place) {
            Ok(format) => format,
            Err(text) => return fail(text),
        };
        let trim = match self.trim() {
            Ok(trim) => trim,
            Err(text) => return fail(text),
        };
        let wanted = match hash.is_empty() {
            true => None,
            false => match file::read_hash(machine, &hash, "", &source, self.source_hash_name.as_deref(), &saltenv) {
                Ok(wanted) => Some(wanted),
                Err(text) => return fail(text),
            },
        };
        let copy = match &place {
            Place::Local(path) => path.clone(),
            other => cp::destination(machine, other)?,
        };
        let fetch = match self.must_fetch(machine, &place, &source, &copy, wanted.as_ref())? {
            Ok(fetch) => fetch,
            Err(text) => return fail(text),
        };
        let plan =
            ExtractPlan { source, format, trim, wanted, saltenv, fetch, archive: Archive::File(copy), found: None };
        if self.skip_files_list_verify.0
            && let Some((_, request)) = &plan.wanted
            && self.stored(machine, &plan).as_ref() == Some(request)
        {
            let shown = file::redacted(&plan.source);
            return Ok(Err(Verdict::good(format!(
                "Archive {shown} existing source sum is the same as the expected one and skip_files_list_verify \
                 argument was set to True. Extraction is not needed"
            ))));
        }
        Ok(Ok(plan))
    }

    /// Checks what needs no source: the arguments among themselves, the paths, and the owner.
    fn check_arguments(&self, machine: &dyn Probe) -> Result<(), Verdict> {
        let fail = |text: String| Err(Verdict::bad(text));
        if self.skip_files_list_verify.0 && self.skip_verify.0 {
            return fail("Only one of \"skip_files_list_verify\" and \"skip_verify\" can be set to True".into());
        }
        let name = &self.name;
        if !name.starts_with('/') {
            return fail(format!("{name} is not an absolute path"));
        }
        if kind(machine, name.trim_end_matches('/').as_ref()) == Some(FileKind::File) {
            return fail(format!("{} exists and is not a directory", name.trim_end_matches('/')));
        }
        if self.if_missing.as_ref().is_some_and(|path| !path.starts_with('/')) {
            return fail("Value for 'if_missing' is not an absolute path".into());
        }
        if let Some(path) = &self.enforce_ownership_on {
            if !path.starts_with('/') {
                return fail("Value for 'enforce_ownership_on' is not an absolute path".into());
            }
            if !format!("{path}/").starts_with(&self.directory()) || path.split('/').any(|part| part == "..") {
                return fail(format!("Value for 'enforce_ownership_on' must be within {}", self.directory()));
            }
        }
        if let Some(path) = self.if_missing.as_ref().filter(|path| kind(machine, path.as_ref()).is_some()) {
            return Err(Verdict::good(format!("Path {path} exists")));
        }
        if self.user.truth() && file::uid(machine, &self.user).is_none() {
            return fail(format!("User {} does not exist", self.user));
        }
        if self.group.truth() && file::gid(machine, &self.group).is_none() {
            return fail(format!("Group {} does not exist", self.group));
        }
        Ok(())
    }

    /// The archive's format, if the arguments fit it.
    fn format(&self, place: &Place) -> Result<ArchiveFormat, String> {
        let format = match &self.archive_format {
            Some(name) => ArchiveFormat::named(name).ok_or_else(|| {
                format!(
                    "Invalid archive_format '{}'. Either set it to a supported value (tar, rar, zip) or remove this \
                     argument and the archive format will be guessed based on file extension.",
                    name.to_lowercase()
                )
            }),
            None => ArchiveFormat::of(&place.name()).ok_or_else(|| {
                "Could not guess archive_format from the value of the 'source' argument. Please set this \
                 archive_format to one of the following: tar, rar, zip"
                    .to_owned()
            }),
        }?;
        self.misfit(format).map_or(Ok(format), |text| Err(text.into()))
    }

    /// An argument that doesn't apply to this kind of archive.
    fn misfit(&self, format: ArchiveFormat) -> Option<&'static str> {
        match format {
            ArchiveFormat::Zip if self.options.is_some() && self.use_cmd_unzip == Some(false) => Some(
                "'use_cmd_unzip' cannot be set to False if CLI options are being specified (via the 'options' \
                 argument). Either remove 'use_cmd_unzip', or set it to True.",
            ),
            ArchiveFormat::Tar | ArchiveFormat::Rar if self.password.is_some() => {
                Some("The 'password' argument is only supported for zip archives")
            }
            ArchiveFormat::Rar => {
                Some("archive.unrar function not available, rar/unrar might not be installed on minion")
            }
            _ if self.clean.0 && self.clean_parent.0 => {
                Some("Only one of 'clean' and 'clean_parent' can be set to True")
            }
            _ => None,
        }
    }

    /// The number of files to show, if not all.
    fn trim(&self) -> Result<Option<usize>, String> {
        match &self.trim_output {
            Value::Null | Value::Bool(false) => Ok(None),
            Value::Bool(true) => Ok(Some(100)),
            other => match other.to_string().parse::<usize>() {
                Ok(0) => Ok(None),
                Ok(count) => Ok(Some(count)),
                Err(_) => Err("Invalid value for trim_output, must be True/False or an integer".into()),
            },
        }
    }

    /// Whether the archive must be fetched first; the inner error is the reason why it can't be.
    fn must_fetch(
        &self,
        machine: &dyn Probe,
        place: &Place,
        source: &str,
        copy: &Path,
        wanted: Option<&(digest::DigestAlgorithm, String)>,
    ) -> Result<Result<bool, String>> {
        let shown = file::redacted(source);
        let cached = || kind(machine, copy) == Some(FileKind::File);
        Ok(Ok(match place {
            Place::Local(_) => false,
            Place::Tree { path, saltenv } => {
                // A valid copy in the cache need not be fetched again.
                let sum = machine.tree().hash(saltenv, path)?;
                let Some(sum) = sum else {
                    return Ok(Err(format!("Source file {shown} not found in saltenv '{saltenv}'")));
                };
                !cached() || file::sum_of(machine, copy, digest::DigestAlgorithm::Sha256)? != sum
            }
            _ => match wanted {
                None if !self.skip_verify && !self.use_etag => {
                    return Ok(Err(format!(
                        "Unable to verify upstream hash of source file {shown}, please set source_hash or set \
                         skip_verify or use_etag to True"
                    )));
                }
                Some((sort, sum)) if cached() && !self.skip_verify => file::sum_of(machine, copy, *sort)? != *sum,
                _ => true,
            },
        }))
    }

    fn proof<'a>(&'a self, hash: &'a str) -> file::Proof<'a> {
        let name = self.source_hash_name.as_deref();
        let skip_verify = hash.is_empty();
        file::Proof { source_hash: hash, source_hash_name: name, skip_verify, dry: false, name: "" }
    }

    /// Fetches into memory, for a dry run, which must not write.
    fn fetch_to_look(
        &self,
        machine: &dyn Probe,
        plan: &ExtractPlan,
    ) -> std::result::Result<std::sync::Arc<[u8]>, String> {
        let hash = plan.wanted.as_ref().map(|(_, sum)| sum.clone()).filter(|_| !self.skip_verify).unwrap_or_default();
        let found = file::fetch(machine, &plan.source, &plan.saltenv, &self.proof(&hash));
        found.map(|content| content.bytes).map_err(|unfit| unfit.text)
    }

    fn fetch(&self, machine: &dyn System, plan: &mut ExtractPlan) -> std::result::Result<(), String> {
        let shown = file::redacted(&plan.source);
        let place = Place::parse(machine, &plan.source, Some(&plan.saltenv)).map_err(|error| error.to_string())?;
        let wanted = plan.wanted.as_ref().filter(|_| !self.skip_verify);
        let wanted = wanted.map(|(kind, sum)| format!("{}={sum}", kind.name()));
        match cp::cached(machine, &place, wanted.as_deref()) {
            Ok(Some(path)) => {
                plan.archive = Archive::File(path);
                Ok(())
            }
            Ok(None) => Err(format!("Failed to cache {shown}, check minion log for more information")),
            Err(error) => Err(format!("Failed to cache {shown}: {error}")),
        }
    }

    fn look(&self, machine: &dyn Probe, plan: &ExtractPlan) -> std::result::Result<ArchiveState, Verdict> {
        let shown = file::redacted(&plan.source);
        let name = self.directory();
        if plan.format == ArchiveFormat::Zip
            && self.password.is_none()
            && super::zip::is_encrypted(machine, &plan.archive).unwrap_or(false)
        {
            return Err(Verdict::bad(format!(
                "Archive {shown} is password-protected, but no password was specified. Please set the 'password' \
                 argument."
            )));
        }
        let contents = match plan.format {
            ArchiveFormat::Zip => super::zip::list(machine, &plan.archive, self.password.as_deref()),
            _ => super::tar::list(machine, &plan.archive, self.list_options.as_deref(), strip(self.options.as_deref())),
        };
        let contents = contents.map_err(|error| Verdict::bad(format!("{shown}: {error}")))?;
        if let Some(text) = contents.escape() {
            return Err(Verdict::bad(format!("{shown} is refused: {text}; nothing was extracted")));
        }
        if self.enforce_toplevel.0 && (contents.top_level_dirs.len() > 1 || !contents.top_level_files.is_empty()) {
            return Err(Verdict::bad(format!(
                "Archive does not have a single top-level directory. To allow this archive to be extracted, set \
                 'enforce_toplevel' to False. To avoid a '{}-bomb' it may also be advisable to set a top-level \
                 directory by adding it to the 'name' value (for example, setting 'name' to {name}some_dir instead of \
                 {name}).",
                plan.format.name()
            )));
        }
        let (missing, in_the_way) = compare(machine, &name, &contents);
        if !in_the_way.is_empty() && !self.clean && !self.clean_parent && !self.force {
            let paths: Vec<String> = in_the_way.iter().map(|path| format!("- {path}")).collect();
            return Err(Verdict::bad(format!(
                "The below paths (relative to {name}) exist, but are the incorrect type (file instead of directory, \
                 symlink instead of file, etc.). To proceed with extraction, set 'force' to True. Note that this will \
                 remove these paths before extracting.\n\n{}",
                paths.join("\n")
            )));
        }
        let mut extract = self.overwrite.0 || missing || !in_the_way.is_empty();
        let stored = self.stored(machine, plan);
        let trigger = !extract && self.source_hash_update.0 && stored.is_some() && stored != self.sum(machine, plan);
        extract = extract || trigger;
        if let (true, Some((kind, sum)), Archive::File(path)) =
            (extract && !self.skip_verify, &plan.wanted, &plan.archive)
            && !plan.fetch
            && file::sum_of(machine, path, *kind).ok().as_ref() != Some(sum)
        {
            return Err(Verdict::bad(format!("{shown} does not match the desired source_hash {sum}")));
        }
        let foreign = !extract && self.foreign(machine, &contents);
        Ok(ArchiveState { contents, extract, missing, trigger, in_the_way, foreign })
    }

    fn remembers(&self) -> bool {
        self.source_hash_update.0 && self.source_hash.truth() && !self.skip_verify
    }

    fn sum_file(&self, machine: &dyn Probe, plan: &ExtractPlan) -> std::path::PathBuf {
        // An archive may be extracted to several directories at different times.
        let key =
            digest::of(digest::DigestAlgorithm::Sha256, format!("{}\n{}", self.directory(), plan.source).as_bytes());
        cp::directory(machine).join("archive_hash").join(key)
    }

    fn stored(&self, machine: &dyn Probe, plan: &ExtractPlan) -> Option<String> {
        let text = machine.read(&self.sum_file(machine, plan)).ok()?;
        String::from_utf8_lossy(&text).trim().strip_prefix("sha256:").map(str::to_owned)
    }

    fn sum(&self, machine: &dyn Probe, plan: &ExtractPlan) -> Option<String> {
        match &plan.archive {
            Archive::Bytes(bytes) => Some(digest::of(digest::DigestAlgorithm::Sha256, bytes)),
            Archive::File(path) => file::sum_of(machine, path, digest::DigestAlgorithm::Sha256).ok(),
        }
    }
}

/// The kind of what a path leads to, if it is there.
fn kind(machine: &dyn Probe, path: &Path) -> Option<FileKind> {
    machine.stat(path, true).ok().flatten().map(|stat| stat.kind)
}

/// The number of leading path parts that tar strips.
pub fn strip(options: Option<&str>) -> usize {
    let options = options.unwrap_or_default();
    let Some(at) = options.find("--strip") else { return 0 };
    let rest = options[at + "--strip".len()..].trim_start_matches("-components");
    let rest = rest.trim_start_matches([' ', '=', '"', '\'']);
    rest[..rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len())].parse().unwrap_or(0)
}

/// Whether something is missing, and which paths have another type.
fn compare(machine: &dyn Probe, name: &str, contents: &ArchiveContents) -> (bool, Vec<String>) {
    let (mut missing, mut in_the_way) = (false, Vec::new());
    type Fits = fn(FileKind) -> bool;
    let lists: [(&[String], Fits); 3] = [
        (&contents.dirs, |kind| kind == FileKind::Directory),
        (&contents.files, |kind| kind != FileKind::Link && kind != FileKind::Directory),
        (&contents.links, |kind| kind == FileKind::Link),
    ];
    for (paths, fits) in lists {
        for path in paths {
            match machine.stat(Path::new(format!("{name}{path}").trim_end_matches('/')), false) {
                Ok(Some(stat)) if fits(stat.kind) => {}
                Ok(Some(_)) => in_the_way.push(path.clone()),
                Ok(None) => missing = true,
                Err(_) => {}
            }
        }
    }
    (missing, in_the_way)
}

/// The changes that the run will report, in Salt's order.
pub fn changes(removed: Option<Value>, created: Option<&str>, files: &[String], owned: bool) -> Map {
    let list = |paths: &[String]| Value::List(paths.iter().map(|path| path.as_str().into()).collect());
    let mut changes = Map::new();
    if let Some(removed) = removed {
        changes.insert("removed", removed);
    }
    if owned {
        changes.insert("updated ownership", true);
    }
    if let Some(created) = created {
        changes.insert("directories_created", list(&[created.to_owned()]));
    }
    if !files.is_empty() {
        changes.insert("extracted_files", list(files));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripped_parts_are_found_in_the_options() {
        assert_eq!(strip(Some("z --strip-components=1")), 1);
        assert_eq!(strip(Some("--strip '2'")), 2);
        assert_eq!((strip(Some("zx")), strip(None), strip(Some("--strip"))), (0, 0, 0));
    }
}
