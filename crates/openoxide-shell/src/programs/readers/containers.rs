//! Access of containers to the host.

use openoxide_protocol::CommandClass;

use super::super::{
    ArgumentWord, CommandMeaning, command_arguments::CommandArguments, command_items::CommandItem,
    command_reading::read_without_custom_reader, command_spec::OptionSpec,
};

/// Capabilities that a container has by default, or that give no access to the host.
const HARMLESS_CAPABILITIES: [&str; 12] = [
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

/// Adds the effects of options of `docker run` that remove the isolation of a container.
pub(in super::super) fn add_container_option(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    let text = match value {
        Some(ArgumentWord::Known(text)) => Some(text),
        _ => None,
    };
    let opens = match name {
        "cap-add" => !text.is_some_and(|text| {
            let name = text.to_ascii_uppercase();
            HARMLESS_CAPABILITIES.contains(&name.strip_prefix("CAP_").unwrap_or(&name))
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
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("its container reaches what belongs to this machine");
    }
}

/// Adds the effects of options of `docker volume create`. A volume can be a directory or a disk of
/// the host.
pub(in super::super) fn add_volume_option(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    let plain = match (name, value) {
        ("o" | "opt", Some(ArgumentWord::Known(text))) => {
            text.starts_with("size=") || text == "type=tmpfs" || text == "device=tmpfs"
        }
        ("d" | "driver", Some(ArgumentWord::Known(text))) => text == "local",
        ("o" | "opt" | "d" | "driver", _) => false,
        _ => true,
    };
    if !plain {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("the volume can be a directory of this machine");
    }
}

/// Reads a `docker inspect` command. The format must select only fields without secrets. Without a
/// format, the environment is shown.
pub(in super::super) fn read_inspect(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let formats = |item| match item {
        CommandItem::Option { option: OptionSpec { name: "f" | "format", .. }, value } => {
            Some(value)
        }
        _ => None,
    };
    let shows_little =
        |value| matches!(value, Some(ArgumentWord::Known(text)) if is_plain_format(text));
    let mut formats = arguments.items().filter_map(formats).peekable();
    let understood = !arguments.items().any(|item| matches!(item, CommandItem::Unclear));
    if understood
        && formats.peek().is_some()
        && formats.all(shows_little)
        && meaning.effects.is_empty()
    {
        meaning.class = CommandClass::Harmless;
    }
    meaning
}

/// Fields of containers, images and networks that contain no secrets.
const PUBLIC_FIELDS: [&str; 56] = [
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
            path.split('.').all(|field| PUBLIC_FIELDS.contains(&field))
                && !path.ends_with("Config")
                && !path.is_empty()
        }
        None => WORDS.contains(&word) || word.starts_with('"') && word.ends_with('"'),
    };
    actions.flat_map(str::split_whitespace).all(plain)
}

/// Reads `docker cp` and `kubectl cp`. An operand without a colon is a file of the host.
pub(in super::super) fn read_container_copy(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let operands: Vec<ArgumentWord<'_>> = arguments.operands().collect();
    let here = |arg: &ArgumentWord<'_>| match arg {
        ArgumentWord::Known(text) => text.starts_with(['/', '.', '~']) || !text.contains(':'),
        _ => true,
    };
    if let Some((last, sources)) = operands.split_last() {
        sources.iter().filter(|arg| here(arg)).for_each(|file| meaning.add_read(*file, false));
        std::iter::once(last).filter(|arg| here(arg)).for_each(|file| meaning.add_write(*file));
    }
    meaning
}

/// Returns whether an output option of `kubectl get` is harmless. Some formats are read from a
/// file.
pub(in super::super) fn is_harmless_output_option(
    name: &str,
    value: Option<ArgumentWord<'_>>,
) -> bool {
    if !matches!(name, "o" | "output") {
        return true;
    }
    let Some(ArgumentWord::Known(format)) = value else { return false };
    let inline = ["jsonpath=", "jsonpath-as-json=", "custom-columns=", "go-template="];
    matches!(format, "json" | "yaml" | "wide" | "name")
        || inline.iter().any(|start| format.starts_with(start))
}

/// Returns whether the project's own compose file is used. Any other file can include files from
/// other places.
pub(in super::super) fn is_own_compose_file(name: &str, _: Option<ArgumentWord<'_>>) -> bool {
    !matches!(name, "f" | "file" | "env-file")
}

/// Returns whether values of `helm` come from local files. They can also come from an address
/// (`oci://…`, `git@…`, `github.com/…`).
pub(in super::super) fn is_local_value(name: &str, value: Option<ArgumentWord<'_>>) -> bool {
    let elsewhere = |file: &str| {
        file.contains("://")
            || file.contains('@')
            || file.contains(".git")
            || file.starts_with("github.com/")
    };
    !matches!(name, "f" | "file" | "values")
        || matches!(value, Some(ArgumentWord::Known(file)) if !elsewhere(file))
}
