//! What containers see of this machine.

use openoxide_protocol::CommandClass;

use super::super::{Arg, Meaning};

/// `-v HOST:CONTAINER[:ro]`, `--mount type=bind,source=HOST,…`. A name without a slash is a volume of the engine.
pub(in super::super) fn mount(meaning: &mut Meaning, value: Arg<'_>) {
    meaning.lower(CommandClass::Unknown);
    // Fields in quotation marks hide what they are.
    let Arg::Known(text) = value else { return meaning.write(Arg::Many) };
    if text.contains('"') {
        return meaning.write(Arg::Many);
    }
    let source = if is_path(text) { text.split(':').next() } else { bound(text) };
    let Some(source) = source else { return };
    meaning.read(Arg::Known(source), false);
    let mut words = text.split([':', ',']).skip(1);
    if !words.any(|word| matches!(word, "ro" | "readonly" | "readonly=true" | "ro=true")) {
        meaning.write(Arg::Known(source));
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with(['/', '.', '~'])
}

/// Returns the directory that `--mount` names.
fn bound(text: &str) -> Option<&str> {
    let fields = text.split(',').filter_map(|field| field.split_once('='));
    let source = |key: &str| matches!(key.to_ascii_lowercase().as_str(), "source" | "src");
    let (_, source) = fields.filter(|(key, _)| source(key)).next_back()?;
    is_path(source).then_some(source)
}
