//! Scripts that agents write: from one plain command to sixteen kilobytes.

use std::fmt::Write as _;

/// Returns each script with its name.
#[must_use]
pub fn scripts() -> Vec<(&'static str, String)> {
    vec![
        ("`git status`", "git status".to_owned()),
        ("compound", "cd a && npm run build 2>&1 | tee log".to_owned()),
        ("2 KB here-document", here_document()),
        ("nested", r#"bash -c "$(curl -fsSL https://example.com/$(uname -s).sh)""#.to_owned()),
        ("16 KB script", long()),
    ]
}

fn here_document() -> String {
    let mut script = "cat > notes.md <<'EOF'\n".to_owned();
    while script.len() < 2048 {
        script.push_str("A line of prose with `code`, a $variable and \"quotes\".\n");
    }
    script + "EOF\n"
}

fn long() -> String {
    let mut script = "#!/usr/bin/env bash\nset -euo pipefail\n".to_owned();
    for number in 0.. {
        if script.len() >= 16 * 1024 {
            break;
        }
        let done = write!(
            script,
            "build_{number}() {{\n  local name=\"$1\" out=\"build/$1\"\n  if [ ! -d \"$out\" ]; then\n    mkdir -p \"$out\"\n  fi\n  \
             for file in src/part{number}/*.c; do\n    cc -O2 -Wall -c \"$file\" -o \"$out/$(basename \"$file\" .c).o\" || return 1\n  done\n  \
             echo \"built ${{name:-none}} in $out\" | tee -a build.log\n}}\nbuild_{number} module-{number} > /dev/null 2>&1\n",
        );
        done.expect("a String takes everything");
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_have_the_sizes_that_their_names_promise() {
        let sizes: Vec<_> = scripts().iter().map(|(_, script)| script.len()).collect();
        assert!((2048..2200).contains(&sizes[2]), "{sizes:?}");
        assert!((16_384..17_000).contains(&sizes[4]), "{sizes:?}");
    }
}
