//! How Claude Code judges a script: the whole, then each of its commands, then what they touch.

use openoxide_protocol::{AbsPath, Effect};
use tree_sitter::Node;

use super::{
    Policy,
    constructs::can_be_checked,
    judge::Answer,
    paths, readonly,
    rules::{Rule, command as matches},
    settings::Mode,
    words::{Command, unquoted},
    wrappers::{Look, NEVER_BY_WILDCARD, inner, is_safe},
};
use crate::{foreign::Surroundings, script::Script};

/// Longer commands are asked about.
const LONGEST: usize = 10_000;

/// The programs that `acceptEdits` runs on files of the project.
const EDITORS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];

/// A script that is judged.
struct Judged<'p, 's> {
    policy: &'p Policy,
    script: &'s Script<'s>,
    commands: Vec<Command<'s>>,
    at: Surroundings<'s>,
}

impl Policy {
    pub(crate) fn bash(&self, text: &str, at: Surroundings<'_>) -> Answer<'_> {
        if text.contains(['\r', '\u{1b}']) {
            return Answer::of(Effect::Deny, "the client refuses such an input");
        }
        let Some(script) = Script::read(text).filter(|_| text.len() <= LONGEST) else {
            return Answer::of(Effect::Ask, "the command is too long to be checked");
        };
        let commands = commands(&script);
        let judged = Judged { policy: self, script: &script, commands, at };
        judged.answer(text)
    }
}

/// Returns every command of a script, wherever it stands.
fn commands<'a>(script: &Script<'a>) -> Vec<Command<'a>> {
    let kinds = ["command", "declaration_command", "unset_command"];
    let nodes = script.every(|node| kinds.contains(&node.kind()));
    nodes.into_iter().map(|node| Command::of(script, node)).collect()
}

