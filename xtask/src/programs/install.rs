//! A root directory with the programs: a small Debian, and packages of npm, PyPI and crates.io inside.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::packages::Packages;
use crate::{setup, workspace};

/// The programs that are needed to create a root directory.
const NEEDS: &[setup::Need] = &[("debootstrap", "debootstrap")];

/// Returns where the root directory is made if none is named.
pub(super) fn default_root() -> PathBuf {
    workspace::target().join("programs/root")
}

/// Creates the root directory if it does not exist, and installs missing packages in it. A package
/// that is not available is left out, and its programs stay unproved.
pub(super) fn install(root: &Path, packages: &Packages) -> Result<(), String> {
    setup::programs(NEEDS)?;
    if !root.join("usr/bin/apt-get").exists() {
        fs::create_dir_all(root).map_err(|error| error.to_string())?;
        let release = release()?;
        succeed(
            Command::new("debootstrap")
                .args(["--variant=minbase", "--include=ca-certificates", &release])
                .arg(root),
        )?;
        copy_settings(root)?;
    }
    let inside = |script: &str, words: &[String]| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--pid", "--fork", "sh", "-c", INSIDE, "sh"])
            .arg(root)
            .arg(script)
            .args(words);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        succeed(&mut command)
    };
    let names = |registry: &str| -> Vec<String> {
        packages.of(registry).map(|(package, _)| package.name.clone()).collect()
    };
    // A package and its programs, with blanks between them.
    let programs = |registry: &str| -> Vec<String> {
        let all = packages.of(registry);
        all.map(|(package, programs)| format!("{} {}", package.name, programs.join(" "))).collect()
    };
    inside(DEBIAN, &names("debian"))?;
    inside(NPM, &programs("npm"))?;
    inside(PYPI, &programs("pypi"))?;
    crates(root, &names("crates"))
}

