//! Expansion of the patterns of a command line to the files that match them.

use std::{fs, path::Path};

use openoxide_protocol::{AbsPath, Access, CommandClass, OperationFacts, PathAccess};

use crate::{name_pattern::NamePattern, real_path::real_path, step_budget::StepBudget};

/// The maximum number of files that a pattern expands to.
const MAX_FILES: usize = 512;
/// The maximum number of files in a directory that is searched for names of options.
const MAX_NAMES: usize = 65_536;

/// Replaces each pattern by the existing files that match it. If there are too many, or if a name
/// would be read as something else, the pattern becomes opaque.
pub(crate) fn expand_patterns(facts: &mut OperationFacts, cwd: &AbsPath, steps: &StepBudget) {
    if !facts.accesses.iter().any(is_pattern) {
        return;
    }
    let all = std::mem::take(&mut facts.accesses);
    let mut looked_up = Vec::new();
    for access in all {
        if !is_pattern(&access) {
            facts.accesses.push(access);
        } else if let Access::Read(path) = &access
            && let Some(beginnings) = &path.option_prefixes
        {
            looked_up.push((path.clone(), beginnings.clone()));
        } else if let Access::Read(path) = access {
            replace_pattern(facts, path, Access::Read, (cwd, steps));
        } else if let Access::Edit(path) = access {
            replace_pattern(facts, path, Access::Edit, (cwd, steps));
        }
    }
    for (path, beginnings) in looked_up {
        let examined = steps.take_steps(1 + facts.accesses.len() / 8);
        let found = (!examined)
            .then(|| format!("`{}`: the script has too many files to examine", path.raw_path))
            .or_else(|| script_option_name_reason(&path, &beginnings, &facts.accesses))
            .or_else(|| find_option_like_name(&path, &beginnings, steps));
        let opaque = |text| Access::Opaque { text, span: path.span };
        facts.accesses.extend(found.map(opaque));
    }
}

/// Returns why the script itself could make a file that matches and has the name of an option.
fn script_option_name_reason(
    path: &PathAccess,
    beginnings: &str,
    accesses: &[Access],
) -> Option<String> {
    let (directory, part) = split_path(&path.path)?;
    let makes = |access: &Access| match access {
        // A command with a known class declares its own changes. Any other command could create any
        // file.
        Access::Exec(exec) => exec.class == CommandClass::Unknown && exec.span != path.span,
        Access::Edit(edited) => {
            let below = edited.path.as_str().strip_prefix(directory);
            edited.is_pattern
                || edited.has_piped_names
                || format!("{}/", edited.path).ends_with(directory)
                || below.is_some_and(|name| looks_like_option(name, beginnings))
        }
        Access::Read(_)
        | Access::Fetch { .. }
        | Access::Socket(_)
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::Repetition { .. }
        | Access::ExternalDirectory(_)
        | Access::Opaque { .. } => false,
    };
    let made = accesses.iter().any(makes);
    made.then(|| format!("`{part}`: the script can make a file that is {}", path.raw_path))
}

/// Returns the directory of a path, with a slash, and its last part.
fn split_path(path: &AbsPath) -> Option<(&str, &str)> {
    path.as_str().split_at_checked(path.as_str().rfind('/')? + 1)
}

fn is_pattern(access: &Access) -> bool {
    matches!(access, Access::Read(path) | Access::Edit(path) if path.is_pattern)
}

fn replace_pattern(
    facts: &mut OperationFacts,
    path: PathAccess,
    access: fn(PathAccess) -> Access,
    (cwd, steps): (&AbsPath, &StepBudget),
) {
    // After a symbolic link, `..` leads to another directory than the lexical one.
    let pattern = match path.raw_path.contains("..") {
        true if path.raw_path.starts_with('/') => path.raw_path.clone(),
        true => format!("{cwd}/{}", path.raw_path),
        false => path.path.to_string(),
    };
    match find_matching_files(&pattern, steps) {
        Some(files) => {
            for file in files {
                let written = file.to_string();
                let file =
                    PathAccess { path: file, raw_path: written, is_pattern: false, ..path.clone() };
                facts.accesses.push(access(file));
            }
            // A pattern without a match is passed on literally. Its characters show which file it
            // is meant for.
            let letters = path.path.as_str().replace(['*', '?'], "");
            if let Ok(plain) = AbsPath::new(&letters) {
                facts.accesses.push(access(PathAccess {
                    path: plain,
                    is_pattern: false,
                    ..path.clone()
                }));
            }
            facts.accesses.push(access(PathAccess { is_pattern: false, ..path }));
        }
        None => {
            facts.accesses.push(Access::Opaque { text: path.raw_path, span: path.span });
        }
    }
}

