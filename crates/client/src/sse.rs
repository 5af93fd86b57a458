//! Server-sent events, as bytes come in.

/// The longest event that is taken: whoever sends more is not our daemon.
const LONGEST: usize = 64 << 20;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub id: Option<String>,
    pub event: String,
    pub data: String,
}

#[derive(Debug, Default)]
pub struct Parser {
    bytes: Vec<u8>,
    /// How much of `bytes` has no line end in it.
    looked: usize,
    message: Message,
    lines: usize,
    size: usize,
}

#[derive(Debug)]
pub struct TooLong;

impl Parser {
    /// Takes what has come, and gives the events that are whole now.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Message>, TooLong> {
        self.bytes.extend_from_slice(bytes);
        let mut whole = Vec::new();
        let mut start = 0;
        while let Some(end) = self.bytes[self.looked.max(start)..].iter().position(|byte| *byte == b'\n') {
            let end = self.looked.max(start) + end;
            let line = self.bytes[start..end].to_vec();
            self.looked = end + 1;
            start = end + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            self.size += line.len();
            whole.extend(self.line(&String::from_utf8_lossy(line)));
        }
        self.bytes.drain(..start);
        self.looked = self.bytes.len();
        if self.size + self.bytes.len() > LONGEST { Err(TooLong) } else { Ok(whole) }
    }

    fn line(&mut self, line: &str) -> Option<Message> {
        if line.is_empty() {
            self.size = 0;
            let lines = std::mem::take(&mut self.lines);
            let message = std::mem::take(&mut self.message);
            return (lines > 0 || message.id.is_some()).then_some(message);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.message.id = Some(value.to_owned()),
            "event" => self.message.event = value.to_owned(),
            "data" => {
                if self.lines > 0 {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
                self.lines += 1;
            }
            // A comment, or what we don't know.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_whole_however_they_are_cut() {
        let text = ": hello\n\nid: 7\nevent: event\ndata: {\"a\":\ndata: 1}\n\nretry: 5\n\ndata:x\r\n\r\nid: 8\n\n";
        let expected = [
            Message { id: Some("7".into()), event: "event".into(), data: "{\"a\":\n1}".into() },
            Message { data: "x".into(), ..Message::default() },
            Message { id: Some("8".into()), ..Message::default() },
        ];
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let mut all = Vec::new();
            for part in text.as_bytes().chunks(size) {
                all.extend(parser.push(part).expect("it is short"));
            }
            assert_eq!(all, expected, "in parts of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut parser = Parser::default();
        let part = vec![b'x'; 1 << 20];
        assert!((0..65).any(|_| parser.push(&part).is_err()));
    }
}
