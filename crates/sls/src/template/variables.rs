//! The variables that name a template's place.

use rocksalt_jinja::Value;

use crate::render::RenderContext;

/// `sls`, `slspath`, `tpldir` and so on; a file that isn't an sls has none of them.
pub(super) fn of(rendering: &RenderContext<'_, '_>) -> Vec<(&'static str, Value)> {
    let Some(sls) = rendering.sls else { return Vec::new() };
    // A top file is named without its folder.
    let file = if sls.is_empty() { rendering.path.rsplit('/').next().unwrap_or_default() } else { rendering.path };
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let texts = [
        ("sls", sls.to_owned()),
        ("tplpath", rendering.path.to_owned()),
        ("tplfile", file.to_owned()),
        ("tpldir", if folder.is_empty() { ".".to_owned() } else { folder.to_owned() }),
        ("tpldot", folder.replace('/', ".")),
        ("slspath", folder.to_owned()),
        ("slsdotpath", folder.replace('/', ".")),
        ("slscolonpath", folder.replace('/', ":")),
        ("sls_path", folder.replace('/', "_")),
    ];
    texts.into_iter().map(|(name, text)| (name, text.into())).collect()
}
