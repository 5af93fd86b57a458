//! [`Environment`]: options, globals, filters and tests, and the templates made with them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rocksalt_core::nearest::nearest;

use crate::arguments::FunctionArguments;
use crate::ast::ParsedTemplate;
use crate::error::{Error, Result};
use crate::evaluate::{self, SymbolHasher};
use crate::loader::TemplateLoader;
use crate::options::Options;
use crate::scope::Scope;
use crate::symbol::{Symbol, Symbols};
use crate::value::Value;
use crate::{filters, globals, parser, salt, tests};

/// The function behind `value | filter(…)`.
pub type FilterFunction = fn(&Scope<'_>, Value, FunctionArguments) -> Result<Value>;
/// The function behind `value is test(…)`.
pub type TestFunction = fn(&Scope<'_>, Value, FunctionArguments) -> Result<bool>;
/// A filter that captures data of the host.
pub type HostFilter = Rc<dyn Fn(&Scope<'_>, Value, FunctionArguments) -> Result<Value>>;

/// The settings that templates share. Cheap to create. A template from the loader is parsed once.
pub struct Environment {
    options: Options,
    loader: Option<Rc<dyn TemplateLoader>>,
    symbols: RefCell<Symbols>,
    pub(crate) names: KnownNames,
    globals: HashMap<Symbol, Value, std::hash::BuildHasherDefault<SymbolHasher>>,
    filters: HashMap<String, AnyFilter>,
    tests: HashMap<String, TestFunction>,
    templates: RefCell<HashMap<String, Rc<ParsedTemplate>>>,
    machine: Rc<dyn salt::TemplateMachine>,
}

/// Names with a special meaning.
pub(crate) struct KnownNames {
    pub loop_: Symbol,
    pub self_: Symbol,
    pub super_: Symbol,
    pub caller: Symbol,
    pub varargs: Symbol,
    pub kwargs: Symbol,
}

#[derive(Clone)]
pub(crate) enum AnyFilter {
    /// One of Jinja's own filters.
    Jinja(FilterFunction),
    Plain(FilterFunction),
    Host(HostFilter),
}

impl AnyFilter {
    pub fn apply(&self, scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
        match self {
            AnyFilter::Jinja(filter) => filter(scope, value, arguments.of_filter()),
            AnyFilter::Plain(filter) => filter(scope, value, arguments),
            AnyFilter::Host(filter) => filter(scope, value, arguments),
        }
    }
}

impl Environment {
    pub fn new(options: Options) -> Environment {
        let mut symbols = Symbols::default();
        let names = KnownNames {
            loop_: symbols.intern("loop"),
            self_: symbols.intern("self"),
            super_: symbols.intern("super"),
            caller: symbols.intern("caller"),
            varargs: symbols.intern("varargs"),
            kwargs: symbols.intern("kwargs"),
        };
        let mut environment = Environment {
            loader: None,
            symbols: RefCell::new(symbols),
            names,
            globals: HashMap::default(),
            filters: HashMap::new(),
            tests: HashMap::new(),
            templates: RefCell::default(),
            machine: Rc::new(salt::Nowhere),
            options,
        };
        for (name, value) in globals::all() {
            environment.set_global(name, value);
        }
        if environment.options.salt {
            for (name, value) in salt::globals() {
                environment.set_global(name, value);
            }
        }
        environment
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn set_loader(&mut self, loader: Rc<dyn TemplateLoader>) {
        self.templates.borrow_mut().clear();
        self.loader = Some(loader);
    }

    /// Sets the machine that Salt's filters query; without one, those filters fail.
    pub fn set_machine(&mut self, machine: Rc<dyn salt::TemplateMachine>) {
        self.machine = machine;
    }

    pub(crate) fn machine(&self) -> &dyn salt::TemplateMachine {
        &*self.machine
    }

    /// Returns a random number.
    pub(crate) fn random(&self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.machine.random(&mut bytes).map_err(Error::runtime)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Sets a variable that all templates see, also imported ones.
    pub fn set_global(&mut self, name: &str, value: Value) {
        let symbol = self.symbol(name);
        self.globals.insert(symbol, value);
    }

    /// Adds a filter. Call it before a template that uses the filter is parsed, as with [`Environment::add_test`].
    pub fn add_filter(&mut self, name: &str, filter: FilterFunction) {
        self.filters.insert(name.to_owned(), AnyFilter::Plain(filter));
    }

    pub fn add_host_filter(&mut self, name: &str, filter: HostFilter) {
        self.filters.insert(name.to_owned(), AnyFilter::Host(filter));
    }

    pub fn add_test(&mut self, name: &str, test: TestFunction) {
        self.tests.insert(name.to_owned(), test);
    }

    /// Renders a template's text.
    pub fn render_str(&self, source: &str, name: &str, context: &[(&str, Value)]) -> Result<String> {
        let template = Rc::new(parser::template(self, source, name)?);
        Ok(evaluate::render(self, &template, context, false, self.ending(source))?.0)
    }

    /// Like [`Environment::render_str`], and also returns the template's line for each line of the output.
    pub fn render_str_mapped(&self, source: &str, name: &str, context: &[(&str, Value)]) -> Result<(String, Vec<u32>)> {
        let template = Rc::new(parser::template(self, source, name)?);
        evaluate::render(self, &template, context, true, self.ending(source))
    }

    /// Renders a template of the loader.
    pub fn render(&self, name: &str, context: &[(&str, Value)]) -> Result<String> {
        let template = self.template(name, None)?;
        Ok(evaluate::render(self, &template, context, false, self.ending(&template.raw))?.0)
    }

    /// What follows the rendered text: Salt restores the last newline of the outermost template.
    fn ending(&self, source: &str) -> &'static str {
        let wanted = self.options.salt && !self.options.keep_trailing_newline && source.ends_with(['\n', '\r']);
        if wanted { "\n" } else { "" }
    }

    /// Evaluates a bare expression.
    pub fn evaluate(&self, expression: &str, context: &[(&str, Value)]) -> Result<Value> {
        let template = Rc::new(parser::expression(self, expression)?);
        evaluate::evaluate(self, &template, context)
    }

    /// Checks that a template parses, without running it.
    pub fn check(&self, source: &str, name: &str) -> Result<()> {
        parser::template(self, source, name).map(|_| ())
    }

    pub(crate) fn template(&self, name: &str, parent: Option<&str>) -> Result<Rc<ParsedTemplate>> {
        let Some(loader) = &self.loader else {
            return Err(Error::template_missing(name).with_hint("no loader was set up for this environment"));
        };
        let loaded = loader.load(name, parent).map_err(|message| {
            let mut error = Error::template_missing(message);
            error.hint = Some(format!("while loading the template '{name}'"));
            error
        })?;
        let Some(loaded) = loaded else { return Err(Error::template_missing(name)) };
        let known = self.templates.borrow().get(&loaded.name).map(Rc::clone);
        if let Some(template) = known
            && *template.raw == *loaded.source
        {
            return Ok(template);
        }
        let mut template = parser::template(self, &loaded.source, &loaded.name)?;
        template.raw = loaded.source;
        let template = Rc::new(template);
        self.templates.borrow_mut().insert(loaded.name, Rc::clone(&template));
        Ok(template)
    }

    /// The loader's variables for the template that it loaded last.
    pub(crate) fn loader_variables(&self) -> Option<Vec<(&'static str, Value)>> {
        self.loader.as_ref()?.variables()
    }

    pub(crate) fn symbol(&self, name: &str) -> Symbol {
        self.symbols.borrow_mut().intern(name)
    }

    pub(crate) fn find_symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.borrow().find(name)
    }

    pub(crate) fn symbol_name(&self, symbol: Symbol) -> Rc<str> {
        self.symbols.borrow().name(symbol)
    }

    pub(crate) fn global(&self, symbol: Symbol) -> Option<Value> {
        self.globals.get(&symbol).cloned()
    }

    pub(crate) fn globals(&self) -> impl Iterator<Item = (Symbol, Value)> {
        self.globals.iter().map(|(symbol, value)| (*symbol, value.clone()))
    }

    /// Finds a filter: the host's first, then Salt's, then Jinja's.
    pub(crate) fn filter(&self, name: &str) -> Option<AnyFilter> {
        if let Some(filter) = self.filters.get(name) {
            return Some(filter.clone());
        }
        let salt = if self.options.salt { find(salt::FILTERS, name) } else { None };
        salt.map(AnyFilter::Plain).or_else(|| find(filters::FILTERS, name).map(AnyFilter::Jinja))
    }

    pub(crate) fn test(&self, name: &str) -> Option<TestFunction> {
        if let Some(test) = self.tests.get(name) {
            return Some(*test);
        }
        let salt = if self.options.salt { find(salt::TESTS, name) } else { None };
        salt.or_else(|| find(tests::TESTS, name))
    }

    pub(crate) fn filter_names(&self) -> Vec<Rc<str>> {
        let salt = if self.options.salt { salt::FILTERS } else { &[] };
        let built_in = salt.iter().chain(filters::FILTERS).map(|(name, _)| Rc::from(*name));
        sorted(self.filters.keys().map(|name| Rc::from(name.as_str())).chain(built_in).collect())
    }

    pub(crate) fn test_names(&self) -> Vec<Rc<str>> {
        let salt = if self.options.salt { salt::TESTS } else { &[] };
        let built_in = salt.iter().chain(tests::TESTS).map(|(name, _)| Rc::from(*name));
        sorted(self.tests.keys().map(|name| Rc::from(name.as_str())).chain(built_in).collect())
    }

    pub(crate) fn nearest_filter(&self, name: &str) -> Option<String> {
        let names = self.filter_names();
        nearest(name, names.iter().map(|name| &**name)).map(|right| format!("did you mean '{right}'?"))
    }

    pub(crate) fn nearest_test(&self, name: &str) -> Option<String> {
        let names = self.test_names();
        nearest(name, names.iter().map(|name| &**name)).map(|right| format!("did you mean '{right}'?"))
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(own, _)| *own == name).map(|(_, found)| *found)
}

fn sorted(mut names: Vec<Rc<str>>) -> Vec<Rc<str>> {
    names.sort();
    names.dedup();
    names
}
