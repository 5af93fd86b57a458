//! [`RequisiteGraph`]: the steps and their requisites, as a graph with several kinds of edges.

use rocksalt_core::hash::{HashMap, HashSet};

use super::Requisite;

/// The largest number of edges: with more, a compilation would hardly end.
pub(super) const MAX_EDGES: usize = 5_000_000;

pub(super) struct RequisiteGraph {
    pub nodes: Vec<GraphNode>,
    /// For each node, its requisites in the order in which they were found.
    pub needs: Vec<Vec<(u32, Requisite)>>,
    /// For each node, the nodes that depend on it.
    pub needed_by: Vec<Vec<(u32, Requisite)>>,
    /// All edges, to add each only once.
    edges: HashSet<(u32, u32, Requisite)>,
    /// The node of the dry run for each prerequired chunk.
    pub dry_runs: HashMap<u32, u32>,
    /// The chunks that have a `prereq`.
    pub prerequiring: HashSet<u32>,
}

#[derive(Clone, Copy)]
pub(super) struct GraphNode {
    pub chunk: u32,
    pub dry_run: bool,
}

impl RequisiteGraph {
    /// Creates one node for each chunk, with the chunk's number.
    pub fn new(chunks: usize) -> RequisiteGraph {
        let count = u32::try_from(chunks).unwrap_or(u32::MAX);
        RequisiteGraph {
            nodes: (0..count).map(|chunk| GraphNode { chunk, dry_run: false }).collect(),
            needs: vec![Vec::new(); chunks],
            needed_by: vec![Vec::new(); chunks],
            edges: HashSet::with_capacity_and_hasher(chunks, Default::default()),
            dry_runs: HashMap::default(),
            prerequiring: HashSet::default(),
        }
    }

    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Makes `node` depend on `needed`. If `node` has a dry run, the dry run depends on it too.
    pub fn require(&mut self, node: u32, requisite: Requisite, needed: u32) {
        if requisite == Requisite::Prereq {
            return self.prereq(node, needed);
        }
        if let Some(dry_run) = self.dry_runs.get(&node).copied() {
            self.add(needed, dry_run, requisite);
        }
        self.add(needed, node, requisite);
    }

    /// Makes `node` run before `target`, and only if a dry run of `target` would change something.
    fn prereq(&mut self, node: u32, target: u32) {
        self.prerequiring.insert(node);
        let dry_run = match self.dry_runs.get(&target) {
            Some(dry_run) => *dry_run,
            None => {
                let dry_run = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
                self.nodes.push(GraphNode { chunk: target, dry_run: true });
                self.needs.push(Vec::new());
                self.needed_by.push(Vec::new());
                self.dry_runs.insert(target, dry_run);
                for (needed, requisite) in self.needs[target as usize].clone() {
                    if requisite != Requisite::Prereq {
                        self.add(needed, dry_run, requisite);
                    }
                }
                dry_run
            }
        };
        self.add(dry_run, node, Requisite::Prereq);
        self.add(node, target, Requisite::Require);
        // If `node` has a dry run, that waits too: chains of prereqs are evaluated from their innermost end.
        if let Some(own) = self.dry_runs.get(&node).copied() {
            self.add(dry_run, own, Requisite::Prereq);
        }
    }

    fn add(&mut self, from: u32, to: u32, requisite: Requisite) {
        if self.edges.insert((from, to, requisite)) {
            self.needs[to as usize].push((from, requisite));
            self.needed_by[from as usize].push((to, requisite));
        }
    }

    /// Finds the edges of a cycle as `(needed, node, requisite)`; each starts where the one before ended.
    pub fn find_cycle(&self) -> Vec<(u32, u32, Requisite)> {
        #[derive(Clone, Copy, PartialEq)]
        enum Color {
            New,
            Open,
            Done,
        }
        let mut colors = vec![Color::New; self.nodes.len()];
        for start in 0..self.nodes.len() {
            if colors[start] != Color::New {
                continue;
            }
            colors[start] = Color::Open;
            // The current path: nodes with the next edge to follow.
            let mut path: Vec<(usize, usize)> = vec![(start, 0)];
            while let Some((node, next)) = path.last_mut() {
                let node = *node;
                let Some((target, requisite)) = self.needed_by[node].get(*next).copied() else {
                    colors[node] = Color::Done;
                    path.pop();
                    continue;
                };
                *next += 1;
                let target_index = target as usize;
                match colors[target_index] {
                    Color::New => {
                        colors[target_index] = Color::Open;
                        path.push((target_index, 0));
                    }
                    Color::Open => {
                        let from = path.iter().position(|(node, _)| *node == target_index).unwrap_or(0);
                        let mut cycle: Vec<_> = path[from..path.len() - 1]
                            .iter()
                            .zip(&path[from + 1..])
                            .map(|((node, next), (to, _))| {
                                (*node as u32, *to as u32, self.needed_by[*node][*next - 1].1)
                            })
                            .collect();
                        cycle.push((node as u32, target, requisite));
                        return cycle;
                    }
                    Color::Done => {}
                }
            }
        }
        Vec::new()
    }
}
