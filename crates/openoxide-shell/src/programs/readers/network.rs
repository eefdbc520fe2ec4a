//! Programs that look at the network, or reach something by it.

use openoxide_protocol::CommandClass;

use super::super::{
    Arg, Arguments, Effect, Meaning,
    items::{Item, items},
    level::Level,
    reading::read_plainly,
};

const NOT_SHOWN: &str = "it can run something that its words do not show";
const UNKNOWN_FILE: &str = "it reads a file that is not known";

/// Reads an `lsof` command. `@HOST` is looked up, and the lookup reveals the name to the server
/// that answers.
pub(in super::super) fn lsof(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let named = |arg| !matches!(arg, Arg::Known(text) if !text.contains('@'));
    if arguments.iter(from).any(named) {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// `ss`: a filter of states, ports and numbers; anything else could be a host.
pub(in super::super) fn ss(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    const WORDS: &str = "state exclude all connected synchronized bucket big established syn-sent syn-recv fin-wait-1 \
        fin-wait-2 time-wait closed close-wait last-ack listening closing sport dport src dst and or not eq neq ge le gt lt";
    let mut meaning = read_plainly(level, arguments, from);
    let is_number = |word: &str| {
        word.chars().all(|each| each.is_ascii_digit() || ".:*/=<>!()[]&|".contains(each))
    };
    let is_filter = |word: &str| {
        word.starts_with('-')
            || is_number(word)
            || WORDS.split_whitespace().any(|known| known == word)
    };
    let plain = |arg| matches!(arg, Arg::Known(text) if text.split_whitespace().all(is_filter));
    if !arguments.iter(from).all(plain) {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// The values of curl's options that name a file behind an `@`, `<` or `%`, or that write one.
pub(in super::super) fn curl_value(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
    let Some(value) = value else { return };
    match name {
        "d" | "data" | "data-ascii" | "data-binary" | "json" | "H" | "header" | "proxy-header" => {
            read_behind(meaning, value, "@");
        }
        "data-urlencode" | "url-query" => read_behind_name(meaning, value, "@"),
        // Without a `=` it is a file with cookies.
        "b" | "cookie" if !matches!(value, Arg::Known(text) | Arg::Begins(text) if text.contains('=')) =>
        {
            meaning.read(value, false);
        }
        "T" | "upload-file" if matches!(value, Arg::Known(text) if text.contains(['{', '['])) => {
            meaning.cannot_tell(UNKNOWN_FILE);
        }
        "F" | "form" => read_behind_name(meaning, value, "@<"),
        "url" if matches!(value, Arg::Known(text) if text.starts_with('@')) => {
            read_behind(meaning, value, "@");
        }
        "w" | "write-out" => write_out(meaning, value),
        _ => {}
    }
}

/// `@FILE`.
fn read_behind(meaning: &mut Meaning, value: Arg<'_>, marks: &str) {
    match value {
        Arg::Known(text) => {
            if let Some(file) = text.strip_prefix(|first| marks.contains(first)) {
                meaning.read(Arg::Known(file), false);
            }
        }
        Arg::Begins(text)
            if !text.is_empty() && !text.starts_with(|first| marks.contains(first)) => {}
        _ => meaning.cannot_tell(UNKNOWN_FILE),
    }
}

/// `NAME@FILE`, `NAME=@FILE;type=…,FILE`.
fn read_behind_name(meaning: &mut Meaning, value: Arg<'_>, marks: &str) {
    let Arg::Known(text) = value else {
        // Unless the known part rules it out, the value could be a file.
        let is_plain = |(name, rest): (&str, &str)| {
            if marks == "@" { !name.contains('@') } else { is_text(rest, marks) }
        };
        if !matches!(value, Arg::Begins(text) if text.split_once('=').is_some_and(is_plain)) {
            meaning.cannot_tell(UNKNOWN_FILE);
        }
        return;
    };
    let value = match (text.split_once('='), marks) {
        (Some((_, value)), "@<") => value,
        (Some((name, _)), _) if !name.contains('@') => return,
        _ => text.find('@').and_then(|at| text.get(at..)).unwrap_or_default(),
    };
    let Some(files) = value.strip_prefix(|first| marks.contains(first)) else { return };
    for file in files.split(',') {
        let file = file.split(';').next().unwrap_or_default().trim_matches('"');
        meaning.read(Arg::Known(file), false);
    }
}

fn is_text(value: &str, marks: &str) -> bool {
    value.chars().next().is_some_and(|first| !marks.contains(first))
}

/// A format can name the file to which it goes, and `@FILE` is a file with the format.
fn write_out(meaning: &mut Meaning, value: Arg<'_>) {
    read_behind(meaning, value, "@");
    let Arg::Known(mut rest) = value else { return };
    while let Some((_, after)) = rest.split_once("%output{") {
        let Some((file, more)) = after.split_once('}') else { return };
        meaning.write(Arg::Known(file.strip_prefix(">>").unwrap_or(file)));
        rest = more;
    }
}

/// `-O`: the last part of the address is the name of the file.
pub(in super::super) fn curl(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    // `--help` can be followed by the name of a part of it.
    if matches!(arguments.known(from), Some("-h" | "--help")) && arguments.words.len() <= from + 2 {
        return Meaning::of(CommandClass::Harmless);
    }
    let mut meaning = read_plainly(level, arguments, from);
    let (mut named, mut directory, mut methods) = (false, None, 0);
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, value } => match option.name {
                "X" | "request" => methods += 1,
                "O" | "remote-name" | "remote-name-all" | "J" | "remote-header-name" => {
                    named = true;
                }
                "output-dir" => directory = value,
                _ => {}
            },
            Item::Operand(..) | Item::Number | Item::Unclear => {}
        }
    }
    goes_elsewhere(&mut meaning);
    if methods > 1 {
        meaning.cannot_tell("is given two methods");
    }
    if named {
        let directory = directory.unwrap_or(Arg::Known("."));
        name_files(&mut meaning, directory, "curl_response", arguments, from);
    }
    meaning
}

/// Adds a file for each address, by the last part of its path; `nameless` is the name where there is none.
fn name_files(
    meaning: &mut Meaning,
    directory: Arg<'_>,
    nameless: &str,
    arguments: Arguments<'_>,
    from: usize,
) {
    let Arg::Known(directory) = directory else { return meaning.write(Arg::Many) };
    for arg in arguments.iter(from) {
        let Arg::Known(text) = arg else { continue };
        let Some((_, address)) = text.split_once("://") else { continue };
        let path = address.split(['?', '#']).next().unwrap_or(address);
        let name =
            path.split_once('/').map_or("", |(_, path)| path.rsplit('/').next().unwrap_or(path));
        // An address with patterns stands for several addresses.
        if name.contains(['{', '[']) {
            meaning.write(Arg::Many);
        } else {
            let name = if name.is_empty() { nameless } else { name };
            meaning.write(Arg::Known(&format!("{directory}/{name}")));
        }
    }
}

/// `http`: words such as `name@FILE`, `name=@FILE`, `name:=@FILE` and `@FILE` send files.
pub(in super::super) fn http(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    for item in items(level, arguments, from) {
        let Item::Operand(arg, _) = item else { continue };
        match arg {
            Arg::Known(text) if text.contains("://") && !text.contains('=') => meaning.reach(arg),
            Arg::Known(text) => {
                if let Some((_, file)) = text.split_once('@') {
                    meaning.read(Arg::Known(file.split(';').next().unwrap_or(file)), false);
                }
            }
            Arg::Begins(text) if text.contains(['=', ':', '/']) && !text.contains('@') => {}
            _ => meaning.cannot_tell(UNKNOWN_FILE),
        }
    }
    meaning
}

/// The options of ssh that are known to start nothing and to name no file.
const PLAIN_SSH: &str = "addkeystoagent addressfamily batchmode bindaddress bindinterface canonicalizehostname     checkhostip ciphers compression connectionattempts connecttimeout controlpersist escapechar     exitonforwardfailure fingerprinthash forwardx11 gssapiauthentication hashknownhosts hostbasedauthentication     hostkeyalgorithms hostkeyalias hostname identitiesonly ipqos kbdinteractiveauthentication kexalgorithms loglevel     macs nohostauthenticationforlocalhost numberofpasswordprompts passwordauthentication port preferredauthentications     pubkeyauthentication requesttty serveralivecountmax serveraliveinterval sessiontype stdinnull     stricthostkeychecking tcpkeepalive updatehostkeys user verifyhostkeydns visualhostkey";

/// `-o NAME=VALUE` of ssh, scp and sftp: a setting can name a program, a library or a file.
pub(in super::super) fn ssh_value(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
    if name != "o" {
        return;
    }
    let Some(Arg::Known(text) | Arg::Begins(text)) = value else {
        return meaning.cannot_tell(NOT_SHOWN);
    };
    let text = text.trim_start();
    let end = text.find(|each: char| !each.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (key, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let key = key.to_ascii_lowercase();
    if key == "userknownhostsfile" || key == "globalknownhostsfile" {
        for file in rest.trim_start_matches([' ', '=', '\t']).split(' ') {
            meaning.write(Arg::Known(file.trim_matches('"')));
        }
    } else if key == "identityfile" || key == "certificatefile" {
        meaning
            .read(Arg::Known(rest.trim_start_matches([' ', '=', '\t']).trim_matches('"')), false);
    } else if !PLAIN_SSH.split_whitespace().any(|plain| plain == key) {
        meaning.cannot_tell(NOT_SHOWN);
    }
}

/// Reads an `scp FILE… HOST:PLACE` command. An operand with a `:` before any slash is on another
/// host.
pub(in super::super) fn scp(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let operands: Vec<Arg<'_>> = items(level, arguments, from)
        .filter_map(|item| if let Item::Operand(arg, _) = item { Some(arg) } else { None })
        .collect();
    let Some((place, sources)) = operands.split_last() else { return meaning };
    for arg in &operands {
        if let Some(host) = remote(*arg) {
            meaning.reach(Arg::Known(host));
        }
    }
    for source in sources.iter().filter(|source| remote(**source).is_none()) {
        meaning.read(*source, false);
    }
    if remote(*place).is_none() {
        meaning.write(*place);
        for source in sources {
            if let (Arg::Known(source), Arg::Known(place)) = (source, place) {
                let name =
                    source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
                meaning.write(Arg::Known(&format!("{}/{name}", place.trim_end_matches('/'))));
            }
        }
    }
    meaning
}

/// Returns the address of a place on another host.
fn remote(arg: Arg<'_>) -> Option<&str> {
    let (Arg::Known(text) | Arg::Begins(text)) = arg else { return None };
    let (host, _) = text.split_once(':')?;
    (!host.contains('/') && !host.is_empty()).then_some(text)
}

/// Addresses of socat name what they are: a host, a file, a program.
pub(in super::super) fn socat(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    for item in items(level, arguments, from) {
        let Item::Operand(arg, _) = item else { continue };
        let Arg::Known(text) = arg else {
            meaning.cannot_tell(NOT_SHOWN);
            continue;
        };
        text.split("!!").for_each(|address| socat_address(&mut meaning, address));
    }
    meaning
}

fn socat_address(meaning: &mut Meaning, address: &str) {
    let (kind, rest) = address.split_once(':').unwrap_or((address, ""));
    let value = rest.split(',').next().unwrap_or(rest);
    let kind = kind.split(',').next().unwrap_or(kind).to_ascii_lowercase();
    match kind.as_str() {
        "-" | "stdio" | "stdin" | "stdout" | "stderr" | "fd" | "pty" | "pipe"
            if value.is_empty() => {}
        "tcp" | "tcp4" | "tcp6" | "tcp-connect" | "udp" | "udp4" | "udp6" | "udp-connect"
        | "openssl" | "ssl" | "openssl-connect" | "udp-sendto" | "udp-datagram" => {
            meaning.reach(Arg::Known(value));
        }
        "tcp-listen" | "tcp-l" | "tcp4-listen" | "tcp6-listen" | "udp-listen" | "udp-l"
        | "udp-recv"
            if !address.contains("fork") || !address.contains("exec") => {}
        "open" | "file" | "gopen" | "create" | "creat" | "unix" | "unix-connect"
        | "unix-listen" => {
            meaning.read(Arg::Known(value), false);
            meaning.write(Arg::Known(value));
        }
        _ if kind.contains('/') => {
            meaning.read(Arg::Known(address), false);
            meaning.write(Arg::Known(address));
        }
        _ => meaning.cannot_tell(NOT_SHOWN),
    }
}

/// `wget`: the last part of the address is the name of the file, unless another is given.
pub(in super::super) fn wget(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let (mut named, mut directory) = (meaning.class != CommandClass::Harmless, Arg::Known("."));
    for item in items(level, arguments, from) {
        let Item::Option { option, value } = item else { continue };
        match option.name {
            "O" | "output-document" | "spider" => named = false,
            "P" | "directory-prefix" => directory = value.unwrap_or(Arg::Many),
            _ => {}
        }
    }
    goes_elsewhere(&mut meaning);
    if named {
        name_files(&mut meaning, directory, "index.html", arguments, from);
    }
    meaning
}

/// Operands are addresses if they have a scheme, and files otherwise.
pub(in super::super) fn file_or_address(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    for item in items(level, arguments, from) {
        match item {
            Item::Operand(arg @ Arg::Known(text), _)
                if text.contains("://") || text.starts_with("file:") =>
            {
                meaning.reach(arg);
            }
            Item::Operand(arg, _) if meaning.class != CommandClass::Harmless => {
                meaning.read(arg, false);
            }
            _ => {}
        }
    }
    meaning
}

/// `-oN FILE` and its like write, `-iL FILE` reads; the file may be attached.
pub(in super::super) fn nmap(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let mut words = arguments.iter(from);
    while let Some(word) = words.next() {
        let (Arg::Known(text) | Arg::Begins(text)) = word else { continue };
        let Some(text) = text.strip_prefix('-').map(|text| text.trim_start_matches('-')) else {
            continue;
        };
        let Some((kind, rest)) = text.split_at_checked(2) else { continue };
        let rest = rest.trim_start_matches('=');
        let file =
            if rest.is_empty() { words.next().unwrap_or(Arg::Many) } else { Arg::Known(rest) };
        match kind {
            "oN" | "oX" | "oG" | "oS" | "oA" | "oM" | "oH" => meaning.write(file),
            "iL" => meaning.read(file, false),
            _ => {}
        }
    }
    meaning
}

/// Reads an `ssh-keygen` command. The file of `-f` is written, unless the command only shows its
/// contents.
pub(in super::super) fn ssh_keygen(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let (mut shows, mut other, mut file) = (false, false, None);
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, value } => match option.name {
                "f" => file = value,
                "l" | "L" | "F" | "B" | "Q" => shows = true,
                "E" | "v" | "q" => {}
                _ => other = true,
            },
            Item::Operand(..) | Item::Number => {}
            Item::Unclear => other = true,
        }
    }
    if shows && !other && meaning.effects.is_empty() {
        meaning.class = CommandClass::Harmless;
    }
    if let Some(file) = file {
        meaning.read(file, false);
        if meaning.class != CommandClass::Harmless {
            meaning.write(file);
        }
    }
    meaning
}

