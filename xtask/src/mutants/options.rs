//! The arguments of `cargo xtask mutants`.

use std::path::Path;

use crate::Failure;

pub(crate) const ARGUMENTS: &str = "[--shard K/N] [--jobs N] [--own-tests] [--in-one-program [--sample N] [--seed N] [--steps N] [--iterate]] [CRATE|FILE]…";

/// A package whose mutants are tested.
struct Package {
    name: &'static str,
    /// The files that are examined where no file is named.
    files: &'static [&'static str],
    /// The packages whose tests run on the mutants that the own tests miss.
    tested_by: &'static [&'static str],
    /// The tests that run on one program with all mutants.
    steps: &'static [TestStep],
}

/// Tests of one package, which run on a mutant that the steps before missed.
#[derive(Debug)]
pub(super) struct TestStep {
    pub(super) package: &'static str,
    /// Parts of the names of tests; none for all.
    pub(super) only: &'static [&'static str],
    /// Parts of the names of tests that do not run.
    pub(super) skipped: &'static [&'static str],
}

const PACKAGES: [Package; 2] = [
    Package {
        name: "openoxide-permission",
        files: &["crates/openoxide-permission/src/**/*.rs"],
        tested_by: &["openoxide-engine", "openoxide-store", "openoxide-adapters", "openoxide-cli"],
        steps: &[TestStep { package: "openoxide-permission", only: &[], skipped: &[] }],
    },
    Package {
        name: "openoxide-shell",
        files: &[
            "crates/openoxide-shell/src/syntax.rs",
            "crates/openoxide-shell/src/syntax/**/*.rs",
            "crates/openoxide-shell/src/walk.rs",
            "crates/openoxide-shell/src/walk/**/*.rs",
        ],
        tested_by: &["openoxide-engine", "openoxide-cli"],
        steps: &[
            TestStep { package: "openoxide-shell", only: &[], skipped: SLOW_IN_SHELL },
            TestStep { package: "openoxide-cli", only: &["corpus::"], skipped: &[] },
            TestStep { package: "openoxide-engine", only: &[], skipped: &[] },
            TestStep { package: "openoxide-shell", only: SLOW_IN_SHELL, skipped: &[] },
        ],
    },
];

/// The tests of `openoxide-shell` that take a second and more.
const SLOW_IN_SHELL: &[&str] = &["by_chance", "nested_too_deep", "short_way", "referee"];

/// The files of one package whose mutants are tested.
#[derive(Debug)]
pub(super) struct Target {
    /// The name of the directory that the results are written to.
    pub(super) name: String,
    pub(super) package: &'static str,
    pub(super) files: Vec<String>,
    pub(super) tested_by: &'static [&'static str],
    pub(super) steps: &'static [TestStep],
}

#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) targets: Vec<Target>,
    pub(super) shard: Option<String>,
    pub(super) jobs: u32,
    pub(super) own_tests_only: bool,
    pub(super) in_one_program: bool,
    /// The number of mutants that run. They are the first ones of an order that looks random.
    pub(super) sample: Option<usize>,
    /// The number that chooses the order. Without one it is 0.
    pub(super) seed: u32,
    /// Only the first steps of the tests run.
    pub(super) steps: Option<usize>,
    /// Skips the mutants that an earlier run noticed.
    pub(super) iterate: bool,
}

/// Reads the arguments: packages and files, and which share of their mutants is tested.
pub(super) fn parse(arguments: &[String], root: &Path) -> Result<Options, Failure> {
    let mut options = Options { jobs: 1, ..Options::default() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--own-tests" => options.own_tests_only = true,
            "--shard" => options.shard = Some(shard(words.next())?),
            "--jobs" => options.jobs = number(word, words.next())?,
            "--in-one-program" => options.in_one_program = true,
            "--sample" => options.sample = Some(number(word, words.next())? as usize),
            "--seed" => options.seed = number(word, words.next())?,
            "--steps" => options.steps = Some(number(word, words.next())? as usize),
            "--iterate" => options.iterate = true,
            name => add(&mut options.targets, name, root)?,
        }
    }
    if options.targets.is_empty() {
        options.targets = PACKAGES.iter().map(whole).collect();
    }
    let has_order = options.sample.is_some() || options.seed > 0;
    let needs_one_program = has_order || options.steps.is_some() || options.iterate;
    if needs_one_program && !options.in_one_program {
        let message = "`--sample`, `--seed`, `--steps` and `--iterate` need `--in-one-program`";
        return Err(Failure::Usage(message.into()));
    }
    Ok(options)
}

