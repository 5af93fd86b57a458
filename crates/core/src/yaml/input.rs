//! [`ParserInput`]: the YAML parser's own input, but with another size of the look-ahead buffer.

use saphyr_parser::input::SkipTabs;
use saphyr_parser::{Input, StrInput};

pub(super) struct ParserInput<'a>(StrInput<'a>);

/// The parser reserves this many characters before each word of a scalar. It starts with a capacity of 32, which
/// already includes them. The 128 of its own input would reallocate every scalar, which took a tenth of the time.
const WORD: usize = 31;

impl<'a> ParserInput<'a> {
    pub fn new(text: &'a str) -> ParserInput<'a> {
        ParserInput(StrInput::new(text))
    }
}

/// Forwards the other methods to the parser's own input.
macro_rules! forward {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $output:ty;)+) => {
        $(
            #[inline]
            fn $name(&self $(, $argument: $type)*) -> $output {
                self.0.$name($($argument),*)
            }
        )+
    };
    ($(fn $name:ident(&mut self $(, $argument:ident: $type:ty)*) -> $output:ty;)+) => {
        $(
            #[inline]
            fn $name(&mut self $(, $argument: $type)*) -> $output {
                self.0.$name($($argument),*)
            }
        )+
    };
}

impl Input for ParserInput<'_> {
    fn bufmaxlen(&self) -> usize {
        WORD
    }

    forward! {
        fn buflen(&self) -> usize;
        fn buf_is_empty(&self) -> bool;
        fn peek(&self) -> char;
        fn peek_nth(&self, n: usize) -> char;
        fn peek_opt(&self) -> Option<char>;
        fn next_char_is(&self, c: char) -> bool;
        fn nth_char_is(&self, n: usize, c: char) -> bool;
        fn next_2_are(&self, first: char, second: char) -> bool;
        fn next_3_are(&self, first: char, second: char, third: char) -> bool;
        fn next_is_document_indicator(&self) -> bool;
        fn next_is_document_start(&self) -> bool;
        fn next_is_document_end(&self) -> bool;
        fn next_can_be_plain_scalar(&self, in_flow: bool) -> bool;
        fn next_is_blank_or_break(&self) -> bool;
        fn next_is_blank_or_breakz(&self) -> bool;
        fn next_is_blank(&self) -> bool;
        fn next_is_break(&self) -> bool;
        fn next_is_breakz(&self) -> bool;
        fn next_is_z(&self) -> bool;
        fn next_is_flow(&self) -> bool;
        fn next_is_digit(&self) -> bool;
        fn next_is_alpha(&self) -> bool;
    }

    forward! {
        fn lookahead(&mut self, count: usize) -> ();
        fn raw_read_ch(&mut self) -> char;
        fn raw_read_non_breakz_ch(&mut self) -> Option<char>;
        fn skip(&mut self) -> ();
        fn skip_n(&mut self, count: usize) -> ();
        fn look_ch(&mut self) -> char;
        fn skip_ws_to_eol(&mut self, skip_tabs: SkipTabs) -> (usize, Result<SkipTabs, &'static str>);
        fn skip_while_non_breakz(&mut self) -> usize;
        fn skip_while_blank(&mut self) -> usize;
        fn fetch_while_is_alpha(&mut self, out: &mut String) -> usize;
        fn fetch_while_is_yaml_non_space(&mut self, out: &mut String) -> usize;
    }
}

#[cfg(test)]
mod tests {
    use saphyr_parser::Parser;

    use super::*;

    /// Indents, words and scalars of lengths around [`WORD`] are read as by the parser's own input.
    #[test]
    fn it_reads_as_the_parsers_own_reader() {
        for length in (0..80).chain([126, 127, 128, 129, 300]) {
            let (indent, word) = (" ".repeat(length), "wörd".repeat(length));
            for text in [
                format!("a{word}: {word} {word}\n"),
                format!("a:\n {indent}b: |\n  {indent}{word}\n   {indent}{word}\n\n  {indent}{word}\n"),
                format!("a:\n {indent}- >-\n  {indent}{word}\n  {indent}{word}\n{indent}\n"),
                format!("a: |\n  {indent}x\n {indent}\n"),
                format!("- '{word}\n  {indent}{word}'\n- \"{word} \\n {word}\"\n-{indent} [{word}, {word} ]\n"),
                format!("a: |2\n {indent} x"),
            ] {
                // After an error the parser repeats it endlessly.
                let ours: Vec<_> =
                    Parser::new(ParserInput::new(&text)).take(50).map(|event| format!("{event:?}")).collect();
                let theirs: Vec<_> = Parser::new_from_str(&text).take(50).map(|event| format!("{event:?}")).collect();
                assert_eq!(ours, theirs, "{text}");
            }
        }
    }
}
