//! [`Scope`]: the state of a render that filters, tests and objects can access.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::arguments::FunctionArguments;
use crate::ast::{BlockDefinition, ParsedTemplate};
use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::ScopeFrame;
use crate::symbol::Symbol;
use crate::value::{UndefinedKind, Value};
use rocksalt_core::sort::sort_by;

/// A place in a running template: its variables and the render's counters.
#[derive(Clone)]
pub struct Scope<'a> {
    pub(crate) session: &'a RenderSession<'a>,
    pub(crate) root: Rc<Root>,
    pub(crate) frame: Rc<ScopeFrame>,
    pub(crate) autoescape: bool,
    /// True outside of macros and blocks. There, nothing is printed once the template extends another.
    pub(crate) top: bool,
}

/// State that all scopes of one template share during a render.
pub(crate) struct Root {
    pub template: Rc<ParsedTemplate>,
    /// The template's top-level variables.
    pub frame: Rc<ScopeFrame>,
    pub blocks: Rc<RefCell<Blocks>>,
    /// The template that this one extends, and the output's length at the `extends`.
    pub extends: RefCell<Option<(Rc<ParsedTemplate>, usize)>>,
}

/// What a render and those inside it use together: a function that a template calls may render templates, even the
/// same one.
#[derive(Clone)]
struct SharedLimits {
    /// The approximate stack position at the start of the outermost render.
    stack: usize,
    steps: Rc<Cell<u64>>,
    /// The number of renders around this one.
    around: usize,
}

thread_local! {
    static INNERMOST: RefCell<Option<SharedLimits>> = const { RefCell::new(None) };
}

impl SharedLimits {
    /// The most renders inside each other. Each may quote the error of the one inside it, and escape it once more.
    const MOST: usize = 8;

    fn begin() -> SharedLimits {
        INNERMOST.with_borrow_mut(|innermost| {
            let shared = match innermost.take() {
                Some(outer) => SharedLimits { around: outer.around + 1, ..outer },
                None => SharedLimits { stack: stack_place(), steps: Rc::default(), around: 0 },
            };
            *innermost = Some(shared.clone());
            shared
        })
    }

    fn end() {
        INNERMOST.with_borrow_mut(|innermost| {
            *innermost = innermost.take().and_then(|shared| {
                let around = shared.around.checked_sub(1)?;
                Some(SharedLimits { around, ..shared })
            });
        });
    }
}

/// The versions of each block, the most derived first, each with its template.
pub(crate) type Blocks = HashMap<Symbol, Vec<(Rc<ParsedTemplate>, Rc<BlockDefinition>)>>;

/// One render, from its start to its end.
pub(crate) struct RenderSession<'a> {
    pub environment: &'a Environment,
    /// The variables passed to the render.
    pub base: Rc<ScopeFrame>,
    depth: Cell<usize>,
    /// The limits that this render shares with the one whose function started it.
    shared: SharedLimits,
    /// Frames that take part in reference cycles: a macro holds the frame that holds the macro.
    circular: RefCell<Vec<Rc<ScopeFrame>>>,
    /// Templates imported without context; each is imported once.
    pub modules: RefCell<HashMap<Rc<str>, Value>>,
}

impl<'a> RenderSession<'a> {
    pub fn new(environment: &'a Environment, context: &[(&str, Value)]) -> RenderSession<'a> {
        let base = ScopeFrame::new(None);
        for (name, value) in context {
            base.set(environment.symbol(name), value.clone());
        }
        RenderSession {
            environment,
            base,
            depth: Cell::new(0),
            shared: SharedLimits::begin(),
            circular: RefCell::default(),
            modules: RefCell::default(),
        }
    }

    /// Registers a frame to be cleared when the render is done.
    pub fn remember(&self, frame: &Rc<ScopeFrame>) {
        let mut circular = self.circular.borrow_mut();
        if !circular.last().is_some_and(|last| Rc::ptr_eq(last, frame)) {
            circular.push(Rc::clone(frame));
        }
    }
}

impl Drop for RenderSession<'_> {
    fn drop(&mut self) {
        SharedLimits::end();
        for frame in self.circular.take() {
            frame.clear();
        }
    }
}

