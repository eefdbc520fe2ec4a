//! The patterns of a command line: which files they stand for.

use std::fs;

use openoxide_protocol::{AbsPath, Access, CommandClass, Facts, PathAccess};

/// More files than this are not looked at one by one.
const MOST: usize = 512;
/// In a directory with more files it is not looked for names of options.
const MOST_NAMES: usize = 65_536;

/// Puts the files that are there in the place of each pattern. Where they are too many, or where one of their names would be
/// read as something else, the pattern becomes something that is not understood.
pub(crate) fn expand(facts: &mut Facts) {
    if !facts.accesses.iter().any(is_pattern) {
        return;
    }
    let all = std::mem::take(&mut facts.accesses);
    let mut looked_up = Vec::new();
    for access in all {
        if !is_pattern(&access) {
            facts.accesses.push(access);
        } else if let Access::Read(path) = &access
            && let Some(beginnings) = &path.option_names
        {
            looked_up.push((path.clone(), beginnings.clone()));
        } else if let Access::Read(path) = access {
            put(facts, path, Access::Read);
        } else if let Access::Edit(path) = access {
            put(facts, path, Access::Edit);
        }
    }
    for (path, beginnings) in looked_up {
        let found = made_by_script(&path, &beginnings, &facts.accesses)
            .or_else(|| named_like_option(&path, &beginnings));
        let opaque = |text| Access::Opaque { text, span: path.span };
        facts.accesses.extend(found.map(opaque));
    }
}

/// Returns why the script itself could make a file that matches and has the name of an option.
fn made_by_script(path: &PathAccess, beginnings: &str, accesses: &[Access]) -> Option<String> {
    let (directory, part) = split(&path.path)?;
    let makes = |access: &Access| match access {
        // Its own words say what it changes; others could make any file.
        Access::Exec(exec) => exec.class == CommandClass::Unknown && exec.span != path.span,
        Access::Edit(edited) => {
            let below = edited.path.as_str().strip_prefix(directory);
            edited.pattern
                || edited.printed
                || format!("{}/", edited.path).ends_with(directory)
                || below.is_some_and(|name| begins_like_option(name, beginnings))
        }
        _ => false,
    };
    let made = accesses.iter().any(makes);
    made.then(|| format!("`{part}`: the script can make a file that is {}", path.written))
}

/// Returns the directory of a path, with a slash, and its last part.
fn split(path: &AbsPath) -> Option<(&str, &str)> {
    path.as_str().split_at_checked(path.as_str().rfind('/')? + 1)
}

fn is_pattern(access: &Access) -> bool {
    matches!(access, Access::Read(path) | Access::Edit(path) if path.pattern)
}

fn put(facts: &mut Facts, path: PathAccess, access: fn(PathAccess) -> Access) {
    match files(&path.path) {
        Some(files) => {
            for file in files {
                let written = file.to_string();
                let file = PathAccess { path: file, written, pattern: false, ..path.clone() };
                facts.accesses.push(access(file));
            }
            // Without a match the pattern stands for itself; and its letters tell what it looks for.
            let letters = path.path.as_str().replace(['*', '?'], "");
            if let Ok(plain) = AbsPath::new(&letters) {
                facts.accesses.push(access(PathAccess {
                    path: plain,
                    pattern: false,
                    ..path.clone()
                }));
            }
            facts.accesses.push(access(PathAccess { pattern: false, ..path }));
        }
        None => {
            facts.accesses.push(Access::Opaque { text: path.written, span: path.span });
        }
    }
}

