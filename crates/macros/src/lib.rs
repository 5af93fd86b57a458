//! Attributes that turn a struct of arguments into a function or a state of the catalog.
//!
//! [`macro@function`] and [`macro@state`] stand over the struct, whose doc comment is the documentation and whose
//! fields are the arguments in their order. [`macro@arguments`] stands over a group of arguments that several of them
//! share.
//!
//! A field of type `Option`, `bool`, `Flag`, `Vec`, `Map` or `Value` may be left out by the caller; any other must be
//! given. These attributes on a field say otherwise, or more:
//!
//! | attribute | meaning |
//! | --- | --- |
//! | `#[default]`, `#[default(expression)]` | may be left out, and is then this |
//! | `#[required]` | must be given, whatever its type |
//! | `#[rename("type")]` | what callers call it |
//! | `#[secret]` | its value is masked wherever the call is stored or shown |
//! | `#[rest]` | takes all further positional arguments (a field `args` does so by its name) |
//! | `#[flatten]` | a group: its fields are arguments like the struct's own |
//! | `#[skip]` | no argument; always its type's default |
//!
//! A field `kwargs` takes all named arguments that have no field of their own.

mod attribute;
mod expand;
mod field;

use proc_macro::TokenStream;

/// A function: `#[function("noun.verb", reads)]` or `#[function("noun.verb", changes)]`.
///
/// More words: `also("noun.other")` for other names, `no_rest` if `args` is an argument like others, and what else is
/// to be known of it: `small`, `repeatable`, `runs_states`, `whole_machine`, `streams`, `about_jobs` (see `Nature` in
/// `rocksalt-core`).
///
/// `call` is for functions that share their arguments and differ in little else. It implements `Function`, too:
///
/// ```ignore
/// #[function("service.start", changes, call = Acting::act(ServiceAction::Start) -> bool)]
/// pub struct Start(Acting);
/// ```
///
/// calls `Acting::act(acting, machine, ServiceAction::Start)`, which gives a `Result<bool>`. The struct consists of one
/// group of arguments, or of nothing; then the machine comes first.
#[proc_macro_attribute]
pub fn function(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// A state: `#[state("noun.adjective")]`.
///
/// More words: `strict` (an unknown argument is an error), `watches` (a change of what it watches makes it act),
/// `aggregates` (Salt can merge several of them), `required("…")` (arguments that Salt asks for by name, besides
/// `name`).
#[proc_macro_attribute]
pub fn state(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::state(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// A group of arguments, for `#[flatten]` in functions and states.
#[proc_macro_attribute]
pub fn arguments(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::arguments(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
