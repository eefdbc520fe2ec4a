//! The programs of GitHub, GitLab and the like: where they send the person's login, and what a request does.

use openoxide_protocol::{CommandClass, Word};

use super::{
    super::{
        Arg, Arguments, Meaning,
        items::{Item, items},
        level::{Does, Level},
        meaning::read_plainly,
    },
    jq::{OF_JQ, stays_within},
};

/// Reads a whole command. The person's login may go to the usual hosts only, and what is handed on to git is looked at.
pub(in super::super) fn forge(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let elsewhere =
        |arg| matches!(arg, Arg::Known(word) | Arg::Begins(word) if names_other_host(word));
    if arguments.iter(from).any(elsewhere) {
        meaning.lower(CommandClass::Unknown);
    }
    let hands_on = arguments
        .words
        .iter()
        .skip(from)
        .take_while(|word| *word != Word::Known("--"))
        .any(|word| matches!(word, Word::Known("clone" | "fork")));
    let mut behind =
        arguments.words.iter().skip(from).skip_while(|word| *word != Word::Known("--")).skip(1);
    if hands_on && !behind.all(is_plain_for_clone) {
        meaning.cannot_tell("hands options on to git");
    }
    meaning
}

/// Says whether a word names a host to which nobody expects a login to go.
fn names_other_host(word: &str) -> bool {
    let text = match word.strip_prefix('-') {
        Some(option) => option.split_once('=').map_or(option, |(_, value)| value),
        None => word,
    };
    let host = if let Some((_, rest)) = text.split_once("://") {
        rest.split('/').next().unwrap_or_default()
    } else if let Some((host, _)) = text.split_once(':').filter(|(host, _)| host.contains('@')) {
        host
    } else {
        match text.split_once('/') {
            Some((first, rest))
                if first.contains('.') && !first.starts_with('.') && rest.contains('/') =>
            {
                first
            }
            _ => return false,
        }
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    !matches!(
        host,
        "github.com" | "www.github.com" | "api.github.com" | "gist.github.com" | "gitlab.com"
    )
}

/// Says whether git may be given this behind `gh repo clone X --`.
fn is_plain_for_clone(word: Word<'_>) -> bool {
    let Word::Known(text) = word else { return false };
    let name = text.split('=').next().unwrap_or(text);
    !text.starts_with('-')
        || matches!(
            name,
            "--depth"
                | "--single-branch"
                | "--branch"
                | "-b"
                | "-q"
                | "--quiet"
                | "--no-tags"
                | "--bare"
                | "--mirror"
                | "--filter"
                | "--recurse-submodules"
                | "--no-checkout"
                | "--sparse"
        )
}

/// A filter of jq can read the environment.
pub(in super::super) fn filters_only(name: &str, value: Option<Arg<'_>>) -> bool {
    match (name, value) {
        ("q" | "jq", Some(Arg::Known(filter))) => stays_within(filter, &OF_JQ),
        ("q" | "jq", _) => false,
        _ => true,
    }
}

/// `gh api`: a request that only asks, and shows no secrets.
pub(in super::super) fn forge_api(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let (mut asks_only, mut changes, mut ends) = (false, false, false);
    let mut fields = Vec::new();
    let mut query = false;
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, value } => match (option.name, value) {
                ("X" | "method", Some(Arg::Known("GET" | "HEAD"))) => asks_only = true,
                ("X" | "method" | "input" | "form", _) => changes = true,
                ("f" | "raw-field" | "F" | "field", value) => fields.push(value),
                ("H" | "header", value) if !is_plain_header(value) => {
                    meaning.lower(CommandClass::Unknown)
                }
                (name, value) if !filters_only(name, value) => meaning.lower(CommandClass::Unknown),
                _ => ends |= option.does == Does::Ends,
            },
            Item::Operand(Arg::Known("graphql"), _) => query = true,
            Item::Operand(endpoint, _) if !is_plain_endpoint(endpoint) => {
                meaning.lower(CommandClass::Unknown);
            }
            Item::Operand(..) | Item::Number | Item::Unclear => {}
        }
    }
    changes |= !fields
        .iter()
        .all(|field| if query { is_query(*field) } else { asks_only && is_text(*field) });
    if query || changes && !ends {
        meaning.lower(CommandClass::Unknown);
    }
    // Nobody who lets an agent look things up means any change of anything.
    if changes && !ends {
        meaning.cannot_tell("its request can change anything");
    }
    meaning
}

/// Says whether a field is the text of the command line: `@` begins the name of a file.
fn is_text(field: Option<Arg<'_>>) -> bool {
    matches!(field, Some(Arg::Known(text)) if !text.contains("=@"))
}

/// Says whether a field of GraphQL can be no change.
fn is_query(field: Option<Arg<'_>>) -> bool {
    matches!(field, Some(Arg::Known(text)) if is_text(field) && !text.contains("mutation"))
}

/// Headers can turn a request into another one.
fn is_plain_header(value: Option<Arg<'_>>) -> bool {
    let Some(Arg::Known(header)) = value else { return false };
    let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
    matches!(name.as_str(), "accept" | "x-github-api-version" | "if-none-match")
}

/// Says whether an endpoint shows what anybody may see who sees the repository.
fn is_plain_endpoint(endpoint: Arg<'_>) -> bool {
    let Arg::Known(text) = endpoint else { return false };
    let lower = text.to_ascii_lowercase();
    !["graphql", "secret", "token", "credential", "hooks"].iter().any(|word| lower.contains(word))
}
