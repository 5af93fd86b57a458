//! Ranges of host names that work without a range server: `web[01-10],-web05`.

use super::{Error, pcre::Pcre};

/// The depth limit of `{a,{b,c}}`.
const MAX_DEPTH: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct RangeExpression {
    text: String,
    set: RangeSet,
}

/// Items in order; each adds to the set so far, removes from it or intersects with it.
type RangeSet = Vec<(SetOperation, RangeItem)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetOperation {
    Add,
    Remove,
    Keep,
}

#[derive(Clone, Debug)]
enum RangeItem {
    Name(Vec<RangePiece>),
    Regex(Pcre),
}

#[derive(Clone, Debug)]
enum RangePiece {
    Text(String),
    Numbers(Vec<NumberRange>),
    /// Alternatives: `{a,b}`.
    Choice(Vec<Vec<RangePiece>>),
}

#[derive(Clone, Debug)]
struct NumberRange {
    from: u64,
    to: u64,
    /// The number of digits, if the number has leading zeros; otherwise 0.
    width: usize,
}

impl RangeExpression {
    pub fn new(text: &str) -> Result<RangeExpression, Error> {
        let bad = |reason: String| Error::BadRange { text: text.to_owned(), reason };
        let mut set = Vec::new();
        for (operation, word) in split(text).map_err(bad)? {
            if word.is_empty() {
                return Err(bad("a name is missing".into()));
            }
            if operation != SetOperation::Add && set.is_empty() {
                return Err(bad(format!("nothing stands before '{word}' that it could be taken from")));
            }
            if let Some(cluster) = word.strip_prefix(['%', '@', '*', '?', '^']) {
                if word.starts_with('%') {
                    return Err(Error::RangeCluster { text: text.to_owned(), cluster: cluster.to_owned() });
                }
                return Err(bad(format!("'{}' asks a range server, which isn't supported", &word[..1])));
            }
            let item = match word.strip_prefix('/') {
                Some(regex) => {
                    let regex = regex.strip_suffix('/').ok_or_else(|| bad(format!("'{word}' isn't closed by '/'")))?;
                    // Unlike other targets, this one matches anywhere in the name.
                    RangeItem::Regex(Pcre::new(&format!("(?s:.*?)(?:{regex})"))?)
                }
                None => RangeItem::Name(pieces(&word, MAX_DEPTH).map_err(bad)?),
            };
            set.push((operation, item));
        }
        Ok(RangeExpression { text: text.to_owned(), set })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn contains(&self, id: &str) -> bool {
        self.set.iter().fold(false, |inside, (operation, item)| match operation {
            SetOperation::Add => inside || item.is(id),
            SetOperation::Remove => inside && !item.is(id),
            SetOperation::Keep => inside && item.is(id),
        })
    }
}

impl RangeItem {
    fn is(&self, id: &str) -> bool {
        match self {
            RangeItem::Name(pieces) => ends(pieces, id, vec![0]).contains(&id.len()),
            RangeItem::Regex(regex) => regex.matches(id),
        }
    }
}

/// The positions in `id` where the pieces may end, if they start at one of `starts`.
fn ends(pieces: &[RangePiece], id: &str, starts: Vec<usize>) -> Vec<usize> {
    pieces.iter().fold(starts, |starts, piece| {
        let mut next: Vec<usize> = match piece {
            RangePiece::Text(text) => {
                starts.iter().filter(|at| id[**at..].starts_with(text)).map(|at| at + text.len()).collect()
            }
            RangePiece::Numbers(numbers) => starts.iter().flat_map(|at| number_ends(numbers, id, *at)).collect(),
            RangePiece::Choice(choices) => choices.iter().flat_map(|choice| ends(choice, id, starts.clone())).collect(),
        };
        next.sort_unstable();
        next.dedup();
        next
    })
}

fn number_ends(numbers: &[NumberRange], id: &str, at: usize) -> Vec<usize> {
    let digits = id[at..].bytes().take_while(u8::is_ascii_digit).count();
    let fits = |length: &usize| {
        let text = &id[at..at + length];
        let number = text.parse::<u64>();
        numbers.iter().any(|n| {
            let right_width =
                if n.width > 0 { text.len() == n.width } else { text.len() == 1 || !text.starts_with('0') };
            right_width && number.as_ref().is_ok_and(|number| (n.from..=n.to).contains(number))
        })
    };
    (1..=digits.min(20)).filter(fits).map(|length| at + length).collect()
}

/// Splits at commas and ampersands outside of brackets.
fn split(text: &str) -> Result<Vec<(SetOperation, String)>, String> {
    let mut words = vec![(SetOperation::Add, String::new())];
    let (mut closers, mut in_regex, mut fresh) = (Vec::new(), false, true);
    for c in text.chars() {
        let word = words.len() - 1;
        match c {
            '/' if fresh || in_regex => in_regex = !in_regex,
            _ if in_regex => {}
            '[' => closers.push(']'),
            '{' => closers.push('}'),
            ']' | '}' if closers.pop() != Some(c) => return Err(format!("'{c}' closes nothing")),
            ',' if closers.is_empty() => {
                words.push((SetOperation::Add, String::new()));
                fresh = true;
                continue;
            }
            '&' if closers.is_empty() => {
                // `a,&b` means the same as `a&b`.
                if fresh && words.len() > 1 {
                    words[word].0 = SetOperation::Keep;
                } else {
                    words.push((SetOperation::Keep, String::new()));
                }
                fresh = true;
                continue;
            }
            '-' if fresh && words.len() > 1 && words[word].0 == SetOperation::Add => {
                words[word].0 = SetOperation::Remove;
                continue;
            }
            c if c.is_whitespace() => continue,
            _ => {}
        }
        words[word].1.push(c);
        fresh = false;
    }
    match (closers.pop(), in_regex) {
        (Some(closer), _) => Err(format!("a '{closer}' is missing")),
        (None, true) => Err("a '/' is missing".into()),
        (None, false) => Ok(words),
    }
}

fn pieces(word: &str, depth: usize) -> Result<Vec<RangePiece>, String> {
    let depth = depth.checked_sub(1).ok_or("it nests too deeply")?;
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some(at) = rest.find(['[', '{']) {
        push_text(&rest[..at], &mut pieces)?;
        let (open, behind) = rest[at..].split_at(1);
        let end = closing(behind, open).ok_or_else(|| format!("'{open}' isn't closed"))?;
        let inner = &behind[..end];
        pieces.push(if open == "[" {
            RangePiece::Numbers(inner.split(',').map(numbers).collect::<Result<_, _>>()?)
        } else {
            let choices = split(inner)?;
            if choices.iter().any(|(operation, _)| *operation != SetOperation::Add) {
                return Err("only names can stand in braces".into());
            }
            RangePiece::Choice(choices.iter().map(|(_, choice)| self::pieces(choice, depth)).collect::<Result<_, _>>()?)
        });
        rest = &behind[end + 1..];
    }
    push_text(rest, &mut pieces)?;
    Ok(pieces)
}

/// Parses text outside of brackets, which may also contain a range such as `web01..10`.
fn push_text(text: &str, pieces: &mut Vec<RangePiece>) -> Result<(), String> {
    let Some((before, after)) = text.split_once("..") else {
        if !text.is_empty() {
            pieces.push(RangePiece::Text(text.to_owned()));
        }
        return Ok(());
    };
    let start = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    // The range may repeat the name: `web01..web10`.
    let (name, from) = before.split_at(start);
    let after = after.strip_prefix(name).unwrap_or(after);
    let end = after.bytes().take_while(u8::is_ascii_digit).count();
    let (to, rest) = after.split_at(end);
    if !name.is_empty() {
        pieces.push(RangePiece::Text(name.to_owned()));
    }
    pieces.push(RangePiece::Numbers(vec![bounds(from, to)?]));
    if !rest.is_empty() {
        pieces.push(RangePiece::Text(rest.to_owned()));
    }
    Ok(())
}

fn closing(text: &str, open: &str) -> Option<usize> {
    let close = if open == "[" { ']' } else { '}' };
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            c if c == close && depth == 0 => return Some(at),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Parses `01-10`, `01..10` or `7`.
fn numbers(text: &str) -> Result<NumberRange, String> {
    let (from, to) = text.split_once("..").or_else(|| text.split_once(['-', ':'])).unwrap_or((text, text));
    bounds(from, to)
}

fn bounds(from: &str, to: &str) -> Result<NumberRange, String> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| digits).ok_or_else(|| format!("'{text}' is not a number"))
    };
    let numbers = NumberRange {
        from: number(from)?,
        to: number(to)?,
        width: if from.len() > 1 && from.starts_with('0') { from.len() } else { 0 },
    };
    if numbers.from > numbers.to { Err(format!("{from} is more than {to}")) } else { Ok(numbers) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_their_hosts() {
        let cases = [
            ("web[01-10]", "web05", true),
            ("web[01-10]", "web5", false),
            ("web[01-10]", "web11", false),
            ("web[1-10]", "web10", true),
            ("web[1-10]", "web01", false),
            ("web[1-3,7].example", "web7.example", true),
            ("web[1-3,7].example", "web5.example", false),
            ("web01..10.example", "web03.example", true),
            ("web01..web10", "web10", true),
            ("a,b", "b", true),
            ("a,b,-b", "b", false),
            ("web[1-9],-web[3-5]", "web4", false),
            ("web[1-9],&web[3-5]", "web4", true),
            ("web[1-9]&web[3-5]", "web7", false),
            ("{web,db}[1-2].{eu,us}", "db2.us", true),
            ("{web,db}[1-2].{eu,us}", "db3.us", false),
            ("web1-a", "web1-a", true),
            ("/web/", "my-web1", true),
            ("web1,web2,-/2$/", "web2", false),
            ("a[1-20]0", "a10", true),
        ];
        for (range, id, expected) in cases {
            let range = RangeExpression::new(range).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(range.contains(id), expected, "{} holds {id}", range.text());
        }
    }

    #[test]
    fn faults_are_named() {
        let cases = [
            ("%web", "range server"),
            ("web[1-", "']' is missing"),
            ("web]", "closes nothing"),
            ("web[5-1]", "more than"),
            ("web[a-b]", "'a' is not a number"),
            ("a,,b", "missing"),
            ("&a", "missing"),
        ];
        for (range, reason) in cases {
            let message = RangeExpression::new(range).expect_err("it is not a range").to_string();
            assert!(message.contains(reason), "{range}: {message}");
        }
    }
}
