//! The commit of changes of configuration and hooks of a repository. As after a run that is not
//! staged, only harmless settings are applied, and everything else is quarantined.

use std::{
    io::{self, Read as _},
    path::Path,
};

use crate::{
    interface::PostRunFinding,
    post_run::{apply_settings, hold_hook, restore_settings},
    protected_paths::{HookEntry, MAX_HOOK_BYTES, PrivateConfig, PrivateHooks, read_config_text},
    staging::{
        change_source::ChangeSource,
        commit_entry::CommitTarget,
        entry_state::{EntryKind, EntryState},
        staged_change::StagedChange,
    },
};

/// Applies the harmless changes of a configuration file. Returns a finding about the others.
pub(super) fn commit_config(
    source: &dyn ChangeSource,
    change: &StagedChange,
) -> io::Result<Option<PostRunFinding>> {
    let is_file = |state: &&EntryState| state.is_file();
    let before = change.before.as_ref().filter(is_file);
    let (Some(before), Some(after)) = (before, change.after.as_ref().filter(is_file)) else {
        return Err(protected_error());
    };
    let target = CommitTarget::open(source.root_directory(change)?, &change.relative_path)?;
    target.check_unchanged(before)?;
    let config = PrivateConfig::read(change.host_path()).ok_or(io::ErrorKind::InvalidData)?;
    let new = read_config_text(source.open_content(change)?).ok_or(io::ErrorKind::InvalidData)?;
    // A change that was applied as harmless can be undone.
    let is_undone = source.is_undo() && config.is_harmless_change(&new, &config.text);
    let held = match is_undone {
        true => restore_settings(&config, &new)?,
        false => apply_settings(&config, &new)?,
    };
    if held.is_none() {
        target.set_metadata(Some(before), after)?;
    }
    Ok(held)
}

/// Quarantines new and changed entries of a directory with hooks.
pub(super) fn commit_hooks(
    source: &dyn ChangeSource,
    directory: &Path,
    changes: &[&StagedChange],
) -> io::Result<Vec<PostRunFinding>> {
    let before = PrivateHooks::read(directory).ok_or(io::ErrorKind::InvalidData)?;
    let mut after = before.tree.clone();
    for change in changes {
        let path = change.host_path().strip_prefix(directory).map_err(io::Error::other)?;
        if path.as_os_str().is_empty() {
            return Err(protected_error());
        }
        after.entries.insert(path.to_owned(), read_entry(source, change)?);
    }
    let changed = before.tree.changed_paths(&after).into_iter();
    changed.map(|path| hold_hook(&before.path.join(&path), &after.part(&path))).collect()
}

fn read_entry(source: &dyn ChangeSource, change: &StagedChange) -> io::Result<HookEntry> {
    let after = change.after.as_ref().ok_or_else(protected_error)?;
    match &after.kind {
        EntryKind::Directory => Ok(HookEntry::Directory),
        EntryKind::Link(target) => Ok(HookEntry::Link(target.into())),
        EntryKind::File(_) => {
            let mut content = Vec::new();
            source.open_content(change)?.take(MAX_HOOK_BYTES).read_to_end(&mut content)?;
            Ok(HookEntry::File { content, mode: after.mode })
        }
        EntryKind::Fifo => Err(protected_error()),
    }
}

fn protected_error() -> io::Error {
    io::Error::other("is protected")
}
