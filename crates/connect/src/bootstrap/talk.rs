//! What the bootstrap script says, told apart from what a login prints besides.

use crate::agents::Check;

/// Something the script said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The agent starts; what follows are frames.
    Start,
    /// No agent is there: which machine it is, whether it can unpack, what it checks with, and where it would go.
    Need { machine: String, gzip: bool, check: Check, directory: String },
    /// The upload did not arrive whole: the disk is full, most likely.
    Full { bytes: u64, directory: String },
    /// The uploaded agent can't be run from this directory.
    NoExec { code: i32, directory: String },
    /// There is no directory that we own and can write to.
    Nowhere,
    /// A tool is missing there.
    Lacks(String),
    /// Something asks for a password.
    Prompt,
}

/// Takes the script's output as it comes.
pub struct Talk {
    mark: String,
    prompts: Vec<String>,
    text: Vec<u8>,
}

impl Talk {
    pub fn new(mark: &str, prompts: Vec<String>) -> Talk {
        Talk { mark: format!("{mark} "), prompts, text: Vec::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// The next thing said, if it is there as a whole.
    pub fn next_said(&mut self) -> Option<Said> {
        loop {
            let mark = find(&self.text, self.mark.as_bytes());
            if let Some(end) = self.prompts.iter().find_map(|p| Some(find(&self.text, p.as_bytes())? + p.len()))
                && mark.is_none_or(|mark| end <= mark)
            {
                self.text.drain(..end);
                return Some(Said::Prompt);
            }
            let start = mark?;
            let rest = &self.text[start + self.mark.len()..];
            let length = rest.iter().position(|byte| *byte == b'\n')?;
            let line = String::from_utf8_lossy(&rest[..length]).trim_end_matches('\r').to_owned();
            self.text.drain(..start + self.mark.len() + length + 1);
            if let Some(said) = parse(&line) {
                return Some(said);
            }
        }
    }

    /// What came after the last thing said.
    pub fn into_rest(self) -> Vec<u8> {
        self.text
    }

    /// The last lines of what a login printed, for messages.
    pub fn noise(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join("; ")
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

fn parse(line: &str) -> Option<Said> {
    let mut words = line.splitn(2, ' ');
    let (word, rest) = (words.next()?, words.next().unwrap_or_default());
    let two = || rest.split_once(' ').unwrap_or((rest, ""));
    Some(match word {
        "start" => Said::Start,
        "need" => {
            let (machine, rest) = two();
            let (format, rest) = rest.split_once(' ')?;
            let (tool, directory) = rest.split_once(' ')?;
            let check = if tool == "b2sum" { Check::Blake2b } else { Check::Sha256 };
            Said::Need { machine: machine.into(), gzip: format == "gz", check, directory: directory.into() }
        }
        "full" => Said::Full { bytes: two().0.trim().parse().unwrap_or(0), directory: two().1.into() },
        "noexec" => Said::NoExec { code: two().0.parse().unwrap_or(126), directory: two().1.into() },
        "nowhere" => Said::Nowhere,
        "lacks" => Said::Lacks(rest.into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_passed_over() {
        let mut talk = Talk::new("MARK", vec!["PW:".into()]);
        talk.push(b"Welcome to MARKET\nhi");
        assert_eq!(talk.next_said(), None);
        talk.push(b"\nMARK need x86_64 gz b2sum /root/.rock");
        assert_eq!(talk.next_said(), None);
        talk.push(b"salt\nPW:");
        let directory = "/root/.rocksalt".to_owned();
        let need = Said::Need { machine: "x86_64".into(), gzip: true, check: Check::Blake2b, directory };
        assert_eq!(talk.next_said(), Some(need));
        assert_eq!(talk.next_said(), Some(Said::Prompt));
        talk.push(b"\nMARK start /root\n\0\0rest");
        assert_eq!(talk.next_said(), Some(Said::Start));
        assert_eq!(talk.into_rest(), b"\0\0rest");
    }
}
