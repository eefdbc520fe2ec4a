//! A decision asks for no memory.

use std::hint::black_box;

use openoxide_benches::{
    counting::{Counting, allocations},
    rules::{Kind, compiled, context, mix, project, queries},
};
use openoxide_permission::{Combining, decide};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_decision_on_a_command_a_path_or_a_tool_allocates_nothing() {
    let project = project();
    for count in [10, 1000, 10_000] {
        let rules = mix(count);
        for combining in Combining::ALL {
            let policy = compiled(&rules, combining);
            let queries = [queries(&rules, true), queries(&rules, false)].concat();
            for query in queries.iter().filter(|query| query.kind != Kind::Host) {
                let before = allocations();
                black_box(decide(&policy, &context(&project), &query.access));
                assert_eq!(allocations() - before, 0, "{:?}", query.access);
            }
        }
    }
}

#[test]
fn the_counter_counts_allocations() {
    let before = allocations();
    black_box(vec![0_u8; 100]);
    assert!(allocations() > before);
}
