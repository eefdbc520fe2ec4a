//! Decides again and again, for a profiler: `spin COUNT ROUNDS`.

use std::hint::black_box;

use openoxide_benches::rules::{compiled, context, mix, project, queries};
use openoxide_permission::{Combining, decide};

fn main() {
    let mut numbers = std::env::args().filter_map(|word| word.parse().ok());
    let (count, rounds) = (numbers.next().unwrap_or(10), numbers.next().unwrap_or(1_000));
    let (rules, project) = (mix(count), project());
    let policy = compiled(&rules, Combining::Strictest);
    let (queries, context) = (queries(&rules, true), context(&project));
    for _ in 0..rounds {
        for query in &queries {
            black_box(decide(&policy, &context, black_box(&query.access)));
        }
    }
}
