//! The list of all steering files.

use super::{
    agents, continuous_integration, editors, home, installed_programs, project, shells,
    steering_file::SteeringFile, system, tools, version_control,
};

/// Returns all steering files.
pub fn all_steering_files() -> impl Iterator<Item = &'static SteeringFile> {
    const GROUPS: &[&[SteeringFile]] = &[
        agents::SETTINGS,
        agents::INSTRUCTIONS,
        shells::FILES,
        home::FILES,
        installed_programs::FILES,
        version_control::FILES,
        editors::FILES,
        tools::PROTECTED,
        project::FILES,
        continuous_integration::FILES,
        system::FILES,
    ];
    GROUPS.iter().copied().flatten()
}
