//! The accesses and findings that follow from the meaning of a command.

use openoxide_protocol::{
    Access, AccessRoute, CommandClass, CommandWords, FileSearch, PathAccess, Span,
};

use super::{command_call::CommandCall, script_walk::ScriptWalk};
use crate::{
    danger,
    programs::{CommandEffect, CommandMeaning, EffectTarget, OutputKind, WordSource},
};

impl ScriptWalk<'_> {
    /// Adds the files and hosts that a program reads, writes and reaches.
    pub(super) fn add_effects(
        &mut self,
        call: &CommandCall<'_>,
        meaning: &CommandMeaning,
        class: CommandClass,
        outer: bool,
    ) {
        if let Some(place) = &meaning.working_directory {
            self.climbs(place, call.span);
            // The contents of the directory determine what the program does.
            let here = EffectTarget::File(".".to_owned());
            self.add_target_access(
                call,
                meaning,
                &here,
                Access::Read,
                AccessRoute::Metadata,
                class,
            );
        }
        for effect in &meaning.effects {
            match effect {
                CommandEffect::Reads(target) => {
                    self.add_target_access(
                        call,
                        meaning,
                        target,
                        Access::Read,
                        AccessRoute::Program,
                        class,
                    );
                }
                CommandEffect::ReadsMetadata(target) => {
                    self.add_target_access(
                        call,
                        meaning,
                        target,
                        Access::Read,
                        AccessRoute::Metadata,
                        class,
                    );
                }
                CommandEffect::Searches(target, search) => {
                    self.add_search(call, meaning, target, search, Access::Read);
                }
                CommandEffect::ChangesFound(target, search) => {
                    self.add_search(call, meaning, target, search, Access::Edit);
                }
                CommandEffect::Writes(target) => {
                    self.add_target_access(
                        call,
                        meaning,
                        target,
                        Access::Edit,
                        AccessRoute::Program,
                        class,
                    );
                }
                CommandEffect::WritesDescriptor(device) => {
                    self.add_descriptor_write(device, call.span);
                }
                CommandEffect::Reaches(url) => {
                    let (host, touch) = (String::new(), AccessRoute::Program);
                    self.facts.accesses.push(Access::Fetch {
                        host,
                        url: url.clone(),
                        route: touch,
                    });
                }
                CommandEffect::MayBeOption(option) => self.add_possible_option(call, option, outer),
                CommandEffect::Runs(_)
                | CommandEffect::Tool(_)
                | CommandEffect::GuestCommand(_)
                | CommandEffect::Script(_)
                | CommandEffect::Unknown(_) => {}
            }
        }
    }

    /// Adds that a program works in a directory whose path contains `..`. The part before a `..`
    /// must not be a symbolic link.
    fn climbs(&mut self, place: &str, span: Span) {
        let paths = self.candidate_paths(place, span).filter(|_| place.contains(".."));
        let climbed = |path| PathAccess { route: AccessRoute::Metadata, ..path };
        let paths = paths.into_iter().flatten().map(climbed);
        self.facts.accesses.extend(paths.map(Access::ExternalDirectory));
    }

    /// Adds that files below a directory are searched, or changed.
    fn add_search(
        &mut self,
        call: &CommandCall<'_>,
        meaning: &CommandMeaning,
        target: &EffectTarget,
        search: &FileSearch,
        access: fn(PathAccess) -> Access,
    ) {
        let (EffectTarget::File(text) | EffectTarget::Pattern(text) | EffectTarget::Printed(text)) =
            target;
        let moved = match &meaning.working_directory {
            Some(place) if !text.starts_with('/') => &format!("{place}/{text}"),
            _ => text,
        };
        let pattern = matches!(target, EffectTarget::Pattern(_));
        for path in self.candidate_paths(moved, call.span).into_iter().flatten() {
            let (touch, search) = (AccessRoute::Program, Some(Box::new(search.clone())));
            self.facts.accesses.push(access(PathAccess {
                route: touch,
                is_pattern: pattern,
                search,
                ..path
            }));
        }
    }

    fn add_target_access(
        &mut self,
        call: &CommandCall<'_>,
        meaning: &CommandMeaning,
        target: &EffectTarget,
        access: fn(PathAccess) -> Access,
        touch: AccessRoute,
        class: CommandClass,
    ) {
        let (EffectTarget::File(text) | EffectTarget::Pattern(text) | EffectTarget::Printed(text)) =
            target;
        let moved = match &meaning.working_directory {
            Some(place) if !text.starts_with('/') => &format!("{place}/{text}"),
            _ => text,
        };
        let (pattern, printed) = (
            matches!(target, EffectTarget::Pattern(_)),
            matches!(target, EffectTarget::Printed(_)),
        );
        match self.candidate_paths(moved, call.span) {
            Some(paths) => {
                let paths = paths.into_iter().map(|path| PathAccess {
                    route: touch,
                    is_pattern: pattern,
                    has_piped_names: printed,
                    ..path
                });
                self.facts.accesses.extend(paths.map(access));
            }
            // A harmless command must be known to read nothing else.
            None if class != CommandClass::Unknown
                || matches!(access(PathAccess::new(self.context.cwd.clone())), Access::Edit(_)) =>
            {
                let access = Access::Opaque { text: call.text.to_owned(), span: call.span };
                self.facts.accesses.push(access);
            }
            None => {}
        }
    }

    /// Returns the directories of the files whose names a command prints, if it prints nothing
    /// else.
    pub(super) fn find_printed_files(
        &self,
        call: &CommandCall<'_>,
        meaning: &CommandMeaning,
    ) -> Option<WordSource> {
        match meaning.output {
            OutputKind::Anything => None,
            OutputKind::InputLines => self.find_inherited_files(call),
            OutputKind::Tokens => Some(WordSource::Tokens),
            OutputKind::FileNames { bare } => {
                let mut roots = Vec::new();
                for effect in &meaning.effects {
                    if matches!(effect, CommandEffect::Searches(..)) {
                        continue;
                    }
                    let (CommandEffect::Reads(
                        EffectTarget::File(text) | EffectTarget::Printed(text),
                    )
                    | CommandEffect::ReadsMetadata(
                        EffectTarget::File(text) | EffectTarget::Printed(text),
                    )) = effect
                    else {
                        return None;
                    };
                    let paths = self.candidate_paths(text, Span::default())?;
                    roots.extend(paths.into_iter().map(|path| path.path.to_string()));
                }
                let search = meaning
                    .printed_files
                    .clone()
                    .unwrap_or_else(|| Box::new(FileSearch::all_files()));
                Some(WordSource::DescendantsOf { roots, bare, search: Some(search) })
            }
        }
    }

    pub(super) fn add_dangers(&mut self, call: &CommandCall<'_>, argv: &CommandWords) {
        // The project is a critical directory from any working directory.
        let mut bases =
            self.state.working_directories.candidate_directories(self.context.cwd).into_owned();
        if !bases.contains(self.context.cwd) {
            bases.push(self.context.cwd.clone());
        }
        let place = danger::DangerContext { bases: &bases, home: self.context.home };
        for mut finding in danger::find_dangers(argv, &place) {
            finding.span = call.span;
            self.facts.findings.push(finding);
        }
    }
}
