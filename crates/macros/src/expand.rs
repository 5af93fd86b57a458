//! Implements the traits of the catalog for a struct (`modules/src/catalog/arguments.rs`).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Fields, ItemStruct, LitStr, Result};

use crate::attribute::{self, CallClause, FunctionAttribute, StateAttribute};
use crate::field::{self, Given, Missing, Role};

pub fn function(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let FunctionAttribute { name, aliases, no_rest, nature, call } = FunctionAttribute::parse(attribute)?;
    let (item, given) = parse(item)?;
    let implementation = call.map(|call| implementation(&item, &given, &call)).transpose()?;
    let rest = match rest(&given)? {
        _ if no_rest => LitStr::new("", name.span()),
        Some(rest) => rest,
        None => attribute::usual_rest(),
    };
    let (ident, doc, arguments) = (&item.ident, field::doc(&item.attrs), read(&item, &given));
    Ok(quote! {
        #item
        #arguments
        impl crate::catalog::arguments::FunctionAttributes for #ident {
            const NAME: &'static str = #name;
            const ALIASES: &'static [&'static str] = &[#(#aliases),*];
            const REST: &'static str = #rest;
            const NATURE: ::rocksalt_core::description::Nature =
                ::rocksalt_core::description::Nature { #(#nature: true,)* ..::rocksalt_core::description::Nature::CHANGES };
            #[cfg(feature = "docs")]
            const DOC: &'static str = #doc;
        }
        #implementation
    })
}

/// An implementation of `Function` that only calls another function.
fn implementation(
    item: &ItemStruct,
    given: &[Given],
    CallClause { path, more, output }: &CallClause,
) -> Result<TokenStream> {
    let group = match (&item.fields, given) {
        (_, []) => None,
        (Fields::Unnamed(_), [_]) => Some(quote! { self.0, }),
        _ => return Err(Error::new_spanned(path, "`call` is for a struct of one group of arguments, or of none")),
    };
    let ident = &item.ident;
    Ok(quote! {
        impl crate::catalog::Function for #ident {
            type Output = #output;

            fn call(self, machine: &dyn crate::machine::System) -> crate::Result<#output> {
                #path(#group machine, #(#more),*)
            }
        }
    })
}

pub fn state(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let StateAttribute { name, strict, watches, aggregates, required } = StateAttribute::parse(attribute)?;
    let (item, given) = parse(item)?;
    if let Some(rest) = rest(&given)? {
        return Err(Error::new(rest.span(), "a state's arguments go by name only"));
    }
    let (ident, doc, arguments) = (&item.ident, field::doc(&item.attrs), read(&item, &given));
    Ok(quote! {
        #item
        #arguments
        impl crate::catalog::arguments::StateAttributes for #ident {
            const NAME: &'static str = #name;
            const REQUIRED: &'static [&'static str] = &[#(#required),*];
            const WATCHES: bool = #watches;
            const STRICT: bool = #strict;
            const AGGREGATES: bool = #aggregates;
            #[cfg(feature = "docs")]
            const DOC: &'static str = #doc;
        }
    })
}

pub fn arguments(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    attribute::nothing(attribute)?;
    let (item, given) = parse(item)?;
    let arguments = read(&item, &given);
    Ok(quote! { #item #arguments })
}

fn parse(item: TokenStream) -> Result<(ItemStruct, Vec<Given>)> {
    let mut item: ItemStruct =
        syn::parse2(item).map_err(|error| Error::new(error.span(), "arguments are the fields of a struct"))?;
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(&item.generics, "a struct of arguments has no parameters"));
    }
    let given = field::take(&mut item)?;
    Ok((item, given))
}

/// The argument with `#[rest]`, of which there may be only one.
fn rest(given: &[Given]) -> Result<Option<LitStr>> {
    let mut found = None;
    for field in given {
        if let Role::Argument { name, rest: true, .. } = &field.role
            && found.replace(name.clone()).is_some()
        {
            return Err(Error::new(name.span(), "only one argument can take the rest"));
        }
    }
    Ok(found)
}

/// The implementation of `Arguments`.
fn read(item: &ItemStruct, given: &[Given]) -> TokenStream {
    let ident = &item.ident;
    let names = names(given);
    let fields = given.iter().map(read_field);
    let described = given.iter().map(describe_field);
    quote! {
        impl crate::catalog::arguments::Arguments for #ident {
            const NAMES: &'static [&'static str] = #names;

            fn read(
                _arguments: &mut ::rocksalt_core::value::ArgumentReader,
            ) -> ::core::result::Result<Self, ::rocksalt_core::value::FromValueError> {
                ::core::result::Result::Ok(Self { #(#fields),* })
            }

            #[cfg(feature = "docs")]
            fn describe(_into: &mut ::std::vec::Vec<crate::catalog::description::ArgumentDescription>) {
                #(#described)*
            }
        }
    }
}

/// The names of the arguments in order, including those of groups.
fn names(given: &[Given]) -> TokenStream {
    let own = |field: &Given| match &field.role {
        Role::Argument { name, .. } => Some(name.clone()),
        _ => None,
    };
    if !given.iter().any(|field| matches!(field.role, Role::Group)) {
        let names = given.iter().filter_map(own);
        return quote! { &[#(#names),*] };
    }
    let parts: Vec<TokenStream> = given
        .iter()
        .filter_map(|field| match &field.role {
            Role::Argument { name, .. } => Some(quote! { &[#name] }),
            Role::Group => {
                let kind = &field.kind;
                Some(quote! { <#kind as crate::catalog::arguments::Arguments>::NAMES })
            }
            Role::Skipped => None,
        })
        .collect();
    quote! {{
        const PARTS: &[&[&str]] = &[#(#parts),*];
        &crate::catalog::arguments::joined::<{ crate::catalog::arguments::count(PARTS) }>(PARTS)
    }}
}

fn read_field(field: &Given) -> TokenStream {
    let (member, kind) = (&field.member, &field.kind);
    let value = match &field.role {
        Role::Group => quote! { <#kind as crate::catalog::arguments::Arguments>::read(_arguments)? },
        Role::Skipped => quote! { ::core::default::Default::default() },
        Role::Argument { name, missing: Missing::Required, .. } => quote! { _arguments.required::<#kind>(#name)? },
        Role::Argument { name, missing: Missing::Default, .. } => quote! { _arguments.or_default::<#kind>(#name)? },
        Role::Argument { name, missing: Missing::Expression(expression), .. } => quote! {
            match _arguments.optional::<#kind>(#name)? {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #expression,
            }
        },
    };
    quote! { #member: #value }
}

fn describe_field(field: &Given) -> TokenStream {
    let (kind, doc) = (&field.kind, &field.doc);
    let (name, missing, secret) = match &field.role {
        Role::Group => return quote! { <#kind as crate::catalog::arguments::Arguments>::describe(_into); },
        Role::Skipped => return TokenStream::new(),
        Role::Argument { name, missing, secret, .. } => (name, missing, secret),
    };
    let default = match missing {
        Missing::Required => quote! { ::core::option::Option::None },
        Missing::Default => quote! { ::core::option::Option::Some(<#kind as ::core::default::Default>::default()) },
        Missing::Expression(expression) => quote! { ::core::option::Option::Some(#expression) },
    };
    quote! {
        _into.push(crate::catalog::description::argument::<#kind>(#name, #doc, #default, #secret));
    }
}

#[cfg(test)]
mod tests;
