//! Programs that obey the same files, by the names that start them.

pub(super) const NPM: &[&str] = &["npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx"];

pub(super) const NODE: &[&str] = &[
    "node", "npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "corepack", "ts-node",
    "tsx", "deno",
];

/// The texts that make pnpm download a plug-in, another version of itself or another version of
/// Node.js, and run it or its hooks, before it evaluates its arguments.
const PNPM: &[&str] = &[
    "configDependencies",
    "packageManager",
    "devEngines",
    "useNodeVersion",
    "executionEnv",
    "\\u",
];

/// The texts that make corepack, installed as yarn, download and run another version, which may be
/// a URL.
const YARN: &[&str] = &["packageManager", "devEngines", "\\u"];

/// The same texts for npm, for which corepack must be enabled explicitly.
const NPM_VERSION: &[&str] = &["\"npm@", "devEngines", "\\u"];

/// The texts in a `package.json` that make a package manager run a program that the project
/// chooses, for any command.
pub(super) const MANAGERS: &[(&str, &[&str])] = &[
    ("pnpm", PNPM),
    ("pnpx", PNPM),
    ("yarn", YARN),
    ("yarnpkg", YARN),
    ("corepack", YARN),
    ("npm", NPM_VERSION),
    ("npx", NPM_VERSION),
];

/// The condition for forms of the manifest that only pnpm reads: any content.
pub(super) const PNPM_PRESENT: &[(&str, &[&str])] = &[("pnpm", &[""]), ("pnpx", &[""])];

pub(super) const PYTHON: &[&str] = &[
    "python", "python3", "pip", "pip3", "uv", "uvx", "poetry", "pdm", "hatch", "pytest", "tox",
    "nox", "ruff", "black", "mypy", "isort", "flake8", "pylint", "pyright", "coverage", "bandit",
];

pub(super) const RUST: &[&str] = &[
    "cargo",
    "cargo-clippy",
    "cargo-fmt",
    "cargo-miri",
    "clippy-driver",
    "rls",
    "rust-analyzer",
    "rust-gdb",
    "rust-gdbgui",
    "rust-lldb",
    "rustc",
    "rustdoc",
    "rustfmt",
    "rustup",
];

pub(super) const JVM: &[&str] = &[
    "mvn", "mvnd", "mvnDebug", "mvnw", "gradle", "gradlew", "java", "javac", "sbt", "ant", "kotlin",
];

pub(super) const RUBY: &[&str] =
    &["bundle", "bundler", "ruby", "rake", "rails", "gem", "rspec", "rubocop", "irb"];

pub(super) const PHP: &[&str] = &["composer", "php", "phpunit", "phpstan", "psalm", "php-cs-fixer"];

pub(super) const DOTNET: &[&str] = &["dotnet", "msbuild", "nuget"];

pub(super) const ESLINT: &[&str] =
    &["eslint", "xo", "standard", "npx", "npm", "pnpm", "yarn", "bun"];

pub(super) const MAKE: &[&str] = &["make", "gmake", "bmake"];

pub(super) const GO: &[&str] =
    &["go", "gofmt", "gofumpt", "goimports", "golangci-lint", "gopls", "staticcheck"];

/// Go, and the formatters that start it to learn about the module (`go list -m`, `go mod edit`).
pub(super) const GO_STARTERS: &[&str] = &["go", "gofumpt", "goimports"];

/// The programs that print the version that a file of the project names.
pub(super) const VERSION_MANAGERS: &[&str] =
    &["asdf", "fnm", "goenv", "jenv", "mise", "nodenv", "nvm", "plenv", "pyenv", "rbenv", "rtx"];

/// The programs that asdf and mise replace with others.
pub(super) const SHIMMED: &[&str] = &[
    "bundle",
    "bun",
    "cargo",
    "corepack",
    "dart",
    "deno",
    "elixir",
    "erl",
    "flutter",
    "gem",
    "go",
    "gofmt",
    "gradle",
    "java",
    "javac",
    "julia",
    "lua",
    "mise",
    "mvn",
    "node",
    "npm",
    "npx",
    "perl",
    "php",
    "pip",
    "pip3",
    "poetry",
    "python",
    "python3",
    "rtx",
    "ruby",
    "rustc",
    "terraform",
    "uv",
    "zig",
];

/// The texts in a configuration of mise with which it runs commands or loads code: templates, files
/// that are sourced, hooks and plug-ins. A character may be written as an escaped number.
pub(super) const MISE_CODE: &[&str] = &[
    "{{", "{%", "{#", "source", "hooks", "plugins", "env._", "_.", "_ ", "_=", "_\t", "\"_", "'_",
    "path:", "\\",
];

/// The texts in a configuration of isort with which it starts git in each directory that it checks.
pub(super) const SKIP_GITIGNORE: &[&str] = &["skip_gitignore", "skip-gitignore", "\\"];

/// The names of pip, which asks `rustc` for its version when it uses the network.
pub(super) const PIP: &[&str] =
    &["pip", "pip3", "pip3.9", "pip3.10", "pip3.11", "pip3.12", "pip3.13"];

/// The programs that read `.gitignore`, and whose messages show lines of it.
pub(super) const GITIGNORE: &[&str] = &["rg", "ripgrep", "fd", "fdfind", "ag", "deno"];

/// The texts in a version file that select a program at another location than the standard one. A
/// character may be written as an escaped number.
pub(super) const PATHS: &[&str] = &["path:", "{{", "{%", "\\"];

pub(super) const ANSIBLE: &[&str] = &[
    "ansible",
    "ansible-config",
    "ansible-doc",
    "ansible-galaxy",
    "ansible-inventory",
    "ansible-lint",
    "ansible-playbook",
    "ansible-vault",
];

