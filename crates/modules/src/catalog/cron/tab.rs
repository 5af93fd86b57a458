//! [`Tab`]: the text of a crontab, with the jobs that are managed in it. All other lines stay unchanged.

use rocksalt_core::{Map, Value};

pub const TAG: &str = "# Lines below here are managed by Salt, do not edit";
const IDENTIFIER: &str = "SALT_CRON_IDENTIFIER";
const NO_IDENTIFIER: &str = "NO ID SET";
const DISABLED: &str = "#DISABLED#";

/// The five fields of a job's time.
pub const TIMES: [&str; 5] = ["minute", "hour", "daymonth", "month", "dayweek"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronJob {
    pub when: When,
    pub cmd: String,
    pub identifier: Option<String>,
    pub comment: Option<String>,
    pub commented: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    Times([String; 5]),
    /// `@reboot` and similar.
    Special(String),
}

/// An item below the tag, with its original lines.
struct CrontabItem {
    lines: String,
    kind: CrontabItemKind,
}

enum CrontabItemKind {
    Job(CronJob),
    Variable { name: String, value: String },
    Other,
}

pub struct Tab {
    /// The lines that aren't managed.
    pre: Vec<String>,
    items: Vec<CrontabItem>,
}

impl Tab {
    pub fn parse(text: &str) -> Tab {
        let mut tab = Tab { pre: Vec::new(), items: Vec::new() };
        let mut lines = text.lines();
        for line in lines.by_ref() {
            if line == TAG {
                break;
            }
            tab.pre.push(line.to_owned());
        }
        // Comments belong to the next job.
        let (mut pending, mut remark, mut identifier) = (String::new(), None::<String>, None);
        for line in lines.filter(|line| *line != TAG) {
            let with_end = format!("{line}\n");
            let (bare, commented) = line.strip_prefix(DISABLED).map_or((line, false), |bare| (bare, true));
            if let Some((when, cmd)) = when(bare) {
                let (identifier, comment) = (identifier.take(), remark.take());
                let job = CronJob { when, cmd, identifier, comment, commented };
                tab.items.push(CrontabItem {
                    lines: std::mem::take(&mut pending) + &with_end,
                    kind: CrontabItemKind::Job(job),
                });
            } else if bare.starts_with('#') {
                pending.push_str(&with_end);
                let mut text = bare.trim_start_matches(['#', ' ']);
                if let Some((before, after)) = text.split_once(IDENTIFIER) {
                    text = before.trim_end();
                    identifier = after.strip_prefix(':').filter(|after| !after.is_empty()).map(str::to_owned);
                }
                remark = Some(remark.map_or_else(|| text.to_owned(), |known| format!("{known}\n{text}")));
            } else if let Some((name, value)) = variable(bare) {
                let kind = CrontabItemKind::Variable { name: name.to_owned(), value: value.to_owned() };
                tab.items.push(CrontabItem { lines: with_end, kind });
            } else if bare.trim().is_empty() {
                pending.push_str(&with_end);
            } else {
                tab.items.push(CrontabItem {
                    lines: std::mem::take(&mut pending) + &with_end,
                    kind: CrontabItemKind::Other,
                });
                (remark, identifier) = (None, None);
            }
        }
        if !pending.is_empty() {
            tab.items.push(CrontabItem { lines: pending, kind: CrontabItemKind::Other });
        }
        tab
    }

    pub fn text(&self) -> String {
        let pre = self.pre.iter().map(|line| format!("{line}\n"));
        pre.chain([format!("{TAG}\n")]).chain(self.items.iter().map(|item| item.lines.clone())).collect()
    }

    pub fn jobs(&self) -> impl Iterator<Item = (usize, &CronJob)> {
        self.items.iter().enumerate().filter_map(|(index, item)| match &item.kind {
            CrontabItemKind::Job(job) => Some((index, job)),
            _ => None,
        })
    }

    pub fn variables(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        self.items.iter().enumerate().filter_map(|(index, item)| match &item.kind {
            CrontabItemKind::Variable { name, value } => Some((index, name.as_str(), value.as_str())),
            _ => None,
        })
    }

    pub fn remove(&mut self, index: usize) {
        self.items.remove(index);
    }

    /// Replaces an item, or adds the job after the last one of its kind.
    pub fn put(&mut self, place: Option<usize>, job: CronJob) {
        let special = matches!(job.when, When::Special(_));
        let item = CrontabItem { lines: job.lines(), kind: CrontabItemKind::Job(job) };
        match place {
            Some(index) => self.items[index] = item,
            None => {
                let later = |item: &CrontabItem| {
                    matches!(&item.kind, CrontabItemKind::Job(CronJob { when: When::Special(_), .. }))
                };
                let end = self.items.iter().position(later).filter(|_| !special).unwrap_or(self.items.len());
                self.items.insert(end, item);
            }
        }
    }

    pub fn put_variable(&mut self, place: Option<usize>, name: &str, value: &str) {
        let kind = CrontabItemKind::Variable { name: name.to_owned(), value: value.to_owned() };
        let item = CrontabItem { lines: format!("{name}={value}\n"), kind };
        match place {
            Some(index) => self.items[index] = item,
            None => {
                // A variable only affects the jobs below it.
                let end = self.variables().last().map_or(0, |(index, ..)| index + 1);
                self.items.insert(end, item);
            }
        }
    }

    /// The crontab in Salt's form.
    pub fn shown(&self) -> Map {
        let of = |special: bool| {
            let jobs = self.jobs().filter(|(_, job)| matches!(job.when, When::Special(_)) == special);
            Value::List(jobs.map(|(_, job)| Value::Map(job.shown())).collect())
        };
        let variable = |name: &str, value: &str| {
            Value::Map(Map::from_iter([("name".into(), name.into()), ("value".into(), value.into())]))
        };
        let pre = self.pre.iter().map(|line| Value::from(line.as_str())).collect();
        Map::from_iter([
            ("pre".into(), Value::List(pre)),
            ("crons".into(), of(false)),
            ("special".into(), of(true)),
            ("env".into(), Value::List(self.variables().map(|(_, name, value)| variable(name, value)).collect())),
        ])
    }
}

impl CronJob {
    /// Salt's rule: matches by identifier; a job without one by its command.
    pub fn is_meant(&self, cmd: &str, identifier: Option<&str>) -> bool {
        let own = self.identifier.as_deref().filter(|id| !id.is_empty()).unwrap_or(NO_IDENTIFIER);
        let wanted = identifier.filter(|id| !id.is_empty()).unwrap_or(NO_IDENTIFIER);
        match own == NO_IDENTIFIER {
            true => self.cmd == cmd,
            false => own == wanted,
        }
    }

    pub fn shown(&self) -> Map {
        let mut shown = Map::new();
        match &self.when {
            When::Times(times) => {
                TIMES.iter().zip(times).for_each(|(name, value)| drop(shown.insert(*name, value.as_str())));
            }
            When::Special(spec) => drop(shown.insert("spec", spec.as_str())),
        }
        shown.insert("identifier", self.identifier.clone());
        shown.insert("cmd", self.cmd.as_str());
        shown.insert("comment", self.comment.clone());
        shown.insert("commented", self.commented);
        shown
    }

    fn lines(&self) -> String {
        let mut lines = String::new();
        if self.comment.is_some() || self.identifier.is_some() {
            lines.push('#');
            if let Some(comment) = self.comment.as_ref().filter(|comment| !comment.is_empty()) {
                lines.push_str(&format!(" {}", comment.trim_end().replace('\n', "\n# ")));
            }
            if let Some(identifier) = self.identifier.as_ref().filter(|id| !id.is_empty()) {
                lines.push_str(&format!(" {IDENTIFIER}:{identifier}"));
            }
            lines.push('\n');
        }
        if self.commented {
            lines.push_str(DISABLED);
        }
        let when = match &self.when {
            When::Times(times) => times.join(" "),
            When::Special(spec) => spec.clone(),
        };
        lines + &format!("{when} {}\n", self.cmd)
    }
}

/// The time and command of a line, if it is a job.
fn when(line: &str) -> Option<(When, String)> {
    let line = line.trim_start();
    if line.starts_with('@') {
        let (spec, cmd) = line.split_once(char::is_whitespace)?;
        return Some((When::Special(spec.to_owned()), cmd.trim_start().to_owned()));
    }
    if !line.starts_with(|letter: char| letter.is_ascii_digit() || letter == '*') {
        return None;
    }
    let mut rest = line;
    let mut times: [String; 5] = Default::default();
    for time in &mut times {
        let (word, after) = rest.split_once(char::is_whitespace)?;
        *time = word.to_owned();
        rest = after.trim_start();
    }
    (!rest.is_empty()).then(|| (When::Times(times), rest.to_owned()))
}

fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    (!name.is_empty() && !name.contains(' ')).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# my own
1 2 * * * mine

# Lines below here are managed by Salt, do not edit
PATH=/bin:/usr/bin
# nightly SALT_CRON_IDENTIFIER:backup
0 3 * * * /usr/bin/backup  --all
#DISABLED#5\t* * * *\tcommand with tabs
what is this
# one
# two SALT_CRON_IDENTIFIER:x
@reboot /bin/true  now
# the end
";

    #[test]
    fn a_crontab_that_is_not_changed_stays_as_it_is() {
        assert_eq!(Tab::parse(TEXT).text(), TEXT);
        assert_eq!(Tab::parse("").text(), format!("{TAG}\n"));
        assert_eq!(Tab::parse("a\n").text(), format!("a\n{TAG}\n"));
    }

    #[test]
    fn jobs_are_read_with_what_is_said_of_them() {
        let tab = Tab::parse(TEXT);
        let shown = Value::Map(tab.shown()).to_string();
        let expected = "{'pre': ['# my own', '1 2 * * * mine', ''], 'crons': [{'minute': '0', 'hour': '3', \
            'daymonth': '*', 'month': '*', 'dayweek': '*', 'identifier': 'backup', 'cmd': '/usr/bin/backup  --all', \
            'comment': 'nightly', 'commented': False}, {'minute': '5', 'hour': '*', 'daymonth': '*', 'month': '*', \
            'dayweek': '*', 'identifier': None, 'cmd': 'command with tabs', 'comment': None, 'commented': True}], \
            'special': [{'spec': '@reboot', 'identifier': 'x', 'cmd': '/bin/true  now', 'comment': 'one\\ntwo', \
            'commented': False}], 'env': [{'name': 'PATH', 'value': '/bin:/usr/bin'}]}";
        assert_eq!(shown, expected);
    }

    #[test]
    fn new_jobs_go_where_salt_puts_them() {
        let mut tab = Tab::parse(TEXT);
        let job =
            |when| CronJob { when, cmd: "new".into(), identifier: Some("id".into()), comment: None, commented: false };
        tab.put(None, job(When::Times(["*"; 5].map(str::to_owned))));
        tab.put(None, job(When::Special("@daily".into())));
        tab.put_variable(None, "A", "1");
        let text = tab.text();
        assert!(text.contains("what is this\n# SALT_CRON_IDENTIFIER:id\n* * * * * new\n# one\n"), "{text}");
        assert!(text.ends_with("# the end\n# SALT_CRON_IDENTIFIER:id\n@daily new\n"), "{text}");
        assert!(text.contains("PATH=/bin:/usr/bin\nA=1\n"), "{text}");
    }
}
