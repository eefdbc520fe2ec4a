//! The table `sandbox` of a policy file.

use std::{collections::BTreeSet, ops::Range};

use openoxide_permission::{AdditionalDirectory, parse_directory, parse_protected_path};
use openoxide_protocol::{AbsPath, PublishedPort, PublishedPortError, SandboxAutoAllow};
use toml::de::{DeInteger, DeTable, DeValue};

use super::{
    byte_size::ByteSize,
    policy_file_parser::{PolicyFileParser, TomlValue},
    sandbox_settings::{MissingSandboxAction, NetworkSetting, PublishSetting, SandboxRequirement},
};

const KEYS: &[&str] = &[
    "require",
    "auto_allow",
    "network",
    "writable",
    "unreadable",
    "protected",
    "environment",
    "publish",
    "checkpoint_size",
    "limits",
];

/// The maximum length of a list. Each entry is a mount or is checked for each run.
const MAX_LIST_ITEMS: usize = 64;

impl PolicyFileParser<'_> {
    /// Parses the table. A problem may lose a restriction, unless its key only loosens the policy.
    pub(super) fn parse_sandbox(&mut self, value: &TomlValue<'_>) {
        let Some(table) = value.get_ref().as_table() else {
            return self.push_problem("`sandbox` must be a table", value.span(), None, true);
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "require" => self.parse_require(value, &key.span()),
                "auto_allow" => self.sandbox.auto_allow = self.parse_auto_allow(value),
                "network" => self.sandbox.network = self.parse_network(value),
                "writable" => self.parse_writable(value),
                "unreadable" => self.sandbox.unreadable = self.parse_paths(value, "unreadable"),
                "protected" => self.sandbox.protected = self.parse_paths(value, "protected"),
                "environment" => self.parse_environment(value),
                "publish" => self.sandbox.publish = self.parse_publish(value),
                "checkpoint_size" => {
                    self.sandbox.checkpoint_size = self.parse_checkpoint_size(value);
                }
                "limits" => match value.get_ref() {
                    DeValue::Table(table) => self.parse_limits(table),
                    _ => self.push_problem("`limits` must be a table", value.span(), None, true),
                },
                other => self.push_unknown_key(other, key.span(), KEYS),
            }
        }
    }

    fn parse_require(&mut self, value: &TomlValue<'_>, at: &Range<usize>) {
        let all = [MissingSandboxAction::FailFast, MissingSandboxAction::RefuseTools];
        let parse = |word: &str| all.into_iter().find(|one| one.as_str() == word);
        if let Some(how) = self.parse_word(value, "require", parse, "fail_fast`, `refuse_tools") {
            let place = format!("{}:{}", self.name, self.line_at(at.start));
            self.sandbox.require = Some(SandboxRequirement { action: how, location: place });
        }
    }

    fn parse_auto_allow(&mut self, value: &TomlValue<'_>) -> Option<SandboxAutoAllow> {
        use SandboxAutoAllow::{All, Off, Project};
        let parse = |word: &str| [Off, Project, All].into_iter().find(|one| one.as_str() == word);
        self.parse_word(value, "auto_allow", parse, "off`, `project`, `all")
    }

    fn parse_network(&mut self, value: &TomlValue<'_>) -> Option<NetworkSetting> {
        use NetworkSetting::{Host, Hosts, Internet, Off};
        let parse = |word: &str| match word {
            // `on` used to mean all networks. It now means only the internet, which is the safer
            // part.
            "on" => Some(Internet),
            _ => [Off, Hosts, Internet, Host].into_iter().find(|one| one.as_str() == word),
        };
        self.parse_word(value, "network", parse, "off`, `hosts`, `internet`, `host")
    }

    /// Returns the texts of a list, each with its position.
    fn parse_texts(
        &mut self,
        value: &TomlValue<'_>,
        key: &str,
        restrains: bool,
    ) -> Vec<(String, Range<usize>)> {
        let DeValue::Array(items) = value.get_ref() else {
            let help = Some(format!("write `{key} = [\"…\"]`"));
            self.push_problem(format!("`{key}` must be an array"), value.span(), help, restrains);
            return Vec::new();
        };
        if items.len() > MAX_LIST_ITEMS {
            let message = format!("more than {MAX_LIST_ITEMS} entries in `{key}`");
            self.push_problem(message, value.span(), None, restrains);
        }
        let mut texts = Vec::new();
        for item in items.iter().take(MAX_LIST_ITEMS) {
            match item.get_ref().as_str() {
                Some(text) => texts.push((text.to_owned(), item.span())),
                None => {
                    let message = format!("expected a string in `{key}`");
                    self.push_problem(message, item.span(), None, restrains);
                }
            }
        }
        texts
    }

    fn parse_writable(&mut self, value: &TomlValue<'_>) {
        for (text, span) in self.parse_texts(value, "writable", false) {
            match parse_directory(&text, self.anchors) {
                Ok(path) => {
                    let (layer, file, line) =
                        (self.kind, self.name.to_owned(), self.line_at(span.start));
                    self.writable.push(AdditionalDirectory { layer, file, line, text, path });
                }
                Err(error) => {
                    let help = "name a directory: `~/.cache/pip` or `/srv/data`".to_owned();
                    self.push_problem(error.to_string(), span, Some(help), false);
                }
            }
        }
    }

    fn parse_paths(&mut self, value: &TomlValue<'_>, key: &str) -> BTreeSet<AbsPath> {
        let mut places = BTreeSet::new();
        for (text, span) in self.parse_texts(value, key, true) {
            match parse_protected_path(&text, self.anchors) {
                Ok(path) => {
                    places.insert(path);
                }
                Err(error) => {
                    let help = "name a file or a directory; for a pattern write a rule under `deny`: `Read(**/*.pem)`, `Edit(**/x/**)`";
                    self.push_problem(error.to_string(), span, Some(help.to_owned()), true);
                }
            }
        }
        places
    }

    fn parse_environment(&mut self, value: &TomlValue<'_>) {
        for (text, span) in self.parse_texts(value, "environment", false) {
            if is_variable_name(&text) {
                self.sandbox.environment.insert(text);
            } else {
                let help = Some("write the name alone: `DATABASE_URL`".to_owned());
                self.push_problem(
                    format!("`{text}` is not a valid variable name"),
                    span,
                    help,
                    false,
                );
            }
        }
    }

    /// Parses the ports to publish: numbers or texts, or the word `off`.
    fn parse_publish(&mut self, value: &TomlValue<'_>) -> PublishSetting {
        let help = "write `publish = [3000, \"8080:80\"]`, or `publish = \"off\"`".to_owned();
        let DeValue::Array(items) = value.get_ref() else {
            if value.get_ref().as_str() != Some("off") {
                let message = "`publish` must be an array of ports, or `off`";
                self.push_problem(message, value.span(), Some(help), true);
            }
            return PublishSetting::Off;
        };
        if items.len() > MAX_LIST_ITEMS {
            let message = format!("more than {MAX_LIST_ITEMS} entries in `publish`");
            self.push_problem(message, value.span(), None, false);
        }
        let mut ports = BTreeSet::new();
        for item in items.iter().take(MAX_LIST_ITEMS) {
            match parse_port(item.get_ref()) {
                Ok(port) => self.add_published_port(&mut ports, port, item.span()),
                Err(error) => {
                    self.push_problem(error.to_string(), item.span(), Some(help.clone()), false);
                }
            }
        }
        PublishSetting::Ports(ports)
    }

    fn add_published_port(
        &mut self,
        ports: &mut BTreeSet<PublishedPort>,
        port: PublishedPort,
        at: Range<usize>,
    ) {
        let host_port = port.host_port();
        if ports.iter().any(|other| *other != port && other.host_port() == host_port) {
            let message = format!("`publish` names port {host_port} of the machine twice");
            let help = format!("use another one: `\"{}:HOSTPORT\"`", port.port());
            return self.push_problem(message, at, Some(help), false);
        }
        ports.insert(port);
    }

    fn parse_checkpoint_size(&mut self, value: &TomlValue<'_>) -> Option<ByteSize> {
        let size = value.get_ref().as_str().and_then(ByteSize::parse);
        if size.is_none() {
            let message = "`checkpoint_size` must be a size with a unit".to_owned();
            let help = "write a whole number of KiB, MiB, GiB or TiB: `\"1 GiB\"`".to_owned();
            self.push_problem(message, value.span(), Some(help), false);
        }
        size
    }

    fn parse_limits(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let number = match key.get_ref().as_ref() {
                "seconds" | "memory" | "processes" => self.parse_number(value, key.get_ref()),
                other => {
                    self.push_unknown_key(other, key.span(), &["seconds", "memory", "processes"]);
                    continue;
                }
            };
            let limits = &mut self.sandbox.limits;
            match key.get_ref().as_ref() {
                "seconds" => limits.seconds = number,
                "memory" => limits.memory = number,
                _ => limits.processes = number,
            }
        }
    }

    fn parse_number(&mut self, value: &TomlValue<'_>, key: &str) -> Option<u32> {
        let number = value.get_ref().as_integer();
        let number =
            number.and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok());
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            let message = format!("`{key}` must be a number from 1 to {}", u32::MAX);
            self.push_problem(message, value.span(), None, true);
        }
        number
    }
}

fn parse_port(value: &DeValue<'_>) -> Result<PublishedPort, PublishedPortError> {
    let number = value.as_integer().filter(|number| number.radix() == 10);
    let text = value.as_str().or_else(|| number.map(DeInteger::as_str));
    text.ok_or(PublishedPortError::Malformed)?.parse()
}

/// Returns whether a text is a valid name of an environment variable, as defined by POSIX.
fn is_variable_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let digit = text.bytes().next().is_none_or(|first| first.is_ascii_digit());
    !digit && text.len() <= 256 && text.bytes().all(letter)
}

#[cfg(test)]
mod tests;
