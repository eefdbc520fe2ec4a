//! The hostile project: a trap for every tool that is known to run code or settings of a project.
//!
//! Each trap starts `oxtrap`, a script of the project, or contacts `oxtrap.example`. Neither name
//! occurs elsewhere, so a trace that contains one of them shows a sprung trap. The home directory
//! has separate traps, which start `oxhome` or contact `oxhome.example`.

mod home_files;
mod project_files;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use self::{
    home_files::{HOME, SECRETS},
    project_files::{PLAIN, TRAPS},
};

/// The name that every trap of the project starts or reaches.
pub(super) const MARK: &str = "oxtrap";

/// The name that every trap of the home directory starts or reaches.
pub(super) const HOME_MARK: &str = "oxhome";

/// The beginning of every secret of the home directory. The name of its file follows.
pub(super) const SECRET: &str = "oxsecret";

/// A project and a home directory, laid ready to be copied for each run.
pub(super) struct Trap {
    directory: PathBuf,
}

/// The traps that are created.
#[derive(Clone, Copy)]
pub(super) enum Selection<'n> {
    /// All.
    All,
    /// All but those that the analysis has a guard for, with a plain repository; with the traps of the home directory or
    /// without them.
    Unguarded { home: bool },
    /// Those of these names.
    Only(&'n [String]),
}

/// Names of programs that the project has in places where tools look.
const LURES: [&str; 22] = [
    "git", "sh", "bash", "ls", "cat", "less", "pager", "python3", "node", "make", "gcc", "grep",
    "sed", "ssh", "vim", "man", "tar", "gzip", "file", "hg", "svn", "awk",
];

/// The directories with lures.
const LURED: [&str; 4] = [".", "bin", "node_modules/.bin", ".venv/bin"];

/// Files named like options: a glob or an operand that is taken for an option springs them.
pub(super) const LIKE_OPTIONS: [&str; 7] = [
    "--pre=oxtrap",
    "-e",
    "-exec",
    "--checkpoint=1",
    "--checkpoint-action=exec=oxtrap",
    "--compress-program=oxtrap",
    "-oProxyCommand=oxtrap",
];

/// Hooks of git.
const HOOKS: [&str; 4] =
    ["post-index-change", "post-checkout", "pre-commit", "reference-transaction"];

/// Files for which the analysis has a guard. With them, the programs that read them are not called
/// harmless; without them, these programs are run.
const GUARDED: &[(&str, &str)] = &[
    (".tool-versions", "nodejs path:./bin\npython path:./bin\n"),
    ("mise.toml", "[env]\n_.source = \"./x.sh\"\n[tools]\nnode = \"path:./bin\"\n"),
    ("rust-toolchain.toml", "[toolchain]\npath = \"./tc\"\n"),
    (".cargo/config.toml", "[build]\nrustc = \"@\"\n[alias]\nversion = \"run\"\n"),
    (".npmrc", "git=@\nregistry=https://oxtrap.example/\nscript-shell=@\n"),
    (".pnpmfile.cjs", "require('./trap.js');\n"),
    ("bunfig.toml", "preload = [\"./trap.js\"]\n"),
    (".yarnrc", "yarn-path \"./trap.js\"\n"),
    (".yarnrc.yml", "yarnPath: ./trap.js\n"),
    ("global.json", "{\"sdk\": {\"paths\": [\"./sdk\"]}}\n"),
    ("compose.yaml", "include:\n- oci://oxtrap.example/x\nservices: {}\n"),
    (".hg/hgrc", "[extensions]\nx = ./trap.py\n"),
    (
        "node_modules/stylelint/package.json",
        "{\"name\": \"stylelint\", \"main\": \"../../trap.js\"}\n",
    ),
    (
        "node_modules/typescript/package.json",
        "{\"name\": \"typescript\", \"main\": \"../../trap.js\"}\n",
    ),
];

/// Files for which the analysis has a guard, and which start nothing: they show that the guard refuses.
const MARKERS: &[(&str, &str)] = &[
    (".hg/requires", "revlogv1\n"),
    (".svn/format", "12\n"),
    (".ackrc", "--follow\n"),
    (".bzr/branch-format", "x\n"),
    ("_FOSSIL_", "x\n"),
    (".mvn/jvm.config", "-javaagent:x.jar\n"),
    (".mvn/extensions.xml", "<extensions/>\n"),
    (".bundle/config", "BUNDLE_PATH: ./vendor\n"),
    (".poetry/plugins", "x\n"),
    ("pnpm-workspace.yaml", "packages: ['.']\n"),
    ("node_modules/xo/package.json", "{\"name\": \"xo\", \"main\": \"../../trap.js\"}\n"),
];

