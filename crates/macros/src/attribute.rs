//! Parses the words in `#[function(…)]` and `#[state(…)]`.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, LitStr, Path, Result, Token, Type, parenthesized};

/// One word. Some words are followed by texts in parentheses or by a call.
struct Word {
    name: Ident,
    texts: Vec<LitStr>,
    call: Option<CallClause>,
}

impl Parse for Word {
    fn parse(input: ParseStream<'_>) -> Result<Word> {
        let name: Ident = input.parse()?;
        let call = if input.peek(Token![=]) { Some(input.parse()?) } else { None };
        Ok(Word { name, texts: in_parentheses(input)?, call })
    }
}

/// `= path(more) -> Output`: the Rust function that does the work, its arguments besides the struct and the machine,
/// and its result.
pub struct CallClause {
    pub path: Path,
    pub more: Vec<Expr>,
    pub output: Type,
}

impl Parse for CallClause {
    fn parse(input: ParseStream<'_>) -> Result<CallClause> {
        input.parse::<Token![=]>()?;
        let path = input.call(Path::parse_mod_style)?;
        let more = in_parentheses(input)?;
        let arrow = input.parse::<Token![->]>();
        arrow.map_err(|error| Error::new(error.span(), "say what comes out: call = function -> Output"))?;
        Ok(CallClause { path, more, output: input.parse()? })
    }
}

/// Parses a list in parentheses, separated by commas; without parentheses it is empty.
fn in_parentheses<T: Parse>(input: ParseStream<'_>) -> Result<Vec<T>> {
    if !input.peek(syn::token::Paren) {
        return Ok(Vec::new());
    }
    let content;
    parenthesized!(content in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&content)?.into_iter().collect())
}

struct AttributeWords {
    name: LitStr,
    words: Vec<Word>,
}

impl Parse for AttributeWords {
    fn parse(input: ParseStream<'_>) -> Result<AttributeWords> {
        let name: LitStr =
            input.parse().map_err(|error| Error::new(error.span(), "expected a name in quotes first"))?;
        if !is_name(&name.value()) {
            return Err(Error::new(name.span(), "a name is written noun.verb"));
        }
        let mut words = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                words.push(input.parse()?);
            }
        }
        Ok(AttributeWords { name, words })
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    name.split_once('.').is_some_and(|(noun, verb)| is_part(noun) && is_part(verb))
}

/// The parsed `#[function(…)]`.
pub struct FunctionAttribute {
    pub name: LitStr,
    pub aliases: Vec<LitStr>,
    /// Treats a field `args` as a normal argument.
    pub no_rest: bool,
    /// The fields of `Nature` that are true.
    pub nature: Vec<Ident>,
    /// The Rust function that does the work, if the struct doesn't implement `Function` itself.
    pub call: Option<CallClause>,
}

/// The words that are fields of `Nature`.
const NATURES: [&str; 6] = ["reads", "small", "repeatable", "runs_states", "whole_machine", "about_jobs"];

impl FunctionAttribute {
    pub fn parse(tokens: TokenStream) -> Result<FunctionAttribute> {
        let AttributeWords { name, words } = AttributeWords::parse.parse2(tokens)?;
        let mut attribute =
            FunctionAttribute { name, aliases: Vec::new(), no_rest: false, nature: Vec::new(), call: None };
        let mut said = None;
        for word in words {
            let text = word.name.to_string();
            if matches!(text.as_str(), "reads" | "changes") && said.replace(word.name.clone()).is_some() {
                return Err(Error::new(word.name.span(), "a function either `reads` or `changes`; say one of them"));
            }
            if (text == "call") != word.call.is_some() {
                return Err(Error::new(
                    word.name.span(),
                    "write call = function -> Output, and `=` after no other word",
                ));
            }
            match text.as_str() {
                "also" => attribute.aliases.extend(some(&word)?),
                "no_rest" => attribute.no_rest = true,
                "changes" => {}
                "call" => attribute.call = word.call,
                nature if NATURES.contains(&nature) => attribute.nature.push(word.name),
                _ => return Err(unknown(&word.name, &["changes", "also", "no_rest", "call"], &NATURES)),
            }
        }
        match said {
            Some(_) => Ok(attribute),
            None => Err(Error::new(attribute.name.span(), "say whether it `reads` or `changes`")),
        }
    }
}

/// The parsed `#[state(…)]`.
pub struct StateAttribute {
    pub name: LitStr,
    pub strict: bool,
    pub watches: bool,
    pub aggregates: bool,
    pub required: Vec<LitStr>,
}

impl StateAttribute {
    pub fn parse(tokens: TokenStream) -> Result<StateAttribute> {
        let AttributeWords { name, words } = AttributeWords::parse.parse2(tokens)?;
        let mut attribute =
            StateAttribute { name, strict: false, watches: false, aggregates: false, required: Vec::new() };
        for word in words {
            match word.name.to_string().as_str() {
                "strict" => attribute.strict = true,
                "watches" => attribute.watches = true,
                "aggregates" => attribute.aggregates = true,
                "required" => attribute.required.extend(some(&word)?),
                _ => return Err(unknown(&word.name, &["strict", "watches", "aggregates", "required"], &[])),
            }
        }
        Ok(attribute)
    }
}

/// Checks that `#[arguments]` has no words.
pub fn nothing(tokens: TokenStream) -> Result<()> {
    match tokens.is_empty() {
        true => Ok(()),
        false => Err(Error::new_spanned(tokens, "a group of arguments has no name and no nature")),
    }
}

fn some(word: &Word) -> Result<Vec<LitStr>> {
    match word.texts.is_empty() {
        false => Ok(word.texts.clone()),
        true => Err(Error::new(word.name.span(), format!("write {}(\"…\")", word.name))),
    }
}

fn unknown(word: &Ident, first: &[&str], more: &[&str]) -> Error {
    let known: Vec<&str> = first.iter().chain(more).copied().collect();
    Error::new(word.span(), format!("unknown word `{word}`; there are: {}", known.join(", ")))
}

/// The default name of the rest argument.
pub fn usual_rest() -> LitStr {
    LitStr::new("args", Span::call_site())
}
