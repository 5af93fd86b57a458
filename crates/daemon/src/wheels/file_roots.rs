//! `file_roots`: reads the files of `salt://`. Nothing here writes to them (`docs/security-rules.md#r17`).

use rocksalt_backends::files::FileBackend;

use super::trees::{Find, ListEnv, ListRoots, Read, RootsTree, Write};
use crate::functions::{CallRecord, FunctionContext, FunctionEntry, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[
    entry::<Find<FileRoots>>(),
    entry::<ListEnv<FileRoots>>(),
    entry::<ListRoots<FileRoots>>(),
    entry::<Read<FileRoots>>(),
    entry::<Write<FileRoots>>(),
];

struct FileRoots;

impl RootsTree for FileRoots {
    const FIND: &'static str = "file_roots.find";
    const LIST_ENV: &'static str = "file_roots.list_env";
    const LIST_ROOTS: &'static str = "file_roots.list_roots";
    const READ: &'static str = "file_roots.read";
    const WRITE: &'static str = "file_roots.write";
    const READ_RECORD: CallRecord = CallRecord::ReadOnly;

    fn files(context: &FunctionContext) -> &dyn FileBackend {
        &*context.loaded.controller.files
    }
}
