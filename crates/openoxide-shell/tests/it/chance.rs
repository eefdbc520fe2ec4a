//! Scripts by chance: seeds, cut and put together again. The chores share this file (`xtask/src/referee`).

/// A source of numbers that gives the same ones for the same seed.
#[derive(Debug)]
pub(crate) struct Chance(u64);

/// The pieces that random scripts are made of.
const PIECES: &[&str] = &[
    " ",
    "\n",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "(",
    ")",
    "{ ",
    " }",
    "{",
    "}",
    "'",
    "\"",
    "`",
    "$",
    "$(",
    "${",
    "$((",
    "))",
    "<(",
    ">(",
    "<",
    ">",
    ">>",
    "<<",
    "<<-",
    "<<<",
    "&>",
    ">&",
    "\\",
    "\\\n",
    "#",
    " #",
    "!",
    "! ",
    "time ",
    "[[ ",
    " ]]",
    "((",
    "if ",
    "; then ",
    "; fi",
    "do ",
    "done",
    "case a in ",
    "esac",
    ";;",
    "function f ",
    "f() ",
    "coproc ",
    "eval ",
    "evil7",
    "; evil8; ",
    "$(evil9)",
    "`evil10`",
    "\"$(evil11)\"",
    "EOF",
    "\nEOF\n",
    "=",
    "+=",
    "x=",
    "a[",
    "]",
    "~",
    "*",
    "?",
    "@",
    ",",
    "..",
    "1",
    "2>",
    "in ",
    "a",
    "$x",
    "\"$x\"",
    "${x:-",
    "}",
    "$'",
    "$\"",
    "-v ",
    "exec ",
    "command ",
    "\t",
    "%",
    "/",
    "^",
    ":",
    "builtin ",
    "trap ",
    "export ",
    "declare ",
    "local ",
    "\u{e9}",
    "elif ",
    "else ",
    "while ",
    "until ",
    "for i in ",
    "select x in ",
    ">out20 ",
    "[ ",
    "test ",
];

/// Scripts around a script, at `@@`.
const FRAMES: &[&str] = &[
    "$(@@)",
    "echo \"$(@@)\"",
    "echo `@@`",
    "{ @@\n}",
    "( @@ )",
    "if @@\nthen @@\nfi",
    "for q in 1 2; do @@\ndone",
    "while read q; do @@\ndone <<< x",
    "case q in q) @@\n;; esac",
    "g() { @@\n}; g",
    "cat <<EOT\n$(@@)\nEOT\n",
    "cat <<EOT\n@@\nEOT\n",
    "x=$(@@)",
    "a=($(@@))",
    "echo ${q:-$(@@)}",
    "echo \"${q:-$(@@)}\"",
    "echo $((1+$(@@)))",
    "[[ a == $(@@) ]]",
    "cat <(@@)",
    "eval '@@'",
    "trap '@@' EXIT",
    "@@ | @@",
    "@@ && @@",
    "cd a && { @@\n}",
    "! { @@\n}",
    "echo \"@@\"",
    "echo '@@'",
    "# @@\n@@",
];

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % limit.max(1)
    }

    pub(crate) fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from.get(self.below(from.len())).copied().unwrap_or_default()
    }

    /// Returns a script made of `seeds`.
    pub(crate) fn script(&mut self, seeds: &[&str]) -> String {
        let mut script = self.seed(seeds).to_owned();
        for _ in 0..self.below(5) {
            script = self.changed(&script, seeds);
        }
        script
    }

    /// Returns a seed, or one command of it: many seeds hold something opaque, which hides what else is missed.
    fn seed<'t>(&mut self, seeds: &[&'t str]) -> &'t str {
        let seed = self.pick(seeds);
        if seed.contains('\n') || self.below(3) == 0 {
            return seed;
        }
        let parts: Vec<&str> = seed.split("; ").collect();
        self.pick(&parts)
    }

    fn changed(&mut self, script: &str, seeds: &[&str]) -> String {
        let (head, tail) = script.split_at(self.place(script));
        match self.below(8) {
            0 | 1 => format!("{head}{}{tail}", self.pick(PIECES)),
            2 => {
                let tail: String = tail.chars().skip(1 + self.below(4)).collect();
                format!("{head}{tail}")
            }
            3 => {
                let other = self.pick(seeds);
                let (_, end) = other.split_at(self.place(other));
                format!("{head}{end}")
            }
            4 => format!("{script}\n{}", self.seed(seeds)),
            5 | 6 => {
                let frame = self.pick(FRAMES);
                frame.replacen("@@", script, 1).replace("@@", self.seed(seeds))
            }
            _ => {
                let (middle, end) = tail.split_at(self.place(tail));
                let piece = self.pick(PIECES);
                format!("{head}{piece}{middle}{piece}{end}")
            }
        }
    }

    fn place(&mut self, script: &str) -> usize {
        let mut at = self.below(script.len() + 1);
        while !script.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}