impl<'a> Scope<'a> {
    pub fn environment(&self) -> &'a Environment {
        self.session.environment
    }

    /// The name of the template that is being rendered.
    pub fn template_name(&self) -> &str {
        &self.root.template.name
    }

    /// Whether printed values are escaped here.
    pub fn autoescape(&self) -> bool {
        self.autoescape
    }

    pub fn undefined_kind(&self) -> UndefinedKind {
        self.environment().options().undefined
    }

    /// The variable of that name, as seen from here.
    pub fn lookup(&self, name: &str) -> Option<Value> {
        let symbol = self.environment().find_symbol(name)?;
        self.frame.get(symbol).or_else(|| self.environment().global(symbol))
    }

    /// All variables visible here, by name.
    pub fn variables(&self) -> Vec<(Rc<str>, Value)> {
        let environment = self.environment();
        let mut seen: HashMap<Symbol, Value> = HashMap::new();
        let mut frame = Some(&self.frame);
        while let Some(here) = frame {
            for (symbol, value, _) in here.own() {
                seen.entry(symbol).or_insert(value);
            }
            frame = here.parent();
        }
        for (symbol, value) in environment.globals() {
            seen.entry(symbol).or_insert(value);
        }
        let mut all: Vec<(Rc<str>, Value)> =
            seen.into_iter().map(|(symbol, value)| (environment.symbol_name(symbol), value)).collect();
        sort_by(&mut all, |(a, _), (b, _)| a.cmp(b));
        all
    }

    /// Calls a value: `callee(…)`.
    pub fn call(&self, callee: &Value, arguments: FunctionArguments) -> Result<Value> {
        match callee {
            Value::Object(object) => object.call(self, arguments),
            Value::Undefined(undefined) => Err(undefined.error()),
            other => Err(Error::type_error(format!("'{}' object is not callable", other.type_name()))),
        }
    }

    /// Applies a filter: `value | name(…)`.
    pub fn filter(&self, name: &str, value: Value, arguments: FunctionArguments) -> Result<Value> {
        let Some(filter) = self.environment().filter(name) else {
            let error = Error::runtime(format!("No filter named {}.", crate::value::quoted(name)));
            return Err(match self.environment().nearest_filter(name) {
                Some(hint) => error.with_hint(hint),
                None => error,
            });
        };
        filter.apply(self, value, arguments.named(name))
    }

    /// Applies a test: `value is name(…)`.
    pub fn test(&self, name: &str, value: Value, arguments: FunctionArguments) -> Result<bool> {
        let Some(test) = self.environment().test(name) else {
            let error = Error::runtime(format!("No test named {}.", crate::value::quoted(name)));
            return Err(match self.environment().nearest_test(name) {
                Some(hint) => error.with_hint(hint),
                None => error,
            });
        };
        test(self, value, arguments.named(name))
    }

    /// Counts steps of work, about one for each item; fails when the render has used too many.
    pub fn charge(&self, steps: usize) -> Result<()> {
        let done = self.session.shared.steps.get().saturating_add(steps as u64);
        self.session.shared.steps.set(done);
        let limit = self.environment().options().limits.steps;
        if done > limit {
            return Err(Error::limit(format!("the template needs more than {limit} steps")));
        }
        Ok(())
    }

    /// Checks the limit before a text of that many bytes is built.
    pub fn check_size(&self, bytes: usize) -> Result<()> {
        let limit = self.environment().options().limits.output_bytes;
        if bytes > limit {
            return Err(Error::limit(format!("a text would be larger than {limit} bytes")));
        }
        // Many large texts count as many steps.
        self.charge(bytes / 64)
    }

    /// Runs something one level deeper.
    pub(crate) fn deeper<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let depth = &self.session.depth;
        let limits = &self.environment().options().limits;
        // A level's stack use depends on its kind and on the compiler's settings, so the stack is measured as well.
        let shared = &self.session.shared;
        let too_deep = stack_place().abs_diff(shared.stack) > limits.stack_bytes;
        if depth.get() >= limits.depth || too_deep || shared.around >= SharedLimits::MOST {
            return Err(Error::new(ErrorKind::Limit, "RecursionError", "maximum recursion depth exceeded"));
        }
        depth.set(depth.get() + 1);
        let result = run();
        depth.set(depth.get() - 1);
        result
    }

    /// A nested scope with its own variables.
    pub(crate) fn inner(&self) -> Scope<'a> {
        Scope { frame: ScopeFrame::new(Some(Rc::clone(&self.frame))), ..self.clone() }
    }
}

/// The address of a local variable.
#[inline(never)]
fn stack_place() -> usize {
    let here = 0u8;
    std::hint::black_box(&raw const here) as usize
}
