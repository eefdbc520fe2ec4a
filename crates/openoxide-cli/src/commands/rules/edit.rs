//! `rules add`, `rules remove`: one rule more, one rule less, and nothing else changes.

use std::{fs, path::PathBuf};

use openoxide_permission::{Anchors, LayerKind, lint::lint, parse};
use openoxide_protocol::{AbsPath, Effect};
use openoxide_store::{Broken, Environment, Lock, Source, edit, read_policy};
use openoxide_tui::{Lines, visible};

use super::files;
use crate::{
    args::{AddArgs, Global, RemoveArgs, Where},
    exit::Exit,
    report,
};

/// A file that is changed.
pub(super) struct Target {
    pub(super) source: Source,
    pub(super) text: String,
    home: Option<AbsPath>,
    /// Nobody else changes it meanwhile: what was read is what is replaced.
    _lock: Lock,
}

impl Target {
    /// Finds the file that the arguments name, and waits until nobody else changes it. It need not be there.
    pub(super) fn of(place: Where) -> Result<Self, String> {
        let kind = match place {
            Where { project: true, .. } => LayerKind::Project,
            Where { local: true, .. } => LayerKind::Local,
            _ => LayerKind::User,
        };
        let source = files::in_force()?.into_iter().find(|source| source.kind == kind);
        let source = source.ok_or("no configuration directory: set HOME or XDG_CONFIG_HOME")?;
        let link =
            |path: &std::path::Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        if kind != LayerKind::User && source.path.ancestors().take(2).any(link) {
            return Err(format!(
                "{}: symbolic links in a project are not followed",
                source.path.display()
            ));
        }
        let environment = Environment::read();
        let lock = Lock::of_policies(&environment).map_err(|error| error.to_string())?;
        let there = fs::symlink_metadata(&source.path).is_ok();
        let text = if there { files::text(&source.path)? } else { String::new() };
        Ok(Self { source, text, home: environment.home, _lock: lock })
    }

    pub(super) fn anchors(&self) -> Anchors<'_> {
        Anchors { home: self.home.as_ref(), base: &self.source.base }
    }

    /// Says what is wrong with a text of this file, as it would be said when it is read.
    pub(super) fn sound(&self, text: &str, global: Global) -> Result<(), Exit> {
        let name = self.source.path.to_string_lossy();
        let problems = read_policy(text, self.source.kind, &name, self.anchors()).problems;
        if problems.is_empty() {
            return Ok(());
        }
        let (path, text): (PathBuf, _) = (self.source.path.clone(), text.to_owned());
        report::broken(&Broken { path, text, problems }, global.color);
        Err(Exit::Usage)
    }

    /// Says what is probably wrong with the last rule of this text.
    fn warn(&self, text: &str, rule: &str) {
        let name = self.source.path.to_string_lossy();
        let layer = read_policy(text, self.source.kind, &name, self.anchors()).layer;
        let is_it = |at: usize| layer.rules.get(at).is_some_and(|one| one.text == rule);
        for found in lint(&layer).into_iter().filter(|found| is_it(found.rule)) {
            report::note(&format!("{} ({}): {}", found.message, found.code, found.help));
        }
    }

    /// Writes a new text. What a project would allow still needs a person's trust.
    pub(super) fn write(&self, text: &str, loosens: bool) -> Result<(), String> {
        let path = self.source.path.display();
        edit::replace(&self.source.path, text).map_err(|error| format!("{path}: {error}"))?;
        if loosens && !self.source.may_loosen {
            report::note(
                &"allow rules of a project take effect once you trust it: `openoxide trust`",
            );
        }
        Ok(())
    }
}

/// Adds a rule.
pub(super) fn add(args: &AddArgs, global: Global) -> Result<Exit, String> {
    let target = Target::of(args.place)?;
    if let Err(exit) = target.sound(&target.text, global) {
        return Ok(exit);
    }
    parse(&args.rule, args.effect, target.anchors()).map_err(|error| {
        let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
        format!("`{}`: {}{help}", args.rule, error.message)
    })?;
    let new = edit::with_rule(&target.text, args.effect, &args.rule, args.reason.as_deref())
        .map_err(|error| format!("{}: {error}", target.source.path.display()))?;
    if let Err(exit) = target.sound(&new, global) {
        return Ok(exit);
    }
    let path = target.source.path.display().to_string();
    let path = visible(&path, Lines::One);
    if new == target.text {
        report::note(&format!("{path} has this rule already"));
        return Ok(Exit::Success);
    }
    target.write(&new, args.effect == Effect::Allow)?;
    target.warn(&new, &args.rule);
    let line = format!("{path}: {} {}\n", args.effect.as_str(), visible(&args.rule, Lines::One));
    Ok(report::data(line.as_bytes(), Exit::Success))
}

/// Removes a rule, wherever it stands in the file.
pub(super) fn remove(args: &RemoveArgs, global: Global) -> Result<Exit, String> {
    let target = Target::of(args.place)?;
    let path = target.source.path.display().to_string();
    let (new, count) =
        edit::without_rule(&target.text, &args.rule).map_err(|error| format!("{path}: {error}"))?;
    let (path, rule) = (visible(&path, Lines::One), visible(&args.rule, Lines::One));
    if count == 0 {
        report::failure(&format!("{path} has no rule `{rule}`"));
        return Ok(Exit::Failure);
    }
    if let Err(exit) = target.sound(&new, global) {
        return Ok(exit);
    }
    target.write(&new, false)?;
    Ok(report::data(format!("{path}: removed {rule}\n").as_bytes(), Exit::Success))
}
