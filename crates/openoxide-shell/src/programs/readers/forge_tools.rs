//! Readers for the programs of GitHub, GitLab and similar services. They check where the user's
//! credentials are sent and what a request does.

use openoxide_protocol::{CommandClass, CommandWord};

use super::{
    super::{
        ArgumentWord, CommandMeaning,
        command_arguments::CommandArguments,
        command_items::CommandItem,
        command_reading::read_without_custom_reader,
        command_spec::{OptionEffect, OptionSpec},
    },
    jq_filters::{self, FilterClass},
};

/// Reads a whole command. The user's credentials may be sent only to the usual hosts, and the words
/// that are passed on to git are checked.
pub(in super::super) fn read_forge(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let elsewhere = |arg| matches!(arg, ArgumentWord::Known(word) | ArgumentWord::Prefix(word) if names_other_host(word));
    if arguments.words().any(elsewhere) {
        meaning.lower_class(CommandClass::Unknown);
    }
    let hands_on = arguments
        .command_words()
        .take_while(|word| *word != CommandWord::Known("--"))
        .any(|word| matches!(word, CommandWord::Known("clone" | "fork")));
    let mut behind =
        arguments.command_words().skip_while(|word| *word != CommandWord::Known("--")).skip(1);
    if hands_on && !behind.all(is_harmless_clone_option) {
        meaning.add_unknown_effect("hands options on to git");
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
fn is_harmless_clone_option(word: CommandWord<'_>) -> bool {
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

/// Returns whether an option with a filter is harmless. A jq filter can read the environment.
pub(in super::super) fn is_harmless_filter_option(
    name: &str,
    value: Option<ArgumentWord<'_>>,
) -> bool {
    match (name, value) {
        ("q" | "jq", Some(ArgumentWord::Known(filter))) => {
            jq_filters::classify_filter(filter) == FilterClass::Plain
        }
        ("q" | "jq", _) => false,
        _ => true,
    }
}

/// The properties of an API request.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct ForgeApiRequest<'a> {
    /// Whether its method only reads.
    is_read_method: bool,
    /// Whether its method or body can change something.
    may_change: bool,
    /// Whether it is a GraphQL request.
    query: bool,
    /// The fields of its address or body.
    fields: Vec<Option<ArgumentWord<'a>>>,
    /// Whether another part of the request may show secrets.
    unclear: bool,
    /// Whether it only prints help.
    prints_help: bool,
}

/// Reads a `gh api` command. It is harmless if the request only reads and shows no secrets.
pub(in super::super) fn read_forge_api(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let mut request = ForgeApiRequest::default();
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => request.add_option(option, value),
            CommandItem::Operand(endpoint, _) => request.add_endpoint(endpoint),
            CommandItem::Number | CommandItem::Unclear => {}
        }
    }
    let changes = request.can_change() && !request.prints_help;
    if request.query || request.unclear || changes {
        meaning.lower_class(CommandClass::Unknown);
    }
    // A rule that allows an agent to read data does not imply any changes.
    if changes {
        meaning.add_unknown_effect("its request can change anything");
    }
    meaning
}

impl<'a> ForgeApiRequest<'a> {
    fn add_option(&mut self, option: OptionSpec, value: Option<ArgumentWord<'a>>) {
        match (option.name, value) {
            ("X" | "method", Some(ArgumentWord::Known("GET" | "HEAD"))) => {
                self.is_read_method = true;
            }
            ("X" | "method" | "input" | "form", _) => self.may_change = true,
            ("f" | "raw-field" | "F" | "field", value) => self.fields.push(value),
            ("H" | "header", value) => self.unclear |= !is_harmless_header(value),
            (name, value) => self.unclear |= !is_harmless_filter_option(name, value),
        }
        self.prints_help |= option.effect == OptionEffect::Ends;
    }

    fn add_endpoint(&mut self, endpoint: ArgumentWord<'_>) {
        match endpoint {
            ArgumentWord::Known("graphql") => self.query = true,
            endpoint => self.unclear |= !is_harmless_endpoint(endpoint),
        }
    }

    fn can_change(&self) -> bool {
        let plain = |field: &Option<ArgumentWord<'_>>| {
            if self.query {
                is_read_query(*field)
            } else {
                self.is_read_method && is_literal_field(*field)
            }
        };
        self.may_change || !self.fields.iter().all(plain)
    }
}

/// Returns whether a field is literal text from the command line. `@` begins the name of a file.
fn is_literal_field(field: Option<ArgumentWord<'_>>) -> bool {
    matches!(field, Some(ArgumentWord::Known(text)) if !text.contains("=@"))
}

/// Returns whether a GraphQL field cannot be a mutation.
fn is_read_query(field: Option<ArgumentWord<'_>>) -> bool {
    matches!(field, Some(ArgumentWord::Known(text)) if is_literal_field(field) && !text.contains("mutation"))
}

/// Returns whether a header is harmless. Some headers turn a request into another one.
fn is_harmless_header(value: Option<ArgumentWord<'_>>) -> bool {
    let Some(ArgumentWord::Known(header)) = value else { return false };
    let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
    matches!(name.as_str(), "accept" | "x-github-api-version" | "if-none-match")
}

/// Returns whether an endpoint shows only data that is visible to everyone with access to the
/// repository.
fn is_harmless_endpoint(endpoint: ArgumentWord<'_>) -> bool {
    let ArgumentWord::Known(text) = endpoint else { return false };
    let lower = text.to_ascii_lowercase();
    !["graphql", "secret", "token", "credential", "hooks"].iter().any(|word| lower.contains(word))
}
