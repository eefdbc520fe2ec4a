//! Tests of which characters are escaped.

use super::*;

fn one(text: &str) -> String {
    escape_text(text, LineMode::SingleLine)
}

#[test]
fn each_dangerous_class_is_escaped() {
    let rows = [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb", r"a\rb"),
        ("a\x08b\x7f\0", r"a\x08b\x7f\x00"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\u{85}\u{9b}31m", r"\u{85}\u{9b}31m"),
        ("\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}", r"\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}"),
        ("\u{2066}\u{2067}\u{2068}\u{2069}", r"\u{2066}\u{2067}\u{2068}\u{2069}"),
        ("\u{200e}\u{200f}\u{61c}", r"\u{200e}\u{200f}\u{61c}"),
        ("\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}", r"\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}"),
        ("\u{2028}\u{2029}", r"\u{2028}\u{2029}"),
        ("\u{ad}", r"\u{ad}"),
        ("\u{a0}\u{2003}\u{202f}\u{3000}\u{1680}", r"\u{a0}\u{2003}\u{202f}\u{3000}\u{1680}"),
        ("\u{e0041}\u{e007f}", r"\u{e0041}\u{e007f}"),
        ("a\u{fe0f}\u{e0100}\u{180b}", r"a\u{fe0f}\u{e0100}\u{180b}"),
        ("\u{e000}\u{f8ff}\u{10fffd}", r"\u{e000}\u{f8ff}\u{10fffd}"),
        ("\u{378}\u{ffff}\u{fdd0}", r"\u{378}\u{ffff}\u{fdd0}"),
        ("\u{3164}\u{115f}\u{2800}\u{34f}", r"\u{3164}\u{115f}\u{2800}\u{34f}"),
    ];
    for (text, expected) in rows {
        assert_eq!(one(text), expected);
    }
}

#[test]
fn ordinary_text_is_not_escaped() {
    for text in [
        "git push",
        "naïve",
        "Ελλάδα",
        "Привет",
        "日本語",
        "한국어",
        "שלום",
        "مرحبا",
        "ไทย",
        "हिन्दी",
        "🚀",
    ] {
        assert_eq!(one(text), text);
    }
}

#[test]
fn marks_need_a_letter_and_are_few() {
    assert_eq!(one("e\u{301}"), "e\u{301}");
    assert_eq!(one("\u{301}"), r"\u{301}");
    assert_eq!(one("/\u{301}"), r"/\u{301}");
    assert_eq!(one("e\u{301}\u{302}\u{303}\u{304}"), "e\u{301}\u{302}\\u{303}\\u{304}");
    assert_eq!(one("a\u{338}"), r"a\u{338}", "a stroke through a letter hides it");
}

#[test]
fn lines_are_kept_only_where_they_are_allowed() {
    assert_eq!(escape_text("a\n\tb\r\n", LineMode::MultiLine), "a\n    b\\r\n");
}

#[test]
fn of_all_characters_only_shapes_pass() {
    for c in '\0'..=char::MAX {
        let shown = one(&c.to_string());
        if shown.starts_with(c) {
            assert!(is_visible(c));
            assert!(!c.is_control() && (c == ' ' || !c.is_whitespace()), "{c:?}");
            assert!(c.width().is_some_and(|width| width > 0), "{c:?}");
        } else {
            assert!(shown.chars().all(|c| c.is_ascii_graphic()), "{c:?}");
        }
    }
}

#[test]
fn glyphs_report_their_offsets_and_widths() {
    let at: Vec<_> = escaped_glyphs("é\x1bx", LineMode::SingleLine)
        .map(|glyph| (glyph.start, glyph.content.width()))
        .collect();
    assert_eq!(at, [(0, 1), (2, 4), (3, 1)]);
}