impl<'p> Judged<'p, '_> {
    fn answer(&self, text: &str) -> Answer<'p> {
        for effect in [Effect::Deny, Effect::Ask] {
            if let Some(rule) = self.held_back(text, effect) {
                return Answer::by(rule);
            }
        }
        if let Some(rule) = self.touches(Effect::Deny) {
            return Answer::by(rule);
        }
        if self.hides_a_denied_command() {
            return Answer::of(
                Effect::Ask,
                "a rule denies a command in what another shell would run",
            );
        }
        if self.removes_what_matters() {
            return Answer::of(Effect::Ask, "nothing approves this removal");
        }
        let everything = self.policy.whole("Bash", Effect::Allow);
        if everything.is_some() || self.policy.mode == Mode::Bypass {
            let protected = self.outputs().iter().any(|path| {
                path.as_ref().is_some_and(paths::is_protected) && self.policy.mode != Mode::Bypass
            });
            return match everything {
                _ if protected => Answer::of(Effect::Ask, "no rule approves a change of this file"),
                Some(rule) => Answer::by(rule),
                None => Answer::of(Effect::Allow, "the mode allows it"),
            };
        }
        self.by_parts(text)
    }

    /// Returns the rule that holds back the whole script or one of its commands.
    fn held_back(&self, text: &str, effect: Effect) -> Option<&'p Rule> {
        let mut rules = self.policy.rules(effect);
        rules.find(|rule| {
            let Some(content) = rule.about("Bash") else { return rule.is_bare_for("Bash") };
            let exact = text.trim();
            matches(content, exact, &blanks(exact))
                || self.commands.iter().any(|c| self.speaks(content, c))
        })
    }

    /// Says whether a rule that holds back speaks of a command, or of what it starts.
    fn speaks(&self, content: &str, command: &Command<'_>) -> bool {
        let mut next = Some(command.clone());
        while let Some(command) = next {
            let plain = self.known_name(&command);
            let spellings = [command.normal(), plain];
            if spellings.iter().any(|text| matches(content, text, text)) {
                return true;
            }
            if command.name() == "script" && command.word(1).as_deref() == Some("-c") {
                let text = command.word(2).unwrap_or_default();
                return matches(content, &text, &text);
            }
            next = inner(&command, Look::HoldBack);
        }
        false
    }

    /// Returns a command in plain words; `$X` at its beginning stands for the value that the script gave it.
    fn known_name(&self, command: &Command<'_>) -> String {
        let plain = command.plain();
        let Some(variable) = plain.strip_prefix('$') else { return plain };
        let (name, rest) = variable.split_once(' ').unwrap_or((variable, ""));
        let assignments = self.script.all("variable_assignment");
        let value = assignments.into_iter().find_map(|node| {
            let (known, value) = self.script.text(node).split_once('=')?;
            (known == name).then(|| unquoted(value))
        });
        value.map_or(plain.clone(), |value| format!("{value} {rest}").trim_end().to_owned())
    }

    /// `sh -c '…'` with a command inside that a rule denies.
    fn hides_a_denied_command(&self) -> bool {
        self.commands.iter().any(|command| {
            let shell = matches!(command.name().as_str(), "bash" | "sh" | "zsh" | "dash");
            let text =
                command.word(2).filter(|_| shell && command.word(1).as_deref() == Some("-c"));
            text.as_deref().and_then(Script::read).is_some_and(|script| {
                let inside = Judged {
                    policy: self.policy,
                    commands: commands(&script),
                    script: &script,
                    at: self.at,
                };
                inside.held_back(script.whole(), Effect::Deny).is_some()
            })
        })
    }

    /// Returns the directories that paths can count from: the working directory, and each that is gone to.
    fn places(&self) -> Vec<AbsPath> {
        let gone = self.commands.iter().filter(|command| command.name() == "cd");
        let gone = gone.filter_map(|command| Some(self.at.cwd.join(&command.word(1)?)));
        std::iter::once(self.at.cwd.clone()).chain(gone).collect()
    }

    fn path(&self, text: &str, place: &AbsPath) -> AbsPath {
        match (text, text.strip_prefix("~/"), self.at.home) {
            ("~", _, Some(home)) => home.clone(),
            (_, Some(rest), Some(home)) => home.join(rest),
            _ => place.join(text),
        }
    }

    /// Returns the rule about a file that some command of a known family names, or that a redirection opens.
    fn touches(&self, effect: Effect) -> Option<&'p Rule> {
        let changes = |command: &Command<'_>| {
            let edits = command.arguments().iter().any(|word| word.starts_with("-i"));
            matches!(command.name().as_str(), "mv" | "cp" | "rm" | "tee" | "touch" | "rmdir")
                || (command.name() == "sed" && edits)
        };
        let looks = |command: &Command<'_>| {
            !matches!(command.name().as_str(), "rm" | "tee" | "touch" | "rmdir" | "mkdir")
        };
        let of = |tool: &str, text: &str| {
            // What a variable holds is not known.
            let places = if text.contains('$') { Vec::new() } else { self.places() };
            places.iter().find_map(|place| {
                let path = self.path(text, place);
                self.policy.held_back(tool, effect, &path, self.at)
            })
        };
        let by_command = self.commands.iter().flat_map(all_inside).find_map(|command| {
            let paths = readonly::paths(&command);
            paths.iter().find_map(|text| {
                let read = looks(&command).then(|| of("Read", text)).flatten();
                read.or_else(|| changes(&command).then(|| of("Edit", text)).flatten())
            })
        });
        by_command.or_else(|| {
            self.redirections()
                .into_iter()
                .find_map(|(reads, text)| of(if reads { "Read" } else { "Edit" }, &unquoted(text)))
        })
    }

    /// Returns the redirections that open a file: whether they read it, and its name as it is written.
    fn redirections(&self) -> Vec<(bool, &str)> {
        let nodes = self.script.all("file_redirect");
        nodes.into_iter().filter_map(|node| redirection(self.script, node)).collect()
    }

    /// Returns the files that redirections write; nothing for one whose name is not known.
    fn outputs(&self) -> Vec<Option<AbsPath>> {
        let known = |text: &str| {
            let dynamic = text.starts_with('~') || text.contains(['*', '?', '[', '$', '`']);
            (!dynamic).then(|| self.at.cwd.join(&unquoted(text)))
        };
        let outputs = self.redirections().into_iter().filter(|(reads, _)| !reads);
        outputs
            .map(|(_, text)| match text.strip_prefix("~/").zip(self.at.home) {
                Some((rest, home)) => Some(home.join(rest)),
                None => known(text),
            })
            .collect()
    }

    fn removes_what_matters(&self) -> bool {
        self.commands.iter().flat_map(all_inside).any(|command| {
            let removes = matches!(command.name().as_str(), "rm" | "rmdir");
            let words = command.arguments();
            let mut targets = words.iter().filter(|word| !word.starts_with('-'));
            removes
                && targets.any(|text| {
                    let text = text.strip_suffix("/*").unwrap_or(text);
                    paths::is_critical(&self.path(text, self.at.cwd), self.at)
                })
        })
    }

    /// Each command must be allowed by itself, and so must what is redirected.
    fn by_parts(&self, text: &str) -> Answer<'p> {
        let whole = blanks(text.trim());
        let exactly = self.policy.rules(Effect::Allow).find(|rule| {
            let content = rule.about("Bash").unwrap_or_default();
            let assigns = content.split(' ').next().is_some_and(|word| word.contains('='));
            let same =
                blanks(content) == whole && (content == text.trim() || content.contains("&&"));
            !content.is_empty() && (same || (assigns && matches(content, &whole, &whole)))
        });
        if let Some(rule) = exactly {
            return Answer::by(rule);
        }
        let odd = |c: char| {
            (c.is_whitespace() && !c.is_ascii())
                || ('\u{200b}'..='\u{200f}').contains(&c)
                || c == '\u{feff}'
        };
        if text.contains(odd) || !can_be_checked(self.script) {
            return Answer::of(Effect::Ask, "it cannot be checked before it runs");
        }
        if let Some(answer) = self.strange_places() {
            return answer;
        }
        let mut first = None;
        for command in &self.commands {
            let answer = self.part(command);
            if answer.effect != Effect::Allow {
                return answer;
            }
            first = first.or(answer.rule);
        }
        match first {
            Some(rule) => Answer::by(rule),
            None => Answer::of(Effect::Allow, "it only looks"),
        }
    }

    /// Returns the answer where a redirection, a directory or an assignment asks by itself.
    fn strange_places(&self) -> Option<Answer<'p>> {
        let moves = self.commands.iter().any(|command| command.name() == "cd");
        for output in self.outputs() {
            let Some(path) = output.filter(|_| !moves) else {
                return Some(Answer::of(Effect::Ask, "where it writes cannot be told"));
            };
            let answer = self.policy.write("Bash", &path, self.at);
            if answer.effect != Effect::Allow {
                return Some(answer);
            }
        }
        for (_, text) in self.redirections().into_iter().filter(|(reads, _)| *reads) {
            let answer = self.policy.read(&self.path(&unquoted(text), self.at.cwd), self.at);
            if answer.effect == Effect::Ask {
                return Some(answer);
            }
        }
        let elsewhere = |command: &Command<'_>| {
            command.name() == "cd"
                && command.word(1).is_some_and(|to| self.at.cwd.join(&to) != *self.at.cwd)
        };
        let git = self.commands.iter().any(|command| command.name() == "git");
        if git && self.commands.iter().any(elsewhere) {
            return Some(Answer::of(Effect::Ask, "git runs in another directory"));
        }
        let alone = self
            .script
            .all("variable_assignment")
            .into_iter()
            .filter(|node| node.parent().is_none_or(|parent| parent.kind() != "command"));
        let steers = |node: Node<'_>| {
            let name = self.script.text(node).split('=').next().unwrap_or_default();
            matches!(name, "PATH" | "IFS" | "BASH_ENV" | "ENV" | "PS4") || name.starts_with("LD_")
        };
        let steers = alone.into_iter().any(steers);
        steers.then(|| Answer::of(Effect::Ask, "it changes what later commands are"))
    }

    fn part(&self, command: &Command<'_>) -> Answer<'p> {
        if let Some(answer) = self.leaves(command) {
            return answer;
        }
        let mut all = all_inside_for_allow(command);
        let Some(last) = all.last().cloned() else {
            return Answer::of(Effect::Allow, "it is empty");
        };
        if command.assignments.iter().any(|one| !is_safe(one)) {
            return Answer::of(
                Effect::Ask,
                "a variable before the command is not known to be safe",
            );
        }
        let carried = command.name() == "xargs" && all.len() > 1;
        all.retain(|one| !one.words.is_empty());
        let rules = || self.policy.rules(Effect::Allow);
        let rule = rules().find(|rule| {
            all.iter().enumerate().any(|(at, one)| self.allows(rule, one, carried && at > 0))
        });
        if let Some(rule) = rule {
            return Answer::by(rule);
        }
        let name = command.name();
        let wrapped = all.len() > 1;
        let through =
            !wrapped || matches!(name.as_str(), "timeout" | "command" | "builtin" | "noglob");
        if (through && readonly::is_free(&last)) || (name == "cd" && !wrapped) {
            return Answer::of(Effect::Allow, "it only looks");
        }
        if self.policy.mode == Mode::AcceptEdits && name != "nohup" && self.edits_inside(&last) {
            return Answer::of(Effect::Allow, "the mode accepts edits");
        }
        self.policy.otherwise()
    }

    /// Says whether a rule allows a command.
    fn allows(&self, rule: &Rule, command: &Command<'_>, carried: bool) -> bool {
        let Some(content) = rule.about("Bash") else { return false };
        let (exact, normal) = (command.exact(), command.normal());
        if !content.contains('*') {
            return !carried && content == exact;
        }
        let name = command.name();
        let hides = NEVER_BY_WILDCARD.contains(&name.as_str())
            || (name == "find" && !readonly::is_free(&find_without_patterns(command)))
            || (name == "timeout" && inner(command, Look::Allow).is_none())
            || (name == "time" && inner(command, Look::Allow).is_none());
        !hides && matches(content, &exact, &normal)
    }

    /// Returns the answer where a known program names a path outside the working directories, or goes there.
    fn leaves(&self, command: &Command<'_>) -> Option<Answer<'p>> {
        let ask = || Some(Answer::of(Effect::Ask, "it leaves the working directories"));
        if command.name() == "cd" {
            return match command.word(1).as_deref() {
                None => ask(),
                Some("-") => None,
                Some(to) if self.policy.is_inside(&self.path(to, self.at.cwd), self.at) => None,
                Some(_) => ask(),
            };
        }
        let last = all_inside_for_allow(command).pop()?;
        let outside = |text: &String| {
            let text = text.replace("$HOME", self.at.home.map_or("/", |home| home.as_str()));
            let of_another = text.starts_with('~') && text != "~" && !text.starts_with("~/");
            of_another
                || !text.is_empty()
                    && !self.policy.is_inside(&self.path(&text, self.at.cwd), self.at)
        };
        let leaves = readonly::paths(&last).iter().any(outside);
        if leaves { ask() } else { None }
    }

    /// `acceptEdits`: plain calls that change files of the project which they name.
    fn edits_inside(&self, command: &Command<'_>) -> bool {
        let (name, words) = (command.name(), command.arguments());
        let flags = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let odd = flags(&["-t", "--target-directory", "-r", "--reference"])
            && matches!(name.as_str(), "cp" | "mv" | "touch");
        let wild = command
            .words
            .iter()
            .any(|word| readonly::is_pattern(word.text) || word.text.contains('$'));
        let moved = self.commands.iter().any(|command| command.name() == "cd");
        let inside = |text: &String| {
            let path = self.at.cwd.join(text);
            self.policy.is_inside(&path, self.at)
                && !paths::is_protected(&path)
                && path != *self.at.cwd
        };
        let targets = readonly::paths(command);
        EDITORS.contains(&name.as_str())
            && !odd
            && !wild
            && !moved
            && !targets.is_empty()
            && targets.iter().all(inside)
    }
}

/// Returns a command and each that it starts, as rules that allow look through it.
fn all_inside_for_allow<'a>(command: &Command<'a>) -> Vec<Command<'a>> {
    let start = command.without(0);
    std::iter::successors(Some(start), |command| inner(command, Look::Allow)).collect()
}

