//! The files that belong to the installation of a program.

use std::{
    collections::HashMap,
    fs,
    path::{Component, Path, PathBuf},
};

use super::machine::PATH;

/// The packages of a root directory, and their files.
pub(super) struct Installation {
    root: PathBuf,
    /// The source packages of files, by their paths.
    sources: HashMap<String, String>,
}

impl Installation {
    /// Reads what the package manager of Debian knows.
    pub(super) fn read(root: &Path) -> Self {
        let root = if root.as_os_str().is_empty() { Path::new("/") } else { root };
        let names = sources(root);
        let mut all = Self { root: root.to_path_buf(), sources: HashMap::new() };
        let lists = fs::read_dir(root.join("var/lib/dpkg/info")).into_iter().flatten();
        for entry in lists.filter_map(Result::ok) {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(package) = file.strip_suffix(".list") else { continue };
            let package = package.split(':').next().unwrap_or(package);
            let source = names.get(package).map_or(package, String::as_str);
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            for line in text.lines().filter(|line| is_code(line)) {
                all.sources.insert(line.to_owned(), source.to_owned());
            }
        }
        all
    }

    /// Returns an installation without packages.
    #[cfg(test)]
    pub(super) fn empty() -> Self {
        Self { root: PathBuf::from("/"), sources: HashMap::new() }
    }

    /// Returns whether a started program belongs to the installation of a program that the script
    /// names: it comes from the same source package, or it is an interpreter that runs a file of
    /// that package.
    pub(super) fn is_own(&self, script: &str, started: &str, words: &[String]) -> bool {
        let programs = script.split(|each: char| each.is_whitespace() || "|&;()".contains(each));
        let own: Vec<String> = programs.filter_map(|name| self.source_of_program(name)).collect();
        let belongs = |path: &str| self.source(path).is_some_and(|source| own.contains(&source));
        let operand = words.iter().skip(1).find(|word| !word.starts_with('-'));
        belongs(started) || operand.is_some_and(|file| file.starts_with('/') && belongs(file))
    }

    /// Returns the source package of a program that is found by its name.
    fn source_of_program(&self, name: &str) -> Option<String> {
        if name.is_empty() || name.contains('/') {
            return None;
        }
        let paths = PATH.split(':').map(|directory| format!("{directory}/{name}"));
        paths
            .filter(|path| self.outside(path).symlink_metadata().is_ok())
            .find_map(|path| self.source(&path))
    }

    /// Returns the source package of a file, or the directory of a file that was installed below
    /// `/opt`.
    fn source(&self, path: &str) -> Option<String> {
        let path = self.resolve(path)?;
        let mut parts = path.split('/').skip(1);
        if parts.next() == Some("opt") {
            let own: Vec<&str> = parts.take(2).collect();
            return Some(format!("/opt/{}", own.join("/")));
        }
        let other = path.strip_prefix("/usr").map_or_else(|| format!("/usr{path}"), str::to_owned);
        self.sources.get(&path).or_else(|| self.sources.get(&other)).cloned()
    }

    /// Returns where a path of the root directory is on this machine.
    fn outside(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Follows symbolic links inside of the root directory.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut rest: Vec<String> = parts(Path::new(path)).rev().collect();
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                drop(done.pop());
                continue;
            }
            let here = format!(
                "/{}",
                done.iter().chain([&part]).map(String::as_str).collect::<Vec<_>>().join("/")
            );
            match fs::read_link(self.outside(&here)) {
                Ok(target) if links < 40 => {
                    links += 1;
                    if target.is_absolute() {
                        done.clear();
                    }
                    rest.extend(parts(&target).rev());
                }
                _ => done.push(part),
            }
        }
        Some(format!("/{}", done.join("/")))
    }
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = String> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::ParentDir => Some("..".to_owned()),
        _ => None,
    })
}

/// Returns whether a path is where programs and their parts are.
fn is_code(path: &str) -> bool {
    let path = path.strip_prefix("/usr").unwrap_or(path);
    ["/bin/", "/sbin/", "/lib", "/games/", "/share/"].iter().any(|start| path.starts_with(start))
}

/// Returns the source packages of all packages that have another name than these.
fn sources(root: &Path) -> HashMap<String, String> {
    let text = fs::read_to_string(root.join("var/lib/dpkg/status")).unwrap_or_default();
    let mut all = HashMap::new();
    for entry in text.split("\n\n") {
        let field = |name: &str| entry.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(package), Some(source)) = (field("Package: "), field("Source: ")) {
            let source = source.split(' ').next().unwrap_or(source);
            all.insert(package.to_owned(), source.to_owned());
        }
    }
    all
}
