//! Trust in projects: the permissive settings of a project are ignored until a person trusts it.

use std::path::Path;

use openoxide_permission::{CombiningAlgorithm, Hook, Layer};
use openoxide_protocol::{AbsPath, Effect};

use super::policy_loader::PolicyLoader;
use crate::{
    hook_trust,
    loaded_policy::UntrustedProject,
    trust_store::{TrustStore, relative_name},
};

impl PolicyLoader {
    /// Removes the permissive settings of each project that is not trusted, and adds a note about
    /// it.
    pub(super) fn apply_trust(&mut self, trust: &TrustStore) {
        self.notes.extend(trust.directory_problem());
        let mut projects: Vec<AbsPath> = Vec::new();
        let of_layers = self.layers.iter().filter_map(|(of, _)| of.as_ref());
        let of_hooks = self.hooks.iter().filter_map(|(of, _)| of.as_ref());
        let of_directories = self.directories.iter().chain(&self.writable);
        let of_directories = of_directories.filter_map(|(of, _)| of.as_ref());
        for project in of_layers.chain(of_hooks).chain(of_directories) {
            if !projects.contains(project) {
                projects.push(project.clone());
            }
        }
        for project in projects {
            let settings = self.describe_loosening(&project);
            if settings.is_empty() || self.is_trusted(trust, &project, &settings) {
                continue;
            }
            let before = self.was_trusted(trust, &project);
            self.drop_loosening(&project, before);
            self.notes.push(untrusted_message(&project, settings.len()));
            self.untrusted_projects.push(UntrustedProject { project, settings });
        }
        self.disable_unclear_hooks();
    }

    /// Returns the permissive settings in the files of a project, one line each.
    fn describe_loosening(&self, project: &AbsPath) -> Vec<String> {
        fn of<'a, T>(
            all: &'a [(Option<AbsPath>, T)],
            project: &AbsPath,
        ) -> impl Iterator<Item = &'a T> {
            all.iter().filter(move |(of, _)| of.as_ref() == Some(project)).map(|(_, one)| one)
        }
        let checkouts: Vec<&AbsPath> =
            std::iter::once(project).chain(self.main_checkout(project)).collect();
        let layers =
            of(&self.layers, project).flat_map(|layer| describe_layer_loosening(layer, &checkouts));
        let directories = of(&self.directories, project)
            .filter_map(|one| one.describe_setting("directory", &checkouts))
            .chain(
                of(&self.writable, project)
                    .filter_map(|one| one.describe_setting("sandbox writable", &checkouts)),
            );
        let sandbox =
            of(&self.sandbox, project).flat_map(|said| said.describe_loosening(&checkouts));
        let hooks = of(&self.hooks, project);
        let hooks = hooks.map(|hook| {
            let base = hook.project.as_ref().unwrap_or(project);
            let places = [&[base], checkouts.as_slice()].concat();
            hook_trust::describe_setting(hook, base, &places)
        });
        layers.chain(directories).chain(sandbox).chain(hooks).collect()
    }

    fn main_checkout(&self, project: &AbsPath) -> Option<&AbsPath> {
        let found = self.worktrees.iter().find(|(worktree, _)| worktree == project);
        found.map(|(_, main)| main)
    }

    fn is_trusted(&self, trust: &TrustStore, project: &AbsPath, settings: &[String]) -> bool {
        match self.main_checkout(project) {
            Some(main) => trust.is_worktree_trusted(project, main, settings),
            None => trust.is_trusted(project, settings),
        }
    }

    /// Returns whether a person trusted this project with different settings.
    fn was_trusted(&self, trust: &TrustStore, project: &AbsPath) -> bool {
        let places = std::iter::once(project).chain(self.main_checkout(project));
        places.filter_map(|place| trust.find(place)).any(|said| said.trusted)
    }

    /// Removes the permissive settings of a project.
    fn drop_loosening(&mut self, project: &AbsPath, before: bool) {
        let own = |of: &Option<AbsPath>| of.as_ref() == Some(project);
        self.layers
            .iter_mut()
            .filter(|(of, _)| own(of))
            .for_each(|(_, layer)| drop_layer_loosening(layer));
        let directories = self.directories.iter_mut().chain(&mut self.writable);
        directories.filter(|(of, _)| own(of)).for_each(|(_, one)| one.mark_untrusted());
        self.sandbox
            .iter_mut()
            .filter(|(of, _)| own(of))
            .for_each(|(_, said)| said.drop_loosening());
        self.drop_untrusted_hooks(project, before);
    }

    /// Removes the hooks of an untrusted project. In two cases they are kept and ask instead. The
    /// first is a file that a person named, because its allow rules apply. The second is a project
    /// that was trusted `before` its settings changed, because changing a hook must not disable it.
    fn drop_untrusted_hooks(&mut self, project: &AbsPath, before: bool) {
        let (of_it, mut kept): (Vec<_>, Vec<_>) =
            self.hooks.drain(..).partition(|(of, _)| of.as_ref() == Some(project));
        for (of, hook) in of_it {
            let hook = Hook { is_trusted: false, ..hook };
            let found = self.layers.iter().any(|(own, _)| own.as_ref() == Some(project));
            if found && !before { self.untrusted_hooks.push(hook) } else { kept.push((of, hook)) }
        }
        self.hooks = kept;
    }

    /// Disables the hooks of projects if the files that they run cannot be determined. These files
    /// could change unnoticed.
    fn disable_unclear_hooks(&mut self) {
        let of_projects = self.hooks.iter_mut().filter(|(of, _)| of.is_some());
        for (_, hook) in
            of_projects.filter(|(_, hook)| !hook_trust::has_literal_paths(&hook.command))
        {
            hook.is_trusted = false;
            let (file, line) = (&hook.file, hook.line);
            self.notes.push(format!(
                "{file}:{line}: hook skipped: cannot determine which files it runs; use literal paths \
                 below `\"$CLAUDE_PROJECT_DIR\"/`, or move the command into a script"
            ));
        }
    }
}

