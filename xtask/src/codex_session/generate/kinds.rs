//! The kinds of scripts. `script` fills in a letter in angle brackets: `C` a command, `P` a
//! program, `W` a word, `R` a removal, `Q` a quoted script, `D` nested wrappers, `A` a call of
//! `apply_patch`, `U` a patch without the call.

/// A name, and scripts of its kind.
type Kind = (&'static str, &'static [&'static str]);

#[rustfmt::skip]
pub(super) const KINDS: &[Kind] = &[
    ("plain", &["<C>", "<P>", "<P> <W> <W>", "<P> -x --long -- <W>", "<P> /a/b.c,d:e%f@g+h"]),
    ("quotes", &[
        "<P> '<W>'", "<P> \"<W>\"", "<P> \"a b\" 'c d'", "<P> ''", "<P> \"\"", "'<P>' <W>", "\"<P>\" <W>", "<P> $'a\\n'",
        "<P> $\"a\"", "<P> 'it'\\''s'", "<P> \"a\\\"b\"", "<P> \"a\\nb\"", "<P> \"$\"", "<P> \"`<P>`\"", "<P> \"a\nb\"",
        "<P> 'a\nb'", "<P> \"it's\"", "<P> '\"'", "<P> \"  \"", "<P> \" a\"", "<P> \"a \"", "<P> \"!\"", "<P> \"#\" '#'",
    ]),
    ("concatenation", &[
        "<P> a'b'\"c\"", "<P> ''\"\"", "<P> a\"\"b", "<P> -x=\"a b\"", "<P> --k='v'", "<P>'s'", "<P> \"a\"b", "<P> a'$x'",
        "<P> 1\"2\"", "<P> ''a", "<P> 'a''b'", "<P> \"a\"'b'c1", "<P> a'='b", "<P> ''''", "<P> -'<W>'", "<P> a,'b'",
    ]),
    ("list", &[
        "<C> && <C>", "<C> || <C>", "<C>; <C>", "<C>;", "<C> && <C> || <C>; <C>", "; <C>", "<C> &", "<C> & <C>",
        "<C>&&<C>", "<C> &&\n<C>", "<C> ;<C>",
    ]),
    ("pipeline", &["<C> | <C>", "<C> |& <C>", "! <C>", "<C> | <C> | <C>", "<C>|<C> && <C>", "<C> |\n<C>"]),
    ("lines", &[
        "<C>\n<C>", "\n<C>\n", "<C>\n\n<C>\n", "<C> \\\n<W>", "<C>\r\n<C>", "  <C>  ", "\t<C>\t<W>", "<C>;\n<C>",
        "<P> a\\\nb", "<P>   <W>\t <W>",
    ]),
    ("comment", &["<C> # <W>", "# <W>\n<C>", "#", "<C> #", "<C>\n# <W>", "<P> a#b", "<P> \\# a", "#<C>"]),
    ("redirection", &[
        "<C> > f", "<C> >> f", "<C> 2>&1", "<C> < /dev/null", "<C> &> f", "> f", "<C> 2>/dev/null | <C>", "<C> <<< a",
        "<C> >&2", "{ <C>; } > f", "> f <C>", "<R> 2>/dev/null", "<C> >| f", "<P> '>' f",
    ]),
    ("variable", &[
        "<P> $x", "<P> ${x}", "<P> \"$x\"", "<P> $1", "<P> $?", "$x <W>", "<P> ${x:-a}", "<P> '$x'", "<P> $#", "<P> $",
        "<P> $((1+2))", "<P> \"a $ b\"", "rm $x -rf zz", "<P> a$", "<P> \"${x}b\" c", "<P> $x$x",
    ]),
    ("substitution", &[
        "<P> $(<C>)", "<P> `<C>`", "<P> \"$(<C>)\"", "<P> <(<C>)", "$(<C>)", "<P> $(<R>)", "<P> \"`<R>`\"", "<P> a$(<C>)b",
        "<P> <(<R>)", "<P> $(<P> $(<R>))", "x=$(<R>)",
    ]),
    ("assignment", &[
        "A=b <C>", "A=b", "export A=b", "A=(a b)", "A+=b <C>", "A=$(<C>) <C>", "declare A=b", "unset A", "A=b B=c", "A=b <R>",
        "readonly A", "export A",
    ]),
    ("compound", &[
        "(<C>)", "{ <C>; }", "if <C>; then <C>; fi", "for x in a b; do <C>; done", "case a in a) <C>;; esac", "[ -f x ]",
        "f() { <C>; }; f", "[[ a = b ]]", "((1))", "while false; do <C>; done", "(<R>)", "{ <R>; }", "f() { <R>; }",
        "if <C>; then <R>; fi", "for x in a; do <R>; done", "case a in a) <R>;; esac", "function f { <R>; }", "! <R>", "<R> &",
        "[ a ] && <R>", "until true; do <R>; done", "! { <R>; }",
    ]),
    ("here", &[
        "<P> <<E\na\nE", "<P> <<'E'\n$x\nE\n", "bash <<E\n<R>\nE", "<P> <<-E\n\ta\n\tE", "<P> <<E\n$(<R>)\nE", "<P> <<E | <C>\na\nE",
        "<P> <<E > f\na\nE", "<C> && <P> <<E\n<W>\nE", "<P> <<E",
    ]),
    ("keyword", &[
        "time <C>", "exec <C>", ". x", "coproc <C>", ": <W>", "then", "eval <C>", "command <C>", "builtin echo a", "time -p <C>",
        "test a", "source x", "done", "fi", "do", "esac", "in", "function", "time", "exec", "time <R>", "exec <R>", "eval <Q>",
        "command <R>", "nohup", "cd sub", "cd sub && <C>", "elif <C>", "else", "select",
    ]),
    ("backslash", &[
        "<P> a\\ b", "\\<P> <W>", "<P> \\$x", "<P> \"a\\\\b\"", "<P> \"\\q\"", "<P> '\\'", "<P> \"a\\\nb\"", "<P> \"\\$x\"",
        "<P> \"\\`\"", "<P> a\\", "<P> \\\\", "<P> \"a\\tb\\\"\"", "\\rm -rf zz",
    ]),
    ("glob", &[
        "<P> *", "<P> a?", "<P> a[0]", "<P> {a,b}", "<P> \"*\"", "<P> !!", "<P> a^b", "<P> x{1..3}", "<P> @(a)", "<P> '{a,b}'",
        "<P> a{", "<P> }", "<P> ]", "<P> \"a[0]\"", "<P> a!b", "<P> {}",
    ]),
    ("tilde", &["<P> ~", "<P> ~/a", "<P> a~b", "<P> \"~\"", "<P> '~/a'", "~/<P>", "<P> a=~"]),
    ("equals", &[
        "<P> =b", "<P> a=b", "<P> '=b'", "<P> --a=b", "<P> ==", "<P> \"=\"x", "<P> =", "<P> a=", "=<P>", "<P> \"=b\"", "<P> a=b c=d",
    ]),
    ("number", &[
        "<P> 1", "<P> -1", "<P> 0x1f", "<P> 1.5", "<P> 16#ff", "1 <W>", "<P> 1a", "<P> -n 1 -m 2", "<P> 1 2>f", "<P> 0", "<P> 1 2 3",
        "<P> +1", "<P> 1'2'", "<P> 10#$x", "<P> 2 > f",
    ]),
    ("unicode", &[
        "<P> é", "<P> 日本語", "<P> e\u{301}", "<P> '😀'", "é <W>", "<P> \u{a0}a", "<P>\u{3000}a", "<P> \u{200b}", "<P> \"ß\"",
        "<P> \u{202e}a", "<P> \u{feff}", "<P> '\u{7f}'", "<P> \u{b}a", "<P> 'a\u{1}b'", "<P>\u{c}a", "<P> \u{2028}a", "日本 <W>",
    ]),
    ("wrapper", &[
        "bash -c <Q>", "bash -lc <Q>", "sh -c <Q>", "sh -lc <Q>", "zsh -c <Q>", "/bin/bash -c <Q>", "bash -xc <Q>",
        "bash -c <Q> arg0", "dash -c <Q>", "bash -l -c <Q>", "/usr/bin/sh -c <Q>", "bash.exe -c <Q>", "bash -c", "<C> && bash -c <Q>",
        "bash.a.b -lc <Q>", "BASH -c <Q>", "ksh -c <Q>", "bash -cl <Q>", "bash -c -- <Q>", "bash --norc -c <Q>",
    ]),
    ("sudo", &["sudo <C>", "sudo <R>", "sudo -n <R>", "sudo sudo <R>", "/usr/bin/sudo <R>", "sudo bash -c <Q>", "sudo env <R>", "sudo -u a <R>"]),
    ("env", &[
        "env <C>", "env -i A=b <C>", "env -i A=b <R>", "env A=b <R>", "env -u A <R>", "env -S 'rm -f zz'", "env -- <R>", "env -i",
        "env --ignore-environment <R>", "/usr/bin/env <R>", "env A=b bash -c <Q>", "env -i -- A=b <R>", "env -v <R>", "env =b <R>",
        "env A= <R>", "env -i -i <R>", "env 'A b=c' <R>", "env é=b <R>", "env - <R>", "env 1A=b <R>",
        "env A-B=c <R>", "env -A=b <R>", "env -- A=b <R>", "env '=b' <R>", "env A=b=c <R>", "env '' <R>",
    ]),
    ("trap", &[
        "trap <Q> EXIT", "trap -- <Q> EXIT", "trap - EXIT", "trap", "trap -p", "trap '' INT", "trap <C>", "trap 'rm -rf zz' EXIT",
        "trap -l", "trap <Q>", "trap -- - EXIT", "trap -- <Q>", "trap -p <Q>", "trap --",
    ]),
    ("rm", &[
        "<R>", "<R> && <C>", "<C>; <R>", "cd sub && <R>", "'rm' -rf zz", "\"rm\" -f zz", "r'm' -f zz", "/bin/rm -fr zz", "./rm -f zz",
        "RM -f zz", "rm.exe -f zz", "<R> | <C>", "<R>\n<R>", "rm '-f' zz", "rm \"-rf\" zz", "rm -\"f\" zz", "rm '-'f zz", "rm \\-f zz",
    ]),
    ("deep", &["<D><C>", "<D><R>", "<D><C> && <C>", "<D>bash -c <Q>", "trap '<D>rm -f zz' EXIT", "bash -c '<D>uu'"]),
    ("path", &[
        "./<P> <W>", "sub/<P>", "/opt/x/<P> <W>", "/bin/<P>", "../<P>", "/ws/<P> <W>", "sub/../<P>", "/ws/sub/../<P> <W>", ".//<P> <W>",
        "/opt/./x/<P>", "<P>/", "/", "..", "/opt/x/../../bin/<P>",
    ]),
    ("case", &["UU <W>", "Uu <W> <W>", "uu A -X", "AL <W>", "uU a"]),
    ("broken", &[
        "<P> \"", "<P> '", "<C> &&", "| <C>", "(<C>", "<C>)", "<P> $(", "<C> ;; <C>", "{ <C>", "}", "", " ", "\n", "<C> || ", "<R> )",
        "<C> < ", "<R> &&", "&& <C>", "<P> ${", "\"", "<R>; fi", "(<R>", "<P> `<R>",
    ]),
    // Codex answers these itself. The files that they add are below the work directory, or in
    // places that are never writable here.
    ("patch", &[
        "<A>", "<A>", "<A>", "<A>", "cd sub && <A>", "cd \"sub\" && <A>", "cd 's u' && <A>", "cd sub; <A>", "cd sub && cd .. && <A>", "cd $x && <A>",
        "cd /ws/sub && <A>", "cd ~ && <A>", "cd .. && <A>", "A=1 <A>", "\n<A>\n", "<C> && <A>", "<A>\n<C>", "(<A>\n)", "! <A>", "# a\n<A>",
        "cd sub || <A>", "cd && <A>", "cd a b && <A>", "time <A>", "> f <A>", "cd \"$x\" && <A>", "cd s* && <A>", "<U>",
    ]),
    ("banned", &[
        "git zz", "git -C zz zz", "python3 -c uu", "python3 - zz", "node -e uu", "perl -e uu", "ruby -e uu", "bash -c uu", "sh -lc uu",
        "/bin/bash -lc uu", "dash -c uu", "fish -c uu", "lua -e uu", "php -r uu", "deno eval uu", "bun run zz", "Rscript zz", "osascript zz",
        "env uu", "sudo uu", "rm zz", "pypy3 zz", "pwsh -Command uu", "/usr/bin/python3 -c uu", "python3.11 -c uu", "bash -x zz",
    ]),
];
