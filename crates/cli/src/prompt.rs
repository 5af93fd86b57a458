//! Prompts the user at the terminal, for passwords and similar input.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use async_trait::async_trait;
use rocksalt_connect::transport::Prompt;
use rocksalt_core::Secret;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use tokio::sync::Mutex;

/// Asks one question at a time, however many targets need an answer.
#[derive(Default)]
pub struct Terminal(Mutex<()>);

#[async_trait]
impl Prompt for Terminal {
    async fn secret(&self, question: &str) -> Option<Secret> {
        let _turn = self.0.lock().await;
        let question = question.to_owned();
        tokio::task::spawn_blocking(move || ask(&question)).await.ok().flatten()
    }

    async fn tell(&self, text: &str) {
        eprintln!("{}", crate::output::clean(text));
    }
}

/// Reads a line without showing it. `None` if there is no terminal.
pub fn ask(question: &str) -> Option<Secret> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
    let before = tcgetattr(&terminal).ok()?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    // The question may come from a target: it must not contain control characters.
    let question: String = question.chars().filter(|c| !c.is_control()).collect();
    write!(terminal, "\r\x1b[K{question}").ok()?;
    tcsetattr(&terminal, OptionalActions::Flush, &silent).ok()?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    let _ = writeln!(terminal);
    read.ok().filter(|count| *count > 0)?;
    Some(Secret::new(line.trim_end_matches(['\n', '\r']).to_owned()))
}
