//! Files that steer programs: start-up files of shells, settings and instructions of agents,
//! configuration that names programs to run. The safety floor, the facts about a script and the
//! sandbox all use this list.

mod agents;
mod continuous_integration;
mod editors;
mod home;
mod installed_programs;
mod path_match;
mod programs;
mod project;
mod shells;
mod steering_file;
mod steering_index;
mod steering_list;
mod system;
mod tools;
mod version_control;

use std::sync::OnceLock;

use crate::AbsPath;
pub use steering_file::{
    DistrustCondition, FileReferenceKeys, SettingsCheck, SteeringCategory, SteeringEffect,
    SteeringFile, SteeringLocation,
};
pub use steering_list::all_steering_files;

/// Returns the steering files that match this path.
pub fn find_steering_files(path: &AbsPath) -> impl Iterator<Item = &'static SteeringFile> {
    static INDEX: OnceLock<steering_index::SteeringIndex> = OnceLock::new();
    let index = INDEX.get_or_init(steering_index::SteeringIndex::new);
    index.candidates(path).filter(move |file| file.matches(path))
}

/// Returns whether a file of this name can be a steering file, or a directory on the path to one.
/// If not, a path that ends with the name is protected only if its directory is.
#[must_use]
pub fn may_be_steering_component(name: &str) -> bool {
    static COMPONENTS: OnceLock<steering_index::PatternComponents> = OnceLock::new();
    COMPONENTS.get_or_init(steering_index::PatternComponents::new).contains(name)
}

/// Returns whether changing this path requires approval in every mode.
#[must_use]
pub fn is_protected_path(path: &AbsPath) -> bool {
    path.parent().is_none() || find_steering_files(path).any(|file| file.is_protected)
}

/// Returns the descriptions of jobs that other machines run with the project's credentials.
pub fn job_files() -> impl Iterator<Item = &'static SteeringFile> {
    let category = SteeringCategory::ContinuousIntegration;
    all_steering_files().filter(move |file| file.is_protected && file.category == category)
}

/// Returns the protected paths below a home directory, except for those whose patterns contain a
/// wildcard.
#[must_use]
pub fn protected_home_paths(home: &AbsPath) -> Vec<AbsPath> {
    let in_home = |file: &&SteeringFile| match file.location {
        SteeringLocation::Home(_) => true,
        SteeringLocation::Anywhere(text) => {
            text.starts_with('.') && file.category != SteeringCategory::ContinuousIntegration
        }
        SteeringLocation::System(_) => false,
    };
    let files = all_steering_files().filter(|file| file.is_protected).filter(in_home);
    files.filter_map(|file| file.resolve_in(home)).collect()
}

#[cfg(test)]
mod tests;
