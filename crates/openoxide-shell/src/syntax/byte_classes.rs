//! The bytes that have a special meaning to the shell.

/// Returns whether `byte` ends an unquoted word.
pub(super) const fn is_metacharacter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Returns whether `byte` has no special meaning inside an unquoted word.
pub(super) const fn is_plain_byte(byte: u8) -> bool {
    !is_metacharacter(byte) && !matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`')
}

/// Returns whether a name can begin with `byte`.
pub(super) const fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// Returns whether a name can continue with `byte`.
pub(super) const fn is_name_continue(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether `text` is the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(is_name_start) && bytes.all(is_name_continue)
}

/// Returns whether `text` is a reserved word at the beginning of a command.
pub(super) fn is_reserved_word(text: &str) -> bool {
    matches!(
        text,
        "if" | "then"
            | "elif"
            | "else"
            | "fi"
            | "for"
            | "while"
            | "until"
            | "do"
            | "done"
            | "case"
            | "esac"
            | "select"
            | "function"
            | "{"
            | "}"
            | "!"
            | "[["
            | "]]"
            | "time"
            | "in"
            | "coproc"
    )
}

/// Returns whether `text` is a reserved word that ends a list of commands.
pub(super) fn is_list_terminator(text: &str) -> bool {
    matches!(text, "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}")
}