/// Adds the effect of the options of `dmesg` that clear the kernel's messages.
pub(in super::super) fn kernel_log(meaning: &mut Meaning, name: &str, _: Option<Arg<'_>>) {
    if matches!(name, "C" | "c" | "clear" | "read-clear") {
        meaning.write(Arg::Known("/dev/kmsg"));
    }
}

/// `journalctl`: the journal is cut or begun anew.
pub(in super::super) fn journal(meaning: &mut Meaning, name: &str, _: Option<Arg<'_>>) {
    if matches!(
        name,
        "flush" | "rotate" | "vacuum-files" | "vacuum-size" | "vacuum-time" | "setup-keys"
    ) {
        meaning.write(Arg::Known("/var/log/journal"));
    }
}

/// `crontab -r`: the table is gone afterwards.
pub(in super::super) fn crontab(meaning: &mut Meaning, name: &str, _: Option<Arg<'_>>) {
    if name == "r" {
        meaning.write(Arg::Known("/var/spool/cron"));
    }
}

/// Records that several hosts or a misleading address are reached. Rules are written for the host
/// that the first address appears to name.
fn goes_elsewhere(meaning: &mut Meaning) {
    let mut hosts: Vec<&str> = Vec::new();
    let mut misleads = false;
    for effect in &meaning.effects {
        let Effect::Reaches(address) = effect else { continue };
        let rest = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        misleads |= host.contains('@') || host.contains(['{', '[']);
        hosts.push(host);
    }
    hosts.dedup();
    if misleads || hosts.len() > 1 {
        meaning.cannot_tell("reaches several hosts, or another than it seems");
    }
}

/// `rclone`: `REMOTE,option=value:PATH` sets options of a backend, of which some are commands.
pub(in super::super) fn rclone(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let sets = |text: &str| text.contains(',') && text.contains(['=', ':']);
    if arguments
        .iter(from)
        .any(|arg| matches!(arg, Arg::Known(text) | Arg::Begins(text) if sets(text)))
    {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(NOT_SHOWN);
    }
    meaning
}