/// Returns the permissive settings of a project's layer, one line each. If the order of rules
/// decides, every rule can be permissive.
fn describe_layer_loosening(layer: &Layer, checkouts: &[&AbsPath]) -> Vec<String> {
    let file = relative_name(layer.file.as_deref().unwrap_or_default(), checkouts);
    let allows = layer.rules.iter().any(|rule| rule.effect == Effect::Allow);
    let ordered = allows && layer.combining_algorithm != CombiningAlgorithm::Strictest;
    let rules = layer.rules.iter().enumerate().filter_map(|(at, rule)| {
        let text = format!("{} {}", rule.effect.as_str(), rule.text);
        match rule.effect {
            _ if ordered => Some(format!("{file}: {}. {text}", at + 1)),
            Effect::Allow => Some(format!("{file}: {text}")),
            Effect::Ask | Effect::Deny => None,
        }
    });
    let combining =
        ordered.then(|| format!("{file}: combining {}", layer.combining_algorithm.as_str()));
    let mode = layer.mode.map(|mode| format!("{file}: mode {}", mode.as_str()));
    mode.into_iter().chain(combining).chain(rules).collect()
}

fn untrusted_message(project: &AbsPath, settings: usize) -> String {
    let settings = match settings {
        1 => "1 permissive setting".to_owned(),
        more => format!("{more} permissive settings"),
    };
    let named =
        if Path::new(project.as_str()).is_file() { format!(" {project}") } else { String::new() };
    format!("{project}: {settings} ignored: project not trusted (run `openoxide trust{named}`)")
}

fn drop_layer_loosening(layer: &mut Layer) {
    layer.rules.retain(|rule| rule.effect != Effect::Allow);
    layer.mode = None;
}
