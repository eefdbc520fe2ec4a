//! The program that the hook starts. A program in a build directory is not wired, because a cleanup
//! of that directory removes it.

use std::{
    env, fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use openoxide_tui::{LineMode, escape_text};

use super::line_question::ask_yes;
use crate::{
    args::{AgentName, GlobalArgs, InitArgs},
    error::init_error::InitError,
    user_messages,
};

/// The directory below the home directory that `--install` copies the program to.
const INSTALL_DIRECTORY: &str = ".local/bin";

/// The program that the hook starts.
pub(super) struct HookProgram {
    /// Its absolute path.
    pub(super) path: String,
    /// The program to copy there first.
    source: Option<PathBuf>,
}

impl HookProgram {
    /// Finds the program. With `--install`, or if the user agrees, it will be a copy in
    /// `~/.local/bin`.
    ///
    /// # Errors
    ///
    /// If the program is in a build directory and is not installed.
    pub(super) fn find(args: &InitArgs, global: GlobalArgs) -> Result<Self, InitError> {
        let current = env::current_exe().map_err(InitError::UnknownProgram)?;
        let install = args.program.install;
        let built_in = build_directory(&current).filter(|_| !args.undo && !args.program.from_build);
        let (path, source) = match built_in {
            None if !install => (current, None),
            Some(directory) if !install && !offers_install(directory, args, global) => {
                return Err(InitError::BuildDirectory(directory.to_owned()));
            }
            _ => {
                let target = install_target()?;
                let source = (current != target).then_some(current);
                (target, source)
            }
        };
        let path = path.into_os_string().into_string().map_err(|_| InitError::ProgramNotUtf8)?;
        Ok(Self { path, source })
    }

    /// Copies the program, if that is needed.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(super) fn install(&self) -> Result<(), InitError> {
        let Some(source) = &self.source else { return Ok(()) };
        let target = Path::new(&self.path);
        let directory = target.parent().unwrap_or(Path::new("/"));
        copy_program(source, directory, target)
            .map_err(|error| InitError::NotInstalled { path: target.to_owned(), error })?;
        let shown = escape_text(&self.path, LineMode::SingleLine);
        user_messages::print_line(&format!("openoxide: installed {shown}"));
        let search_path = env::var_os("PATH").unwrap_or_default();
        if !env::split_paths(&search_path).any(|place| place == directory) {
            user_messages::print_note(&format!("~/{INSTALL_DIRECTORY} is not in your PATH"));
        }
        Ok(())
    }
}

/// Returns the build directory that a program is in, if it is in one: Cargo marks these as caches.
pub(crate) fn build_directory(program: &Path) -> Option<&Path> {
    program.ancestors().skip(1).find(|place| place.join("CACHEDIR.TAG").is_file())
}

/// Returns the command that installs the hook of an agent with this program.
pub(crate) fn init_command(agent: AgentName) -> String {
    let current = env::current_exe().ok();
    let is_built = current.is_some_and(|program| build_directory(&program).is_some());
    let install = if is_built { " --install" } else { "" };
    format!("openoxide init{install} {}", agent.hook_name())
}

/// Asks whether the program may be installed. Returns false if no terminal is available.
fn offers_install(directory: &Path, args: &InitArgs, global: GlobalArgs) -> bool {
    let directory = escape_text(&directory.to_string_lossy(), LineMode::SingleLine);
    !args.dry_run
        && ask_yes(
            &format!(
                "this program is in the build directory `{directory}`. When it is cleaned, the agents \
block every call.\nCopy it to ~/{INSTALL_DIRECTORY}/openoxide and use the copy?"
            ),
            global,
        )
}

fn install_target() -> Result<PathBuf, InitError> {
    let home = env::var_os("HOME").filter(|home| Path::new(home).is_absolute());
    Ok(PathBuf::from(home.ok_or(InitError::NoHome)?).join(INSTALL_DIRECTORY).join("openoxide"))
}

/// Copies the program, and replaces an earlier copy atomically: it may be running.
fn copy_program(program: &Path, directory: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let copy = directory.join(format!(".openoxide-{}", std::process::id()));
    let installed = fs::copy(program, &copy)
        .and_then(|_| fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&copy, target));
    if installed.is_err() {
        drop(fs::remove_file(&copy));
    }
    installed
}
