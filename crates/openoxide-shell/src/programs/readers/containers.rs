//! Access of containers to this machine.

use openoxide_protocol::CommandClass;

use super::super::{
    Arg, Arguments, Meaning,
    items::{Item, items},
    level::{Level, Opt},
    reading::read_plainly,
};

/// `-v HOST:CONTAINER[:ro]`, `--mount type=bind,source=HOST,…`. A name without a slash is a volume of the engine.
pub(in super::super) fn mount(meaning: &mut Meaning, value: Arg<'_>) {
    meaning.lower(CommandClass::Unknown);
    // Fields in quotation marks hide what they are.
    let Arg::Known(text) = value else { return meaning.write(Arg::Many) };
    if text.contains('"') {
        return meaning.write(Arg::Many);
    }
    // A volume can be a directory of this machine by the options of its driver.
    if text.contains("volume-opt") || text.contains("volume-driver") || text.contains("type=glob") {
        return meaning.write(Arg::Many);
    }
    let source = if is_path(text) { text.split(':').next() } else { bound(text) };
    let Some(source) = source else { return };
    meaning.read(Arg::Known(source), false);
    let mut words = text.split([':', ',']).skip(1);
    if !text.starts_with("id=")
        && !words.any(|word| matches!(word, "ro" | "readonly" | "readonly=true" | "ro=true"))
    {
        meaning.write(Arg::Known(source));
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with(['/', '.', '~'])
}

/// Returns the directory that `--mount` names, or the file of `--secret id=NAME,src=FILE`.
fn bound(text: &str) -> Option<&str> {
    let fields = || text.split(',').filter_map(|field| field.split_once('='));
    let is = |key: &str, names: &[&str]| names.contains(&key.to_ascii_lowercase().as_str());
    let (_, source) = fields().rfind(|(key, _)| is(key, &["source", "src"]))?;
    let file =
        fields().any(|(key, value)| is(key, &["id"]) || is(key, &["type"]) && value != "volume");
    (file || is_path(source)).then_some(source)
}

/// Capabilities that a container has anyway, or that reach nothing of this machine.
const CAPABILITIES: [&str; 12] = [
    "AUDIT_WRITE",
    "CHOWN",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// `docker run`: options that take the borders of a container away.
pub(in super::super) fn container_option(
    meaning: &mut Meaning,
    name: &str,
    value: Option<Arg<'_>>,
) {
    let text = match value {
        Some(Arg::Known(text)) => Some(text),
        _ => None,
    };
    let opens = match name {
        "cap-add" => !text.is_some_and(|text| {
            let name = text.to_ascii_uppercase();
            CAPABILITIES.contains(&name.strip_prefix("CAP_").unwrap_or(&name))
        }),
        "security-opt" => !matches!(
            text,
            Some("no-new-privileges" | "no-new-privileges=true" | "no-new-privileges:true")
        ),
        "pid" | "ipc" | "uts" | "userns" | "cgroupns" | "network" | "net" => {
            !text.is_some_and(|text| text != "host" && !text.contains([':', '/']))
        }
        "device" | "device-cgroup-rule" | "volumes-from" | "use-api-socket" => true,
        "runtime" => text.is_none_or(|text| text.contains('/')),
        "allow" => !text.is_some_and(|text| !text.contains("insecure") && !text.contains("host")),
        _ => false,
    };
    if opens {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("its container reaches what belongs to this machine");
    }
}

/// `docker volume create`: a volume can be a directory or a disk of this machine.
pub(in super::super) fn volume_option(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
    let plain = match (name, value) {
        ("o" | "opt", Some(Arg::Known(text))) => {
            text.starts_with("size=") || text == "type=tmpfs" || text == "device=tmpfs"
        }
        ("d" | "driver", Some(Arg::Known(text))) => text == "local",
        ("o" | "opt" | "d" | "driver", _) => false,
        _ => true,
    };
    if !plain {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("the volume can be a directory of this machine");
    }
}

/// `docker inspect`: the format must name only what holds no secrets; without one the environment is shown.
pub(in super::super) fn inspect(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let formats = |item| match item {
        Item::Option { option: Opt { name: "f" | "format", .. }, value } => Some(value),
        _ => None,
    };
    let shows_little = |value| matches!(value, Some(Arg::Known(text)) if is_plain_format(text));
    let mut formats = items(level, arguments, from).filter_map(formats).peekable();
    let understood = !items(level, arguments, from).any(|item| matches!(item, Item::Unclear));
    if understood
        && formats.peek().is_some()
        && formats.all(shows_little)
        && meaning.effects.is_empty()
    {
        meaning.class = CommandClass::Harmless;
    }
    meaning
}

/// Fields of what an engine tells of containers, images, networks that hold no secrets.
const FIELDS: [&str; 56] = [
    "Id",
    "ID",
    "Name",
    "Created",
    "State",
    "Status",
    "Running",
    "Paused",
    "Restarting",
    "OOMKilled",
    "Dead",
    "Pid",
    "ExitCode",
    "Error",
    "StartedAt",
    "FinishedAt",
    "Health",
    "Log",
    "Output",
    "FailingStreak",
    "RestartCount",
    "NetworkSettings",
    "Networks",
    "IPAddress",
    "Gateway",
    "MacAddress",
    "Ports",
    "HostPort",
    "HostIp",
    "Mounts",
    "Source",
    "Destination",
    "Mode",
    "RW",
    "Type",
    "Driver",
    "Platform",
    "Image",
    "HostConfig",
    "NetworkMode",
    "PortBindings",
    "Binds",
    "RestartPolicy",
    "Architecture",
    "Os",
    "Size",
    "RepoTags",
    "RepoDigests",
    "Layers",
    "RootFS",
    "ExposedPorts",
    "Config",
    "Hostname",
    "WorkingDir",
    "NetworkID",
    "Aliases",
];

/// Returns whether a format contains only the fields above, and no path that ends with the whole
/// configuration.
fn is_plain_format(text: &str) -> bool {
    const WORDS: [&str; 10] =
        ["range", "end", "if", "else", "json", "with", "len", "eq", "and", "or"];
    // Text outside of braces is printed literally.
    let actions = text.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap_or_default());
    let plain = |word: &str| match word.strip_prefix('.') {
        Some(path) => {
            path.split('.').all(|field| FIELDS.contains(&field))
                && !path.ends_with("Config")
                && !path.is_empty()
        }
        None => WORDS.contains(&word) || word.starts_with('"') && word.ends_with('"'),
    };
    actions.flat_map(str::split_whitespace).all(plain)
}

/// `docker cp`, `kubectl cp`: what has no colon is of this machine.
pub(in super::super) fn copy(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let operands: Vec<Arg<'_>> = items(level, arguments, from)
        .filter_map(|item| match item {
            Item::Operand(arg, _) => Some(arg),
            _ => None,
        })
        .collect();
    let here = |arg: &Arg<'_>| match arg {
        Arg::Known(text) => text.starts_with(['/', '.', '~']) || !text.contains(':'),
        _ => true,
    };
    if let Some((last, sources)) = operands.split_last() {
        sources.iter().filter(|arg| here(arg)).for_each(|file| meaning.read(*file, false));
        std::iter::once(last).filter(|arg| here(arg)).for_each(|file| meaning.write(*file));
    }
    meaning
}

/// `kubectl get -o`: some formats are read from a file.
pub(in super::super) fn plain_output(name: &str, value: Option<Arg<'_>>) -> bool {
    if !matches!(name, "o" | "output") {
        return true;
    }
    let Some(Arg::Known(format)) = value else { return false };
    let inline = ["jsonpath=", "jsonpath-as-json=", "custom-columns=", "go-template="];
    matches!(format, "json" | "yaml" | "wide" | "name")
        || inline.iter().any(|start| format.starts_with(start))
}

/// Returns whether a compose file is the one of the project: any other can include files from elsewhere, too.
pub(in super::super) fn is_own_compose_file(name: &str, _: Option<Arg<'_>>) -> bool {
    !matches!(name, "f" | "file" | "env-file")
}

/// `helm`: values and files can come from an address (`oci://…`, `git@…`, `github.com/…`).
pub(in super::super) fn stays_local(name: &str, value: Option<Arg<'_>>) -> bool {
    let elsewhere = |file: &str| {
        file.contains("://")
            || file.contains('@')
            || file.contains(".git")
            || file.starts_with("github.com/")
    };
    !matches!(name, "f" | "file" | "values")
        || matches!(value, Some(Arg::Known(file)) if !elsewhere(file))
}
