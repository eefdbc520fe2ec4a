//! Statements that use the features of the language itself, valid and invalid.

use crate::crash::chance::Chance;

use super::{
    Pattern,
    call::{list, pattern},
    words::one,
};

/// Returns a statement that creates rules indirectly.
pub(super) fn statement(chance: &mut Chance, patterns: &mut Vec<Pattern>) -> String {
    let pattern = pattern(chance);
    let list = list(chance, &pattern);
    patterns.push(pattern);
    let templates = [
        "x = LIST\nprefix_rule(x)",
        "def f(x, y = \"prompt\"):\n  prefix_rule(pattern = x, decision = y)\nf(LIST)",
        "for x in [\"allow\", \"prompt\"]:\n    prefix_rule(LIST, x)",
        "if len(LIST) > 1:\n  prefix_rule(LIST)\nelse:\n  prefix_rule(LIST, \"forbidden\")",
        "[prefix_rule([x]) for x in LIST if type(x) == \"string\"]",
        "prefix_rule(LIST + [\"status\"])",
        "prefix_rule([x for x in LIST])",
        "prefix_rule(*[LIST])",
        "prefix_rule(**{\"pattern\": LIST, \"decision\": \"prompt\"})",
        "r = lambda p: prefix_rule(p, \"forbidden\")\nr(LIST)",
        "n = 1\nprefix_rule([f\"{n}git\"]); prefix_rule(LIST)",
        "prefix_rule(LIST, justification = \"%s\" % [1, \"é\"])",
        "x = prefix_rule(LIST)\nprefix_rule([str(x)])",
        "prefix_rule(sorted(LIST))",
        "prefix_rule([\"a\".upper(), \"b\" * 3])",
    ];
    one(chance, &templates).replace("LIST", &list)
}

/// Returns a statement that is invalid in every file.
pub(super) fn wrong(chance: &mut Chance) -> String {
    let wrong = [
        "print(\"x\")",
        "foo()",
        "load(\"x\", \"y\")",
        "while True: pass",
        "x = 1 +",
        "fail(\"boom\", 1)",
        "1 / 0",
        "x = [][1]",
        "{}[\"a\"]",
        "\"a\" + 1",
        "x = struct(a = 1)",
        "prefix_rule([\"a\"]).x",
        "  prefix_rule([\"a\"])",
        "\tprefix_rule([\"a\"])",
        "x = \"abc",
        "x = 12abc",
        "$",
        "def f(): return f()\nf()",
        "prefix_rule = 1\nprefix_rule([\"a\"])",
        "x = \"\\q\"",
        "x: int = \"a\"",
        "def f(x: int) -> str:\n  return x\nf(1)",
        "x, y = 1",
        "return 1",
        "break",
        "a = b = 1",
        "assert x",
        "import os",
        "f(x) = 1",
        "len(1)",
        "prefix_rul([\"a\"])",
        "\"a\".nope()",
        "[1, 2, 3].append()",
        "int(\"x\")",
        "x = y",
        "del x",
        "[x for x in 1]",
        "prefix_rule([\"a\"], match=[\"'\"])",
        "\"\"\"a\nb",
        "'é' + 1",
        "x = {1: 2, 1: 3}",
        "\"%d\" % \"a\"",
        "\"{}\".format()",
        "lambda x: x(1)\n(lambda x: x + 1)(\"a\")",
        "range(1, 2, 0)",
        "\"a\" < 1",
        "-\"a\"",
        "not_there.x",
        "prefix_rule([\"a\"],, )",
    ];
    one(chance, &wrong).to_owned()
}
