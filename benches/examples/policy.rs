//! Writes the rule mix as a policy file: `policy COUNT > policy.toml`.

use openoxide_benches::{policy::toml, rules::mix};

fn main() {
    let count = std::env::args().nth(1).and_then(|word| word.parse().ok());
    print!("{}", toml(&mix(count.unwrap_or(1_000))));
}
