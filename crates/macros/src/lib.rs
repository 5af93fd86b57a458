//! Attributes that turn a struct of arguments into a function or a state of the catalog.
//!
//! [`macro@function`] and [`macro@state`] are attributes of the struct. Its doc comment is the documentation, and its
//! fields are the arguments in order. [`macro@arguments`] is for a group of arguments that several functions or states
//! share.
//!
//! A field of type `Option`, `bool`, `Flag`, `Vec`, `Map` or `Value` is optional for the caller; any other is required.
//! Attributes on a field change that, or add to it:
//!
//! | attribute | meaning |
//! | --- | --- |
//! | `#[default]`, `#[default(expression)]` | optional, with this default |
//! | `#[required]` | required, whatever its type |
//! | `#[rename("type")]` | its name for callers |
//! | `#[secret]` | its value is masked wherever the call is stored or shown |
//! | `#[rest]` | takes all further positional arguments, as a field named `args` does by default |
//! | `#[flatten]` | a group: its fields are arguments like the struct's own |
//! | `#[skip]` | not an argument; always its type's default |
//!
//! A field named `kwargs` takes all named arguments that have no field of their own.

mod attribute;
mod expand;
mod field;

use proc_macro::TokenStream;

/// Declares a function: `#[function("noun.verb", reads)]` or `#[function("noun.verb", changes)]`.
///
/// More words: `also("noun.other")` for aliases, `no_rest` if `args` is a normal argument, and the other properties of
/// the function: `small`, `repeatable`, `runs_states`, `whole_machine`, `about_jobs` (see `Nature` in `rocksalt-core`).
///
/// `call` is for functions that share their arguments and differ in little else. It also implements `Function`:
///
/// ```ignore
/// #[function("service.start", changes, call = Acting::act(ServiceAction::Start) -> bool)]
/// pub struct Start(Acting);
/// ```
///
/// calls `Acting::act(acting, machine, ServiceAction::Start)`, which returns a `Result<bool>`. The struct consists of
/// one group of arguments or is empty; if it is empty, the machine is the first argument.
#[proc_macro_attribute]
pub fn function(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a state: `#[state("noun.adjective")]`.
///
/// More words: `strict` (an unknown argument is an error), `watches` (a change of a watched state makes it act),
/// `aggregates` (Salt can merge several of them), `required("…")` (arguments besides `name` that Salt reports by name
/// if they are missing).
#[proc_macro_attribute]
pub fn state(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::state(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a group of arguments, for `#[flatten]` in functions and states.
#[proc_macro_attribute]
pub fn arguments(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::arguments(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
