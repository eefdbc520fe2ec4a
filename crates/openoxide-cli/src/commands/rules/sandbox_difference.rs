//! The sandbox settings of two policies, for `rules diff`.

use std::collections::BTreeSet;

use openoxide_engine::Engine;
use openoxide_store::{PublishSetting, SandboxLimits, SandboxSettings};

/// Returns the settings that one policy has and the other does not, as text.
pub(super) fn find_missing_lines(from: &Engine, of: &Engine) -> Vec<String> {
    let there = settings_lines(of);
    settings_lines(from).into_iter().filter(|line| !there.contains(line)).collect()
}

/// Returns all sandbox settings of a policy, one line each.
fn settings_lines(engine: &Engine) -> BTreeSet<String> {
    let settings = engine.sandbox_settings();
    let SandboxSettings {
        require,
        auto_allow,
        network,
        unreadable,
        protected,
        environment,
        limits,
        ..
    } = settings;
    let writable = engine.writable_directories().iter().map(|one| one.directory.path.to_string());
    let paths = [("unreadable", unreadable), ("protected", protected)];
    let paths = paths
        .into_iter()
        .flat_map(|(key, paths)| paths.iter().map(move |path| format!("{key} {path}")));
    let environment = environment.iter().map(|name| format!("environment {name}"));
    let require = require.iter().map(|one| format!("require {}", one.action.as_str()));
    let auto = auto_allow.iter().map(|one| format!("auto_allow {}", one.as_str()));
    let network = network.iter().map(|one| format!("network {}", one.as_str()));
    let writable = writable.map(|path| format!("writable {path}"));
    let checkpoints = settings.checkpoint_size.iter().map(|size| format!("checkpoint_size {size}"));
    let publish = publish_lines(&settings.publish);
    let limits = limit_values(*limits).map(|(key, number)| format!("limits.{key} {number}"));
    require
        .chain(auto)
        .chain(network)
        .chain(writable)
        .chain(paths)
        .chain(environment)
        .chain(publish)
        .chain(checkpoints)
        .chain(limits)
        .collect()
}

fn publish_lines(setting: &PublishSetting) -> impl Iterator<Item = String> {
    let off = (*setting == PublishSetting::Off).then(|| "publish off".to_owned());
    off.into_iter().chain(setting.ports().map(|port| format!("publish {port}")))
}

fn limit_values(limits: SandboxLimits) -> impl Iterator<Item = (&'static str, u32)> {
    let SandboxLimits { seconds, memory, processes } = limits;
    let all = [("seconds", seconds), ("memory", memory), ("processes", processes)];
    all.into_iter().filter_map(|(key, number)| Some((key, number?)))
}
