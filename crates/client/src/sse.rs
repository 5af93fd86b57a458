//! An incremental parser for server-sent events.

/// The longest event that is accepted; a rocksalt daemon sends none that long.
const MAX_EVENT: usize = 64 << 20;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseMessage {
    pub id: Option<String>,
    pub event: String,
    pub data: String,
}

#[derive(Debug, Default)]
pub struct SseParser {
    bytes: Vec<u8>,
    /// How many of `bytes` were searched for a line end already.
    searched: usize,
    message: SseMessage,
    lines: usize,
    size: usize,
}

#[derive(Debug)]
pub struct TooLong;

impl SseParser {
    /// Adds received bytes and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseMessage>, TooLong> {
        self.bytes.extend_from_slice(bytes);
        let mut complete = Vec::new();
        let mut start = 0;
        while let Some(end) = self.bytes[self.searched.max(start)..].iter().position(|byte| *byte == b'\n') {
            let end = self.searched.max(start) + end;
            let line = self.bytes[start..end].to_vec();
            self.searched = end + 1;
            start = end + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            self.size += line.len();
            complete.extend(self.line(&String::from_utf8_lossy(line)));
        }
        self.bytes.drain(..start);
        self.searched = self.bytes.len();
        if self.size + self.bytes.len() > MAX_EVENT { Err(TooLong) } else { Ok(complete) }
    }

    fn line(&mut self, line: &str) -> Option<SseMessage> {
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
            // A comment or an unknown field.
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
            SseMessage { id: Some("7".into()), event: "event".into(), data: "{\"a\":\n1}".into() },
            SseMessage { data: "x".into(), ..SseMessage::default() },
            SseMessage { id: Some("8".into()), ..SseMessage::default() },
        ];
        for size in 1..text.len() {
            let mut parser = SseParser::default();
            let mut all = Vec::new();
            for part in text.as_bytes().chunks(size) {
                all.extend(parser.push(part).expect("it is short"));
            }
            assert_eq!(all, expected, "in parts of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut parser = SseParser::default();
        let part = vec![b'x'; 1 << 20];
        assert!((0..65).any(|_| parser.push(&part).is_err()));
    }
}