/// Returns the file that may match and has the name of an option, as a sentence.
fn named_like_option(path: &PathAccess, beginnings: &str) -> Option<String> {
    let (directory, part) = split(&path.path)?;
    // Without a match the pattern is a word itself.
    let names = std::iter::once(part.to_owned());
    let found = fs::read_dir(directory).ok().into_iter().flatten().filter_map(Result::ok);
    let names = names.chain(found.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let pattern: Vec<char> = part.chars().collect();
    let mut seen = Vec::new();
    for (count, name) in names.enumerate() {
        if count > MOST_NAMES {
            return Some(format!("`{part}` in {directory}, which holds too many files"));
        }
        if !pieces(&name).any(|piece| begins_like_option(piece, beginnings)) {
            continue;
        }
        let letters: Vec<char> = name.chars().collect();
        if count == 0 || may_match(&pattern, &letters, &mut seen) {
            return Some(format!("the file `{name}`, which could be {}", path.written));
        }
    }
    None
}

/// Returns a name, and the words that the shell makes of it if it splits it.
fn pieces(name: &str) -> impl Iterator<Item = &str> {
    std::iter::once(name).chain(name.split_whitespace())
}

fn begins_like_option(name: &str, beginnings: &str) -> bool {
    beginnings.split(' ').any(|beginning| match beginning.strip_prefix('*') {
        Some(held) => name.contains(held),
        None => name.len() > 1 && name.starts_with(beginning),
    })
}

/// Returns the files that match; nothing if they are too many, or hard to name.
fn files(pattern: &AbsPath) -> Option<Vec<AbsPath>> {
    let mut places = vec![AbsPath::root()];
    let mut parts = pattern.as_str().split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        if !part.contains(['*', '?', '[']) {
            places = places.iter().map(|place| place.join(part)).collect();
            continue;
        }
        let mut next = Vec::new();
        for place in &places {
            matching(place, part, &mut next)?;
        }
        if parts.peek().is_some() {
            next.retain(|place| fs::metadata(place.as_str()).is_ok_and(|meta| meta.is_dir()));
        }
        places = next;
    }
    Some(places)
}

fn matching(place: &AbsPath, part: &str, found: &mut Vec<AbsPath>) -> Option<()> {
    let Ok(entries) = fs::read_dir(place.as_str()) else { return Some(()) };
    let pattern: Vec<char> = part.chars().collect();
    let mut seen = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let name = name.to_str()?;
        let letters: Vec<char> = name.chars().collect();
        if (name.starts_with('.') && !part.starts_with('.'))
            || !may_match(&pattern, &letters, &mut seen)
        {
            continue;
        }
        // The shell may split such a name, or look for files once more.
        let plain = !name.contains(|each: char| each.is_whitespace() || "*?[\\".contains(each));
        (plain && found.len() < MOST).then_some(())?;
        found.push(place.join(name));
    }
    Some(())
}

/// Returns whether a name may match a pattern; a bracket counts as any letter.
pub(crate) fn name_may_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    may_match(&pattern, &name, &mut Vec::new())
}

/// Says whether a name may match. A bracket, whatever stands in it, counts as any letter, and as itself. Every pair of
/// places is looked at once.
fn may_match(pattern: &[char], name: &[char], seen: &mut Vec<bool>) -> bool {
    let width = name.len() + 1;
    seen.clear();
    seen.resize((pattern.len() + 1) * width, false);
    let mut open = vec![(0, 0)];
    while let Some((at, place)) = open.pop() {
        match seen.get_mut(at * width + place) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let letter = name.get(place);
        match pattern.get(at) {
            None if letter.is_none() => return true,
            None => {}
            Some('*') => {
                open.push((at + 1, place));
                open.extend(letter.map(|_| (at, place + 1)));
            }
            Some('?') => open.extend(letter.map(|_| (at + 1, place + 1))),
            Some('[') if letter.is_some() => {
                let ends =
                    pattern.iter().enumerate().skip(at + 1).filter(|(_, each)| **each == ']');
                open.extend(ends.map(|(end, _)| (end + 1, place + 1)));
                open.extend((letter == Some(&'[')).then_some((at + 1, place + 1)));
            }
            Some(wanted) => open.extend((letter == Some(wanted)).then_some((at + 1, place + 1))),
        }
    }
    false
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
        let mut found: Vec<_> = match files(&root.join(pattern)) {
            Some(found) => found.iter().map(|file| file.below(&root).unwrap().to_owned()).collect(),
            None => return vec!["?".to_owned()],
        };
        found.sort();
        found
    }

    #[test]
    fn a_pattern_stands_for_the_files_that_are_there() {
        let names = ["a.rs", "b.rs", ".env", "src/id_rsa", "src/x.rs", "c[1].md"];
        assert_eq!(matched("*.rs", &names), ["a.rs", "b.rs"]);
        assert_eq!(matched("*", &names[..5]), ["a.rs", "b.rs", "src"]);
        assert_eq!(matched(".e*", &names), [".env"]);
        assert_eq!(matched("*/*", &names[..5]), ["src/id_rsa", "src/x.rs"]);
        assert_eq!(matched("[a-b].rs", &names), ["a.rs", "b.rs"]);
        assert_eq!(matched("nothing*", &names), [""; 0]);
    }

    #[test]
    fn a_name_that_the_shell_would_read_again_is_not_told() {
        assert_eq!(matched("*.rs", &["a .env .rs"]), ["?"]);
        assert_eq!(matched("*.md", &["c[1].md"]), ["?"]);
    }
}
