//! A line of a sources list: `deb [arch=amd64 signed-by=/x] http://x stable main # remark`.

/// One line; a line that isn't a repository (a comment, an empty one) is kept unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AptLine {
    /// The original text.
    pub text: String,
    pub disabled: bool,
    pub kind: String,
    /// The options in brackets, in their original form.
    pub options: Vec<String>,
    pub uri: String,
    pub suite: String,
    pub components: Vec<String>,
    pub comment: String,
}

impl AptLine {
    /// Parses a line; `None` if it isn't a repository.
    pub fn read(text: &str) -> Option<AptLine> {
        let trimmed = text.trim();
        let (disabled, rest) = match trimmed.strip_prefix('#') {
            Some(rest) => (true, rest),
            None => (false, trimmed),
        };
        let (rest, comment) = rest.split_once('#').unwrap_or((rest, ""));
        let rest = rest.trim();
        let (kind, mut rest) = rest.split_once(char::is_whitespace)?;
        if !matches!(kind, "deb" | "deb-src" | "rpm" | "rpm-src") {
            return None;
        }
        let mut options = Vec::new();
        rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('[') {
            let (inner, after) = inner.split_once(']')?;
            options = inner.split_whitespace().map(str::to_owned).collect();
            rest = after;
        }
        let mut words = rest.split_whitespace().map(str::to_owned);
        let (uri, suite) = (words.next()?, words.next()?);
        let (kind, comment) = (kind.to_owned(), comment.to_owned());
        Some(AptLine {
            text: trimmed.to_owned(),
            disabled,
            kind,
            options,
            uri,
            suite,
            components: words.collect(),
            comment,
        })
    }

    /// The line in Salt's form.
    pub fn write(&self) -> String {
        let mut words = Vec::new();
        if self.disabled {
            words.push("#".to_owned());
        }
        words.push(self.kind.clone());
        if !self.options.is_empty() {
            words.push(format!("[{}]", self.options.join(" ")));
        }
        words.extend([self.uri.clone(), self.suite.clone()]);
        words.extend(self.components.iter().cloned());
        if !self.comment.is_empty() {
            words.push(format!("#{}", self.comment));
        }
        words.join(" ")
    }

    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    pub fn set_option(&mut self, name: &str, value: &str) {
        let new = format!("{name}={value}");
        let known = self.options.iter_mut().find(|option| option.split('=').next() == Some(name));
        match known {
            Some(option) => *option = new,
            None => self.options.push(new),
        }
    }

    pub fn architectures(&self) -> Vec<String> {
        self.option("arch").map(|list| list.split(',').map(str::to_owned).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_written() {
        let text =
            "deb [arch=amd64,i386 signed-by=/etc/apt/keyrings/x.gpg] https://x.test/debian bookworm main contrib #note";
        let line = AptLine::read(text).expect("it is a repository");
        assert_eq!(line.write(), text);
        assert_eq!(line.architectures(), ["amd64", "i386"]);
        assert_eq!(line.option("signed-by"), Some("/etc/apt/keyrings/x.gpg"));
        let off = AptLine::read("#  deb  [ trusted=yes ]  file:/srv   ./ ").expect("it is a repository");
        assert!(off.disabled);
        assert_eq!(off.write(), "# deb [trusted=yes] file:/srv ./");
        for none in ["", "# a remark", "deb http://x", "deb [arch=amd64 http://x y", "Types: deb"] {
            assert_eq!(AptLine::read(none), None, "{none}");
        }
    }
}
