//! One decision on an analyzed command, with 10 to 100,000 rules, compared with other engines in
//! the same rounds.
//!
//! `cargo bench --bench decide [-- COUNT…] [growth]`

use std::hint::black_box;

use openoxide_benches::{
    clock::{Contestant, Measured, interleaved, thread_time},
    peers::{Engine, Globset, Linear, PrefixMap, RegexLinear, RegexSets, Wildmatch, naive},
    rules::{
        BenchRule, Query, SHAPES, compiled, context, mix, partly_known, project, queries, shaped,
    },
    table,
};
use openoxide_permission::{Combining, PolicyStack, decide};
use openoxide_protocol::{AbsPath, Effect};

const ROUNDS: usize = 60;
/// Beyond this many rules, these take gigabytes or seconds.
const REGEX_LIMIT: usize = 10_000;

struct OpenOxide {
    policy: PolicyStack,
    project: AbsPath,
}

impl OpenOxide {
    fn new(rules: &[BenchRule], combining: Combining) -> Self {
        Self { policy: compiled(rules, combining), project: project() }
    }
}

impl Engine for OpenOxide {
    fn ask(&self, query: &Query) -> Option<Effect> {
        let outcome = decide(&self.policy, &context(&self.project), &query.access);
        outcome.ruling.map(|ruling| ruling.effect)
    }
}

/// An engine and what it took to build it.
struct Entry {
    name: &'static str,
    engine: Box<dyn Engine>,
    build: f64,
    /// True if the engine claims the semantics of the naive scan.
    equal: bool,
}

fn entry<E: Engine + 'static>(name: &'static str, build: impl FnOnce() -> E) -> Entry {
    let before = thread_time();
    let engine = Box::new(build());
    Entry { name, engine, build: (thread_time() - before).as_nanos() as f64, equal: true }
}

fn engines(rules: &[BenchRule], automata: bool) -> Vec<Entry> {
    let mut all = vec![
        entry("OpenOxide", || OpenOxide::new(rules, Combining::LastMatch)),
        entry("linear scan, by hand", || Linear::new(rules)),
        entry("wildmatch, linear", || Wildmatch::new(rules)),
        Entry { equal: false, ..entry("prefix HashMap (as Codex)", || PrefixMap::new(rules)) },
    ];
    if automata && Globset::new(rules).is_ok() {
        all.push(entry("globset", || Globset::new(rules).expect("it was built before")));
    }
    if automata && rules.len() <= REGEX_LIMIT {
        all.push(entry("regex, linear", || RegexLinear::new(rules)));
        all.push(entry("RegexSet", || RegexSets::new(rules)));
    }
    all
}

/// Every engine that claims the same semantics gives the same answers, or nothing is timed.
fn check(rules: &[BenchRule], queries: &[Query], engines: &[Entry]) {
    for query in queries {
        let expected = naive(rules, query);
        for entry in engines.iter().filter(|entry| entry.equal) {
            assert_eq!(entry.engine.ask(query), expected, "{} on {:?}", entry.name, query.text);
        }
    }
}

fn contestant<'a>(name: &str, engine: &'a dyn Engine, queries: &'a [Query]) -> Contestant<'a> {
    let work = move || {
        for query in queries {
            black_box(engine.ask(black_box(query)));
        }
    };
    Contestant { name: name.to_owned(), work: Box::new(work), units: queries.len() }
}

fn measure(engines: &[Entry], queries: &[Query]) -> Vec<Measured> {
    let all = engines.iter().map(|entry| contestant(entry.name, &*entry.engine, queries));
    interleaved(all.collect(), ROUNDS)
}

fn report(title: &str, rules: &[BenchRule], queries: &[Query], automata: bool) {
    let engines = engines(rules, automata);
    check(rules, queries, &engines);
    let measured = measure(&engines, queries);
    println!("\n{title}, {} rules: one decision, median (min)\n", rules.len());
    table::head(&["engine", "one decision", "× OpenOxide", "to build"]);
    for (one, entry) in measured.iter().zip(&engines) {
        let ratio = format!("{:.1}", one.median / measured[0].median);
        table::row([
            one.name.clone(),
            table::both(one.median, one.min),
            ratio,
            table::time(entry.build),
        ]);
    }
}

/// Our own growth, every size in the same rounds, commands alone and strictest-wins as it is by default.
fn growth(counts: &[usize]) {
    let sizes: Vec<_> = counts
        .iter()
        .map(|count| {
            let rules = mix(*count);
            let queries = [queries(&rules, true), queries(&rules, false), partly_known()];
            (*count, OpenOxide::new(&rules, Combining::Strictest), queries)
        })
        .collect();
    let all = sizes.iter().flat_map(|(count, engine, [commands, mixed, partly])| {
        [
            contestant(&format!("{count} commands"), engine, commands),
            contestant(&format!("{count} mixed"), engine, mixed),
            contestant(&format!("{count} partly known commands"), engine, partly),
        ]
    });
    let measured = interleaved(all.collect(), ROUNDS);
    println!("\nGrowth, strictest wins, all sizes in the same rounds: median (min)\n");
    table::head(&["rules and questions", "one decision", "× the first", "bytes for a rule"]);
    for (index, one) in measured.iter().enumerate() {
        let ratio = format!("{:.1}", one.median / measured[index % 3].median);
        let (count, engine, _) = &sizes[index / 3];
        let bytes = (engine.policy.as_bytes().len() / count).to_string();
        table::row([one.name.clone(), table::both(one.median, one.min), ratio, bytes]);
    }
}

fn main() {
    let counts: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![10, 100, 1000, 10_000, 100_000] } else { counts };
    growth(&counts);
    if std::env::args().any(|word| word == "growth") {
        return;
    }
    for count in &counts {
        let rules = mix(*count);
        report("Commands", &rules, &queries(&rules, true), true);
        report("Mixed questions", &rules, &queries(&rules, false), true);
    }
    for shape in SHAPES {
        for (count, automata) in [(10_000, shape.automata), (100_000, false)] {
            let rules = shaped(shape, count);
            report(shape.name, &rules, &queries(&rules, true), automata);
        }
    }
}