/// Returns the file that may match and has the name of an option, as a sentence.
fn find_option_like_name(
    path: &PathAccess,
    beginnings: &str,
    steps: &StepBudget,
) -> Option<String> {
    let (directory, part) = split_path(&path.path)?;
    if !steps.take_directory() {
        return Some(format!("`{part}` in {directory}, which was not examined"));
    }
    // Without a match, the pattern itself is the word.
    let names = std::iter::once(part.to_owned());
    let found = fs::read_dir(directory).ok().into_iter().flatten().filter_map(Result::ok);
    let names = names.chain(found.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let pattern = NamePattern::new(part);
    for (count, name) in names.enumerate() {
        if count > MAX_NAMES || !steps.take_steps(1) {
            return Some(format!("`{part}` in {directory}, which contains too many files"));
        }
        if !split_words(&name).any(|piece| looks_like_option(piece, beginnings)) {
            continue;
        }
        if count == 0 || pattern.may_match(&name, steps).unwrap_or(true) {
            return Some(format!("the file `{name}`, which could be {}", path.raw_path));
        }
    }
    None
}

/// Returns a name, and the words that the shell makes of it if it splits it.
fn split_words(name: &str) -> impl Iterator<Item = &str> {
    std::iter::once(name).chain(name.split_whitespace())
}

fn looks_like_option(name: &str, beginnings: &str) -> bool {
    beginnings.split(' ').any(|beginning| match beginning.strip_prefix('*') {
        Some(held) => name.contains(held),
        None => name.len() > 1 && name.starts_with(beginning),
    })
}

/// Returns the files that match, or `None` if they are too many, have unusual names, or take too
/// many steps to find.
fn find_matching_files(pattern: &str, steps: &StepBudget) -> Option<Vec<AbsPath>> {
    let mut places = vec![AbsPath::root()];
    let mut parts = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).peekable();
    while let Some(part) = parts.next() {
        if part == ".." {
            let above: Option<Vec<_>> = places.iter().map(|place| parent(place, steps)).collect();
            places = above?.into_iter().flatten().collect();
            continue;
        }
        if !part.contains(['*', '?', '[']) {
            steps.take_steps(places.len() * (1 + pattern.len() / 64)).then_some(())?;
            places = places.iter().map(|place| place.join(part)).collect();
            continue;
        }
        let part = NamePattern::new(part);
        let mut next = Vec::new();
        for place in &places {
            collect_matching_entries(place, &part, &mut next, steps)?;
        }
        if parts.peek().is_some() {
            steps.take_steps(next.len() * 2).then_some(())?;
            next.retain(|place| fs::metadata(place.as_str()).is_ok_and(|meta| meta.is_dir()));
        }
        places = next;
    }
    Some(places)
}

/// Returns the parent directory of a path, or `Some(None)` if the path does not exist. Returns
/// `None` if this cannot be determined.
#[expect(clippy::option_option, reason = "not there and not known are two answers")]
fn parent(place: &AbsPath, steps: &StepBudget) -> Option<Option<AbsPath>> {
    let depth = place.as_str().split('/').count();
    steps.take_steps(1 + depth).then_some(())?;
    match real_path(Path::new(place.as_str())) {
        Ok(found) => {
            let above = found.parent().unwrap_or(&found);
            AbsPath::new(above.to_str()?).ok().map(Some)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(None),
        Err(_) => None,
    }
}

fn collect_matching_entries(
    place: &AbsPath,
    pattern: &NamePattern,
    found: &mut Vec<AbsPath>,
    steps: &StepBudget,
) -> Option<()> {
    steps.take_directory().then_some(())?;
    let Ok(entries) = fs::read_dir(place.as_str()) else { return Some(()) };
    if pattern.may_match_parent(steps)? {
        found.extend(parent(place, steps)?);
    }
    for entry in entries.filter_map(Result::ok) {
        steps.take_steps(1).then_some(())?;
        let name = entry.file_name();
        let name = name.to_str()?;
        if !pattern.may_match(name, steps)? {
            continue;
        }
        // The shell may split such a name, or expand it again.
        let plain = !name.contains(|each: char| each.is_whitespace() || "*?[\\".contains(each));
        (plain && found.len() < MAX_FILES && steps.take_steps(8)).then_some(())?;
        found.push(place.join(name));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(pattern: &str, names: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
            fs::write(dir.path().join(name), "").unwrap();
        }
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        let mut found: Vec<_> =
            match find_matching_files(&format!("{root}/{pattern}"), &StepBudget::new()) {
                Some(found) => {
                    found.iter().map(|file| file.strip_prefix(&root).unwrap().to_owned()).collect()
                }
                None => return vec!["?".to_owned()],
            };
        found.sort();
        found
    }

    #[test]
    fn a_pattern_expands_to_the_existing_files() {
        let names = ["a.rs", "b.rs", ".env", "src/id_rsa", "src/x.rs", "c[1].md"];
        assert_eq!(matched("*.rs", &names), ["a.rs", "b.rs"]);
        assert_eq!(matched("*", &names[..5]), ["a.rs", "b.rs", "src"]);
        assert_eq!(matched(".e*", &names), [".env"]);
        assert_eq!(matched("*/*", &names[..5]), ["src/id_rsa", "src/x.rs"]);
        assert_eq!(matched("[a-b].rs", &names), ["a.rs", "b.rs"]);
        assert_eq!(matched("nothing*", &names), [""; 0]);
    }

    #[test]
    fn a_name_that_the_shell_would_expand_again_is_opaque() {
        assert_eq!(matched("*.rs", &["a .env .rs"]), ["?"]);
        assert_eq!(matched("*.md", &["c[1].md"]), ["?"]);
    }
}