/// Settings of the hostile repository of git.
const GIT: &[(&str, &str)] = &[
    ("core.fsmonitor", "@; false"),
    ("core.pager", "@"),
    ("core.editor", "@"),
    ("core.hooksPath", "githooks"),
    ("core.sshCommand", "@"),
    ("core.askpass", "@"),
    ("core.gitProxy", "@"),
    ("diff.external", "@"),
    ("diff.x.textconv", "@"),
    ("diff.x.command", "@"),
    ("filter.x.clean", "@"),
    ("filter.x.smudge", "@"),
    ("filter.x.process", "@"),
    ("filter.x.required", "true"),
    ("merge.x.driver", "@"),
    ("pager.log", "@"),
    ("pager.status", "@"),
    ("alias.st", "!@"),
    ("alias.co", "!@"),
    ("gpg.program", "@"),
    ("credential.helper", "!@"),
    ("sequence.editor", "@"),
    ("interactive.diffFilter", "@"),
    ("tar.tgz.command", "@"),
    ("tar.tgz.remote", "true"),
    ("trailer.x.command", "@"),
    ("include.path", "../.gitconfig"),
    ("lfs.url", "https://oxtrap.example/"),
];

impl Selection<'_> {
    /// Returns whether the trap of this name is laid.
    fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Unguarded { home } => {
                let of_repository = ["git:", "hook:", "git-files:"];
                let guarded = GUARDED.iter().chain(MARKERS).any(|(file, _)| *file == name)
                    || is_read_by_a_guard(name)
                    || of_repository.iter().any(|kind| name.starts_with(kind));
                if name.starts_with("home:") { home } else { !guarded }
            }
            Self::Only(names) => names.iter().any(|each| each == name),
        }
    }
}

impl Trap {
    /// Lays a project and a home directory below `work`.
    pub(super) fn new(work: &Path, name: &str, selection: Selection<'_>) -> Result<Self, String> {
        let trap = Self { directory: work.join(name) };
        let failed = |error: std::io::Error| format!("{}: {error}", trap.directory.display());
        if trap.directory.exists() {
            fs::remove_dir_all(&trap.directory).map_err(failed)?;
        }
        trap.lay_project(selection).map_err(failed)?;
        trap.lay_home(selection).map_err(failed)?;
        trap.lay_repository(selection)?;
        // The programs run as this user.
        let mut chown = Command::new("chown");
        let done = chown.args(["-R", "65534:65534"]).arg(&trap.directory).status();
        done.is_ok_and(|status| status.success()).then_some(trap).ok_or("chown failed".to_owned())
    }

    /// Returns a trap in this directory, without laying it.
    #[cfg(test)]
    pub(super) fn at(directory: &str) -> Self {
        Self { directory: PathBuf::from(directory) }
    }

    /// Returns the names of all traps.
    #[cfg(test)]
    pub(super) fn names() -> Vec<String> {
        let owned = |name: &&str| (*name).to_owned();
        let files = TRAPS.iter().chain(GUARDED).map(|(name, _)| (*name).to_owned());
        let lured = LURED.iter().map(|place| format!("lure:{place}"));
        let options = LIKE_OPTIONS.iter().map(|name| format!("option:{name}"));
        let git = GIT.iter().map(|(key, _)| format!("git:{key}"));
        let hooks = HOOKS.iter().map(|name| format!("hook:{name}"));
        let rest = ["git-files:.gitattributes", "git-files:.gitconfig", "git-files:.gitmodules"];
        let home = HOME.iter().map(|(name, _)| format!("home:{name}"));
        files
            .chain(lured)
            .chain(options)
            .chain(git)
            .chain(hooks)
            .chain(rest.iter().map(owned))
            .chain(home)
            .collect()
    }

