//! Repositories, their hooks, and hook managers.

use super::steering_file::{
    SteeringCategory::VersionControl,
    SteeringEffect::{Executes, Obeys},
    SteeringFile, steering_file,
};

const GIT: &[&str] = &["git", "git-lfs", "delta", "gh", "tig", "lazygit"];
const HG: &[&str] = &["hg", "chg", "rhg"];

const fn repository_file(pattern: &'static str, source: &'static str) -> SteeringFile {
    steering_file(pattern, VersionControl, Executes, source)
}

const fn git_hook_file(pattern: &'static str, source: &'static str) -> SteeringFile {
    steering_file(pattern, VersionControl, Executes, source).with_programs(&["git"])
}

pub(super) const FILES: &[SteeringFile] = &[
    repository_file(".git/", "gitrepository-layout(5)").with_programs(GIT),
    repository_file(".gitconfig", "git-config(1)").with_programs(GIT),
    repository_file(".config/git/", "git-config(1)").with_home_location().with_programs(GIT),
    repository_file("/etc/gitconfig", "git-config(1)").with_system_location().with_programs(GIT),
    repository_file(".gitmodules", "gitmodules(5)").with_programs(GIT),
    // Attributes select among the programs that a configuration names.
    steering_file(".gitattributes", VersionControl, Obeys, "gitattributes(5)")
        .with_programs(GIT)
        .without_protection(),
    repository_file(".githooks/", "git-config(1): a common core.hooksPath").with_programs(&["git"]),
    repository_file(".hooks/", "git-config(1): a common core.hooksPath").with_programs(&["git"]),
    repository_file(".git-hooks/", "git-config(1): a common core.hooksPath")
        .with_programs(&["git"]),
    repository_file(".hg/", "hgrc(5)").with_programs(HG),
    repository_file(".hgrc", "hgrc(5)").with_programs(HG),
    repository_file(".config/hg/", "hgrc(5)").with_home_location().with_programs(HG),
    repository_file("/etc/mercurial/", "hgrc(5)").with_system_location().with_programs(HG),
    steering_file(".hgsub", VersionControl, Obeys, "hg help subrepos").with_programs(HG),
    steering_file(".hgsubstate", VersionControl, Obeys, "hg help subrepos").with_programs(HG),
    repository_file(".jj/", "jj: docs/config.md").with_programs(&["jj"]),
    repository_file(".jjconfig.toml", "jj: docs/config.md").with_programs(&["jj"]),
    repository_file(".config/jj/", "jj: docs/config.md")
        .with_home_location()
        .with_programs(&["jj"]),
    repository_file(".svn/", "svn: runtime configuration").with_programs(&["svn"]),
    repository_file(".subversion/", "svn: runtime configuration")
        .with_home_location()
        .with_programs(&["svn"]),
    repository_file("/etc/subversion/", "svn: runtime configuration")
        .with_system_location()
        .with_programs(&["svn"]),
    repository_file(".bzr/", "bzr help configuration").with_programs(&["bzr", "brz"]),
    repository_file(".bazaar/", "bzr help configuration")
        .with_home_location()
        .with_programs(&["bzr", "brz"]),
    repository_file(".config/breezy/", "brz help configuration")
        .with_home_location()
        .with_programs(&["bzr", "brz"]),
    repository_file("_darcs/", "darcs: defaults and posthooks").with_programs(&["darcs"]),
    repository_file(".darcs/", "darcs: defaults and posthooks")
        .with_home_location()
        .with_programs(&["darcs"]),
    repository_file(".pijul/", "pijul: hooks").with_programs(&["pijul"]),
    repository_file(".sl/", "Sapling: configuration").with_programs(&["sl"]),
    repository_file(".fslckout", "fossil: settings").with_programs(&["fossil"]),
    repository_file("_FOSSIL_", "fossil: settings").with_programs(&["fossil"]),
    repository_file(".fossil-settings/", "fossil: settings").with_programs(&["fossil"]),
    repository_file(".p4config", "p4: environment").with_programs(&["p4"]),
    git_hook_file(".husky/", "husky: typicode.github.io/husky"),
    git_hook_file(".huskyrc", "husky 4"),
    git_hook_file(".huskyrc.*", "husky 4"),
    git_hook_file(".simple-git-hooks.*", "simple-git-hooks: README"),
    git_hook_file("simple-git-hooks.*", "simple-git-hooks: README"),
    git_hook_file(".lefthook/", "lefthook: docs/configuration.md"),
    git_hook_file(".lefthook-local/", "lefthook: docs/configuration.md"),
    git_hook_file("lefthook.*", "lefthook: docs/configuration.md"),
    git_hook_file(".lefthook.*", "lefthook: docs/configuration.md"),
    git_hook_file("lefthook-local.*", "lefthook: docs/configuration.md"),
    git_hook_file(".lefthook-local.*", "lefthook: docs/configuration.md"),
    git_hook_file(".config/lefthook*", "lefthook: docs/configuration.md"),
    git_hook_file(".pre-commit-config.yaml", "pre-commit.com"),
    git_hook_file(".pre-commit-config.yml", "pre-commit.com"),
    git_hook_file(".pre-commit-hooks.yaml", "pre-commit.com"),
    git_hook_file("prek.toml", "prek: configuration"),
    git_hook_file(".overcommit.yml", "overcommit: README"),
    git_hook_file(".overcommit/", "overcommit: README"),
    git_hook_file("captainhook.json", "CaptainHook: docs"),
    git_hook_file("grumphp.yml", "GrumPHP: README"),
    git_hook_file(".rusty-hook.toml", "rusty-hook: README"),
    git_hook_file("cog.toml", "cocogitto: hooks"),
    git_hook_file(".lintstagedrc", "lint-staged: README"),
    git_hook_file(".lintstagedrc.*", "lint-staged: README"),
    git_hook_file("lint-staged.config.*", "lint-staged: README"),
    git_hook_file(".nano-staged.*", "nano-staged: README"),
    git_hook_file("commitlint.config.*", "commitlint: configuration"),
    git_hook_file(".commitlintrc.*", "commitlint: configuration"),
    git_hook_file(".commitlintrc", "commitlint: configuration"),
    git_hook_file(".czrc", "commitizen: README"),
    git_hook_file(".cz.*", "commitizen: README"),
    repository_file(".config/gh/", "gh help environment")
        .with_home_location()
        .with_programs(&["gh"]),
    repository_file(".config/lazygit/", "lazygit: custom commands")
        .with_home_location()
        .with_programs(&["lazygit"]),
    repository_file(".tigrc", "tigrc(5)").with_programs(&["tig"]),
];
