//! The programs that a project is built with, from the names of its files. The contents of the files
//! are not read, because the project may be hostile.

use std::{collections::BTreeSet, fs, path::Path};

/// The maximum number of entries of a directory that are examined.
const MAX_ENTRIES: usize = 1024;

/// A program that a project is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProjectKind {
    /// Rust: `Cargo.toml`.
    Cargo,
    /// JavaScript with npm: `package.json` without another lock file.
    Npm,
    /// JavaScript with pnpm: `pnpm-lock.yaml`.
    Pnpm,
    /// JavaScript with Yarn: `yarn.lock`.
    Yarn,
    /// JavaScript with Bun: `bun.lock`.
    Bun,
    /// Python: `pyproject.toml`, `setup.py` or `requirements.txt`.
    Python,
    /// Python with uv: `uv.lock`.
    Uv,
    /// Python with Poetry: `poetry.lock`.
    Poetry,
    /// Go: `go.mod`.
    Go,
    /// A makefile.
    Make,
    /// A `Dockerfile` or a compose file.
    Docker,
    /// Terraform: `*.tf`.
    Terraform,
}

impl ProjectKind {
    /// Returns the display name.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Cargo => "Cargo",
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "Yarn",
            Self::Bun => "Bun",
            Self::Python => "Python",
            Self::Uv => "uv",
            Self::Poetry => "Poetry",
            Self::Go => "Go",
            Self::Make => "Make",
            Self::Docker => "Docker",
            Self::Terraform => "Terraform",
        }
    }

    /// Returns the kind of project to which a file belongs.
    fn from_file_name(name: &str) -> Option<Self> {
        Some(match name {
            "Cargo.toml" => Self::Cargo,
            "package.json" | "package-lock.json" => Self::Npm,
            "pnpm-lock.yaml" => Self::Pnpm,
            "yarn.lock" => Self::Yarn,
            "bun.lock" | "bun.lockb" => Self::Bun,
            "pyproject.toml" | "setup.py" | "setup.cfg" | "requirements.txt" => Self::Python,
            "uv.lock" => Self::Uv,
            "poetry.lock" => Self::Poetry,
            "go.mod" => Self::Go,
            "Makefile" | "makefile" | "GNUmakefile" => Self::Make,
            "Dockerfile"
            | "Containerfile"
            | "compose.yaml"
            | "compose.yml"
            | "docker-compose.yaml"
            | "docker-compose.yml" => Self::Docker,
            name if name.ends_with(".tf") => Self::Terraform,
            _ => return None,
        })
    }
}

/// Returns the kinds of a project, from its directory and its direct subdirectories.
pub(super) fn find_project_kinds(project: &Path) -> BTreeSet<ProjectKind> {
    let top = DirectoryNames::read(project);
    let below = top.directories.iter().map(|name| DirectoryNames::read(&project.join(name)));
    below.chain([top.clone()]).flat_map(|names| names.kinds()).collect()
}

/// The names in a directory.
#[derive(Clone, Debug, Default)]
struct DirectoryNames {
    files: Vec<String>,
    /// The directories that may contain a part of the project. Links are not followed.
    directories: Vec<String>,
}

impl DirectoryNames {
    fn read(directory: &Path) -> Self {
        let mut names = Self::default();
        for entry in fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_ENTRIES) {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            if kind.is_file() {
                names.files.push(name);
            } else if kind.is_dir() && !name.starts_with('.') && name != "node_modules" {
                names.directories.push(name);
            }
        }
        names
    }

    fn kinds(&self) -> BTreeSet<ProjectKind> {
        let found = self.files.iter().filter_map(|name| ProjectKind::from_file_name(name));
        let mut kinds: BTreeSet<ProjectKind> = found.collect();
        if kinds.contains(&ProjectKind::Uv) || kinds.contains(&ProjectKind::Poetry) {
            kinds.remove(&ProjectKind::Python);
        }
        let has_lock = |names: &[&str]| self.files.iter().any(|file| names.contains(&&**file));
        if !has_lock(&["package-lock.json"])
            && has_lock(&["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"])
        {
            kinds.remove(&ProjectKind::Npm);
        }
        kinds
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn kinds_come_from_the_names_of_files_and_links_are_not_followed() {
        let project = TempDir::new().unwrap();
        let path = project.path();
        assert!(find_project_kinds(path).is_empty());
        for directory in ["web", "node_modules", ".hidden", "deep/er", "go.mod"] {
            fs::create_dir_all(path.join(directory)).unwrap();
        }
        for file in [
            "Cargo.toml",
            "web/package.json",
            "web/pnpm-lock.yaml",
            "node_modules/setup.py",
            ".hidden/setup.py",
            "deep/er/Makefile",
            "main.tf",
        ] {
            fs::write(path.join(file), "").unwrap();
        }
        let elsewhere = TempDir::new().unwrap();
        fs::write(elsewhere.path().join("Dockerfile"), "").unwrap();
        symlink(elsewhere.path(), path.join("link")).unwrap();
        symlink(elsewhere.path().join("Dockerfile"), path.join("Dockerfile")).unwrap();
        let found: Vec<_> = find_project_kinds(path).into_iter().collect();
        assert_eq!(found, [ProjectKind::Cargo, ProjectKind::Pnpm, ProjectKind::Terraform]);
    }
}
