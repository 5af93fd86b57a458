//! Tests the generated code, and the messages for wrong uses.

use proc_macro2::TokenStream;
use quote::quote;

use super::{arguments, function, state};

/// The generated code as text, without spaces.
fn text(result: syn::Result<TokenStream>) -> String {
    result.expect("it is right").to_string().replace(' ', "")
}

fn fault(result: syn::Result<TokenStream>) -> String {
    result.expect_err("it is wrong").to_string()
}

#[test]
fn a_function_says_everything_once() {
    let item = quote! {
        /// Sets the zone.
        ///
        /// More.
        pub struct SetZone {
            /// The zone.
            timezone: String,
            #[default("UTC")]
            clock: String,
            force: bool,
            #[rename("type")]
            #[secret]
            kind: Option<String>,
        }
    };
    let text = text(function(quote!("timezone.set_zone", changes, small, also("timezone.set")), item));
    for wanted in [
        r#"constNAME:&'staticstr="timezone.set_zone""#,
        r#"constALIASES:&'static[&'staticstr]=&["timezone.set"]"#,
        r#"constREST:&'staticstr="args""#,
        "Nature{small:true,..",
        r#"constDOC:&'staticstr="Setsthezone.\n\nMore.""#,
        r#"constNAMES:&'static[&'staticstr]=&["timezone","clock","force","type"]"#,
        r#"timezone:_arguments.required::<String>("timezone")?"#,
        r#"None=>::core::convert::Into::into("UTC")"#,
        r#"force:_arguments.or_default::<bool>("force")?"#,
        r#"argument::<String>("timezone","Thezone.",::core::option::Option::None,false)"#,
        r#"argument::<Option<String>>("type","","#,
    ] {
        assert!(text.contains(wanted), "{wanted} is not in\n{text}");
    }
    assert!(!text.contains("#[secret]") && !text.contains("#[rename"), "our attributes are taken off:\n{text}");
}

#[test]
fn groups_are_flattened() {
    let group = text(arguments(
        quote!(),
        quote!(
            struct Login {
                #[skip]
                cached: u32,
                user: String,
            }
        ),
    ));
    assert!(group.contains(r#"&["user"]"#) && group.contains("cached:::core::default::Default::default()"), "{group}");
    let named = text(state(
        quote!("a.b", strict, required("host")),
        quote!(
            struct A {
                name: String,
                #[flatten]
                login: Login,
            }
        ),
    ));
    assert!(named.contains(r#"PARTS:&[&[&str]]=&[&["name"],<Loginas"#), "{named}");
    assert!(named.contains("constSTRICT:bool=true") && named.contains(r#"=&["host"]"#), "{named}");
    let tuple = text(function(
        quote!("a.b", reads),
        quote!(
            struct A(Login);
        ),
    ));
    assert!(tuple.contains("0:<Loginascrate::catalog::arguments::Arguments>::read(_arguments)?"), "{tuple}");
}

#[test]
fn a_call_is_the_whole_implementation() {
    let group = text(function(
        quote!("service.start", changes, call = Acting::act(Action::Start, true) -> bool),
        quote!(
            struct Start(Acting);
        ),
    ));
    for wanted in [
        "implcrate::catalog::FunctionforStart{typeOutput=bool;",
        "fncall(self,machine:&dyncrate::machine::System)->crate::Result<bool>",
        "{Acting::act(self.0,machine,Action::Start,true)}",
    ] {
        assert!(group.contains(wanted), "{wanted} is not in\n{group}");
    }
    let nothing = text(function(
        quote!("service.get_all", call = all -> Vec<String>, reads),
        quote!(
            struct GetAll {}
        ),
    ));
    assert!(nothing.contains("typeOutput=Vec<String>;") && nothing.contains("{all(machine,)}"), "{nothing}");
    let own = text(function(
        quote!("service.get_all", reads),
        quote!(
            struct GetAll {}
        ),
    ));
    assert!(!own.contains("Functionfor"), "without `call` it is implemented by hand:\n{own}");
}

#[test]
fn the_rest_has_a_name() {
    let rest = |attribute: TokenStream| {
        text(function(
            attribute,
            quote!(
                struct A {
                    #[rest]
                    names: Vec<String>,
                    args: Vec<String>,
                }
            ),
        ))
    };
    assert!(rest(quote!("a.b", reads)).contains(r#"constREST:&'staticstr="names""#));
    assert!(rest(quote!("a.b", reads, no_rest)).contains(r#"constREST:&'staticstr="""#));
}

#[test]
fn wrong_attributes_are_told() {
    let empty = || item("struct A {}");
    check_faults([
        (function(quote!(reads), empty()), "expected a name in quotes first"),
        (function(quote!("ping", reads), empty()), "a name is written noun.verb"),
        (function(quote!("test.ping"), empty()), "say whether it `reads` or `changes`"),
        (function(quote!("test.ping", reads, changes), empty()), "a function either `reads` or `changes`"),
        (function(quote!("test.ping", reads, tiny), empty()), "unknown word `tiny`; there are: changes, also"),
        (function(quote!("test.ping", reads, also), empty()), "write also(\"…\")"),
        (function(quote!("test.ping", reads, call), empty()), "write call = function -> Output"),
        (function(quote!("test.ping", reads = ping -> bool), empty()), "`=` after no other word"),
        (function(quote!("test.ping", reads, call = ping), empty()), "say what comes out"),
        (state(quote!("a.b", call = ping -> bool), empty()), "unknown word `call`"),
        (state(quote!("a.b", reads), empty()), "unknown word `reads`"),
        (arguments(quote!("a.b"), empty()), "a group of arguments has no name"),
    ]);
}

#[test]
fn wrong_structs_are_told() {
    let calling = || quote!("test.ping", reads, call = ping -> bool);
    let no_group = "is for a struct of one group of arguments, or of none";
    let two_rests = "struct A { #[rest] a: Vec<String>, #[rest] b: Vec<String> }";
    check_faults([
        (function(calling(), item("struct A { a: String }")), no_group),
        (function(calling(), item("struct A(B, C);")), no_group),
        (function(quote!("test.ping", reads), item("enum A {}")), "arguments are the fields of a struct"),
        (function(quote!("test.ping", reads), item("struct A<T> { a: T }")), "has no parameters"),
        (function(quote!("a.b", reads), item(two_rests)), "only one argument can take the rest"),
        (state(quote!("a.b"), item("struct A { #[rest] more: Vec<String> }")), "go by name only"),
        (
            arguments(quote!(), item("struct A { #[default] #[required] a: String }")),
            "`default` and `required` exclude each other",
        ),
        (arguments(quote!(), item("struct A { #[default = \"x\"] a: String }")), "write #[default(…)]"),
        (arguments(quote!(), item("struct A(#[secret] B);")), "a field without a name is a group"),
    ]);
}

fn item(source: &str) -> TokenStream {
    source.parse().expect("it is Rust")
}

fn check_faults(cases: impl IntoIterator<Item = (syn::Result<TokenStream>, &'static str)>) {
    for (result, wanted) in cases {
        let fault = fault(result);
        assert!(fault.contains(wanted), "{fault} says nothing of: {wanted}");
    }
}
