//! Configuration of development tools and package managers.

use super::{
    programs::{
        ANSIBLE, DOTNET, GO, JRUBY, JVM, MISE_CODE, NIX, NODE, NPM, PHP, PYTHON, RUBY, RUST,
        SHIMMED,
    },
    steering_file::{
        SteeringCategory::{PackageManager, ToolConfiguration},
        SteeringEffect::Executes,
        SteeringFile, steering_file,
    },
};

pub(super) const fn tool_file(pattern: &'static str, source: &'static str) -> SteeringFile {
    steering_file(pattern, ToolConfiguration, Executes, source)
}

const fn package_manager_file(pattern: &'static str, source: &'static str) -> SteeringFile {
    steering_file(pattern, PackageManager, Executes, source)
}

/// Files that are rarely edited, and whose content is run or selects the source of programs.
pub(super) const PROTECTED: &[SteeringFile] = &[
    tool_file(".envrc", "direnv(1)").with_programs(&["direnv"]),
    // `cd` runs these files in a shell with the plug-in.
    tool_file(".autoenv", "autoenv: README of hyperupcall/autoenv"),
    tool_file(".autoenv.zsh", "zsh-autoenv: README of Tarrasch/zsh-autoenv"),
    tool_file(".autoenv_leave.zsh", "zsh-autoenv: README of Tarrasch/zsh-autoenv"),
    tool_file(".devbox/", "devbox: generated scripts").with_programs(&["devbox"]),
    tool_file(".tmuxinator.yml", "tmuxinator: README").with_programs(&["tmuxinator", "mux"]),
    tool_file(".tmuxp.*", "tmuxp: configuration").with_programs(&["tmuxp"]),
    tool_file(".radian_profile", "radian: README").with_programs(&["radian"]),
    // `.First` is run when the workspace is restored.
    tool_file(".RData", "R: Startup").with_programs(&["R", "radian"]),
    tool_file(".shadowenv.d/", "shadowenv: shopify.github.io/shadowenv")
        .with_programs(&["shadowenv"]),
    tool_file(".config/direnv/", "direnv(1)").with_home_location().with_programs(&["direnv"]),
    package_manager_file("mise.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".mise.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file("mise.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".mise.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file("mise/config.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file("mise/config.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".config/mise.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".config/mise.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".rtx.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".rtx.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".config/mise/config.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".config/mise/config.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".config/mise/mise.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".config/mise/mise.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".mise/config.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".mise/config.local.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrusted_texts(MISE_CODE),
    package_manager_file(".config/mise/conf.d", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrust(),
    package_manager_file(".mise/conf.d", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrust(),
    package_manager_file(".miserc.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrust(),
    package_manager_file(".config/miserc.toml", "mise.jdx.dev/configuration.html")
        .with_programs(SHIMMED)
        .with_distrust(),
    package_manager_file("mise.*.toml", "mise.jdx.dev/configuration.html").with_programs(SHIMMED),
    package_manager_file(".mise.*.toml", "mise.jdx.dev/configuration.html").with_programs(SHIMMED),
    package_manager_file(".mise/", "mise.jdx.dev/configuration.html").with_programs(SHIMMED),
    package_manager_file(".config/mise/", "mise.jdx.dev/configuration.html")
        .with_home_location()
        .with_programs(SHIMMED),
    package_manager_file(".asdfrc", "asdf-vm.com/manage/configuration.html").with_programs(SHIMMED),
    package_manager_file(".asdf/", "asdf-vm.com/manage/configuration.html")
        .with_home_location()
        .with_programs(SHIMMED),
    package_manager_file(".proto/", "moonrepo.dev/docs/proto")
        .with_home_location()
        .with_programs(SHIMMED),
    package_manager_file(".npmrc", "npmrc(5)").with_programs(NPM).with_distrust(),
    package_manager_file(".yarnrc", "yarn 1: yarnrc").with_programs(NPM).with_distrust(),
    package_manager_file(".yarnrc.yml", "yarn: yarnrc.yml").with_programs(NPM).with_distrust(),
    package_manager_file(".yarn/", "yarn: plugins, releases")
        .with_programs(NPM)
        .without_protection(),
    package_manager_file(".pnpmfile.cjs", "pnpm.io/pnpmfile")
        .with_programs(&["pnpm", "pnpx"])
        .with_distrust(),
    package_manager_file(".pnpmfile.mjs", "pnpm.io/pnpmfile")
        .with_programs(&["pnpm", "pnpx"])
        .with_distrust(),
    package_manager_file("pnpmfile.js", "pnpm.io/pnpmfile")
        .with_programs(&["pnpm", "pnpx"])
        .with_distrust(),
    package_manager_file(".pnp.cjs", "yarn: Plug'n'Play").with_programs(NODE).without_protection(),
    package_manager_file(".pnp.loader.mjs", "yarn: Plug'n'Play")
        .with_programs(NODE)
        .without_protection(),
    package_manager_file("bunfig.toml", "bun.sh/docs/runtime/bunfig")
        .with_programs(&["bun", "bunx"])
        .with_distrust(),
    package_manager_file(".bunfig.toml", "bun.sh/docs/runtime/bunfig")
        .with_programs(&["bun", "bunx"])
        .with_distrust(),
    package_manager_file(".volta/", "docs.volta.sh").with_home_location().with_programs(NODE),
    package_manager_file(".nvm/", "nvm: README").with_home_location().with_programs(NODE),
    tool_file(".noderc", "node: start-up file").with_programs(NODE),
    tool_file(".node_repl.js", "node: start-up file").with_programs(NODE),
    package_manager_file(".cargo/config", "cargo: configuration")
        .with_programs(RUST)
        .with_distrust(),
    package_manager_file(".cargo/config.toml", "cargo: configuration")
        .with_programs(RUST)
        .with_distrust(),
    package_manager_file(".cargo/bin/", "rustup: proxies").with_home_location().with_programs(RUST),
    package_manager_file(".cargo/env", "rustup: read by start-up files")
        .with_home_location()
        .with_programs(RUST),
    package_manager_file(".rustup/", "rustup: toolchains").with_home_location().with_programs(RUST),
    package_manager_file(".condarc", "conda: configuration").with_programs(&[
        "conda",
        "mamba",
        "micromamba",
    ]),
    package_manager_file("pip.conf", "pip: configuration").with_programs(PYTHON),
    package_manager_file(".config/pip/", "pip: configuration")
        .with_home_location()
        .with_programs(PYTHON),
    package_manager_file(".pip/", "pip: configuration").with_home_location().with_programs(PYTHON),
    package_manager_file(".config/uv/", "uv: configuration files")
        .with_home_location()
        .with_programs(PYTHON),
    package_manager_file("uv.toml", "uv: configuration files")
        .with_programs(PYTHON)
        .without_protection(),
    package_manager_file(".config/pypoetry/", "poetry: configuration")
        .with_home_location()
        .with_programs(&["poetry"]),
    package_manager_file(".poetry/", "poetry: plugins of a project")
        .with_programs(&["poetry"])
        .with_distrust(),
    package_manager_file("poetry.toml", "poetry: configuration")
        .with_programs(&["poetry"])
        .without_protection(),
    package_manager_file(".pyenv/", "pyenv: README").with_home_location().with_programs(PYTHON),
    package_manager_file(".pydistutils.cfg", "distutils: configuration").with_programs(PYTHON),
    package_manager_file(".pypirc", "python: packaging").with_programs(PYTHON),
    tool_file(".pdbrc", "python: pdb").with_programs(PYTHON),
    tool_file(".pdbrc.py", "pdb++: README").with_programs(PYTHON),
    tool_file(".pythonrc", "python: a common PYTHONSTARTUP").with_programs(PYTHON),
    tool_file(".pythonrc.py", "python: a common PYTHONSTARTUP").with_programs(PYTHON),
    tool_file(".pythonstartup", "python: a common PYTHONSTARTUP").with_programs(PYTHON),
    tool_file("sitecustomize.py", "python: site").with_programs(PYTHON),
    tool_file("usercustomize.py", "python: site").with_programs(PYTHON),
    tool_file(".ipython/", "IPython: start-up files")
        .with_home_location()
        .with_programs(&["ipython", "jupyter"]),
    tool_file(".jupyter/", "Jupyter: configuration")
        .with_home_location()
        .with_programs(&["jupyter"]),
    tool_file(".Rprofile", "R: Startup").with_programs(&["R", "Rscript"]),
    tool_file(".Renviron", "R: Startup").with_programs(&["R", "Rscript"]),
    tool_file("Rprofile.site", "R: Startup").with_programs(&["R", "Rscript"]),
    tool_file(".irbrc", "irb(1)").with_programs(RUBY),
    tool_file(".pryrc", "pry: README").with_programs(RUBY),
    tool_file(".rdbgrc", "debug: README").with_programs(RUBY),
    tool_file(".gemrc", "gem: environment").with_programs(RUBY),
    package_manager_file(".bundle/", "bundle-config(1)").with_programs(RUBY).with_distrust(),
    package_manager_file(".rbenv/", "rbenv: README").with_home_location().with_programs(RUBY),
    package_manager_file(".rvmrc", "rvm: project files").with_programs(RUBY),
    tool_file(".psyshrc", "PsySH: configuration").with_programs(PHP),
    tool_file(".psysh/", "PsySH: configuration").with_programs(PHP),
    package_manager_file(".config/composer/", "composer: configuration")
        .with_home_location()
        .with_programs(PHP),
    package_manager_file(".composer/", "composer: configuration")
        .with_home_location()
        .with_programs(PHP),
    tool_file(".ghci", "ghci: start-up files").with_programs(&["ghci", "ghc", "cabal", "stack"]),
    package_manager_file(".cabal/", "cabal: configuration")
        .with_home_location()
        .with_programs(&["cabal"]),
    package_manager_file(".stack/", "stack: configuration")
        .with_home_location()
        .with_programs(&["stack"]),
    tool_file(".iex.exs", "iex: start-up files").with_programs(&["iex", "mix", "elixir"]),
    tool_file(".erlang", "erl(1)").with_programs(&["erl", "rebar3", "elixir", "iex", "mix"]),
    tool_file(".ocamlinit", "ocaml(1)").with_programs(&["ocaml", "utop", "opam", "dune"]),
    package_manager_file(".opam/", "opam(1)")
        .with_home_location()
        .with_programs(&["ocaml", "opam", "dune"]),
    tool_file(".sbclrc", "sbcl(1)").with_programs(&["sbcl"]),
    tool_file(".guile", "guile(1)").with_programs(&["guile"]),
    tool_file(".octaverc", "octave(1)").with_programs(&["octave"]),
    tool_file(".julia/", "julia: start-up files").with_home_location().with_programs(&["julia"]),
    tool_file(".lldbinit", "lldb(1)").with_programs(&["lldb"]),
    tool_file(".gdbinit", "gdb(1)").with_programs(&["gdb"]),
    tool_file(".gdbearlyinit", "gdb(1)").with_programs(&["gdb"]),
    tool_file(".config/gdb/", "gdb(1)").with_home_location().with_programs(&["gdb"]),
    tool_file(".valgrindrc", "valgrind(1)").with_programs(&["valgrind"]),
    tool_file(".perldb", "perldebug(1)").with_programs(&["perl"]),
    tool_file(".replyrc", "reply(1)").with_programs(&["reply"]),
    package_manager_file(".cpan/", "cpan(1)")
        .with_home_location()
        .with_programs(&["cpan", "cpanm", "perl"]),
    tool_file(".lein/", "leiningen: profiles").with_home_location().with_programs(&["lein"]),
    tool_file(".clojure/", "clojure: deps.edn")
        .with_home_location()
        .with_programs(&["clj", "clojure"]),
    tool_file(".mavenrc", "mvn: start-up file").with_programs(JVM),
    tool_file(".mvn/", "maven: configuration")
        .with_programs(JVM)
        .with_distrust()
        .without_protection(),
    tool_file(".m2/", "maven: settings").with_home_location().with_programs(JVM),
    tool_file(".gradle/init.gradle", "gradle: initialization scripts")
        .with_home_location()
        .with_programs(JVM),
    tool_file(".gradle/init.gradle.kts", "gradle: initialization scripts")
        .with_home_location()
        .with_programs(JVM),
    tool_file(".gradle/init.d/", "gradle: initialization scripts")
        .with_home_location()
        .with_programs(JVM),
    tool_file(".gradle/gradle.properties", "gradle: build environment")
        .with_home_location()
        .with_programs(JVM),
    tool_file(".jruby.java_opts", "jruby: launcher, options of the virtual machine")
        .with_programs(JRUBY)
        .with_distrust(),
    tool_file(".jruby.module_opts", "jruby: launcher, options of the virtual machine")
        .with_programs(JRUBY)
        .with_distrust(),
    tool_file(".jruby.opts", "jruby: launcher").with_programs(JRUBY).with_distrust(),
    tool_file(".dev_mode.java_opts", "jruby: launcher, --dev").with_programs(JRUBY).with_distrust(),
    tool_file(".jrubyrc", "jruby: configuration").with_programs(JRUBY).with_distrust(),
    tool_file(".git/glab-cli/", "glab: configuration of a repository")
        .with_programs(&["glab"])
        .with_distrust(),
    tool_file(".sbtopts", "sbt: reference").with_programs(JVM),
    tool_file(".jvmopts", "sbt: reference").with_programs(JVM),
    tool_file(".sbt/", "sbt: global settings").with_home_location().with_programs(JVM),
    tool_file(".ammonite/", "ammonite: predef").with_home_location().with_programs(&["amm"]),
    package_manager_file(".nuget/", "NuGet: plugins").with_home_location().with_programs(DOTNET),
    package_manager_file(".dotnet/", "dotnet: tools").with_home_location().with_programs(DOTNET),
    package_manager_file(".config/dotnet-tools.json", "dotnet: local tools").with_programs(DOTNET),
    package_manager_file("go.env", "go: environment").with_programs(GO),
    package_manager_file(".config/go/", "go: environment").with_home_location().with_programs(GO),
    tool_file(".ripgreprc", "rg(1)").with_programs(&["rg"]),
    tool_file(".ackrc", "ack(1)").with_programs(&["ack", "ack-grep"]).with_distrust(),
    tool_file("_ackrc", "ack(1)").with_programs(&["ack", "ack-grep"]).with_distrust(),
    tool_file(".mlrrc", "mlr(1)").with_programs(&["mlr"]).with_distrust(),
    tool_file(".sqliterc", "sqlite3(1)").with_programs(&["sqlite3"]),
    tool_file(".psqlrc", "psql(1)").with_programs(&["psql"]),
    tool_file(".myclirc", "mycli: README").with_programs(&["mycli"]),
    tool_file(".duckdbrc", "duckdb: CLI").with_programs(&["duckdb"]),
    tool_file(".my.cnf", "mysql: option files").with_programs(&["mysql", "mysqldump", "mariadb"]),
    tool_file(".mongorc.js", "mongo: start-up file").with_programs(&["mongo", "mongosh"]),
    tool_file(".mongoshrc.js", "mongosh: start-up file").with_programs(&["mongosh"]),
    tool_file(".gnuplot", "gnuplot(1)").with_programs(&["gnuplot"]),
    tool_file(".maxima/", "maxima: init files").with_home_location().with_programs(&["maxima"]),
    tool_file(".curlrc", "curl(1)").with_programs(&["curl"]),
    tool_file("_curlrc", "curl(1)").with_programs(&["curl"]),
    tool_file(".config/curlrc", "curl(1)").with_home_location().with_programs(&["curl"]),
    tool_file(".wgetrc", "wget(1)").with_programs(&["wget"]),
    tool_file(".wget2rc", "wget2(1)").with_programs(&["wget2"]),
    tool_file(".aria2/", "aria2c(1): hooks").with_home_location().with_programs(&["aria2c"]),
    tool_file(".lftprc", "lftp(1)").with_programs(&["lftp"]),
    tool_file(".mailrc", "mail(1)").with_programs(&["mail", "mailx"]),
    tool_file(".netrc", "netrc(5): macdef").with_programs(&["ftp", "curl"]),
    tool_file(".toprc", "top(1): inspect commands").with_programs(&["top"]),
    tool_file(".config/procps/", "top(1): inspect commands")
        .with_home_location()
        .with_programs(&["top"]),
    tool_file(".config/ranger/", "ranger(1)").with_home_location().with_programs(&["ranger"]),
    tool_file(".config/mpv/", "mpv(1): scripts").with_home_location().with_programs(&["mpv"]),
    tool_file(".config/yt-dlp/", "yt-dlp: configuration, --exec")
        .with_home_location()
        .with_programs(&["yt-dlp"]),
    tool_file("yt-dlp.conf", "yt-dlp: configuration, --exec").with_programs(&["yt-dlp"]),
    tool_file(".dockerignore", "docker: build context")
        .with_programs(&["docker"])
        .without_protection(),
    tool_file(".docker/", "docker: plugins, credential helpers")
        .with_home_location()
        .with_programs(&["docker"]),
    tool_file(".config/containers/", "containers.conf(5)")
        .with_home_location()
        .with_programs(&["podman", "buildah"]),
    tool_file(".kube/config", "kubectl: exec plugins")
        .with_home_location()
        .with_programs(&["kubectl", "helm", "k9s"]),
    tool_file(".krew/", "kubectl: plugins").with_home_location().with_programs(&["kubectl"]),
    tool_file(".config/helm/", "helm: plugins").with_home_location().with_programs(&["helm"]),
    tool_file(".local/share/helm/", "helm: plugins").with_home_location().with_programs(&["helm"]),
    tool_file(".aws/config", "AWS CLI: credential_process")
        .with_home_location()
        .with_programs(&["aws", "terraform"]),
    tool_file(".aws/credentials", "AWS CLI: credential_process")
        .with_home_location()
        .with_programs(&["aws", "terraform"]),
    tool_file(".aws/cli/", "AWS CLI: aliases").with_home_location().with_programs(&["aws"]),
    tool_file(".config/gcloud/", "gcloud: configurations")
        .with_home_location()
        .with_programs(&["gcloud"]),
    tool_file(".azure/", "Azure CLI: extensions").with_home_location().with_programs(&["az"]),
    tool_file(".terraformrc", "terraform: CLI configuration").with_programs(&["terraform", "tofu"]),
    tool_file(".tofurc", "tofu: CLI configuration").with_programs(&["tofu"]),
    tool_file(".terraform.d/", "terraform: plugins")
        .with_home_location()
        .with_programs(&["terraform", "tofu"]),
    tool_file(".terraform/", "terraform: providers")
        .with_programs(&["terraform", "tofu"])
        .without_protection(),
    tool_file(".pulumi/", "pulumi: plugins").with_home_location().with_programs(&["pulumi"]),
    tool_file(".vagrant.d/", "vagrant: plugins, Vagrantfile")
        .with_home_location()
        .with_programs(&["vagrant"]),
    tool_file(".ansible.cfg", "ansible: configuration").with_programs(ANSIBLE),
    tool_file("ansible.cfg", "ansible: configuration").with_programs(ANSIBLE),
    tool_file(".ansible/", "ansible: plugins").with_home_location().with_programs(ANSIBLE),
    package_manager_file(".config/nix/", "nix.conf(5)").with_home_location().with_programs(NIX),
    package_manager_file(".config/nixpkgs/", "nixpkgs: overlays")
        .with_home_location()
        .with_programs(NIX),
    package_manager_file(".config/home-manager/", "home-manager: configuration")
        .with_home_location()
        .with_programs(NIX),
    package_manager_file(".guix-profile/", "guix: profiles").with_home_location(),
    package_manager_file(".linuxbrew/", "Homebrew: documentation").with_home_location(),
    package_manager_file(".Brewfile", "Homebrew: bundle"),
    package_manager_file(".sdkman/", "SDKMAN: README").with_home_location().with_programs(JVM),
    package_manager_file(".deno/", "deno: installed scripts")
        .with_home_location()
        .with_programs(&["deno"]),
    package_manager_file(".bun/", "bun: installed programs")
        .with_home_location()
        .with_programs(&["bun", "bunx"]),
    package_manager_file(".local/pipx/", "pipx: installed programs").with_home_location(),
    package_manager_file(".local/share/mise/", "mise: installed programs")
        .with_home_location()
        .with_programs(SHIMMED),
    package_manager_file(".local/lib/", "python: user site-packages")
        .with_home_location()
        .with_programs(PYTHON),
    package_manager_file("go/bin/", "go: installed programs").with_home_location(),
    package_manager_file("bin/", "Debian: ~/.profile").with_home_location(),
];