    /// Returns whether a file of this name is only there for a guard.
    #[cfg(test)]
    pub(super) fn has_marker(name: &str) -> bool {
        MARKERS.iter().any(|(file, _)| *file == name)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn project(&self) -> PathBuf {
        self.directory.join("p")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    fn lay_project(&self, selection: Selection<'_>) -> std::io::Result<()> {
        let project = self.project();
        let run = self.script();
        let traps =
            TRAPS.iter().chain(GUARDED).chain(MARKERS).filter(|(name, _)| selection.has(name));
        for (name, text) in PLAIN.iter().chain(traps) {
            let file = project.join(name);
            write(&file, &text.replace('@', &run))?;
            if text.starts_with("#!") {
                executable(&file)?;
            }
        }
        for name in LIKE_OPTIONS.iter().filter(|name| selection.has(&format!("option:{name}"))) {
            write(&project.join(name), "x\n")?;
        }
        let script = format!("#!/bin/sh\n: > {}/PWN\n", project.display());
        let lured = LURED.iter().filter(|place| selection.has(&format!("lure:{place}")));
        let lures = lured.flat_map(|place| LURES.map(|name| project.join(place).join(name)));
        for file in lures.chain([PathBuf::from(&run)]) {
            write(&file, &script)?;
            executable(&file)?;
        }
        Ok(())
    }

    /// The home directory has what each has, and the settings and secrets of many tools.
    fn lay_home(&self, selection: Selection<'_>) -> std::io::Result<()> {
        let home = self.home();
        for directory in
            [".cache", ".config", ".local/share", ".local/state", ".local/bin", ".local/lib"]
        {
            fs::create_dir_all(home.join(directory))?;
        }
        let run = home.join("bin").join(HOME_MARK);
        // The script does nothing, because its actions would be attributed to the program that
        // started it.
        write(&run, "#!/bin/sh\nexit 0\n")?;
        executable(&run)?;
        let run = run.display().to_string();
        for (name, text) in HOME.iter().filter(|(name, _)| selection.has(&format!("home:{name}"))) {
            let file = home.join(name);
            let text = text.replace('@', &run).replace("HOME", &home.display().to_string());
            write(&file, &text)?;
            if text.starts_with("#!") {
                executable(&file)?;
            }
        }
        if !matches!(selection, Selection::Only(_)) {
            for (name, text) in SECRETS {
                let file = home.join(name);
                let before = fs::read_to_string(&file).unwrap_or_default();
                write(&file, &(before + text))?;
                fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
            }
        }
        Ok(())
    }

    /// Returns the script that every trap of the project starts.
    fn script(&self) -> String {
        self.project().join("bin").join(MARK).display().to_string()
    }

    /// Makes the repository of the project, with one commit.
    fn lay_repository(&self, selection: Selection<'_>) -> Result<(), String> {
        let project = self.project();
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@x.io"]).args(words);
            git.current_dir(&project).env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
            git.stdout(Stdio::null()).stderr(Stdio::null());
            let done = git.status().map_err(|error| format!("git: {error}"))?;
            if done.success() { Ok(()) } else { Err(format!("git {words:?} failed")) }
        };
        git(&["init", "-q", "-b", "main"])?;
        git(&["add", "a.txt", "b.txt", "x.py"])?;
        git(&["commit", "-q", "-m", "x"])?;
        git(&["tag", "v1"])?;
        git(&["config", "remote.origin.url", "https://oxtrap.example/x.git"])?;
        if selection.has("git-files:.gitmodules") {
            let link = "160000,7fd1a60b01f91b314f59955a4e4d4e80d8edf11d,module";
            git(&["update-index", "--add", "--cacheinfo", link])?;
        }
        let failed = |error: std::io::Error| error.to_string();
        write(&project.join("a.txt"), "alpha\nbeta\nchanged\n").map_err(failed)?;
        self.lay_git_traps(selection).map_err(failed)
    }

    fn lay_git_traps(&self, selection: Selection<'_>) -> std::io::Result<()> {
        let project = self.project();
        let run = self.script();
        let setting = |(key, value): &(&str, &str)| git_setting(key, &value.replace('@', &run));
        let chosen = GIT.iter().filter(|(key, _)| selection.has(&format!("git:{key}")));
        let config = project.join(".git/config");
        let own = fs::read_to_string(&config)?;
        write(&config, &(own + &chosen.map(setting).collect::<String>()))?;
        let included = GIT.iter().filter(|(key, _)| *key != "include.path").map(setting);
        let files = [
            (".gitattributes", "* filter=x diff=x merge=x\n".to_owned()),
            (".gitconfig", included.collect()),
            (
                ".gitmodules",
                "[submodule \"x\"]\n\tpath = module\n\turl = https://oxtrap.example/\n".to_owned(),
            ),
        ];
        for (name, text) in files {
            if selection.has(&format!("git-files:{name}")) {
                write(&project.join(name), &text)?;
            }
        }
        for hook in HOOKS.iter().filter(|hook| selection.has(&format!("hook:{hook}"))) {
            let file = project.join(".git/hooks").join(hook);
            write(&file, &format!("#!/bin/sh\n{run}\n"))?;
            executable(&file)?;
        }
        Ok(())
    }
}

/// Returns a setting as a configuration of git has it: `a.b.c` is `c` in the section `[a "b"]`.
fn git_setting(key: &str, value: &str) -> String {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    match section.split_once('.') {
        Some((section, sub)) => format!("[{section} \"{sub}\"]\n\t{name} = \"{value}\"\n"),
        None => format!("[{section}]\n\t{name} = \"{value}\"\n"),
    }
}

/// Returns whether a file of the first list is one that a guard looks at, too.
fn is_read_by_a_guard(name: &str) -> bool {
    matches!(name, ".env" | "go.mod" | "go.sum")
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, text)
}

fn executable(path: &Path) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}
