//! Splits a template into text and tags, and the tags into tokens.

mod token;
mod words;

pub use token::{TemplateToken, TokenKind};

use crate::ast::Span;
use crate::error::Error;
use crate::options::Options;

/// Makes all newlines `
/// `, and removes the last one unless it is to be kept.
pub fn normalize(source: &str, options: &Options) -> String {
    let mut text =
        if source.contains('\r') { source.replace("\r\n", "\n").replace('\r', "\n") } else { source.to_owned() };
    if !options.keep_trailing_newline && text.ends_with('\n') {
        text.pop();
    }
    text
}

/// Splits a template into tokens. Never fails: an error is the last token.
pub fn tokens(source: &str, options: &Options) -> Vec<TemplateToken> {
    let mut lexer = Lexer { source, options, at: 0, tokens: Vec::new(), line_starting: true };
    if let Err(error) = lexer.run() {
        let span = lexer.span(lexer.at, lexer.at);
        lexer.tokens.push(TemplateToken { kind: TokenKind::Error(Box::new(error)), span });
    }
    lexer.finish()
}

/// Splits a bare expression into tokens; it ends with the text.
pub fn expression_tokens(source: &str, options: &Options) -> Vec<TemplateToken> {
    let mut lexer = Lexer { source, options, at: 0, tokens: Vec::new(), line_starting: true };
    if let Err(error) = lexer.words(None) {
        let span = lexer.span(lexer.at, lexer.at);
        lexer.tokens.push(TemplateToken { kind: TokenKind::Error(Box::new(error)), span });
    }
    lexer.finish()
}

struct Lexer<'a> {
    source: &'a str,
    options: &'a Options,
    at: usize,
    tokens: Vec<TemplateToken>,
    /// Whether the next text is at the start of a line: the last tag ended with a newline, or nothing came before.
    line_starting: bool,
}

/// What follows a piece of text.
#[derive(Clone, Copy, PartialEq)]
enum Begin {
    Block,
    Variable,
    Comment,
    LineStatement,
    LineComment,
}

