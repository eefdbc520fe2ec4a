//! Repositories, their hooks, and managers of hooks.

use super::{
    SteeringCategory::VersionControl,
    SteeringEffect::{Executes, Obeys},
    SteeringFile, file,
};

const GIT: &[&str] = &["git", "git-lfs", "delta", "gh", "tig", "lazygit"];
const HG: &[&str] = &["hg", "chg", "rhg"];

const fn repository(pattern: &'static str, source: &'static str) -> SteeringFile {
    file(pattern, VersionControl, Executes, source)
}

const fn hooks(pattern: &'static str, source: &'static str) -> SteeringFile {
    file(pattern, VersionControl, Executes, source).by(&["git"])
}

pub(super) const FILES: &[SteeringFile] = &[
    repository(".git/", "gitrepository-layout(5)").by(GIT),
    repository(".gitconfig", "git-config(1)").by(GIT),
    repository(".config/git/", "git-config(1)").in_home().by(GIT),
    repository("/etc/gitconfig", "git-config(1)").in_system().by(GIT),
    repository(".gitmodules", "gitmodules(5)").by(GIT),
    // Attributes choose among the programs that a configuration names.
    file(".gitattributes", VersionControl, Obeys, "gitattributes(5)").by(GIT).unprotected(),
    repository(".githooks/", "git-config(1): a common core.hooksPath").by(&["git"]),
    repository(".git-hooks/", "git-config(1): a common core.hooksPath").by(&["git"]),
    repository(".hg/", "hgrc(5)").by(HG),
    repository(".hgrc", "hgrc(5)").by(HG),
    repository(".config/hg/", "hgrc(5)").in_home().by(HG),
    repository("/etc/mercurial/", "hgrc(5)").in_system().by(HG),
    file(".hgsub", VersionControl, Obeys, "hg help subrepos").by(HG),
    file(".hgsubstate", VersionControl, Obeys, "hg help subrepos").by(HG),
    repository(".jj/", "jj: docs/config.md").by(&["jj"]),
    repository(".jjconfig.toml", "jj: docs/config.md").by(&["jj"]),
    repository(".config/jj/", "jj: docs/config.md").in_home().by(&["jj"]),
    repository(".svn/", "svn: runtime configuration").by(&["svn"]),
    repository(".subversion/", "svn: runtime configuration").in_home().by(&["svn"]),
    repository("/etc/subversion/", "svn: runtime configuration").in_system().by(&["svn"]),
    repository(".bzr/", "bzr help configuration").by(&["bzr", "brz"]),
    repository(".bazaar/", "bzr help configuration").in_home().by(&["bzr", "brz"]),
    repository(".config/breezy/", "brz help configuration").in_home().by(&["bzr", "brz"]),
    repository("_darcs/", "darcs: defaults and posthooks").by(&["darcs"]),
    repository(".darcs/", "darcs: defaults and posthooks").in_home().by(&["darcs"]),
    repository(".pijul/", "pijul: hooks").by(&["pijul"]),
    repository(".sl/", "Sapling: configuration").by(&["sl"]),
    repository(".fslckout", "fossil: settings").by(&["fossil"]),
    repository("_FOSSIL_", "fossil: settings").by(&["fossil"]),
    repository(".fossil-settings/", "fossil: settings").by(&["fossil"]),
    repository(".p4config", "p4: environment").by(&["p4"]),
    hooks(".husky/", "husky: typicode.github.io/husky"),
    hooks(".huskyrc", "husky 4"),
    hooks(".huskyrc.*", "husky 4"),
    hooks(".simple-git-hooks.*", "simple-git-hooks: README"),
    hooks("simple-git-hooks.*", "simple-git-hooks: README"),
    hooks(".lefthook/", "lefthook: docs/configuration.md"),
    hooks(".lefthook-local/", "lefthook: docs/configuration.md"),
    hooks("lefthook.*", "lefthook: docs/configuration.md"),
    hooks(".lefthook.*", "lefthook: docs/configuration.md"),
    hooks("lefthook-local.*", "lefthook: docs/configuration.md"),
    hooks(".lefthook-local.*", "lefthook: docs/configuration.md"),
    hooks(".config/lefthook*", "lefthook: docs/configuration.md"),
    hooks(".pre-commit-config.yaml", "pre-commit.com"),
    hooks(".pre-commit-config.yml", "pre-commit.com"),
    hooks(".pre-commit-hooks.yaml", "pre-commit.com"),
    hooks("prek.toml", "prek: configuration"),
    hooks(".overcommit.yml", "overcommit: README"),
    hooks(".overcommit/", "overcommit: README"),
    hooks("captainhook.json", "CaptainHook: docs"),
    hooks("grumphp.yml", "GrumPHP: README"),
    hooks(".rusty-hook.toml", "rusty-hook: README"),
    hooks("cog.toml", "cocogitto: hooks"),
    hooks(".lintstagedrc", "lint-staged: README"),
    hooks(".lintstagedrc.*", "lint-staged: README"),
    hooks("lint-staged.config.*", "lint-staged: README"),
    hooks(".nano-staged.*", "nano-staged: README"),
    hooks("commitlint.config.*", "commitlint: configuration"),
    hooks(".commitlintrc.*", "commitlint: configuration"),
    hooks(".commitlintrc", "commitlint: configuration"),
    hooks(".czrc", "commitizen: README"),
    hooks(".cz.*", "commitizen: README"),
    repository(".config/gh/", "gh help environment").in_home().by(&["gh"]),
    repository(".config/lazygit/", "lazygit: custom commands").in_home().by(&["lazygit"]),
    repository(".tigrc", "tigrc(5)").by(&["tig"]),
];
