//! A field of an argument struct, with the meaning of its attributes.

use syn::{Attribute, Error, Expr, Field, Fields, ItemStruct, Lit, LitStr, Meta, Result, Type};

/// The value of a field that the caller left out.
pub enum Missing {
    /// Leaving it out is an error.
    Required,
    /// The type's default.
    Default,
    /// The value of an expression.
    Expression(Box<Expr>),
}

/// The role of a field.
pub enum Role {
    Argument { name: LitStr, missing: Missing, secret: bool, rest: bool },
    Group,
    Skipped,
}

/// A field and its role.
pub struct Given {
    /// The field in the struct: a name or a number.
    pub member: syn::Member,
    pub kind: Type,
    pub doc: String,
    pub role: Role,
}

/// Types that are optional without an attribute.
const OPTIONAL: [&str; 6] = ["Option", "bool", "Flag", "Vec", "Map", "Value"];

/// Takes the struct's fields in order, and removes our own attributes from them.
pub fn take(item: &mut ItemStruct) -> Result<Vec<Given>> {
    let tuple = matches!(item.fields, Fields::Unnamed(_));
    let fields = item.fields.iter_mut().enumerate();
    fields.map(|(index, field)| given(index, field, tuple)).collect()
}

fn given(index: usize, field: &mut Field, tuple: bool) -> Result<Given> {
    let mut own = Vec::new();
    for attribute in std::mem::take(&mut field.attrs) {
        match is_ours(&attribute) {
            true => own.push(attribute),
            false => field.attrs.push(attribute),
        }
    }
    let member = match &field.ident {
        Some(name) => syn::Member::Named(name.clone()),
        None => syn::Member::Unnamed(index.into()),
    };
    let role = if tuple { group_only(&own)? } else { role(field, &own)? };
    Ok(Given { member, kind: field.ty.clone(), doc: doc(&field.attrs), role })
}

const OURS: [&str; 7] = ["default", "required", "rename", "secret", "rest", "flatten", "skip"];

fn is_ours(attribute: &Attribute) -> bool {
    OURS.iter().any(|name| attribute.path().is_ident(name))
}

/// A tuple struct has one field, a group.
fn group_only(own: &[Attribute]) -> Result<Role> {
    match own.iter().find(|attribute| !attribute.path().is_ident("flatten")) {
        Some(attribute) => Err(Error::new_spanned(attribute, "a field without a name is a group of arguments")),
        None => Ok(Role::Group),
    }
}

fn role(field: &Field, own: &[Attribute]) -> Result<Role> {
    let ident = field.ident.as_ref().ok_or_else(|| Error::new_spanned(field, "a field needs a name"))?;
    let has = |name: &str| own.iter().find(|attribute| attribute.path().is_ident(name));
    for (one, other) in [("default", "required"), ("flatten", "default"), ("flatten", "required"), ("flatten", "skip")]
    {
        if let (Some(_), Some(second)) = (has(one), has(other)) {
            return Err(Error::new_spanned(second, format!("`{one}` and `{other}` exclude each other")));
        }
    }
    if has("flatten").is_some() {
        return Ok(Role::Group);
    }
    if has("skip").is_some() {
        return Ok(Role::Skipped);
    }
    let missing = match (has("default"), has("required")) {
        (Some(attribute), _) => default(attribute)?,
        (None, Some(_)) => Missing::Required,
        (None, None) if is_optional(&field.ty) => Missing::Default,
        (None, None) => Missing::Required,
    };
    let name = match has("rename") {
        Some(attribute) => attribute.parse_args::<LitStr>()?,
        None => LitStr::new(ident.to_string().trim_start_matches("r#"), ident.span()),
    };
    Ok(Role::Argument { name, missing, secret: has("secret").is_some(), rest: has("rest").is_some() })
}

/// Parses `#[default]` or `#[default(expression)]`. A text or a boolean is converted to the field's type.
fn default(attribute: &Attribute) -> Result<Missing> {
    match &attribute.meta {
        Meta::Path(_) => Ok(Missing::Default),
        Meta::List(list) => {
            let expression: Expr = list.parse_args()?;
            let converted = match &expression {
                Expr::Lit(literal) if matches!(literal.lit, Lit::Str(_) | Lit::Bool(_)) => {
                    syn::parse_quote!(::core::convert::Into::into(#expression))
                }
                _ => expression,
            };
            Ok(Missing::Expression(Box::new(converted)))
        }
        Meta::NameValue(pair) => Err(Error::new_spanned(pair, "write #[default(…)]")),
    }
}

fn is_optional(kind: &Type) -> bool {
    match kind {
        // A type from a `macro_rules` macro is in an invisible group.
        Type::Group(group) => is_optional(&group.elem),
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| OPTIONAL.iter().any(|name| last.ident == name))
        }
        _ => false,
    }
}

/// The text of a doc comment: its lines without the space after the slashes.
pub fn doc(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Some(text) = text(&pair.value)
        {
            lines.push(text.strip_prefix(' ').unwrap_or(&text).trim_end().to_owned());
        }
    }
    lines.join("\n").trim().to_owned()
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        Expr::Group(group) => text(&group.expr),
        _ => None,
    }
}
