//! Describes a cycle of requisites.

use super::Requisite;
use super::chunk::Chunk;
use super::chunks::DraftChunk;
use super::graph::RequisiteGraph;
use crate::fault::SlsFault;
use crate::files::SourceFiles;
use crate::python;

pub(super) fn fault(graph: &RequisiteGraph, drafts: &[DraftChunk], files: &SourceFiles) -> SlsFault {
    let mut edges = Vec::new();
    let mut places = Vec::new();
    let mut spot = None;
    for (needed, node, requisite) in graph.find_cycle() {
        let chunk_of = |node: u32| &drafts[graph.nodes[node as usize].chunk as usize].chunk;
        let (needed, chunk) = (chunk_of(needed), chunk_of(node));
        // The internal edge to a prerequired state is shown as the `prereq` that the user wrote.
        let shown = if requisite == Requisite::Require && !chunk.arguments.contains_key("require") {
            Requisite::Prereq
        } else {
            requisite
        };
        edges.push(format!("({}, '{}', {})", node_text(chunk), shown.name(), node_text(needed)));
        let at = chunk.spot_of(shown.name());
        spot.get_or_insert(at);
        places.extend(
            files.place(at).map(|place| format!("{place}: '{}' has {} on '{}'", chunk.id, shown.name(), needed.id)),
        );
    }
    let text = format!("Recursive requisites were found: {}", edges.join(", "));
    let fault = files.fault(spot.unwrap_or_default(), text);
    if places.is_empty() { fault } else { fault.hint(format!("take one of these away: {}", places.join("; "))) }
}

/// Formats a state as Salt shows it in a cycle: as a Python dict.
fn node_text(chunk: &Chunk) -> String {
    let quoted = |text: &str| python::repr(&text.into());
    let name = if chunk.name == chunk.id { String::new() } else { format!(", 'NAME': {}", quoted(&chunk.name)) };
    format!("{{'SLS': {}, 'ID': {}{name}}}", quoted(&chunk.sls), quoted(&chunk.id))
}
