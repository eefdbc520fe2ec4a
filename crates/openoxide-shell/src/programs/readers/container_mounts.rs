//! Mounts of host directories and files in containers.

use openoxide_protocol::CommandClass;

use super::super::{ArgumentWord, CommandMeaning};

/// Adds the effects of `-v HOST:CONTAINER[:ro]` or `--mount type=bind,source=HOST,…`. A name
/// without a slash is a volume of the engine.
pub(in super::super) fn add_mount(meaning: &mut CommandMeaning, value: ArgumentWord<'_>) {
    meaning.lower_class(CommandClass::Unknown);
    // The contents of quoted fields are not parsed.
    let ArgumentWord::Known(text) = value else { return meaning.add_write(ArgumentWord::Many) };
    if text.contains('"') {
        return meaning.add_write(ArgumentWord::Many);
    }
    // Options of its driver can make a volume a host directory.
    if text.contains("volume-opt") || text.contains("volume-driver") || text.contains("type=glob") {
        return meaning.add_write(ArgumentWord::Many);
    }
    let source = if is_host_path(text) { text.split(':').next() } else { bind_source(text) };
    let Some(source) = source else { return };
    meaning.add_read(ArgumentWord::Known(source), false);
    let mut words = text.split([':', ',']).skip(1);
    if !text.starts_with("id=")
        && !words.any(|word| matches!(word, "ro" | "readonly" | "readonly=true" | "ro=true"))
    {
        meaning.add_write(ArgumentWord::Known(source));
    }
}

fn is_host_path(text: &str) -> bool {
    text.starts_with(['/', '.', '~'])
}

/// Returns the directory that `--mount` names, or the file of `--secret id=NAME,src=FILE`.
fn bind_source(text: &str) -> Option<&str> {
    let fields = || text.split(',').filter_map(|field| field.split_once('='));
    let is = |key: &str, names: &[&str]| names.contains(&key.to_ascii_lowercase().as_str());
    let (_, source) = fields().rfind(|(key, _)| is(key, &["source", "src"]))?;
    let file =
        fields().any(|(key, value)| is(key, &["id"]) || is(key, &["type"]) && value != "volume");
    (file || is_host_path(source)).then_some(source)
}
