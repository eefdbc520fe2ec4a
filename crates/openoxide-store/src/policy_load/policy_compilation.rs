//! Compiling the loaded layers into the policy that is in force.

use openoxide_permission::{Hook, Layer, LayerKind, PolicyStack, default_layer};

use super::{
    policy_loader::PolicyLoader,
    sandbox_settings::{self, LayerSandboxSettings},
};
use crate::{
    grant_file::{self, GrantEntry},
    loaded_policy::{LimitedGrants, LoadedPolicy},
    resolved_directory::ResolvedDirectory,
};

impl PolicyLoader {
    /// Compiles the policy and merges the other settings.
    pub(super) fn compile(mut self) -> LoadedPolicy {
        if self.managed.allow_managed_rules_only {
            self.keep_managed_settings();
        }
        let directories: Vec<_> = self.directories.drain(..).map(|(_, one)| one).collect();
        let writable: Vec<_> = self.writable.drain(..).map(|(_, one)| one).collect();
        let settings = self.sandbox.drain(..).map(|(_, settings)| settings);
        let sandbox = sandbox_settings::merge_settings(settings, &writable);
        let roots = directories.iter().flat_map(ResolvedDirectory::active_spellings).collect();
        let hooks = self.take_effective_hooks();
        let mut layers: Vec<Layer> = self.layers.drain(..).map(|(_, layer)| layer).collect();
        layers.push(default_layer());
        let Some((policy, limited_grants)) = self.compile_layers(&layers) else {
            return LoadedPolicy::closed();
        };
        LoadedPolicy {
            policy,
            layers,
            hooks,
            untrusted_hooks: self.untrusted_hooks,
            roots,
            directories,
            sandbox,
            writable,
            policy_error: self.policy_error,
            managed_policy_error: self.managed_policy_error,
            broken_files: self.broken_files,
            notes: self.notes,
            untrusted_projects: self.untrusted_projects,
            managed: self.managed,
            audit: self.audit,
            limited_grants,
            other_tasks: self.other_tasks,
            is_cacheable: false,
        }
    }

    /// Removes the rules and the permissive settings of all files except the managed one.
    fn keep_managed_settings(&mut self) {
        let others = self.layers.iter_mut().filter(|(_, layer)| layer.kind != LayerKind::Managed);
        others.for_each(|(_, layer)| layer.rules.clear());
        let directories = self.directories.iter_mut().chain(&mut self.writable);
        directories.for_each(|(_, one)| one.ignore_unless_managed());
        let settings = self.sandbox.iter_mut().map(|(_, settings)| settings);
        settings
            .filter(|settings| settings.kind != LayerKind::Managed)
            .for_each(LayerSandboxSettings::drop_loosening);
    }

    /// Compiles the layers, with and without the limited grants. If they are too large, the
    /// built-in layer replaces them, and the policy has an error.
    fn compile_layers(&mut self, layers: &[Layer]) -> Option<(PolicyStack, Option<LimitedGrants>)> {
        let policy = PolicyStack::compile(layers).or_else(|error| {
            self.policy_error.get_or_insert_with(|| error.to_string());
            PolicyStack::compile(&[default_layer()])
        });
        let policy = self.with_requirements(policy.ok()?);
        let entries = std::mem::take(&mut self.limited_grants);
        let without = (!entries.is_empty()).then(|| compile_without_grants(&entries, layers));
        let limited = without.map(|without| LimitedGrants {
            entries,
            policy_without: self.with_requirements(without).into(),
        });
        Some((policy, limited))
    }

    /// Returns the policy with the requirements that the files set in addition to their rules.
    fn with_requirements(&self, policy: PolicyStack) -> PolicyStack {
        let no_bypass = self.managed.disable_bypass_permissions;
        let policy = if no_bypass { policy.without_bypass() } else { policy };
        let policy = if self.asks_unproved { policy.with_unproved_asks() } else { policy };
        if self.audit.is_empty() { policy } else { policy.with_audit() }
    }

    /// Takes the hooks that the managed policy permits. If only managed rules are in force, the
    /// other hooks allow nothing.
    fn take_effective_hooks(&mut self) -> Vec<Hook> {
        let managed = self.managed;
        let mut hooks: Vec<Hook> = self.hooks.drain(..).map(|(_, hook)| hook).collect();
        hooks.retain(|hook| hook.layer == LayerKind::Managed || !managed.allow_managed_hooks_only);
        for hook in hooks.iter_mut().filter(|hook| hook.layer != LayerKind::Managed) {
            hook.may_allow &= !managed.allow_managed_rules_only;
        }
        hooks
    }
}

/// Compiles the policy without these grants. If it cannot be compiled, neither can the policy with
/// them, and the built-in layer replaces both.
fn compile_without_grants(entries: &[GrantEntry], layers: &[Layer]) -> PolicyStack {
    let mut layers = layers.to_vec();
    let granted = layers.iter_mut().filter(|layer| grant_file::is_grant_layer(layer));
    granted.for_each(|layer| {
        layer.rules.retain(|rule| entries.iter().all(|entry| entry.line != rule.line));
    });
    let compiled = PolicyStack::compile(&layers);
    let compiled = compiled.or_else(|_| PolicyStack::compile(&[default_layer()]));
    compiled.unwrap_or_default()
}