/// How the inside of a tag ends.
#[derive(Clone, Copy, PartialEq)]
enum Close {
    Block,
    Variable,
    Line,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), Error> {
        while self.at < self.source.len() {
            let Some((position, begin, length)) = self.next_begin() else {
                self.push(TokenKind::Data, self.at, self.source.len());
                self.at = self.source.len();
                break;
            };
            match begin {
                Begin::LineStatement => {
                    self.push(TokenKind::Data, self.at, position);
                    self.push(TokenKind::BlockBegin, position, position + length);
                    self.at = position + length;
                    self.words(Some(Close::Line))?;
                    continue;
                }
                Begin::LineComment => {
                    self.push(TokenKind::Data, self.at, position);
                    let rest = &self.source[position..];
                    self.at = position + rest.find('\n').unwrap_or(rest.len());
                    self.line_starting = false;
                    continue;
                }
                _ => {}
            }
            let mut inside = position + length;
            let sign = self.source[inside..].chars().next().filter(|c| matches!(c, '-' | '+'));
            inside += usize::from(sign.is_some());
            self.text_before(position, sign, begin);
            match begin {
                Begin::Comment => self.comment(inside)?,
                Begin::Block => match self.raw(inside) {
                    Some(start) => self.raw_block(position, start)?,
                    None => {
                        self.push(TokenKind::BlockBegin, position, inside);
                        self.at = inside;
                        self.words(Some(Close::Block))?;
                    }
                },
                _ => {
                    self.push(TokenKind::VariableBegin, position, inside);
                    self.at = inside;
                    self.words(Some(Close::Variable))?;
                }
            }
        }
        Ok(())
    }

    /// Finds the nearest tag; of several at the same position, the one with the longest sign.
    fn next_begin(&self) -> Option<(usize, Begin, usize)> {
        let rest = &self.source[self.at..];
        let options = self.options;
        let mut best: Option<(usize, Begin, usize)> = None;
        let mut offer = |position: usize, begin: Begin, length: usize| {
            let better = match best {
                None => true,
                Some((other, _, long)) => position < other || (position == other && length > long),
            };
            if better {
                best = Some((position, begin, length));
            }
        };
        let signs = [
            (Begin::Comment, &options.comment_start),
            (Begin::Block, &options.block_start),
            (Begin::Variable, &options.variable_start),
        ];
        // The default signs share their first character, so one pass finds them all.
        let first = options.block_start.chars().next().unwrap_or('{');
        if signs.iter().all(|(_, sign)| sign.starts_with(first)) {
            let found = rest.match_indices(first).find_map(|(position, _)| {
                let here = &rest[position..];
                let fits = signs.iter().filter(|(_, sign)| here.starts_with(sign.as_str()));
                fits.max_by_key(|(_, sign)| sign.len()).map(|(begin, sign)| (position, *begin, sign.len()))
            });
            if let Some((position, begin, length)) = found {
                offer(position, begin, length);
            }
        } else {
            for (begin, sign) in signs {
                if let Some(position) = rest.find(sign.as_str()) {
                    offer(position, begin, sign.len());
                }
            }
        }
        if let Some(prefix) = &options.line_statement_prefix
            && let Some((position, length)) = self.line_statement(prefix)
        {
            offer(position, Begin::LineStatement, length);
        }
        if let Some(prefix) = &options.line_comment_prefix
            && let Some((position, length)) = self.line_comment(prefix)
        {
            offer(position, Begin::LineComment, length);
        }
        best.map(|(position, begin, length)| (self.at + position, begin, length))
    }

    /// Finds a prefix that has only blanks before it on its line.
    fn line_statement(&self, prefix: &str) -> Option<(usize, usize)> {
        let rest = &self.source[self.at..];
        rest.match_indices(prefix).find_map(|(position, _)| {
            let before = &self.source[..self.at + position];
            let blank = before.len() - before.trim_end_matches([' ', '\t', '\x0b']).len();
            let starts_line =
                before[..before.len() - blank].is_empty() || before[..before.len() - blank].ends_with('\n');
            (starts_line && blank <= position).then_some((position - blank, blank + prefix.len()))
        })
    }

    /// Finds a prefix at the start of a line or after any word; it includes the blanks before it.
    fn line_comment(&self, prefix: &str) -> Option<(usize, usize)> {
        let rest = &self.source[self.at..];
        let position = rest.find(prefix)?;
        let blank =
            rest[..position].len() - rest[..position].trim_end_matches(|c: char| c.is_whitespace() && c != '\n').len();
        Some((position - blank, blank + prefix.len()))
    }

    /// Emits the text before a tag, without the whitespace that the tag strips.
    fn text_before(&mut self, position: usize, sign: Option<char>, begin: Begin) {
        let text = &self.source[self.at..position];
        let mut end = position;
        if sign == Some('-') {
            end = self.at + text.trim_end().len();
        } else if sign.is_none() && self.options.lstrip_blocks && begin != Begin::Variable {
            let line = text.rfind('\n').map_or(0, |newline| newline + 1);
            if (line > 0 || self.line_starting) && text[line..].chars().all(char::is_whitespace) {
                end = self.at + line;
            }
        }
        self.push(TokenKind::Data, self.at, end);
    }

    fn comment(&mut self, inside: usize) -> Result<(), Error> {
        let Some(length) = self.source[inside..].find(&self.options.comment_end) else {
            // Jinja reports the first character after the opening sign; a comment that ends there is accepted.
            if inside == self.source.len() {
                self.at = inside;
                return Ok(());
            }
            self.at = inside;
            return Err(Error::syntax("Missing end of comment tag"));
        };
        let sign = self.source[inside..inside + length].chars().next_back();
        self.after_tag(inside + length + self.options.comment_end.len(), sign, true);
        Ok(())
    }

    /// The position where the text of a raw block starts, if this is one.
    fn raw(&self, inside: usize) -> Option<usize> {
        let rest = self.source[inside..].trim_start().strip_prefix("raw")?.trim_start();
        let (trim, rest) = rest.strip_prefix('-').map_or((false, rest), |rest| (true, rest));
        let rest = rest.strip_prefix(self.options.block_end.as_str())?;
        let rest = if trim { rest.trim_start() } else { rest };
        Some(self.source.len() - rest.len())
    }

    fn raw_block(&mut self, position: usize, start: usize) -> Result<(), Error> {
        self.at = start;
        self.line_starting = self.source[..start].ends_with('\n');
        for (offset, _) in self.source[start..].match_indices(self.options.block_start.as_str()) {
            let mut inside = start + offset + self.options.block_start.len();
            let sign = self.source[inside..].chars().next().filter(|c| matches!(c, '-' | '+'));
            inside += usize::from(sign.is_some());
            let Some(rest) = self.source[inside..].trim_start().strip_prefix("endraw") else { continue };
            let rest = rest.trim_start();
            let (end_sign, rest) = match rest.chars().next() {
                Some(c @ ('-' | '+')) => (Some(c), &rest[1..]),
                _ => (None, rest),
            };
            let Some(rest) = rest.strip_prefix(self.options.block_end.as_str()) else { continue };
            self.text_before(start + offset, sign, Begin::Block);
            self.after_tag(self.source.len() - rest.len(), end_sign, true);
            return Ok(());
        }
        if start == self.source.len() {
            return Ok(());
        }
        self.at = position;
        Err(Error::syntax("Missing end of raw directive"))
    }

    /// Continues after a tag and the whitespace that it strips.
    fn after_tag(&mut self, mut end: usize, sign: Option<char>, may_trim: bool) {
        let rest = &self.source[end..];
        if sign == Some('-') {
            end += rest.len() - rest.trim_start().len();
        } else if sign != Some('+') && may_trim && self.options.trim_blocks && rest.starts_with('\n') {
            end += 1;
        }
        self.line_starting = self.source[..end].ends_with('\n');
        self.at = end;
    }

    /// Adds the end token. It gets the last token's place, so that an error at the end points there.
    fn finish(mut self) -> Vec<TemplateToken> {
        let span = self.tokens.last().map_or_else(Span::default, |token| token.span);
        self.tokens.push(TemplateToken { kind: TokenKind::End, span });
        self.tokens
    }

    fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        if !matches!(kind, TokenKind::Data) || end > start {
            let span = self.span(start, end);
            self.tokens.push(TemplateToken { kind, span });
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        // Templates over 4 GiB are refused before the lexer runs.
        Span { start: start as u32, end: end as u32 }
    }
}
