//! Translates patterns of Python's `re` to the dialect of the regex engine.

use super::Flags;

pub struct Translator {
    input: Vec<char>,
    at: usize,
    pub output: String,
    /// Pairs of positions in the output and in the input.
    origins: Vec<(usize, usize)>,
    multiline: bool,
    pub verbose: bool,
    /// The open groups.
    groups: Vec<PatternGroup>,
}

/// The flags before a group, which are restored at its end.
struct PatternGroup {
    multiline: bool,
    verbose: bool,
}

impl Translator {
    pub fn new(pattern: &str, flags: Flags) -> Translator {
        Translator {
            input: pattern.chars().collect(),
            at: 0,
            output: String::with_capacity(pattern.len()),
            origins: Vec::new(),
            multiline: flags.multi_line,
            verbose: flags.verbose,
            groups: Vec::new(),
        }
    }

    /// The current position in the pattern; after an error, its position.
    pub fn position(&self) -> usize {
        self.at.min(self.input.len())
    }

    /// Maps a position in the output to a position in the pattern.
    pub fn origin(&self, output: usize) -> usize {
        self.origins.iter().rev().find(|(start, _)| *start <= output).map_or(0, |(_, input)| *input)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.input.get(self.at + ahead).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    pub fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.peek(0) {
            self.origins.push((self.output.len(), self.at));
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' => self.close(),
                '{' => self.brace(),
                '#' if self.verbose => self.comment(),
                // Python's `$` also matches before a final newline.
                '$' if !self.multiline => self.take("(?=\\n?\\z)", 1),
                c => {
                    self.output.push(c);
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, text: &str, count: usize) {
        self.output.push_str(text);
        self.at += count;
    }

    fn literal(&mut self, c: char) {
        self.output.push_str(&format!("\\x{{{:x}}}", c as u32));
    }

    /// Translates the start of a group. Some flags and forms exist only in Python or only in the engine.
    fn group(&mut self) -> Result<(), String> {
        let group = PatternGroup { multiline: self.multiline, verbose: self.verbose };
        if !self.looking_at("(?") {
            self.groups.push(group);
            self.take("(", 1);
            return Ok(());
        }
        if self.looking_at("(?<") && !matches!(self.peek(3), Some('=' | '!')) {
            return Err("a named group is written (?P<name>…)".into());
        }
        if self.looking_at("(?#") {
            let end = self.input[self.at..].iter().position(|c| *c == ')').ok_or("a comment isn't closed")?;
            self.at += end + 1;
            return Ok(());
        }
        let letters: String =
            self.input[self.at + 2..].iter().take_while(|c| c.is_ascii_alphabetic() || **c == '-').collect();
        let end = self.peek(2 + letters.chars().count());
        if letters.is_empty() || !matches!(end, Some(':' | ')')) || letters.starts_with('P') {
            // A back reference by name closes like a group.
            self.groups.push(group);
            self.take("(?", 2);
            return Ok(());
        }
        if let Some(unknown) = letters.chars().find(|c| !"aiLmsux-".contains(*c)) {
            return Err(format!("there is no flag '{unknown}'"));
        }
        let (on, _) = letters.split_once('-').unwrap_or((&letters, ""));
        self.multiline |= on.contains('m');
        self.verbose |= on.contains('x');
        let known: String = letters.chars().filter(|c| !"aLu".contains(*c)).collect();
        let length = letters.chars().count();
        match (known.trim_end_matches('-'), end) {
            ("", Some(')')) => self.take("", length + 3),
            (known, Some(')')) => self.take(&format!("(?{known})"), length + 3),
            (known, _) => {
                self.groups.push(group);
                self.take(&format!("(?{known}"), length + 2);
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        self.take(")", 1);
        if let Some(group) = self.groups.pop() {
            (self.multiline, self.verbose) = (group.multiline, group.verbose);
        }
    }

    /// Translates a brace: `{,3}` is `{0,3}`, and a brace that isn't a repetition is literal.
    fn brace(&mut self) {
        let inner: String = self.input[self.at + 1..].iter().take_while(|c| c.is_ascii_digit() || **c == ',').collect();
        let closed = self.peek(1 + inner.len()) == Some('}');
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let repeats = match inner.split_once(',') {
            Some((from, to)) => number(from) && number(to),
            None => !inner.is_empty(),
        };
        if !closed || !repeats {
            self.take("\\{", 1);
        } else if inner.starts_with(',') {
            self.take(&format!("{{0{inner}}}"), inner.len() + 2);
        } else {
            self.take(&format!("{{{inner}}}"), inner.len() + 2);
        }
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// Translates a set, in which only `]`, `-`, `^` and `\` are special to Python.
    fn class(&mut self) -> Result<(), String> {
        self.take("[", 1);
        if self.peek(0) == Some('^') {
            self.take("^", 1);
        }
        let first = self.at;
        while self.peek(0) != Some(']') || self.at == first {
            self.member()?;
            if self.peek(0) == Some('-') && !matches!(self.peek(1), None | Some(']')) {
                self.take("-", 1);
                self.member()?;
            }
        }
        self.take("]", 1);
        Ok(())
    }

    /// Translates one character or class of a set. The engine has operators in sets, so punctuation is written as
    /// codes.
    fn member(&mut self) -> Result<(), String> {
        match self.peek(0) {
            None => return Err("a set of characters isn't closed".into()),
            Some('\\') => self.escape(true)?,
            Some(c) if c.is_alphanumeric() => self.take(&c.to_string(), 1),
            Some(c) => {
                self.literal(c);
                self.at += 1;
            }
        }
        Ok(())
    }

    fn escape(&mut self, in_set: bool) -> Result<(), String> {
        let Some(c) = self.peek(1) else { return Err("a backslash ends the pattern".into()) };
        self.at += 2;
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.output.extend(['\\', c]),
            'A' | 'B' if !in_set => self.output.extend(['\\', c]),
            'b' if in_set => self.literal('\u{8}'),
            'b' => self.output.push_str("\\b"),
            'Z' if !in_set => self.output.push_str("\\z"),
            'a' => self.literal('\u{7}'),
            'f' => self.literal('\u{c}'),
            'n' => self.literal('\n'),
            'r' => self.literal('\r'),
            't' => self.literal('\t'),
            'v' => self.literal('\u{b}'),
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            '0' => self.octal(0),
            '1'..='7' if in_set || self.are_octal(2) => self.octal(c.to_digit(8).unwrap_or(0)),
            '1'..='9' if !in_set => {
                // The group keeps a following digit from becoming part of the number.
                self.output.push_str(&format!("(?:\\{c}"));
                if let Some(second) = self.peek(0).filter(char::is_ascii_digit) {
                    self.take(&second.to_string(), 1);
                }
                self.output.push(')');
            }
            c if c.is_ascii_alphanumeric() => {
                self.at -= 2;
                return Err(format!("there is no escape '\\{c}'"));
            }
            c => self.literal(c),
        }
        Ok(())
    }

    fn code(&mut self, length: usize) -> Result<(), String> {
        let digits: String = self.input[self.at..].iter().take(length).collect();
        let c = u32::from_str_radix(&digits, 16)
            .ok()
            .filter(|_| digits.len() == length && !digits.starts_with('+'))
            .and_then(char::from_u32)
            .ok_or_else(|| format!("'{digits}' is not the {length} hexadecimal digits of a character"))?;
        self.at += length;
        self.literal(c);
        Ok(())
    }

    fn are_octal(&self, count: usize) -> bool {
        (0..count).all(|ahead| self.peek(ahead).is_some_and(|c| c.is_digit(8)))
    }

    fn octal(&mut self, mut number: u32) {
        for _ in 0..2 {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(8)) else { break };
            number = number * 8 + digit;
            self.at += 1;
        }
        self.literal(char::from_u32(number).unwrap_or('\0'));
    }
}
