//! Which files a program searches below a directory: `grep -r`, `rg`, `ag`, `ack`.

use openoxide_protocol::Search;

use super::{
    super::{
        Arg, Arguments, Effect, Meaning, Target,
        items::{Item, items},
        level::Level,
    },
    base_name,
};

/// Adds to each directory that is read which files below it are searched.
pub(super) fn add_search(
    meaning: &mut Meaning,
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) {
    let name = from.checked_sub(1).and_then(|at| arguments.known(at)).map_or("", base_name);
    let Some(search) = search(level, name, arguments, from) else { return };
    let targets: Vec<Target> = meaning
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Reads(target @ (Target::File(_) | Target::Pattern(_))) => Some(target.clone()),
            _ => None,
        })
        .collect();
    let searches = targets.into_iter().map(|target| Effect::Searches(target, search.clone()));
    meaning.effects.extend(searches);
}

/// Returns which files are searched; nothing if no directory is, or if only names and numbers are printed.
fn search(
    level: &'static Level,
    name: &str,
    arguments: Arguments<'_>,
    from: usize,
) -> Option<Search> {
    let ripgrep = matches!(name, "rg" | "ripgrep");
    let silver = name == "ag";
    let always =
        ripgrep || silver || name.starts_with("ack") || matches!(name, "rgrep" | "ugrep" | "ug");
    let mut recursive = always;
    let mut unrestricted = 0;
    let mut search =
        Search { hidden: !(ripgrep || silver), ignored: !(ripgrep || silver), ..Search::default() };
    for item in items(level, arguments, from) {
        let Item::Option { option, value } = item else { continue };
        match option.name {
            "l" | "L" if !(option.name == "L" && ripgrep) => return None,
            "files-with-matches"
            | "files-without-match"
            | "c"
            | "count"
            | "count-matches"
            | "q"
            | "quiet"
            | "silent"
            | "files"
            | "type-list" => return None,
            "r" | "R" | "recursive" | "dereference-recursive" if !ripgrep => recursive = true,
            "d" | "directories" if value == Some(Arg::Known("recurse")) => recursive = true,
            "u" | "unrestricted" => unrestricted += 1,
            "hidden" | "." => search.hidden = true,
            "no-ignore" | "no-ignore-vcs" | "no-ignore-files" | "U" | "skip-vcs-ignores" | "a"
                if ripgrep && option.name.starts_with("no") || silver =>
            {
                search.ignored = true;
            }
            "t" | "type" if ripgrep => {
                if let Some(Arg::Known(kind)) = value {
                    search.included.push(format!("*.{kind}*"));
                }
            }
            "g" | "glob" | "iglob" | "include" if !silver => included(&mut search, value),
            "exclude" | "exclude-dir" => {
                if let Some(Arg::Known(pattern)) = value {
                    search.excluded.push(pattern.to_owned());
                }
            }
            _ => {}
        }
    }
    search.ignored |= unrestricted > 0;
    search.hidden |= unrestricted > usize::from(ripgrep);
    recursive.then_some(search)
}

fn included(search: &mut Search, value: Option<Arg<'_>>) {
    match value {
        Some(Arg::Known(pattern)) => match pattern.strip_prefix('!') {
            Some(excluded) => search.excluded.push(excluded.to_owned()),
            None => search.included.push(pattern.to_owned()),
        },
        // It could be any pattern.
        _ => search.included.push("*".to_owned()),
    }
}
