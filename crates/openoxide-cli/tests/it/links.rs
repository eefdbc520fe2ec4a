//! Every link between documents leads somewhere: to a file that is there, and to a heading in it. What mdBook makes of the guide is
//! that and a page for each line of its summary, which `guide.rs` holds.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::workspace;

/// Returns the documents, as the repository has them.
fn documents() -> Vec<PathBuf> {
    let mut list = Command::new("git");
    let listed = list.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]);
    let listed =
        String::from_utf8(listed.current_dir(workspace()).output().unwrap().stdout).unwrap();
    // Files in the corpus are not documents, but the sources of documents.
    let listed = listed.lines().filter(|name| !name.starts_with("corpus/"));
    listed.map(|name| workspace().join(name)).filter(|path| path.exists()).collect()
}

/// Returns the lines that are text: no block of code, and no code within a line.
fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    let outside = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    lines.map(outside).collect::<Vec<_>>().join("\n")
}

/// Returns where the links of a text lead.
fn links(text: &str) -> Vec<String> {
    let behind = prose(text);
    let targets = behind.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.trim_matches(['<', '>']).to_owned()).collect()
}

/// Returns the names of a document's headings, as GitHub and mdBook make them of their words.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in text.lines() {
        inside ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if !inside && heading.len() < line.len() && heading.starts_with(' ') {
            let plain = |char: &char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_');
            let words = heading.trim().to_lowercase().chars().filter(plain).collect::<String>();
            names.insert(words.replace(' ', "-"));
        }
    }
    names
}

/// Returns the problem with a link of a document, if there is one.
fn wrong(document: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None; // Other machines are asked by nobody here.
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => document.to_owned(),
        path => document.parent().unwrap().join(path),
    };
    if !target.exists() {
        return Some(format!("{}: nothing lies at `{link}`", document.display()));
    }
    if anchor.is_empty() || anchors(&fs::read_to_string(&target).unwrap()).contains(anchor) {
        return None;
    }
    Some(format!("{}: no heading is called `{link}`", document.display()))
}

#[test]
fn every_link_of_every_document_leads_somewhere() {
    let (mut seen, mut broken) = (0, Vec::new());
    for document in documents() {
        for link in links(&fs::read_to_string(&document).unwrap()) {
            seen += 1;
            broken.extend(wrong(&document, &link));
        }
    }
    assert_eq!(broken, Vec::<String>::new());
    assert!(seen > 60, "{seen}");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let text =
        "[a](a.md#b) `[no](x)` <!-- -->\n```\n[no](y)\n# no\n```\n## What `x` does, and *why*\n";
    assert_eq!(links(text), ["a.md#b"]);
    assert_eq!(anchors(text), BTreeSet::from(["what-x-does-and-why".to_owned()]));
    let readme = workspace().join("README.md");
    assert_eq!(wrong(&readme, "ARCHITECTURE.md#invariants"), None);
    assert!(wrong(&readme, "ARCHITECTURE.md#nothing-of-the-kind").is_some());
    assert!(wrong(&readme, "nothing.md").is_some());
}
