//! The table of directories in the home directory that tools write: caches, settings, data and
//! installed programs.
//!
//! A row decides only where the changes of a confined program are stored. No row makes a real
//! directory writable, and no row shows a secret: secret files in these directories stay hidden.

use self::Storage::{Memory, Project};

/// Where the changes that a confined program makes in a directory are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In memory. They are lost when the run ends.
    Memory,
    /// On the disk, for later runs in the same project. Only downloads and results that tools
    /// verify or can create again are stored there, never directories of programs that a shell
    /// finds.
    Project,
}

/// A directory that tools write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolDirectory {
    /// The path relative to the home directory.
    pub(crate) path: &'static str,
    /// A variable that names another place, and the path below that place.
    pub(crate) variable: Option<(&'static str, &'static str)>,
    /// Where changes are stored.
    pub(crate) storage: Storage,
    /// If the directory is missing, it is created for a run if one of these programs is installed.
    pub(crate) programs: &'static [&'static str],
}

/// The row applies on every system.
pub(crate) const ALWAYS: &[&str] = &["*"];

/// A directory that is private if it exists, and not created.
const fn directory(path: &'static str, storage: Storage) -> ToolDirectory {
    ToolDirectory { path, variable: None, storage, programs: &[] }
}

impl ToolDirectory {
    const fn with_variable(self, name: &'static str, below: &'static str) -> Self {
        Self { variable: Some((name, below)), ..self }
    }

    const fn with_programs(self, programs: &'static [&'static str]) -> Self {
        Self { programs, ..self }
    }
}

