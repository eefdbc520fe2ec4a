//! Which bytes mean something to the shell.

/// Says whether `byte` ends an unquoted word.
pub(super) const fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Says whether `byte` means nothing at all inside an unquoted word.
pub(super) const fn is_plain(byte: u8) -> bool {
    !is_meta(byte) && !matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`')
}

/// Says whether a name can begin with `byte`.
pub(super) const fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// Says whether a name can go on with `byte`.
pub(super) const fn continues_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Says whether `text` is the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(begins_name) && bytes.all(continues_name)
}

/// Says whether `text` is a reserved word where a command begins.
pub(super) fn is_reserved(text: &str) -> bool {
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

/// Says whether `text` is a reserved word that ends a list of commands.
pub(super) fn ends_list(text: &str) -> bool {
    matches!(text, "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}")
}
