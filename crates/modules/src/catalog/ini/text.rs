//! The text of an ini file, by Salt's rules; pure functions.

/// Options and comments in order, followed by the sections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ini {
    pub top: OptionSection,
    pub sections: Vec<(String, OptionSection)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionSection(Vec<IniEntry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum IniEntry {
    Option(String, String),
    /// A comment, or any other line that isn't an option.
    Remark(String),
}

impl Ini {
    pub fn parse(text: &str, separator: &str) -> Ini {
        let mut ini = Ini::default();
        let mut lines: Vec<&str> = Vec::new();
        let mut name: Option<String> = None;
        for line in text.lines() {
            let bare = line.trim();
            match bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|name| !name.is_empty()) {
                Some(next) => {
                    ini.take(name.replace(next.to_owned()), &lines, separator);
                    lines.clear();
                }
                None => lines.push(line),
            }
        }
        ini.take(name, &lines, separator);
        ini
    }

    fn take(&mut self, name: Option<String>, lines: &[&str], separator: &str) {
        let section = OptionSection::parse(lines, separator);
        match name {
            None => self.top = section,
            Some(name) => match self.section(&name) {
                Some(known) => section.0.into_iter().for_each(|entry| match entry {
                    IniEntry::Option(key, value) => {
                        known.set(&key, &value, separator);
                    }
                    remark => known.0.push(remark),
                }),
                None => self.sections.push((name, section)),
            },
        }
    }

    pub fn section(&mut self, name: &str) -> Option<&mut OptionSection> {
        self.sections.iter_mut().find(|(known, _)| known == name).map(|(_, section)| section)
    }

    pub fn write(&self, separator: &str, no_spaces: bool) -> String {
        let sign = match (separator.trim(), no_spaces) {
            ("", _) => " ".to_owned(),
            (sign, true) => sign.to_owned(),
            (sign, false) => format!(" {sign} "),
        };
        let mut text = self.top.write(&sign);
        for (name, section) in &self.sections {
            text.push_str(&format!("\n[{name}]\n{}", section.write(&sign)));
        }
        text.trim_start_matches('\n').to_owned()
    }
}

impl OptionSection {
    fn parse(lines: &[&str], separator: &str) -> OptionSection {
        let mut section = OptionSection::default();
        let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
        let last = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |last| last + 1);
        let mut indent = String::new();
        for line in &lines[first..last] {
            let bare = line.trim_start();
            if bare.starts_with(['#', ';']) {
                section.0.push(IniEntry::Remark((*line).to_owned()));
                continue;
            }
            let blanks = line[..line.len() - bare.len()].replace('\t', "    ");
            if blanks > indent
                && let Some(IniEntry::Option(_, value) | IniEntry::Remark(value)) = section.0.last_mut()
            {
                value.push('\n');
                value.push_str(line);
                continue;
            }
            match option(bare, separator) {
                Some((key, value)) => {
                    indent = blanks;
                    section.set(key, value, separator);
                }
                None => section.0.push(IniEntry::Remark((*line).to_owned())),
            }
        }
        section
    }

    /// Options and their values.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|entry| match entry {
            IniEntry::Option(key, value) => Some((key.as_str(), value.as_str())),
            IniEntry::Remark(_) => None,
        })
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.options().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// Sets an option; replaces one that is commented out.
    pub fn set(&mut self, key: &str, value: &str, separator: &str) {
        let entry = IniEntry::Option(key.to_owned(), value.to_owned());
        let is = |known: &IniEntry| matches!(known, IniEntry::Option(known, _) if known == key);
        let commented = |known: &IniEntry| match known {
            IniEntry::Remark(line) => {
                let bare = line.trim_start_matches('#').trim_start();
                line.trim_start().starts_with(['#', ';'])
                    && option(bare, separator).is_some_and(|(found, _)| found == key)
            }
            IniEntry::Option(..) => false,
        };
        match self.0.iter().position(is).or_else(|| self.0.iter().position(commented)) {
            Some(place) => self.0[place] = entry,
            None => self.0.push(entry),
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<String> {
        let place = self.0.iter().position(|entry| matches!(entry, IniEntry::Option(known, _) if known == key))?;
        match self.0.remove(place) {
            IniEntry::Option(_, value) => Some(value),
            IniEntry::Remark(_) => None,
        }
    }

    fn write(&self, sign: &str) -> String {
        self.0
            .iter()
            .map(|entry| match entry {
                IniEntry::Option(key, value) => format!("{key}{sign}{value}\n"),
                IniEntry::Remark(line) => format!("{line}\n"),
            })
            .collect()
    }
}

fn option<'a>(line: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let start = line.chars().next()?.len_utf8();
    let at = start + line[start..].find(separator)?;
    Some((line[..at].trim_end(), line[at + separator.len()..].trim_start()))
}