fn shard(word: Option<&String>) -> Result<String, Failure> {
    let numbers = word.and_then(|word| word.split_once('/'));
    let numbers = numbers.and_then(|(k, n)| Some((k.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
    match numbers {
        Some((k, n)) if k < n => Ok(format!("{k}/{n}")),
        _ => Err(Failure::Usage("`--shard` needs K/N with K from 0 to N-1".into())),
    }
}

fn number(option: &str, word: Option<&String>) -> Result<u32, Failure> {
    let number = word.and_then(|word| word.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| Failure::Usage(format!("`{option}` needs a number")))
}

fn whole(package: &Package) -> Target {
    Target {
        name: package.name.to_owned(),
        package: package.name,
        files: package.files.iter().map(|file| (*file).to_owned()).collect(),
        tested_by: package.tested_by,
        steps: package.steps,
    }
}

/// Adds a package or a file. Files of one package are one target.
fn add(targets: &mut Vec<Target>, name: &str, root: &Path) -> Result<(), Failure> {
    if let Some(package) = PACKAGES.iter().find(|package| package.name == name) {
        targets.push(whole(package));
        return Ok(());
    }
    let holds = |package: &&Package| name.starts_with(&format!("crates/{}/src/", package.name));
    let package = PACKAGES.iter().find(holds).filter(|_| root.join(name).is_file());
    let package = package.ok_or_else(|| {
        let names = PACKAGES.map(|package| package.name).join(", ");
        Failure::Usage(format!("`{name}` is neither one of {names} nor a file of theirs"))
    })?;
    let files_of = format!("{}-files", package.name);
    match targets.iter_mut().find(|target| target.name == files_of) {
        Some(target) => target.files.push(name.to_owned()),
        None => {
            targets.push(Target { name: files_of, files: vec![name.to_owned()], ..whole(package) });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    fn read(words: &[&str]) -> Result<Options, Failure> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        parse(&words, root())
    }

    #[test]
    fn without_names_both_packages_are_tested() {
        let options = read(&[]).unwrap();
        let names: Vec<_> = options.targets.iter().map(|target| target.package).collect();
        assert_eq!(names, ["openoxide-permission", "openoxide-shell"]);
        assert_eq!((options.shard, options.jobs, options.own_tests_only), (None, 1, false));
    }

    #[test]
    fn files_of_one_package_are_one_target() {
        let [one, two] = ["rule_text.rs", "policy_stack.rs"]
            .map(|file| format!("crates/openoxide-permission/src/{file}"));
        let options = read(&[&one, "--own-tests", &two]).unwrap();
        assert_eq!(options.targets.len(), 1);
        assert_eq!(options.targets[0].files, [one, two]);
        assert!(options.own_tests_only);
    }

    #[test]
    fn every_pattern_of_files_finds_some() {
        for file in PACKAGES.iter().flat_map(|package| package.files) {
            let fixed = file.split("**").next().unwrap();
            assert!(root().join(fixed).exists(), "{file}");
        }
    }

    #[test]
    fn an_invalid_target_or_option_is_a_usage_failure() {
        for words in [
            &["openoxide-tui"][..],
            &["crates/openoxide-permission/src/no-such-file.rs"],
            &["crates/openoxide-tui/src/lib.rs"],
            &["--shard"],
            &["--shard", "3/3"],
            &["--shard", "1"],
            &["--jobs", "0"],
            &["--jobs"],
            &["--in-one-program", "--sample"],
            &["--sample", "3"],
            &["--seed", "3"],
            &["--iterate"],
        ] {
            assert!(matches!(read(words), Err(Failure::Usage(_))), "{words:?}");
        }
        assert_eq!(read(&["--shard", "2/3"]).unwrap().shard.as_deref(), Some("2/3"));
    }
}
