//! Cycles in a graph of imports.

use std::collections::{BTreeMap, BTreeSet};

/// The modules of a crate, each with the modules that it imports from. The root module is empty text.
pub(super) type ImportGraph = BTreeMap<String, BTreeSet<String>>;

/// Returns the largest sets of modules in which each module reaches each other one. Modules in no
/// cycle are left out.
pub(super) fn find_cycles(graph: &ImportGraph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), reachable(module, graph))).collect();
    let mut cycles: Vec<Vec<String>> = Vec::new();
    for module in graph.keys() {
        if cycles.iter().any(|cycle| cycle.contains(module)) {
            continue;
        }
        let is_mutual = |other: &&String| {
            let there =
                reached.get(module.as_str()).is_some_and(|set| set.contains(other.as_str()));
            there && reached.get(other.as_str()).is_some_and(|set| set.contains(module.as_str()))
        };
        let cycle: Vec<String> = graph.keys().filter(is_mutual).cloned().collect();
        if cycle.len() > 1 {
            cycles.push(cycle);
        }
    }
    cycles
}

/// Returns the modules that `module` imports from, directly or through others.
fn reachable<'a>(module: &'a str, graph: &'a ImportGraph) -> BTreeSet<&'a str> {
    let (mut reached, mut waiting) = (BTreeSet::new(), vec![module]);
    while let Some(module) = waiting.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                waiting.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(rows: &[(&str, &[&str])]) -> ImportGraph {
        let row = |(module, targets): &(&str, &[&str])| {
            ((*module).to_owned(), targets.iter().map(|&target| target.to_owned()).collect())
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn each_cycle_is_found_once_and_chains_are_not_cycles() {
        let chain = graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
        assert!(find_cycles(&chain).is_empty());
        let two = graph(&[
            ("a", &["b"]),
            ("b", &["c"]),
            ("c", &["a"]),
            ("d", &["e", "a"]),
            ("e", &["d"]),
        ]);
        assert_eq!(find_cycles(&two), [vec!["a", "b", "c"], vec!["d", "e"]]);
    }
}