pub(super) const NIX: &[&str] =
    &["nix", "nix-build", "nix-env", "nix-shell", "nixos-rebuild", "home-manager"];

pub(super) const TYPESCRIPT: &[&str] = &["tsc", "ts-node", "tsx", "node", "npx", "deno", "bun"];

pub(super) const STYLELINT: &[&str] = &["stylelint", "npx"];

pub(super) const BUNDLERS: &[&str] = &[
    "vite",
    "vitest",
    "webpack",
    "rollup",
    "esbuild",
    "jest",
    "mocha",
    "nyc",
    "c8",
    "ava",
    "karma",
    "playwright",
    "cypress",
    "next",
    "nuxt",
    "astro",
    "svelte-check",
    "tailwindcss",
    "postcss",
    "gulp",
    "grunt",
    "ng",
    "metro",
    "expo",
    "knex",
    "drizzle-kit",
    "babel",
    "prettier",
    "eslint",
    "npx",
    "npm",
    "pnpm",
    "yarn",
    "bun",
];

pub(super) const CMAKE: &[&str] = &["cmake", "ctest", "cpack", "ccmake"];

pub(super) const MESON: &[&str] = &["meson", "muon", "ninja"];

pub(super) const BAZEL: &[&str] = &["bazel", "bazelisk", "buildifier"];

pub(super) const DOCKER: &[&str] =
    &["docker", "docker-compose", "podman", "podman-compose", "buildah", "nerdctl"];

pub(super) const TERRAFORM: &[&str] = &["terraform", "tofu", "terragrunt", "tflint"];

pub(super) const HASKELL: &[&str] = &["cabal", "stack", "ghc", "ghci", "hls"];

pub(super) const DART: &[&str] = &["dart", "flutter", "pub"];

pub(super) const CLANG: &[&str] = &["clangd", "clang-tidy", "clang-check"];

/// The keys that name files in the configuration of deno.
pub(super) const DENO_FILES: &[&str] =
    &["include", "files", "workspace", "links", "patch", "importMap", "lock"];

/// The beginnings of lines with which a justfile includes another file.
pub(super) const JUST_IMPORTS: &[&str] = &["\nimport", "\nmod", "] import", "] mod"];

/// The programs that read the variables of a dotenv file automatically.
pub(super) const DOTENV: &[&str] = &[
    "docker",
    "docker-compose",
    "podman-compose",
    "bun",
    "bunx",
    "pipenv",
    "wrangler",
    "vercel",
    "netlify",
    "railway",
    "render",
    "surge",
    "serverless",
    "sls",
    "sst",
    "amplify",
    "supabase",
    "firebase",
    "sam",
    "cdk",
    "cdktf",
    "turso",
    "pscale",
    "neonctl",
    "neon",
    "heroku",
    "goose",
    "aider",
    "gemini",
    "qwen",
    "opencode",
    "claude",
    "llm",
];

const ANY: &[&str] = &[""];

/// The dotenv variables that select where a program reads, or where it sends credentials. The
/// variables of Compose are checked separately.
pub(super) const VARIABLES: &[(&str, &[&str])] = &[
    ("bun", &["BUN_", "NPM_", "npm_", "NODE_", "PROXY", "proxy"]),
    ("bunx", &["BUN_", "NPM_", "npm_", "NODE_", "PROXY", "proxy"]),
    ("pipenv", ANY),
    ("wrangler", ANY),
    ("vercel", ANY),
    ("netlify", ANY),
    ("railway", ANY),
    ("render", ANY),
    ("surge", ANY),
    ("serverless", ANY),
    ("sls", ANY),
    ("sst", ANY),
    ("amplify", ANY),
    ("supabase", ANY),
    ("firebase", ANY),
    ("sam", ANY),
    ("cdk", ANY),
    ("cdktf", ANY),
    ("turso", ANY),
    ("pscale", ANY),
    ("neonctl", ANY),
    ("neon", ANY),
    ("heroku", ANY),
    ("goose", ANY),
    ("aider", ANY),
    ("gemini", ANY),
    ("qwen", ANY),
    ("opencode", ANY),
    ("claude", ANY),
    ("llm", ANY),
];

/// The line that makes go download and run another version of itself.
pub(super) const TOOLCHAIN: &[(&str, &[&str])] =
    &[("go", TOOLCHAIN_LINE), ("gofumpt", TOOLCHAIN_LINE), ("goimports", TOOLCHAIN_LINE)];

const TOOLCHAIN_LINE: &[&str] = &["toolchain"];

/// The launchers of JRuby, which read options of the virtual machine in the working directory.
pub(super) const JRUBY: &[&str] = &["jruby", "jirb", "jgem", "jrubyc"];

pub(super) const NINJA: &[&str] = &["ninja", "ninja-build", "meson", "samu"];

/// The texts in a build file of ninja that make it read another file, whose variables it prints.
pub(super) const NINJA_INCLUDES: &[(&str, &[&str])] =
    &[("ninja", NINJA_FILES), ("ninja-build", NINJA_FILES), ("samu", NINJA_FILES)];

const NINJA_FILES: &[&str] = &["include ", "include\t", "include$", "subninja"];

/// Programs that start the processes that a `Procfile` names.
pub(super) const PROCESS_RUNNERS: &[&str] =
    &["foreman", "overmind", "hivemind", "honcho", "goreman", "forego", "heroku"];

pub(super) const LEAN: &[&str] = &["lake", "lean", "leanc", "elan"];

pub(super) const NIM: &[&str] = &["nim", "nimble", "nimsuggest", "nimlangserver"];
