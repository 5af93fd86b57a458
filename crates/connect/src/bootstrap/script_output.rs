//! Parses the messages of the bootstrap script, and skips everything else that a login prints.

use crate::agents::Check;

/// A message of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptMessage {
    /// The agent starts; frames follow.
    Start,
    /// The target has no agent: its architecture, whether it has gzip, which tool verifies the upload, and the
    /// directory of the agent.
    Need {
        machine: String,
        gzip: bool,
        check: Check,
        directory: String,
    },
    /// sudo, su or doas asks for a password.
    Prompt,
    Error(ScriptError),
}

/// Why the script can't start an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// The upload is incomplete: the disk is probably full.
    Full { bytes: u64, directory: String },
    /// The uploaded agent can't be run from this directory.
    NoExec { code: i32, directory: String },
    /// There is no directory that the user owns and can write to.
    NoDirectory,
    /// The target lacks this tool.
    MissingTool(String),
}

/// The output of the script that has not been parsed yet.
pub struct ScriptOutput {
    mark: String,
    prompts: Vec<String>,
    text: Vec<u8>,
}

impl ScriptOutput {
    pub fn new(mark: &str, prompts: Vec<String>) -> ScriptOutput {
        ScriptOutput { mark: format!("{mark} "), prompts, text: Vec::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// The next message, if it is complete.
    pub fn next_message(&mut self) -> Option<ScriptMessage> {
        loop {
            let mark = find(&self.text, self.mark.as_bytes());
            if let Some(end) = self.prompts.iter().find_map(|p| Some(find(&self.text, p.as_bytes())? + p.len()))
                && mark.is_none_or(|mark| end <= mark)
            {
                self.text.drain(..end);
                return Some(ScriptMessage::Prompt);
            }
            let start = mark?;
            let rest = &self.text[start + self.mark.len()..];
            let length = rest.iter().position(|byte| *byte == b'\n')?;
            let line = String::from_utf8_lossy(&rest[..length]).trim_end_matches('\r').to_owned();
            self.text.drain(..start + self.mark.len() + length + 1);
            if let Some(message) = parse(&line) {
                return Some(message);
            }
        }
    }

    /// The bytes after the last message.
    pub fn into_rest(self) -> Vec<u8> {
        self.text
    }

    /// The last lines that the login printed, for error texts.
    pub fn noise(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join("; ")
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

fn parse(line: &str) -> Option<ScriptMessage> {
    let mut words = line.splitn(2, ' ');
    let (word, rest) = (words.next()?, words.next().unwrap_or_default());
    let two = || rest.split_once(' ').unwrap_or((rest, ""));
    Some(match word {
        "start" => ScriptMessage::Start,
        "need" => {
            let (machine, rest) = two();
            let (format, rest) = rest.split_once(' ')?;
            let (tool, directory) = rest.split_once(' ')?;
            let check = if tool == "b2sum" { Check::Blake2b } else { Check::Sha256 };
            ScriptMessage::Need { machine: machine.into(), gzip: format == "gz", check, directory: directory.into() }
        }
        "full" => ScriptMessage::Error(ScriptError::Full {
            bytes: two().0.trim().parse().unwrap_or(0),
            directory: two().1.into(),
        }),
        "noexec" => ScriptMessage::Error(ScriptError::NoExec {
            code: two().0.parse().unwrap_or(126),
            directory: two().1.into(),
        }),
        "nowhere" => ScriptMessage::Error(ScriptError::NoDirectory),
        "lacks" => ScriptMessage::Error(ScriptError::MissingTool(rest.into())),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_the_login_is_skipped() {
        let mut output = ScriptOutput::new("MARK", vec!["PW:".into()]);
        output.push(b"Welcome to MARKET\nhi");
        assert_eq!(output.next_message(), None);
        output.push(b"\nMARK need x86_64 gz b2sum /root/.rock");
        assert_eq!(output.next_message(), None);
        output.push(b"salt\nPW:");
        let directory = "/root/.rocksalt".to_owned();
        let need = ScriptMessage::Need { machine: "x86_64".into(), gzip: true, check: Check::Blake2b, directory };
        assert_eq!(output.next_message(), Some(need));
        assert_eq!(output.next_message(), Some(ScriptMessage::Prompt));
        output.push(b"\nMARK start /root\n\0\0rest");
        assert_eq!(output.next_message(), Some(ScriptMessage::Start));
        assert_eq!(output.into_rest(), b"\0\0rest");
    }
}
