//! Settings of git that make it run nothing, and what a change of each affects (git-config(1)).
//!
//! The list is closed: a setting that is not in it may run a program, because versions of git add
//! such settings every year.

/// What a change of a setting affects. Nothing in the list runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitSettingEffect {
    /// Output, speed, or how files of the worktree and new local commits are written.
    Local,
    /// What a later command of git sends, contacts, overwrites, fetches or deletes.
    Reach,
    /// A check of names, objects or other users, or how long data can be restored.
    Protection,
}

/// The settings that affect only output, speed, and local files and commits. The format of a name
/// is `section.key`, or `section.*.key` with a subsection.
const LOCAL: &[&str] = &[
    "advice.detachedhead",
    "advice.skippedcherrypicks",
    "branch.*.description",
    "branch.*.rebase",
    "branch.sort",
    "color.ui",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commitgraph",
    "core.compression",
    "core.deltabasecachelimit",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.loosecompression",
    "core.multipackindex",
    "core.packedgitlimit",
    "core.packedgitwindowsize",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.splitindex",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.warnambiguousrefs",
    "core.whitespace",
    "diff.algorithm",
    "diff.renames",
    "extensions.relativeworktrees",
    "extensions.worktreeconfig",
    "feature.manyfiles",
    "fetch.parallel",
    "fetch.unpacklimit",
    "fetch.writecommitgraph",
    "gc.autodetach",
    "gc.writecommitgraph",
    "index.sparse",
    "index.threads",
    "index.version",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "log.date",
    "merge.conflictstyle",
    "merge.ff",
    "merge.log",
    "merge.renames",
    "notes.displayref",
    "pack.depth",
    "pack.packsizelimit",
    "pack.threads",
    "pack.window",
    "pack.windowmemory",
    "pull.ff",
    "pull.rebase",
    "rebase.abbreviatecommands",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.rebasemerges",
    "rebase.stat",
    "remote.*.tagopt",
    "rerere.autoupdate",
    "rerere.enabled",
    "status.branch",
    "status.short",
    "status.showuntrackedfiles",
    "submodule.*.branch",
    "submodule.*.ignore",
    "submodule.*.shallow",
    "submodule.*.update",
    "submodule.fetchjobs",
    "tag.sort",
    "user.email",
    "user.name",
    "user.useconfigonly",
    "versionsort.suffix",
];

/// The settings that change which remote a command uses, which branches and tags it sends, fetches,
/// overwrites or deletes there and here, and what `git gc` removes.
const REACH: &[&str] = &[
    "branch.*.merge",
    "branch.*.pushremote",
    "branch.*.remote",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "checkout.defaultremote",
    "core.worktree",
    "extensions.objectformat",
    "extensions.partialclone",
    "extensions.refstorage",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.recursesubmodules",
    "gc.auto",
    "gc.autopacklimit",
    "maintenance.auto",
    "maintenance.strategy",
    "notes.rewriteref",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "push.recursesubmodules",
    "rebase.updaterefs",
    "remote.*.fetch",
    "remote.*.mirror",
    "remote.*.partialclonefilter",
    "remote.*.promisor",
    "remote.*.prune",
    "remote.*.prunetags",
    "remote.*.push",
    "remote.*.pushurl",
    "remote.*.skipdefaultupdate",
    "remote.*.skipfetchall",
    "remote.*.url",
    "remote.pushdefault",
    "submodule.*.active",
    "submodule.*.fetchrecursesubmodules",
    "submodule.*.url",
    "submodule.active",
    "submodule.propagatebranches",
    "submodule.recurse",
];

/// The settings that are protections. `core.fsmonitor=false` overrides a command of the user's
/// configuration.
const PROTECTIONS: &[&str] = &[
    "core.fsmonitor",
    "core.fsync",
    "core.logallrefupdates",
    "core.protecthfs",
    "core.protectntfs",
    "core.sharedrepository",
    "extensions.preciousobjects",
    "gc.pruneexpire",
    "gc.reflogexpire",
    "gc.reflogexpireunreachable",
    "rebase.missingcommitscheck",
    "receive.denynonfastforwards",
    "transfer.fsckobjects",
];

/// Returns what a change of this setting affects, or `None` if the setting is not known to run
/// nothing. The name is in lower case, and `*` replaces its subsection.
///
/// The values of some settings decide whether git runs something: URLs, `submodule.*.update` and
/// `core.fsmonitor`. The caller checks them.
#[must_use]
pub fn git_setting_effect(name: &str) -> Option<GitSettingEffect> {
    let lists = [
        (LOCAL, GitSettingEffect::Local),
        (REACH, GitSettingEffect::Reach),
        (PROTECTIONS, GitSettingEffect::Protection),
    ];
    lists.into_iter().find_map(|(names, effect)| names.contains(&name).then_some(effect))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_listed_once() {
        let mut seen = std::collections::BTreeSet::new();
        for name in [LOCAL, REACH, PROTECTIONS].into_iter().flatten() {
            assert!(seen.insert(name), "{name} is listed twice");
            assert_eq!(*name, name.to_ascii_lowercase());
        }
    }

    #[test]
    fn no_setting_of_a_remote_that_sends_or_deletes_is_local() {
        for name in ["remote.*.mirror", "remote.*.push", "fetch.prune", "push.default"] {
            assert_eq!(git_setting_effect(name), Some(GitSettingEffect::Reach), "{name}");
        }
        assert_eq!(git_setting_effect("gc.pruneexpire"), Some(GitSettingEffect::Protection));
        assert_eq!(git_setting_effect("user.name"), Some(GitSettingEffect::Local));
        assert_eq!(git_setting_effect("core.pager"), None);
    }
}
