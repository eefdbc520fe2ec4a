//! Prefixes that Codex does not accept from a model because they would allow everything.

/// The banned prefixes, with single blanks between their words. They are compared literally.
const BANNED_PREFIXES: [&str; 88] = [
    "/bin/bash",
    "/bin/bash -c",
    "/bin/bash -lc",
    "/bin/sh",
    "/bin/sh -c",
    "/bin/sh -lc",
    "/bin/zsh",
    "/bin/zsh -c",
    "/bin/zsh -lc",
    "Rscript",
    "bash",
    "bash -c",
    "bash -lc",
    "bun",
    "bun -e",
    "bun run",
    "cmd",
    "cmd /c",
    "cmd /k",
    "cmd.exe",
    "cmd.exe /c",
    "cmd.exe /k",
    "dash",
    "dash -c",
    "deno",
    "deno eval",
    "env",
    "fish",
    "fish -c",
    "git",
    "julia",
    "julia -e",
    "ksh",
    "ksh -c",
    "lua",
    "lua -e",
    "node",
    "node -e",
    "nodejs",
    "nodejs -e",
    "npm run",
    "osascript",
    "perl",
    "perl -e",
    "php",
    "php -r",
    "pnpm run",
    "powershell",
    "powershell -Command",
    "powershell -EncodedCommand",
    "powershell -File",
    "powershell -c",
    "powershell.exe",
    "powershell.exe -Command",
    "powershell.exe -EncodedCommand",
    "powershell.exe -File",
    "powershell.exe -c",
    "pwsh",
    "pwsh -Command",
    "pwsh -EncodedCommand",
    "pwsh -File",
    "pwsh -c",
    "pwsh -e",
    "pwsh -ec",
    "pwsh -f",
    "py",
    "py -3",
    "pypy",
    "pypy3",
    "python",
    "python -",
    "python -c",
    "python3",
    "python3 -",
    "python3 -c",
    "pythonw",
    "pyw",
    "rm",
    "ruby",
    "ruby -e",
    "sh",
    "sh -c",
    "sh -lc",
    "sudo",
    "yarn run",
    "zsh",
    "zsh -c",
    "zsh -lc",
];

/// Returns whether exactly these words are banned. Longer commands are not.
#[must_use]
pub fn is_banned_prefix(prefix: &[String]) -> bool {
    prefix.iter().all(|word| !word.contains(' '))
        && BANNED_PREFIXES.binary_search(&prefix.join(" ").as_str()).is_ok()
}

/// Returns the longest banned prefix that these words begin with.
#[must_use]
pub fn longest_banned_prefix(words: &[String]) -> Option<&'static str> {
    let begins = |banned: &&&str| {
        let mut rest = words.iter();
        banned.split(' ').all(|word| rest.next().is_some_and(|next| next == word))
    };
    BANNED_PREFIXES.iter().filter(begins).max_by_key(|banned| banned.len()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(BANNED_PREFIXES.is_sorted());
    }

    // Each row of `corpus/codex/banned.json` was checked with the real program.
    #[test]
    fn just_these_are_banned() {
        let all: Vec<Vec<String>> =
            serde_json::from_str(include_str!("../../../../corpus/codex/banned.json")).unwrap();
        assert_eq!(all.len(), BANNED_PREFIXES.len());
        assert!(all.iter().all(|prefix| is_banned_prefix(prefix)));
        for free in ["npx", "rm -rf", "git -C", "sudo apt", "python3 -m", "/usr/bin/python3", ""] {
            let words: Vec<String> = free.split_whitespace().map(str::to_owned).collect();
            assert!(!is_banned_prefix(&words), "{free}");
        }
        assert!(!is_banned_prefix(&["bash -c".to_owned()]));
    }
}
