//! Programs that obey the same files, by the names that start them.

pub(super) const NPM: &[&str] = &["npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx"];

pub(super) const NODE: &[&str] = &[
    "node", "npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "corepack", "ts-node",
    "tsx", "deno",
];

pub(super) const PYTHON: &[&str] = &[
    "python", "python3", "pip", "pip3", "uv", "uvx", "poetry", "pdm", "hatch", "pytest", "tox",
    "nox", "ruff", "black", "mypy", "isort", "flake8", "pylint", "pyright", "coverage", "bandit",
];

pub(super) const RUST: &[&str] = &[
    "cargo",
    "cargo-clippy",
    "cargo-fmt",
    "clippy-driver",
    "rust-analyzer",
    "rustc",
    "rustdoc",
    "rustfmt",
    "rustup",
];

pub(super) const JVM: &[&str] =
    &["mvn", "mvnd", "mvnw", "gradle", "gradlew", "java", "javac", "sbt", "ant", "kotlin"];

pub(super) const RUBY: &[&str] =
    &["bundle", "bundler", "ruby", "rake", "rails", "gem", "rspec", "rubocop", "irb"];

pub(super) const PHP: &[&str] = &["composer", "php", "phpunit", "phpstan", "psalm", "php-cs-fixer"];

pub(super) const DOTNET: &[&str] = &["dotnet", "msbuild", "nuget"];

pub(super) const ESLINT: &[&str] =
    &["eslint", "xo", "standard", "npx", "npm", "pnpm", "yarn", "bun"];

pub(super) const MAKE: &[&str] = &["make", "gmake", "bmake"];

pub(super) const GO: &[&str] = &["go", "gofmt", "golangci-lint", "gopls", "staticcheck"];

/// The programs that asdf and mise put others in the place of.
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
    "ruby",
    "rustc",
    "terraform",
    "uv",
    "zig",
];

/// What else than the standard place of a program a file of versions may name. A letter may be written as a number.
pub(super) const PATHS: &[&str] = &["path:", "\\"];

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
