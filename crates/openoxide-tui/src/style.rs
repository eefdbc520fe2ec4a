//! Colours, which only repeat information that the text already contains.

/// The style of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextStyle {
    /// Plain text without escape sequences.
    #[default]
    Plain,
    /// Text with the colours and weights of an ANSI terminal.
    Ansi,
}

/// The role of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextTone {
    Body,
    Strong,
    Dim,
    Success,
    Warning,
    Error,
    Escaped,
}

impl TextStyle {
    /// Returns `text` in `tone`.
    pub(crate) fn paint(self, tone: TextTone, text: &str) -> String {
        match (self, tone.sgr_code()) {
            (Self::Ansi, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

impl TextTone {
    /// Returns the parameter of the SGR sequence (ECMA-48).
    const fn sgr_code(self) -> Option<&'static str> {
        match self {
            Self::Body => None,
            Self::Strong => Some("1"),
            Self::Dim => Some("2"),
            Self::Success => Some("32"),
            Self::Warning => Some("33"),
            Self::Error => Some("31"),
            Self::Escaped => Some("7"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_carries_no_escape() {
        assert_eq!(TextStyle::Plain.paint(TextTone::Error, "no"), "no");
        assert_eq!(TextStyle::Ansi.paint(TextTone::Error, "no"), "\x1b[31mno\x1b[0m");
        assert_eq!(TextStyle::Ansi.paint(TextTone::Body, "no"), "no");
        assert_eq!(TextStyle::Ansi.paint(TextTone::Error, ""), "");
    }
}
