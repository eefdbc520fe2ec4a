//! `--exact`: what the program would answer whose policy it is.

mod codex;

use std::{fs, path::Path};

use openoxide_adapters::{
    claude_code,
    foreign::{Disk, Fault, Surroundings},
    opencode,
};
use openoxide_protocol::{AbsPath, Decision};
use openoxide_store::{Broken, Environment, read_regular};
use serde_json::Value;

use crate::{
    args::{CallArgs, Global},
    formats::{self, Program},
    policy_args, report,
};

/// No policy file is longer.
const LONGEST: u64 = 64 << 20;

/// Another program's policy, and where it holds.
pub(crate) struct Exact {
    judge: Judge,
    home: Option<AbsPath>,
    pub(crate) cwd: AbsPath,
}

enum Judge {
    Claude(claude_code::Policy),
    Codex(codex::Rules),
    OpenCode(opencode::Policy),
}

/// A file that was named, and its text.
struct Named {
    path: std::path::PathBuf,
    text: String,
}

impl Exact {
    /// Reads the policies that the arguments name. Nothing when one cannot be relied on, which has been said then.
    pub(crate) fn of(args: &CallArgs, global: Global) -> Result<Option<Self>, String> {
        let home = Environment::read().home;
        let cwd = policy_args::directory(args.policy.cwd.as_deref())?;
        let files =
            args.policy.policy.iter().map(|path| named(path)).collect::<Result<Vec<_>, _>>()?;
        let judge = match program(args)? {
            Program::Claude => claude(args, &files),
            Program::Opencode => opencode(args, &files, home.as_ref()),
            Program::Native => return Err("--exact is about the policies of other programs".into()),
            Program::Codex => Ok(rules(args, &cwd, home.as_ref())),
            Program::LlmDo => {
                return Err(
                    "--exact answers as Claude Code, Codex and OpenCode; leave it out".into()
                );
            }
        };
        match judge {
            Ok(judge) => Ok(Some(Self { judge: judge?, home, cwd })),
            Err(broken) => {
                broken.iter().for_each(|file| report::broken(file, global.color));
                Ok(None)
            }
        }
    }

    /// Returns the answer to a tool call.
    pub(crate) fn call(
        &self,
        tool: &str,
        input: &Value,
        cwd: &AbsPath,
    ) -> Result<Decision, String> {
        let worktree = worktree(cwd);
        let at = self.around(cwd, worktree.as_ref());
        match &self.judge {
            Judge::Claude(policy) => policy.call(tool, input, at),
            Judge::Codex(rules) => Ok(rules.call(tool, input, cwd, self.home.as_ref())),
            Judge::OpenCode(policy) => policy.call(tool, input, at),
        }
    }

    fn around<'a>(&'a self, cwd: &'a AbsPath, worktree: Option<&'a AbsPath>) -> Surroundings<'a> {
        Surroundings { cwd, home: self.home.as_ref(), worktree, disk: &RealDisk }
    }

    /// Returns the answer to a bare question.
    pub(crate) fn question(
        &self,
        permission: &str,
        patterns: &[String],
        cwd: &AbsPath,
    ) -> Result<Decision, String> {
        match &self.judge {
            Judge::Claude(policy) => policy.question(permission, patterns, self.around(cwd, None)),
            Judge::Codex(rules) => {
                Ok(rules.question(permission, patterns, cwd, self.home.as_ref()))
            }
            Judge::OpenCode(policy) => Ok(policy.question(permission, patterns)),
        }
    }
}

/// Returns the program that all policies are for.
fn program(args: &CallArgs) -> Result<Program, String> {
    let mut all = args.policy.policy.iter().map(|path| Program::of(path, args.policy.format));
    let first = all.next().ok_or("--exact needs --policy FILE")??;
    match all.all(|other| other == Ok(first)) {
        true => Ok(first),
        false => Err("--exact judges by the policies of one program at a time".to_owned()),
    }
}

fn named(path: &Path) -> Result<Named, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = read_regular(path, LONGEST).map_err(|error| cannot(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| cannot(&error))?;
    Ok(Named { path: path.to_owned(), text })
}

impl Named {
    fn base(&self) -> AbsPath {
        let path = std::path::absolute(&self.path).ok();
        let path = path.and_then(|path| AbsPath::new(path.to_str()?).ok());
        path.as_ref().map_or_else(AbsPath::root, formats::settings_base)
    }

    fn broken(&self, faults: Vec<Fault>) -> Broken {
        let (path, text) = (self.path.clone(), self.text.clone());
        Broken { path, text, problems: formats::problems(faults) }
    }
}

type Read = Result<Result<Judge, String>, Vec<Broken>>;

fn claude(args: &CallArgs, files: &[Named]) -> Read {
    if args.agent.is_some() {
        return Ok(Err("only OpenCode has rules for agents".to_owned()));
    }
    let (mut settings, mut broken) = (claude_code::Settings::default(), Vec::new());
    for file in files.iter().rev() {
        match claude_code::Settings::read(&file.text, &file.path.to_string_lossy(), &file.base()) {
            Ok(higher) => settings = settings.under(higher),
            Err(faults) => broken.push(file.broken(faults)),
        }
    }
    if !broken.is_empty() {
        return Err(broken);
    }
    settings.notes.iter().for_each(report::note);
    Ok(Ok(Judge::Claude(claude_code::Policy::of(settings, args.policy.mode.map(Into::into)))))
}

fn rules(args: &CallArgs, cwd: &AbsPath, home: Option<&AbsPath>) -> Result<Judge, String> {
    if args.agent.is_some() || args.policy.mode.is_some() {
        return Err("Codex's rules have no modes, and none for agents".to_owned());
    }
    codex::Rules::read(&args.policy.policy, cwd, home).map(Judge::Codex)
}

/// The last file is the lowest layer.
fn opencode(args: &CallArgs, files: &[Named], home: Option<&AbsPath>) -> Read {
    if args.policy.mode.is_some() {
        return Ok(Err("OpenCode has no modes".to_owned()));
    }
    let (mut config, mut broken) = (opencode::Config::default(), Vec::new());
    for file in files.iter().rev() {
        match opencode::Config::read(&file.text, &file.path.to_string_lossy()) {
            Ok(higher) => config = config.under(higher),
            Err(faults) => broken.push(file.broken(faults)),
        }
    }
    if !broken.is_empty() {
        return Err(broken);
    }
    Ok(opencode::Policy::of(&config, args.agent.as_deref(), home).map(Judge::OpenCode))
}

/// Returns the root of the git repository that a directory lies in.
pub(crate) fn worktree(cwd: &AbsPath) -> Option<AbsPath> {
    let above = std::iter::successors(Some(cwd.clone()), AbsPath::parent);
    let mut roots = above.filter(|place| Path::new(place.join(".git").as_str()).exists());
    roots.next()
}

struct RealDisk;

impl Disk for RealDisk {
    fn is_directory(&self, path: &AbsPath) -> bool {
        Path::new(path.as_str()).is_dir()
    }

    fn resolved(&self, path: &AbsPath) -> AbsPath {
        let mut missing: Vec<String> = Vec::new();
        let mut place = path.clone();
        loop {
            let real = fs::canonicalize(place.as_str()).ok();
            if let Some(real) = real.and_then(|path| AbsPath::new(path.to_str()?).ok()) {
                return missing.iter().rev().fold(real, |path, name| path.join(name));
            }
            let (Some(name), Some(parent)) = (place.name(), place.parent()) else {
                return path.clone();
            };
            missing.push(name.to_owned());
            place = parent;
        }
    }
}
