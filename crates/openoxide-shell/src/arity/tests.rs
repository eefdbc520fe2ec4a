use super::*;
use crate::notation::parse_words;

fn prefix(line: &str) -> u8 {
    always_prefix_len(&parse_words(line))
}

#[test]
fn every_entry_is_found() {
    assert!(PREFIXES.len() > 500, "{}", PREFIXES.len());
    for (words, expected) in PREFIXES {
        let mut key = PrefixKey::default();
        words.split(' ').for_each(|word| key.push_word(word).unwrap());
        assert_eq!(key.find_entry(), Some(*expected), "{words}");
        assert!(words.split(' ').count() <= MAX_WORDS, "{words}");
        assert!(!matches!(expected, PrefixArity::Words(words) if !(1..=4).contains(words)));
    }
}

#[test]
fn a_command_longer_than_any_entry_matches_none() {
    assert_eq!(prefix(&format!("{} status", "git".repeat(20))), 2);
    assert_eq!(prefix(&format!("git {} push", "x".repeat(40))), 2);
}

#[test]
fn the_longest_matching_entry_applies() {
    for (line, expected) in [
        ("ls", 1),
        ("ls -la src", 1),
        ("cat a", 1),
        ("git status", 2),
        ("git push origin main", 2),
        ("git config user.name x", 3),
        ("git remote add origin x", 3),
        ("npm install", 2),
        ("npm run build", 3),
        ("npm run build:prod --x", 3),
        ("yarn run build", 3),
        ("docker ps", 2),
        ("docker compose up -d", 3),
        ("cargo test --all", 2),
        ("cargo add serde", 3),
        ("cargo run --release", 2),
        ("kubectl rollout status x", 3),
        ("aws s3 ls", 3),
        ("uv tool run ruff", 4),
        ("make test", 2),
        ("go mod tidy", 3),
        ("npx eslint .", 2),
        ("git commit -m $?", 2),
        ("ls $*", 1),
    ] {
        assert_eq!(prefix(line), expected, "{line}");
    }
}

#[test]
fn of_an_unknown_program_a_subcommand_is_kept_and_nothing_wider() {
    for (line, expected) in [
        ("frobnicate build x", 2),
        ("frobnicate build:all", 2),
        ("frobnicate", 0),
        ("frobnicate --x", 0),
        ("frobnicate Build", 0),
        ("frobnicate a/b", 0),
        ("frobnicate $?", 0),
        ("frobnicate a.txt", 0),
        ("./frobnicate build", 0),
        ("/bin/frobnicate build", 0),
        ("frob*nicate build", 0),
        ("-x build", 0),
        ("a-program-with-a-name-longer-than-any-key build", 2),
        ("git a-subcommand-with-a-name-longer-than-any-key x", 2),
        ("frobnicate a-subcommand-with-a-name-longer-than-any-key x y", 2),
        ("'frob nicate' build", 0),
    ] {
        assert_eq!(prefix(line), expected, "{line}");
    }
}

#[test]
fn a_prefix_is_never_shorter_than_its_program_needs() {
    for line in ["git", "npm run", "docker compose", "cargo", "make", "kubectl", "aws s3"] {
        assert_eq!(prefix(line), 0, "{line}");
    }
}

#[test]
fn no_prefix_with_a_word_that_is_not_plain() {
    for line in [
        "",
        "$?",
        "$* x",
        "git -C x status",
        "git --no-pager log",
        "git $?",
        "git s$?",
        "npm run $?",
        "npm run --silent build",
        "npm run ../x",
        "git 'st;id'",
        "git 'a b'",
        "npm run 'a&&b'",
        "gh api /repos",
        "make -j4",
        "/usr/bin/git status",
        "./ls",
        "cargo +nightly test",
        "l$?",
    ] {
        assert_eq!(prefix(line), 0, "{line}");
    }
}

#[test]
fn no_prefix_is_offered_for_commands_that_run_arbitrary_code() {
    for line in [
        "bash -c x",
        "sh x",
        "zsh x",
        "env ls",
        "sudo ls",
        "xargs rm",
        "find . -name x",
        "ssh host ls",
        "docker run x",
        "docker exec c ls",
        "docker compose exec web sh",
        "docker compose run web sh",
        "node -e x",
        "node x",
        "python -c x",
        "python3 x",
        "perl x",
        "ruby x",
        "awk x",
        "sed x",
        "curl x",
        "wget x",
        "rm x",
        "eval ls",
        "source x",
        ". x",
        "timeout 5 ls",
        "nice ls",
        "command ls",
        "exec ls",
        "export x",
        "kubectl exec p",
        "git rebase main",
        "git submodule foreach x",
        "git bisect run x",
        "git clone x",
        "go run x",
        "go generate x",
        "deno run x",
        "tar xf",
        "dd x",
        "tee x",
        "vim x",
        "less x",
        "man x",
        "tmux new",
        "screen x",
        "su root",
        "doas ls",
        "parallel x",
        "watch ls",
        "psql x",
        "rsync a",
        "scp a",
        "sort a",
        "rg a",
        "fd a",
        "nc x",
        "poetry run python x",
        "osascript x",
        "powershell x",
        "cmd x",
        "Rscript x",
        "julia x",
        "lua x",
        "php x",
    ] {
        assert_eq!(prefix(line), 0, "{line}");
    }
}

#[test]
fn programs_with_other_words_keep_theirs() {
    for (line, expected) in [("go build x", 2), ("deno task x", 3), ("docker compose ps", 3)] {
        assert_eq!(prefix(line), expected, "{line}");
    }
}