/// All rows. Sources: the XDG base directory specification, and the documentation of each tool
/// about its environment variables and directories.
pub(crate) const TOOL_DIRECTORIES: &[ToolDirectory] = &[
    // XDG base directory specification.
    directory(".cache", Project).with_variable("XDG_CACHE_HOME", "").with_programs(ALWAYS),
    directory(".config", Memory).with_variable("XDG_CONFIG_HOME", "").with_programs(ALWAYS),
    directory(".local", Memory).with_programs(ALWAYS),
    directory(".local/share", Memory).with_variable("XDG_DATA_HOME", ""),
    directory(".local/state", Memory).with_variable("XDG_STATE_HOME", ""),
    // The Cargo Book, "Cargo Home"; `bin` contains programs. The rustup book, "Environment
    // variables".
    directory(".cargo", Memory).with_variable("CARGO_HOME", "").with_programs(&["cargo"]),
    directory(".cargo/registry", Project)
        .with_variable("CARGO_HOME", "registry")
        .with_programs(&["cargo"]),
    directory(".cargo/git", Project).with_variable("CARGO_HOME", "git").with_programs(&["cargo"]),
    directory(".rustup", Memory).with_variable("RUSTUP_HOME", ""),
    // `go help environment`: `GOPATH/pkg/mod`, `GOCACHE`; `GOPATH/bin` contains programs.
    directory("go/pkg", Project).with_variable("GOPATH", "pkg").with_programs(&["go"]),
    directory("go/bin", Memory).with_variable("GOPATH", "bin").with_programs(&["go"]),
    directory(".cache/go-build", Project).with_variable("GOCACHE", ""),
    directory("go/pkg/mod", Project).with_variable("GOMODCACHE", ""),
    // npm config `cache`; pnpm `store-dir`; Yarn `globalFolder`; Bun `install.cache`; Deno
    // `DENO_DIR`.
    directory(".npm", Project).with_variable("npm_config_cache", "").with_programs(&["npm"]),
    directory(".pnpm-store", Project),
    directory(".local/share/pnpm/store", Project).with_programs(&["pnpm"]),
    directory(".yarn", Memory).with_programs(&["yarn"]),
    directory(".yarn/berry", Project).with_programs(&["yarn"]),
    directory(".bun", Memory).with_variable("BUN_INSTALL", "").with_programs(&["bun"]),
    directory(".bun/install/cache", Project)
        .with_variable("BUN_INSTALL", "install/cache")
        .with_programs(&["bun"]),
    directory(".deno", Memory).with_variable("DENO_INSTALL_ROOT", "").with_programs(&["deno"]),
    directory(".cache/deno", Project).with_variable("DENO_DIR", ""),
    // pip and uv use the XDG cache; conda `pkgs_dirs`; Jupyter and IPython directories.
    directory(".cache/uv", Project).with_variable("UV_CACHE_DIR", ""),
    directory(".cache/pip", Project).with_variable("PIP_CACHE_DIR", ""),
    directory(".conda/pkgs", Project),
    directory(".jupyter", Memory),
    directory(".ipython", Memory),
    directory(".keras", Project),
    // Gradle user home; Maven `settings.localRepository`; Ivy and sbt; Java preferences.
    directory(".gradle", Memory)
        .with_variable("GRADLE_USER_HOME", "")
        .with_programs(&["gradle", "javac"]),
    directory(".gradle/caches", Project)
        .with_variable("GRADLE_USER_HOME", "caches")
        .with_programs(&["gradle", "javac"]),
    directory(".gradle/wrapper", Project)
        .with_variable("GRADLE_USER_HOME", "wrapper")
        .with_programs(&["gradle", "javac"]),
    directory(".m2", Memory).with_programs(&["mvn", "javac"]),
    directory(".m2/repository", Project).with_programs(&["mvn", "javac"]),
    directory(".m2/wrapper", Project).with_programs(&["mvn", "javac"]),
    directory(".ivy2", Memory).with_programs(&["sbt"]),
    directory(".ivy2/cache", Project).with_programs(&["sbt"]),
    directory(".sbt", Memory).with_programs(&["sbt"]),
    directory(".sbt/boot", Project).with_programs(&["sbt"]),
    directory(".java", Memory),
    directory(".konan", Project),
    directory(".android", Memory),
    directory(".lein", Memory).with_programs(&["lein"]),
    directory(".gitlibs", Project).with_programs(&["clojure"]),
    // NuGet "global packages"; `DOTNET_CLI_HOME`.
    directory(".nuget", Memory).with_programs(&["dotnet"]),
    directory(".nuget/packages", Project)
        .with_variable("NUGET_PACKAGES", "")
        .with_programs(&["dotnet"]),
    directory(".dotnet", Memory).with_programs(&["dotnet"]),
    directory(".templateengine", Memory).with_programs(&["dotnet"]),
    // Dart `PUB_CACHE`; `bin` contains programs.
    directory(".pub-cache", Memory).with_variable("PUB_CACHE", "").with_programs(&["dart"]),
    directory(".pub-cache/hosted", Project)
        .with_variable("PUB_CACHE", "hosted")
        .with_programs(&["dart"]),
    directory(".pub-cache/git", Project).with_variable("PUB_CACHE", "git").with_programs(&["dart"]),
    directory(".dart-tool", Memory).with_programs(&["dart"]),
    directory(".dartServer", Memory).with_programs(&["dart"]),
    // RubyGems user installation, which contains programs; `bundle config` `cache_path`.
    directory(".gem", Memory),
    directory(".bundle", Memory).with_programs(&["bundle"]),
    directory(".bundle/cache", Project).with_programs(&["bundle"]),
    // Composer `COMPOSER_HOME` and `cache-dir`.
    directory(".composer", Memory),
    directory(".composer/cache", Project),
    // Cabal and Stack user guides; opam `root`.
    directory(".cabal", Memory).with_programs(&["cabal"]),
    directory(".cabal/packages", Project).with_programs(&["cabal"]),
    directory(".cabal/store", Project).with_programs(&["cabal"]),
    directory(".stack", Memory).with_programs(&["stack"]),
    directory(".stack/pantry", Project).with_programs(&["stack"]),
    directory(".stack/snapshots", Project).with_programs(&["stack"]),
    directory(".opam", Memory),
    // Hex `HEX_HOME`; Mix `MIX_HOME`, which contains programs.
    directory(".hex", Memory).with_programs(&["mix"]),
    directory(".hex/packages", Project).with_programs(&["mix"]),
    directory(".mix", Memory).with_programs(&["mix"]),
    // CPAN; Julia depot; LuaRocks; Nimble; SwiftPM; CMake package registry; Conan home; ccache.
    directory(".cpan", Memory),
    directory(".cpanm", Memory),
    directory(".julia", Memory).with_programs(&["julia"]),
    directory(".julia/packages", Project).with_programs(&["julia"]),
    directory(".julia/artifacts", Project).with_programs(&["julia"]),
    directory(".julia/registries", Project).with_programs(&["julia"]),
    directory(".julia/compiled", Project).with_programs(&["julia"]),
    directory(".luarocks", Memory),
    directory(".nimble", Memory).with_programs(&["nimble"]),
    directory(".swiftpm", Memory).with_programs(&["swift"]),
    directory(".cmake", Memory),
    directory(".conan2", Memory).with_programs(&["conan"]),
    directory(".conan2/p", Project).with_programs(&["conan"]),
    directory(".ccache", Project).with_variable("CCACHE_DIR", ""),
    // Ansible `home`; Chromium's certificate database; Cookiecutter, "User Config".
    directory(".ansible", Memory).with_programs(&["ansible", "ansible-playbook"]),
    directory(".pki", Memory),
    directory(".cookiecutters", Project).with_programs(&["cookiecutter"]),
    directory(".cookiecutter_replay", Memory).with_programs(&["cookiecutter"]),
];