/// Builds packages of crates.io with the cargo of this machine: Debian's is too old for them. A package that cannot be
/// built is left out.
fn crates(root: &Path, names: &[String]) -> Result<(), String> {
    for name in names {
        let at = root.join("opt/crates").join(name);
        if !at.join("bin").exists() {
            let mut build = workspace::cargo();
            build.args(["install", "--quiet", "--locked", "--jobs", "1"]);
            build.arg("--root").arg(&at).arg(name).stdin(Stdio::null());
            build.env("CARGO_TARGET_DIR", workspace::target().join("programs/crates"));
            if !build.status().is_ok_and(|status| status.success()) {
                eprintln!("crates.io: {name} cannot be built");
                continue;
            }
        }
        let programs = fs::read_dir(at.join("bin")).map_err(|error| error.to_string())?;
        for program in programs.filter_map(Result::ok) {
            let file = program.file_name();
            let link = root.join("usr/local/bin").join(&file);
            drop(fs::remove_file(&link));
            let inside = Path::new("/opt/crates").join(name).join("bin").join(&file);
            std::os::unix::fs::symlink(inside, link).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Enters the root directory and runs a script there.
const INSIDE: &str = r#"root=$1 script=$2; shift 2
mount -t proc none "$root/proc"; mount --rbind /dev "$root/dev"
exec chroot "$root" /bin/sh -c "$script" sh "$@""#;

/// Installs all packages at once. If that fails, installs the remaining ones one by one.
const DEBIAN: &str = r#"printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d
apt-get update -qq
there=; for each in "$@" strace nodejs npm python3-venv python3-pip iproute2; do
  apt-cache policy "$each" 2>/dev/null | grep -q 'Candidate: [^(]' && there="$there $each"; done
apt-get install -y -qq --no-install-recommends $there ||
  for each in $there; do apt-get install -y -qq --no-install-recommends "$each"; done; true"#;

/// Installs each package in a separate directory, and links the programs that are named after it. Debian's Node.js is
/// too old for many of them: they run with the one of npm.
const NPM: &str = r#"get() { timeout 240 npm install --silent --no-fund --no-audit --prefix "$at" "$@"; }
for each in "$@"; do set -- $each; name=$1; at=/opt/npm/$name; shift
  if [ ! -d "$at" ]; then mkdir -p "$at"
    # A package that cannot be built here is installed without its scripts.
    { get "$name" || get --ignore-scripts "$name"; } >/tmp/npm.log 2>&1 </dev/null ||
      { echo "npm: $name cannot be installed"; tail -n 5 /tmp/npm.log; rm -rf "$at"; continue; }
  fi
  for program in "$@"; do file=$at/node_modules/.bin/$program
    [ -e "$file" ] && { [ "$program" = node ] || [ ! -e "/usr/bin/$program" ]; } && ln -sf "$file" "/usr/local/bin/$program"; done
done; true"#;

/// As for npm, with a virtual environment for each package.
const PYPI: &str = r#"[ -x /opt/uv/bin/uv ] || { python3 -m venv /opt/uv && /opt/uv/bin/pip install -q uv; }
for each in "$@"; do set -- $each; name=$1; at=/opt/pypi/$name; shift
  if [ ! -d "$at" ]; then
    /opt/uv/bin/uv venv -q "$at" && /opt/uv/bin/uv pip install -q --python "$at/bin/python" "$name" </dev/null ||
      { echo "PyPI: $name cannot be installed"; rm -rf "$at"; continue; }
  fi
  for program in "$@"; do
    [ -e "$at/bin/$program" ] && [ ! -e "/usr/bin/$program" ] && ln -sf "$at/bin/$program" "/usr/local/bin/$program"; done
done; true"#;

/// Returns the name of this machine's release of Debian.
fn release() -> Result<String, String> {
    let text = fs::read_to_string("/etc/os-release").map_err(|error| error.to_string())?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    name.map(str::to_owned).ok_or_else(|| "only Debian can make the root directory".to_owned())
}

/// Copies what a registry's client needs to reach it from here.
fn copy_settings(root: &Path) -> Result<(), String> {
    let files = [
        "etc/resolv.conf",
        "etc/hosts",
        "etc/pip.conf",
        "root/.npmrc",
        "etc/ssl/certs/ca-certificates.crt",
    ];
    // Debian makes its list of certificates anew from these whenever one of its packages changes.
    let own = fs::read_dir("/usr/local/share/ca-certificates").into_iter().flatten();
    let own = own.filter_map(Result::ok).map(|entry| entry.path());
    for from in files.map(|file| Path::new("/").join(file)).into_iter().chain(own) {
        let to = root.join(from.strip_prefix("/").unwrap_or(&from));
        if from.is_file() {
            let copied = to.parent().map_or(Ok(()), fs::create_dir_all);
            copied
                .and_then(|()| fs::copy(&from, to))
                .map_err(|error| format!("{}: {error}", from.display()))?;
        }
    }
    Ok(())
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.stdin(Stdio::null()).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}")) }
}

/// Returns the versions of all packages, by `registry:name`.
pub(super) fn versions(root: Option<&Path>) -> BTreeMap<String, String> {
    let root = root.unwrap_or(Path::new("/"));
    let mut all = BTreeMap::new();
    let listed = Command::new("dpkg-query")
        .arg("--admindir")
        .arg(root.join("var/lib/dpkg"))
        .args(["-W", "-f", "${Package}\\t${Version}\\n"])
        .output();
    if let Ok(listed) = listed {
        for line in String::from_utf8_lossy(&listed.stdout).lines() {
            if let Some((name, version)) = line.split_once('\t') {
                all.insert(format!("debian:{name}"), version.to_owned());
            }
        }
    }
    npm_versions(root, &mut all);
    python_versions(root, &mut all);
    all
}

fn npm_versions(root: &Path, all: &mut BTreeMap<String, String>) {
    let Ok(packages) = Packages::read() else { return };
    for (package, _) in packages.of("npm") {
        // `node@24` is a package with a version.
        let name = package.name.rsplit_once('@').map_or("", |(name, _)| name);
        let name = if name.is_empty() { &package.name } else { name };
        let file = root.join(format!("opt/npm/{}/node_modules/{name}/package.json", package.name));
        let text = fs::read_to_string(file).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(version) = value.get("version").and_then(|version| version.as_str()) {
            all.insert(format!("npm:{}", package.name), version.to_owned());
        }
    }
}

/// A distribution of PyPI has its version in the name of a directory: `black-25.1.0.dist-info`.
fn python_versions(root: &Path, all: &mut BTreeMap<String, String>) {
    let Ok(packages) = Packages::read() else { return };
    for (package, _) in packages.of("pypi") {
        let lib = root.join("opt/pypi").join(&package.name).join("lib");
        let pythons = fs::read_dir(lib).into_iter().flatten().filter_map(Result::ok);
        let sites = pythons.map(|python| python.path().join("site-packages"));
        let names =
            sites.flat_map(|site| fs::read_dir(site).into_iter().flatten().filter_map(Result::ok));
        let wanted = package.name.replace('-', "_").to_lowercase();
        for name in names.map(|entry| entry.file_name().to_string_lossy().into_owned()) {
            let found = name.strip_suffix(".dist-info").and_then(|stem| stem.rsplit_once('-'));
            if let Some((name, version)) = found
                && name.to_lowercase().replace(['-', '.'], "_") == wanted
            {
                all.insert(format!("pypi:{}", package.name), version.to_owned());
            }
        }
    }
}