/// Returns a command and each that it starts, as rules that hold back look through it.
fn all_inside<'a>(command: &Command<'a>) -> Vec<Command<'a>> {
    std::iter::successors(Some(command.without(0)), |command| inner(command, Look::HoldBack))
        .collect()
}

/// Patterns among the arguments of find are no reason to distrust a rule.
fn find_without_patterns<'a>(command: &Command<'a>) -> Command<'a> {
    let mut plain = command.without(0);
    plain.words.retain(|word| !readonly::is_pattern(word.text));
    plain
}

/// Returns what a redirection opens; nothing for those that lead to no file.
fn redirection<'a>(script: &Script<'a>, node: Node<'_>) -> Option<(bool, &'a str)> {
    let body = node.parent()?.child_by_field_name("body");
    if body.is_some_and(|body| matches!(body.kind(), "while_statement" | "for_statement")) {
        return None;
    }
    let target = node.child_by_field_name("destination")?;
    let text = script.text(target);
    let mut cursor = node.walk();
    let operator = node.children(&mut cursor).map(|child| script.text(child));
    let operator = operator.into_iter().find(|text| text.contains(['<', '>']))?;
    let number = text == "-" || text.bytes().all(|byte| byte.is_ascii_digit());
    let nowhere = text == "/dev/null" || (operator.ends_with('&') && number);
    (!nowhere).then_some((operator == "<", text))
}

/// Returns a text with one blank wherever there are some.
fn blanks(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
