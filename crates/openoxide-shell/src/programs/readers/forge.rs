//! The programs of GitHub, GitLab and the like: where they send the person's login, and what a request does.

use openoxide_protocol::{CommandClass, CommandWord};

use super::{
    super::{
        Arg, Arguments, Meaning,
        items::{Item, items},
        level::{Does, Level, Opt},
        reading::read_plainly,
    },
    filters::{self, Filter},
};

/// Reads a whole command. The user's credentials may be sent only to the usual hosts, and the words
/// that are passed on to git are checked.
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
        .take_while(|word| *word != CommandWord::Known("--"))
        .any(|word| matches!(word, CommandWord::Known("clone" | "fork")));
    let mut behind = arguments
        .words
        .iter()
        .skip(from)
        .skip_while(|word| *word != CommandWord::Known("--"))
        .skip(1);
    if hands_on && !behind.all(is_plain_for_clone) {
        meaning.cannot_tell("hands options on to git");
    }
    meaning
}

/// Returns whether a word names an unexpected host for the user's credentials.
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

/// Returns whether a word may be passed on to git in `gh repo clone X --`.
fn is_plain_for_clone(word: CommandWord<'_>) -> bool {
    let CommandWord::Known(text) = word else { return false };
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
        ("q" | "jq", Some(Arg::Known(filter))) => filters::judge(filter) == Filter::Plain,
        ("q" | "jq", _) => false,
        _ => true,
    }
}

/// The effects of a request.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Request<'a> {
    /// Its method only asks.
    asks: bool,
    /// Its method or body can change something.
    changes: bool,
    /// Whether it is a GraphQL request.
    query: bool,
    /// The fields of its address or body.
    fields: Vec<Option<Arg<'a>>>,
    /// Whether another part of the request may show secrets.
    unclear: bool,
    /// Whether it only prints help.
    ends: bool,
}

/// `gh api`: a request that only asks, and shows no secrets.
pub(in super::super) fn forge_api(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let mut request = Request::default();
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, value } => request.option(option, value),
            Item::Operand(endpoint, _) => request.endpoint(endpoint),
            Item::Number | Item::Unclear => {}
        }
    }
    let changes = request.changes() && !request.ends;
    if request.query || request.unclear || changes {
        meaning.lower(CommandClass::Unknown);
    }
    // A rule that allows an agent to look things up does not imply any changes.
    if changes {
        meaning.cannot_tell("its request can change anything");
    }
    meaning
}

impl<'a> Request<'a> {
    fn option(&mut self, option: Opt, value: Option<Arg<'a>>) {
        match (option.name, value) {
            ("X" | "method", Some(Arg::Known("GET" | "HEAD"))) => self.asks = true,
            ("X" | "method" | "input" | "form", _) => self.changes = true,
            ("f" | "raw-field" | "F" | "field", value) => self.fields.push(value),
            ("H" | "header", value) => self.unclear |= !is_plain_header(value),
            (name, value) => self.unclear |= !filters_only(name, value),
        }
        self.ends |= option.does == Does::Ends;
    }

    fn endpoint(&mut self, endpoint: Arg<'_>) {
        match endpoint {
            Arg::Known("graphql") => self.query = true,
            endpoint => self.unclear |= !is_plain_endpoint(endpoint),
        }
    }

    fn changes(&self) -> bool {
        let plain = |field: &Option<Arg<'_>>| {
            if self.query { is_query(*field) } else { self.asks && is_text(*field) }
        };
        self.changes || !self.fields.iter().all(plain)
    }
}

/// Returns whether a field is literal text from the command line. `@` begins the name of a file.
fn is_text(field: Option<Arg<'_>>) -> bool {
    matches!(field, Some(Arg::Known(text)) if !text.contains("=@"))
}

/// Returns whether a GraphQL field cannot be a mutation.
fn is_query(field: Option<Arg<'_>>) -> bool {
    matches!(field, Some(Arg::Known(text)) if is_text(field) && !text.contains("mutation"))
}

/// Headers can turn a request into another one.
fn is_plain_header(value: Option<Arg<'_>>) -> bool {
    let Some(Arg::Known(header)) = value else { return false };
    let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
    matches!(name.as_str(), "accept" | "x-github-api-version" | "if-none-match")
}

/// Returns whether an endpoint shows only data that is visible to everyone with access to the
/// repository.
fn is_plain_endpoint(endpoint: Arg<'_>) -> bool {
    let Arg::Known(text) = endpoint else { return false };
    let lower = text.to_ascii_lowercase();
    !["graphql", "secret", "token", "credential", "hooks"].iter().any(|word| lower.contains(word))
}
