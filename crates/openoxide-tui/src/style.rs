//! Colours, which only repeat what words already say.

/// How text is set off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Not at all.
    #[default]
    Plain,
    /// With the colours and weights of an ANSI terminal.
    Ansi,
}

/// What a piece of text is, as far as its colour goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Body,
    Strong,
    Faint,
    Good,
    Careful,
    Bad,
    Escaped,
}

impl Style {
    /// Returns `text` in `tone`.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        match (self, tone.code()) {
            (Self::Ansi, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

impl Tone {
    /// Returns the parameter of SGR (ECMA-48).
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Body => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("32"),
            Self::Careful => Some("33"),
            Self::Bad => Some("31"),
            Self::Escaped => Some("7"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_carries_no_escape() {
        assert_eq!(Style::Plain.paint(Tone::Bad, "no"), "no");
        assert_eq!(Style::Ansi.paint(Tone::Bad, "no"), "\x1b[31mno\x1b[0m");
        assert_eq!(Style::Ansi.paint(Tone::Body, "no"), "no");
        assert_eq!(Style::Ansi.paint(Tone::Bad, ""), "");
    }
}
