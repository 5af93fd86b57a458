//! [`Compilation`]: one compilation, and the state that its files share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rocksalt_core::Map;

use crate::fault::SlsFault;
use crate::files::{SourceFiles, Spot};
use crate::inputs::CompileInputs;
use crate::render::{Error, PipeData, PipeOutput, RenderContext, RenderErrorKind, default_pipe, render};
use crate::template::TemplateEngine;
use crate::tree::{SlsFile, SlsTree};

pub(crate) struct Compilation<'a> {
    pub inputs: CompileInputs<'a>,
    pub tree: Rc<SlsTree>,
    pub engine: TemplateEngine,
    pub files: RefCell<SourceFiles>,
    pub warnings: RefCell<Vec<SlsFault>>,
}

/// The outcome of rendering a file.
pub(crate) struct RenderedFile {
    /// The file's number, for [`crate::files::Spot::new`].
    pub file: u32,
    pub result: Result<PipeData, Error>,
}

impl<'a> Compilation<'a> {
    pub fn new(inputs: CompileInputs<'a>) -> Compilation<'a> {
        Compilation {
            tree: Rc::new(SlsTree::new(inputs.sources.clone())),
            engine: TemplateEngine::default(),
            files: RefCell::default(),
            warnings: RefCell::default(),
            inputs,
        }
    }

    /// Renders a file of the tree, with the renderers in its shebang or the default ones.
    pub fn render(&self, saltenv: &str, sls: &str, found: &SlsFile, context: &Map) -> RenderedFile {
        let file = self.add_file(&found.path, found.contents.clone());
        let rendering = RenderContext { compilation: self, saltenv, sls: Some(sls), path: &found.path, context };
        let result = render(&found.contents, default_pipe(self.inputs.options), true, &rendering);
        let result = result.map(|PipeOutput { stage, warning }| {
            self.warnings.borrow_mut().extend(warning);
            stage
        });
        RenderedFile { file, result }
    }

    pub fn add_file(&self, path: &str, contents: Arc<[u8]>) -> u32 {
        self.files.borrow_mut().add(format!("salt://{path}"), contents)
    }

    /// Creates the fault for a render error, with the caller's text.
    pub fn fault(&self, file: u32, error: &Error, text: impl Into<String>) -> SlsFault {
        // The error may be in a file that this one imports.
        let other = error.file.as_deref().and_then(|path| {
            let saltenvs = self.tree.environments().iter();
            let contents = saltenvs.filter_map(|saltenv| self.tree.read(saltenv, path).ok().flatten()).next();
            contents.map(|contents| self.add_file(path, contents))
        });
        let spot = Spot::new(other.unwrap_or(file), error.line, error.column);
        let mut fault = self.files.borrow().fault(spot, text);
        fault.hint.clone_from(&error.hint);
        fault
    }

    /// Creates the fault for a state file that could not be rendered, in Salt's words.
    pub fn sls_fault(&self, file: u32, error: &Error, saltenv: &str, sls: &str) -> SlsFault {
        let text = match error.kind {
            RenderErrorKind::Refused => format!("Rendering SLS '{saltenv}:{sls}' failed: {}", error.text),
            RenderErrorKind::Other => format!("Rendering SLS {sls} failed, render error: {}", error.text),
        };
        self.fault(file, error, text)
    }
}
