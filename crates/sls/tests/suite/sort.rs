//! The sort respects all requisites; without requisites it follows the order numbers.

use proptest::prelude::*;
use rocksalt_sls::sources::MemorySources;
use rocksalt_sls::{Low, Requisite};

use crate::trees::try_compile_tree;

const KINDS: [&str; 6] = ["require", "watch", "onchanges", "onfail", "require_any", "prereq"];

/// An edge from a state to a state by a kind of requisite, all as numbers.
type Edge = (usize, usize, usize);

/// Edges lead from a later state to an earlier one in a hidden order, so that there is no cycle.
fn trees() -> impl Strategy<Value = (Vec<usize>, Vec<Edge>, Vec<Option<i64>>)> {
    (2usize..25).prop_flat_map(|states| {
        let hidden = Just((0..states).collect::<Vec<_>>()).prop_shuffle();
        let edges = prop::collection::vec((0..states, 0..states, 0..KINDS.len()), 0..40);
        let orders = prop::collection::vec(prop::option::weighted(0.3, -5i64..20_000), states);
        (hidden, edges, orders)
    })
}

fn source(hidden: &[usize], edges: &[Edge], orders: &[Option<i64>]) -> String {
    let mut text = String::new();
    for (state, order) in orders.iter().enumerate() {
        text += &format!("s{state}:\n  test.nop:\n    - x: 1\n");
        if let Some(order) = order {
            text += &format!("    - order: {order}\n");
        }
        for (number, kind) in KINDS.iter().enumerate() {
            let targets: Vec<String> = edges
                .iter()
                .filter(|(from, to, edge)| *from == state && *edge == number && hidden[*to] < hidden[*from])
                // A prereq runs before the state that it names, so the edge is reversed.
                .map(|(_, to, _)| format!("      - test: s{to}\n"))
                .collect();
            if !targets.is_empty() && *kind != "prereq" {
                text += &format!("    - {kind}:\n{}", targets.concat());
            }
        }
        let prereqs: Vec<String> = edges
            .iter()
            .filter(|(from, to, edge)| *from == state && KINDS[*edge] == "prereq" && hidden[*to] > hidden[*from])
            .map(|(_, to, _)| format!("      - test: s{to}\n"))
            .collect();
        if !prereqs.is_empty() {
            text += &format!("    - prereq:\n{}", prereqs.concat());
        }
    }
    text
}

fn compiled(text: &str) -> Low {
    let mut files = MemorySources::new();
    files.add("base", "main.sls", text.as_bytes());
    try_compile_tree(files).unwrap_or_else(|faults| panic!("{faults:?} in\n{text}"))
}

proptest! {
    #[test]
    fn needs_come_first((hidden, edges, orders) in trees()) {
        let text = source(&hidden, &edges, &orders);
        // A state that is prerequired by a state that needs it is a cycle; such cases are skipped.
        let mut files = MemorySources::new();
        files.add("base", "main.sls", text.as_bytes());
        let low = match try_compile_tree(files) {
            Ok(low) => low,
            Err(faults) => {
                prop_assert!(text.contains("prereq"), "{faults:?}");
                prop_assert!(faults.iter().all(|fault| fault.text.starts_with("Recursive requisites")), "{faults:?}");
                return Ok(());
            }
        };
        prop_assert_eq!(low.chunks.len(), hidden.len());
        for (position, step) in low.steps.iter().enumerate() {
            for need in &step.needs {
                prop_assert!(need.step < position, "{position} needs {} in\n{text}", need.step);
            }
        }
        for (number, chunk) in low.chunks.iter().enumerate() {
            let steps: Vec<_> = low.steps.iter().filter(|step| step.chunk == number).collect();
            prop_assert_eq!(steps.len(), if chunk.prerequired { 2 } else { 1 });
            prop_assert_eq!(steps.iter().filter(|step| step.dry_run).count(), usize::from(chunk.prerequired));
            let has_prereq = steps.iter().any(|step| {
                !step.dry_run && step.needs.iter().any(|need| need.requisite == Requisite::Prereq)
            });
            prop_assert_eq!(has_prereq, chunk.prerequiring);
        }
    }

    #[test]
    fn without_requisites_numbers_decide(orders in prop::collection::vec(prop::option::weighted(0.5, 0i64..30_000), 1..40)) {
        let hidden: Vec<usize> = (0..orders.len()).collect();
        let low = compiled(&source(&hidden, &[], &orders));
        let mut numbers: Vec<f64> = low.chunks.iter().map(rocksalt_sls::Chunk::order).collect();
        let found = numbers.clone();
        numbers.sort_by(f64::total_cmp);
        prop_assert_eq!(found, numbers);
    }

    #[test]
    fn compiling_again_gives_the_same((hidden, edges, orders) in trees()) {
        let text = source(&hidden, &edges, &orders);
        let compile = || {
            let mut files = MemorySources::new();
            files.add("base", "main.sls", text.as_bytes());
            try_compile_tree(files).map(|low| low.into_value())
        };
        prop_assert_eq!(compile(), compile());
    }
}
