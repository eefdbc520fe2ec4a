//! Reader for `go doc`, some of whose operands name a host.

use openoxide_protocol::CommandClass;

use super::super::{
    ArgumentWord, CommandMeaning, command_arguments::CommandArguments, command_items::CommandItem,
    command_reading::read_without_custom_reader,
};

/// Reads a `go doc` command. A package with a version, or one whose path begins with the name of a
/// host, is looked up at that host if no module of the project has it.
pub(in super::super) fn read_go_doc(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_local = |arg| matches!(arg, ArgumentWord::Known(text) if !names_host(text));
    let mut items = arguments.items();
    if items.any(|item| matches!(item, CommandItem::Operand(arg, _) if !is_local(arg))) {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

/// Returns whether a package is looked up outside of this machine: `example.com/x`, `x@latest`. A
/// path that begins with a dot is a directory, and `json.Decoder` has no slash.
fn names_host(package: &str) -> bool {
    let first = package.split_once('/').map(|(first, _)| first);
    package.contains('@')
        || first.is_some_and(|first| !first.starts_with('.') && first.contains('.'))
}
