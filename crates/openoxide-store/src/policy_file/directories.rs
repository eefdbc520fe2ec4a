//! The list `directories` of a policy file.

use openoxide_permission::{AdditionalDirectory, parse_directory};
use toml::de::DeValue;

use super::policy_file_parser::{PolicyFileParser, TomlValue};

/// The maximum number of directories in one file. Each directory is resolved for each call.
const MAX_DIRECTORIES: usize = 32;

impl PolicyFileParser<'_> {
    /// Parses the directories. A problem with a directory loses no restriction, because directories
    /// only loosen the policy.
    pub(super) fn parse_directories(&mut self, value: &TomlValue<'_>) {
        let DeValue::Array(items) = value.get_ref() else {
            let help = Some("write `directories = [\"../shared\"]`".to_owned());
            return self.push_problem(
                "expected an array of directories",
                value.span(),
                help,
                false,
            );
        };
        if items.len() > MAX_DIRECTORIES {
            let message = format!("more than {MAX_DIRECTORIES} directories");
            self.push_problem(message, value.span(), None, false);
        }
        items.iter().take(MAX_DIRECTORIES).for_each(|item| self.parse_directory(item));
    }

    fn parse_directory(&mut self, item: &TomlValue<'_>) {
        let Some(text) = item.get_ref().as_str() else {
            return self.push_problem("expected a string", item.span(), None, false);
        };
        match parse_directory(text, self.anchors) {
            Ok(path) => {
                let (layer, file) = (self.kind, self.name.to_owned());
                let (line, text) = (self.line_at(item.span().start), text.to_owned());
                self.directories.push(AdditionalDirectory { layer, file, line, text, path });
            }
            Err(error) => {
                let help = "name a directory: `../shared`, `~/notes` or `/srv/data`".to_owned();
                self.push_problem(error.to_string(), item.span(), Some(help), false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use openoxide_permission::{LayerKind, PathAnchors};
    use openoxide_protocol::AbsPath;

    use super::*;
    use crate::policy_file::{PolicyFile, parse_policy};

    fn read_text(text: &str) -> PolicyFile {
        let [home, base] = ["/home/ann", "/w/project"].map(|path| AbsPath::new(path).unwrap());
        let anchors = PathAnchors { home: Some(&home), base: &base };
        parse_policy(text, LayerKind::Project, "policy.toml", anchors)
    }

    #[test]
    fn directories_are_read_with_their_lines() {
        let file = read_text("directories = [\n  \"../lib\", # ours\n  \"~/notes\",\n]\n");
        assert_eq!(file.problems, []);
        let found: Vec<_> = file
            .directories
            .iter()
            .map(|one| (one.line, one.text.as_str(), one.path.as_str(), one.layer))
            .collect();
        let expected = [
            (2, "../lib", "/w/lib", LayerKind::Project),
            (3, "~/notes", "/home/ann/notes", LayerKind::Project),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn problems_have_a_position_and_drop_all_directories_of_the_file() {
        for (text, at) in [
            ("directories = \"../lib\"", "\"../lib\""),
            ("directories = [7]", "7"),
            ("directories = [\"../lib\", \"/\"]", "\"/\""),
            ("directories = [\"~\"]", "\"~\""),
            ("directories = [\n\"../lib\",\n\"~/.ssh\"]", "\"~/.ssh\""),
            ("directories = [\"../lib/*\"]", "\"../lib/*\""),
            ("[permissions]\ndirectories = [\"../lib\"]", "directories"),
        ] {
            let file = read_text(text);
            let [problem] = file.problems.as_slice() else { panic!("{text}: {:?}", file.problems) };
            assert_eq!(text.get(problem.span.clone()).unwrap(), at, "{text}");
            assert_eq!(file.directories, [], "{text}");
        }
        let many = "\"../lib\",".repeat(MAX_DIRECTORIES + 1);
        assert_eq!(read_text(&format!("directories = [{many}]")).problems.len(), 1);
        let other = read_text("directories = [\"../lib\"]\n[permissions]\nallow = [7]\n");
        assert_eq!(other.directories, [], "a file with any problem allows nothing");
    }
}
