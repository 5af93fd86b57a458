//! Jinja's filters: each is a function in the file of its noun, and a line in the list.

mod attribute;
pub mod escape;
mod json;
mod number;
mod pretty;
mod select;
mod sequence;
pub mod sorting;
mod text;
mod web;
mod wrap;

use crate::environment::FilterFunction;

pub const FILTERS: &[(&str, FilterFunction)] = &[
    ("abs", number::abs),
    ("attr", attribute::attr),
    ("batch", sequence::batch),
    ("capitalize", text::capitalize),
    ("center", text::center),
    ("count", sequence::length),
    ("d", sequence::default),
    ("default", sequence::default),
    ("dictsort", sorting::dictsort),
    ("e", escape::escape_filter),
    ("escape", escape::escape_filter),
    ("filesizeformat", number::filesizeformat),
    ("first", sequence::first),
    ("float", number::float),
    ("forceescape", escape::forceescape),
    ("format", text::format),
    ("groupby", sorting::groupby),
    ("indent", text::indent),
    ("int", number::int),
    ("items", sequence::items),
    ("join", sequence::join),
    ("last", sequence::last),
    ("length", sequence::length),
    ("list", sequence::list),
    ("lower", text::lower),
    ("map", select::map),
    ("max", sorting::max),
    ("min", sorting::min),
    ("pprint", pretty::pprint),
    ("random", sequence::random),
    ("reject", select::reject),
    ("rejectattr", select::rejectattr),
    ("replace", text::replace),
    ("reverse", sequence::reverse),
    ("round", number::round),
    ("safe", escape::safe),
    ("select", select::select),
    ("selectattr", select::selectattr),
    ("slice", sequence::slice),
    ("sort", sorting::sort),
    ("string", text::string),
    ("striptags", web::striptags),
    ("sum", number::sum),
    ("title", text::title),
    ("tojson", json::tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", sorting::unique),
    ("upper", text::upper),
    ("urlencode", web::urlencode),
    ("urlize", web::urlize),
    ("wordcount", text::wordcount),
    ("wordwrap", wrap::wordwrap),
    ("xmlattr", web::xmlattr),
];
