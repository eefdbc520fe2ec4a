//! Generation of the table of phrases from `effects.toml`.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::Fallible;

/// The commands of each phrase of each cause code.
type EffectFile = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The texts, one after the other, and the range of each.
#[derive(Default)]
struct Texts {
    all: String,
    ranges: BTreeMap<String, String>,
}

/// Writes the table of phrases, sorted by the words of the commands.
pub(crate) fn effects(text: &str) -> Fallible<String> {
    let file: EffectFile = toml::from_str(text)?;
    let mut rows = BTreeMap::new();
    for (code, phrases) in &file {
        for (phrase, commands) in phrases {
            for command in commands.iter().flat_map(|command| spell_out(command)) {
                if rows.insert(command.clone(), (code, phrase)).is_some() {
                    return Err(format!("`{}` is there twice", command.join(" ")).into());
                }
            }
        }
    }
    let mut texts = Texts::default();
    let mut code = String::new();
    for (command, (cause, phrase)) in &rows {
        let (command, phrase) = (texts.add(&command.join(" "))?, texts.add(phrase)?);
        let cause = camel_case(cause);
        write!(
            code,
            "EffectRow {{ command: {command}, phrase: {phrase}, code: CauseCode::{cause} }}, "
        )?;
    }
    let count = rows.len();
    Ok(format!(
        "static TEXTS: &str = {:?};\nstatic ROWS: [EffectRow; {count}] = [{code}];\n",
        texts.all
    ))
}

/// Returns the commands that an entry with alternatives (`npm|pnpm test`) describes.
fn spell_out(entry: &str) -> Vec<Vec<String>> {
    entry.split(' ').fold(vec![Vec::new()], |commands, word| {
        let longer = |command: &Vec<String>| {
            let add = |name: &str| [command.as_slice(), &[name.to_owned()]].concat();
            word.split('|').map(add).collect::<Vec<_>>()
        };
        commands.iter().flat_map(longer).collect()
    })
}

fn camel_case(name: &str) -> String {
    name.split('_').fold(String::new(), |all, word| {
        let (first, rest) = word.split_at(word.len().min(1));
        all + &first.to_ascii_uppercase() + rest
    })
}

impl Texts {
    /// Adds a text if it is not there yet, and returns its range.
    fn add(&mut self, text: &str) -> Fallible<String> {
        if let Some(range) = self.ranges.get(text) {
            return Ok(range.clone());
        }
        let (start, length) = (u16::try_from(self.all.len())?, u8::try_from(text.len())?);
        let range = format!("TextRange {{ start: {start}, length: {length} }}");
        self.all.push_str(text);
        self.ranges.insert(text.to_owned(), range.clone());
        Ok(range)
    }
}
