//! A paragraph of a `.sources` file (deb822).

/// Its fields in order, with the comments before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AptSection {
    remarks: Vec<String>,
    fields: Vec<(String, String)>,
}

impl AptSection {
    /// The paragraphs of a file.
    pub fn all(text: &str) -> Vec<AptSection> {
        let mut sections = vec![AptSection::default()];
        for line in text.lines() {
            let Some(section) = sections.last_mut() else { continue };
            if line.trim().is_empty() {
                if *section != AptSection::default() {
                    sections.push(AptSection::default());
                }
            } else if line.starts_with('#') {
                section.remarks.push(line.to_owned());
            } else if line.starts_with([' ', '\t']) {
                // A continuation line.
                if let Some((_, value)) = section.fields.last_mut() {
                    value.push('\n');
                    value.push_str(line);
                }
            } else if let Some((key, value)) = line.split_once(':') {
                section.fields.push((key.trim().to_owned(), value.trim().to_owned()));
            }
        }
        sections.retain(|section| *section != AptSection::default());
        sections
    }

    pub fn write(&self) -> String {
        let mut lines = self.remarks.clone();
        for (key, value) in &self.fields {
            let gap = if value.is_empty() || value.starts_with('\n') { "" } else { " " };
            lines.push(format!("{key}:{gap}{value}"));
        }
        lines.join("\n")
    }

    pub fn is_repository(&self) -> bool {
        !self.words("Types").is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }

    pub fn words(&self, key: &str) -> Vec<String> {
        self.get(key).map(|value| value.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    }

    pub fn set(&mut self, key: &str, value: &str) {
        match self.fields.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(key)) {
            Some((_, known)) => *known = value.to_owned(),
            None => self.fields.push((key.to_owned(), value.to_owned())),
        }
    }

    pub fn remove(&mut self, key: &str) {
        self.fields.retain(|(known, _)| !known.eq_ignore_ascii_case(key));
    }

    pub fn remark(&mut self, text: &str) {
        self.remarks =
            text.lines().map(|line| if line.starts_with('#') { line.to_owned() } else { format!("#{line}") }).collect();
    }

    pub fn is_disabled(&self) -> bool {
        self.get("Enabled").is_some_and(|text| {
            matches!(&*text.to_ascii_lowercase(), "no" | "false" | "without" | "off" | "disable" | "0")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_read_and_written() {
        let text = "# Debian\nTypes: deb deb-src\nURIs: http://x.test/debian\nSuites: a b\nComponents: main\nSigned-By:\n -----BEGIN PGP\n .\n abc\n\n\n#only a remark\n\nTypes: deb\nEnabled: no\n";
        let sections = AptSection::all(text);
        assert_eq!(sections.len(), 3);
        assert_eq!(sections[0].words("types"), ["deb", "deb-src"]);
        assert_eq!(sections[0].get("signed-by"), Some("\n -----BEGIN PGP\n .\n abc"));
        assert!(sections[2].is_disabled() && !sections[1].is_repository());
        let written: Vec<String> = sections.iter().map(AptSection::write).collect();
        assert_eq!(AptSection::all(&written.join("\n\n")), sections);
    }
}
