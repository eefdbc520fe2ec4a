"""Which characters of a text are escaped for display, and how wide the others are."""

from __future__ import annotations

import sys

import pytest
import wcwidth
from tool_approval.display_text import display_width, escape_text, iter_glyphs


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb", r"a\rb"),
        ("a\x08b\x7f\0", r"a\x08b\x7f\x00"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x85\x9b31m", r"\u{85}\u{9b}31m"),
        ("\u202a\u202b\u202c\u202d\u202e", r"\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}"),
        ("\u2066\u2067\u2068\u2069", r"\u{2066}\u{2067}\u{2068}\u{2069}"),
        ("\u200e\u200f\u061c", r"\u{200e}\u{200f}\u{61c}"),
        ("\u200b\u200c\u200d\u2060\ufeff", r"\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}"),
        ("\u2028\u2029", r"\u{2028}\u{2029}"),
        ("\xad", r"\u{ad}"),
        ("\xa0\u2003\u202f\u3000\u1680", r"\u{a0}\u{2003}\u{202f}\u{3000}\u{1680}"),
        ("\U000e0041\U000e007f", r"\u{e0041}\u{e007f}"),
        ("a\ufe0f\U000e0100\u180b", r"a\u{fe0f}\u{e0100}\u{180b}"),
        ("\ue000\uf8ff\U0010fffd", r"\u{e000}\u{f8ff}\u{10fffd}"),
        ("\u0378\uffff\ufdd0", r"\u{378}\u{ffff}\u{fdd0}"),
        ("\u3164\u115f\u2800\u034f", r"\u{3164}\u{115f}\u{2800}\u{34f}"),
        ("\ud800\udcff", r"\u{d800}\u{dcff}"),
    ],
)
def test_characters_that_deceive_are_escaped(text: str, shown: str) -> None:
    assert escape_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_ordinary_text_is_not_escaped(text: str) -> None:
    assert escape_text(text) == text


def test_marks_need_a_letter_and_are_few() -> None:
    assert escape_text("e\u0301") == "e\u0301"
    assert escape_text("\u0301") == r"\u{301}"
    assert escape_text("/\u0301") == r"/\u{301}"
    assert escape_text("e\u0301\u0302\u0303\u0304") == "e\u0301\u0302\\u{303}\\u{304}"
    assert escape_text("a\u0338") == r"a\u{338}"


def test_lines_are_kept_only_where_they_are_allowed() -> None:
    assert escape_text("a\n\tb\r\n", keep_lines=True) == "a\n    b\\r\n"


def test_ascii_only_escapes_every_other_character() -> None:
    assert escape_text("grüße 世", ascii_only=True) == r"gr\u{fc}\u{df}e \u{4e16}"


def test_of_all_characters_only_shapes_pass_and_none_is_wider_than_reported() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        for text in (character, f"a{character}"):
            glyph = list(iter_glyphs(text))[-1]
            if glyph.is_escaped:
                assert glyph.shown.isascii() and glyph.shown.isprintable()
                assert glyph.width == len(glyph.shown)
            else:
                assert glyph.shown == character
                assert character.isprintable()
                assert 0 <= wcwidth.wcwidth(character) <= glyph.width, hex(code)


def test_the_width_of_an_escaped_text_is_the_sum_of_its_glyphs() -> None:
    text = "git  push\t--force 世界 e\u0301 🚀\x1b[2J"
    glyphs = list(iter_glyphs(text, keep_tabs=True))
    assert display_width(escape_text(text, keep_lines=True)) == sum(one.width for one in glyphs)
