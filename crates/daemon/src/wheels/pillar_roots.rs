//! `pillar_roots`: reads the files of the pillar. Nothing here writes to them (`docs/security-rules.md#r17`).

use rocksalt_backends::files::FileBackend;

use super::trees::{Find, ListEnv, ListRoots, Read, RootsTree, Write};
use crate::functions::{CallRecord, FunctionContext, FunctionEntry, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[
    entry::<Find<PillarRoots>>(),
    entry::<ListEnv<PillarRoots>>(),
    entry::<ListRoots<PillarRoots>>(),
    entry::<Read<PillarRoots>>(),
    entry::<Write<PillarRoots>>(),
];

struct PillarRoots;

impl RootsTree for PillarRoots {
    const FIND: &'static str = "pillar_roots.find";
    const LIST_ENV: &'static str = "pillar_roots.list_env";
    const LIST_ROOTS: &'static str = "pillar_roots.list_roots";
    const READ: &'static str = "pillar_roots.read";
    const WRITE: &'static str = "pillar_roots.write";
    const READ_RECORD: CallRecord = CallRecord::Private;

    fn files(context: &FunctionContext) -> &dyn FileBackend {
        &*context.loaded.controller.pillar.files
    }
}
