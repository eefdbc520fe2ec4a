//! Readers for programs that inspect the network or connect to hosts.

use openoxide_protocol::CommandClass;

use super::super::{
    ArgumentWord, CommandEffect, CommandMeaning, command_arguments::CommandArguments,
    command_items::CommandItem, command_reading::read_without_custom_reader,
};

const HIDDEN_EXECUTION: &str = "it can run something that its words do not show";
const UNKNOWN_FILE: &str = "it reads a file that is not known";

/// Reads an `lsof` command. `@HOST` is looked up, and the lookup reveals the name to the server
/// that answers.
pub(in super::super) fn read_lsof(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let named = |arg| !matches!(arg, ArgumentWord::Known(text) if !text.contains('@'));
    if arguments.words().any(named) {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

/// Reads an `ss` command. Its filter may contain states, ports and numbers. Any other word could be
/// a host.
pub(in super::super) fn read_ss(arguments: CommandArguments<'_>) -> CommandMeaning {
    const WORDS: &str = "state exclude all connected synchronized bucket big established syn-sent syn-recv fin-wait-1 \
        fin-wait-2 time-wait closed close-wait last-ack listening closing sport dport src dst and or not eq neq ge le gt lt";
    let mut meaning = read_without_custom_reader(arguments);
    let is_number = |word: &str| {
        word.chars().all(|each| each.is_ascii_digit() || ".:*/=<>!()[]&|".contains(each))
    };
    let is_filter = |word: &str| {
        word.starts_with('-')
            || is_number(word)
            || WORDS.split_whitespace().any(|known| known == word)
    };
    let plain =
        |arg| matches!(arg, ArgumentWord::Known(text) if text.split_whitespace().all(is_filter));
    if !arguments.words().all(plain) {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

/// Adds the effects of curl's options whose value names a file after an `@`, `<` or `%`, or writes
/// a file.
pub(in super::super) fn add_curl_value(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    let Some(value) = value else { return };
    match name {
        "d" | "data" | "data-ascii" | "data-binary" | "json" | "H" | "header" | "proxy-header" => {
            add_file_after_at(meaning, value, "@");
        }
        "data-urlencode" | "url-query" => add_file_after_name(meaning, value, "@"),
        // A value without a `=` is the name of a file with cookies.
        "b" | "cookie" if !matches!(value, ArgumentWord::Known(text) | ArgumentWord::Prefix(text) if text.contains('=')) =>
        {
            meaning.add_read(value, false);
        }
        "T" | "upload-file" if matches!(value, ArgumentWord::Known(text) if text.contains(['{', '['])) =>
        {
            meaning.add_unknown_effect(UNKNOWN_FILE);
        }
        "F" | "form" => add_file_after_name(meaning, value, "@<"),
        "url" if matches!(value, ArgumentWord::Known(text) if text.starts_with('@')) => {
            add_file_after_at(meaning, value, "@");
        }
        "w" | "write-out" => add_write_out(meaning, value),
        _ => {}
    }
}

/// Adds the file of `@FILE`.
fn add_file_after_at(meaning: &mut CommandMeaning, value: ArgumentWord<'_>, marks: &str) {
    match value {
        ArgumentWord::Known(text) => {
            if let Some(file) = text.strip_prefix(|first| marks.contains(first)) {
                meaning.add_read(ArgumentWord::Known(file), false);
            }
        }
        ArgumentWord::Prefix(text)
            if !text.is_empty() && !text.starts_with(|first| marks.contains(first)) => {}
        _ => meaning.add_unknown_effect(UNKNOWN_FILE),
    }
}

/// Adds the files of `NAME@FILE` and `NAME=@FILE;type=…,FILE`.
fn add_file_after_name(meaning: &mut CommandMeaning, value: ArgumentWord<'_>, marks: &str) {
    let ArgumentWord::Known(text) = value else {
        // The value could be a file unless its known part rules that out.
        let is_plain = |(name, rest): (&str, &str)| {
            if marks == "@" { !name.contains('@') } else { is_literal_text(rest, marks) }
        };
        if !matches!(value, ArgumentWord::Prefix(text) if text.split_once('=').is_some_and(is_plain))
        {
            meaning.add_unknown_effect(UNKNOWN_FILE);
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
        meaning.add_read(ArgumentWord::Known(file), false);
    }
}

fn is_literal_text(value: &str, marks: &str) -> bool {
    value.chars().next().is_some_and(|first| !marks.contains(first))
}

/// Adds the effects of an output format. It can name the file that receives the output, and `@FILE`
/// is a file that contains the format.
fn add_write_out(meaning: &mut CommandMeaning, value: ArgumentWord<'_>) {
    add_file_after_at(meaning, value, "@");
    let ArgumentWord::Known(mut rest) = value else { return };
    while let Some((_, after)) = rest.split_once("%output{") {
        let Some((file, more)) = after.split_once('}') else { return };
        meaning.add_write(ArgumentWord::Known(file.strip_prefix(">>").unwrap_or(file)));
        rest = more;
    }
}

/// Reads a `curl` command. With `-O`, the last part of the address is the name of the file.
pub(in super::super) fn read_curl(arguments: CommandArguments<'_>) -> CommandMeaning {
    // `--help` can be followed by the name of a category.
    if matches!(arguments.known_argument(0), Some("-h" | "--help")) && arguments.len() <= 2 {
        return CommandMeaning::new(CommandClass::Harmless);
    }
    let mut meaning = read_without_custom_reader(arguments);
    let (mut named, mut directory, mut methods) = (false, None, 0);
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => match option.name {
                "X" | "request" => methods += 1,
                "O" | "remote-name" | "remote-name-all" | "J" | "remote-header-name" => {
                    named = true;
                }
                "output-dir" => directory = value,
                _ => {}
            },
            CommandItem::Operand(..) | CommandItem::Number | CommandItem::Unclear => {}
        }
    }
    note_misleading_hosts(&mut meaning);
    if methods > 1 {
        meaning.add_unknown_effect("is given two methods");
    }
    if named {
        let directory = directory.unwrap_or(ArgumentWord::Known("."));
        add_url_file_names(&mut meaning, directory, "curl_response", arguments);
    }
    meaning
}

/// Adds a written file for each address, named by the last part of its path. If that part is empty,
/// the name is `nameless`.
fn add_url_file_names(
    meaning: &mut CommandMeaning,
    directory: ArgumentWord<'_>,
    nameless: &str,
    arguments: CommandArguments<'_>,
) {
    let ArgumentWord::Known(directory) = directory else {
        return meaning.add_write(ArgumentWord::Many);
    };
    for arg in arguments.words() {
        let ArgumentWord::Known(text) = arg else { continue };
        let Some((_, address)) = text.split_once("://") else { continue };
        let path = address.split(['?', '#']).next().unwrap_or(address);
        let name =
            path.split_once('/').map_or("", |(_, path)| path.rsplit('/').next().unwrap_or(path));
        // An address with patterns expands to several addresses.
        if name.contains(['{', '[']) {
            meaning.add_write(ArgumentWord::Many);
        } else {
            let name = if name.is_empty() { nameless } else { name };
            meaning.add_write(ArgumentWord::Known(&format!("{directory}/{name}")));
        }
    }
}

/// Reads an `http` command. Words such as `name@FILE`, `name=@FILE`, `name:=@FILE` and `@FILE` send
/// files.
pub(in super::super) fn read_httpie(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    for arg in arguments.operands() {
        match arg {
            ArgumentWord::Known(text) if text.contains("://") && !text.contains('=') => {
                meaning.add_host(arg);
            }
            ArgumentWord::Known(text) => {
                if let Some((_, file)) = text.split_once('@') {
                    meaning.add_read(
                        ArgumentWord::Known(file.split(';').next().unwrap_or(file)),
                        false,
                    );
                }
            }
            ArgumentWord::Prefix(text) if text.contains(['=', ':', '/']) && !text.contains('@') => {
            }
            _ => meaning.add_unknown_effect(UNKNOWN_FILE),
        }
    }
    meaning
}

/// The settings of ssh that are known to start nothing and to name no file.
const HARMLESS_SSH_OPTIONS: &str = "addkeystoagent addressfamily batchmode bindaddress bindinterface canonicalizehostname     checkhostip ciphers compression connectionattempts connecttimeout controlpersist escapechar     exitonforwardfailure fingerprinthash forwardx11 gssapiauthentication hashknownhosts hostbasedauthentication     hostkeyalgorithms hostkeyalias hostname identitiesonly ipqos kbdinteractiveauthentication kexalgorithms loglevel     macs nohostauthenticationforlocalhost numberofpasswordprompts passwordauthentication port preferredauthentications     pubkeyauthentication requesttty serveralivecountmax serveraliveinterval sessiontype stdinnull     stricthostkeychecking tcpkeepalive updatehostkeys user verifyhostkeydns visualhostkey";

/// Adds the effect of `-o NAME=VALUE` of ssh, scp and sftp. A setting can name a program, a library
/// or a file.
pub(in super::super) fn add_ssh_option(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    if name != "o" {
        return;
    }
    let Some(ArgumentWord::Known(text) | ArgumentWord::Prefix(text)) = value else {
        return meaning.add_unknown_effect(HIDDEN_EXECUTION);
    };
    let text = text.trim_start();
    let end = text.find(|each: char| !each.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (key, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let key = key.to_ascii_lowercase();
    if key == "userknownhostsfile" || key == "globalknownhostsfile" {
        for file in rest.trim_start_matches([' ', '=', '\t']).split(' ') {
            meaning.add_write(ArgumentWord::Known(file.trim_matches('"')));
        }
    } else if key == "identityfile" || key == "certificatefile" {
        meaning.add_read(
            ArgumentWord::Known(rest.trim_start_matches([' ', '=', '\t']).trim_matches('"')),
            false,
        );
    } else if !HARMLESS_SSH_OPTIONS.split_whitespace().any(|plain| plain == key) {
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
}

/// Reads an `scp FILE… HOST:PLACE` command. An operand with a `:` before any slash is on another
/// host.
pub(in super::super) fn read_scp(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let operands: Vec<ArgumentWord<'_>> = arguments.operands().collect();
    let Some((place, sources)) = operands.split_last() else { return meaning };
    for arg in &operands {
        if let Some(host) = remote_url(*arg) {
            meaning.add_host(ArgumentWord::Known(host));
        }
    }
    for source in sources.iter().filter(|source| remote_url(**source).is_none()) {
        meaning.add_read(*source, false);
    }
    if remote_url(*place).is_none() {
        meaning.add_write(*place);
        for source in sources {
            if let (ArgumentWord::Known(source), ArgumentWord::Known(place)) = (source, place) {
                let name =
                    source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
                meaning.add_write(ArgumentWord::Known(&format!(
                    "{}/{name}",
                    place.trim_end_matches('/')
                )));
            }
        }
    }
    meaning
}

/// Returns the address of a location on another host.
fn remote_url(arg: ArgumentWord<'_>) -> Option<&str> {
    let (ArgumentWord::Known(text) | ArgumentWord::Prefix(text)) = arg else { return None };
    let (host, _) = text.split_once(':')?;
    (!host.contains('/') && !host.is_empty()).then_some(text)
}

/// Reads a `socat` command. Its addresses state what they refer to: a host, a file or a program.
pub(in super::super) fn read_socat(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    for arg in arguments.operands() {
        let ArgumentWord::Known(text) = arg else {
            meaning.add_unknown_effect(HIDDEN_EXECUTION);
            continue;
        };
        text.split("!!").for_each(|address| add_socat_address(&mut meaning, address));
    }
    meaning
}

fn add_socat_address(meaning: &mut CommandMeaning, address: &str) {
    let (kind, rest) = address.split_once(':').unwrap_or((address, ""));
    let value = rest.split(',').next().unwrap_or(rest);
    let kind = kind.split(',').next().unwrap_or(kind).to_ascii_lowercase();
    match kind.as_str() {
        "-" | "stdio" | "stdin" | "stdout" | "stderr" | "fd" | "pty" | "pipe"
            if value.is_empty() => {}
        "tcp" | "tcp4" | "tcp6" | "tcp-connect" | "udp" | "udp4" | "udp6" | "udp-connect"
        | "openssl" | "ssl" | "openssl-connect" | "udp-sendto" | "udp-datagram" => {
            meaning.add_host(ArgumentWord::Known(value));
        }
        "tcp-listen" | "tcp-l" | "tcp4-listen" | "tcp6-listen" | "udp-listen" | "udp-l"
        | "udp-recv"
            if !address.contains("fork") || !address.contains("exec") => {}
        "open" | "file" | "gopen" | "create" | "creat" | "unix" | "unix-connect"
        | "unix-listen" => {
            meaning.add_read(ArgumentWord::Known(value), false);
            meaning.add_write(ArgumentWord::Known(value));
        }
        _ if kind.contains('/') => {
            meaning.add_read(ArgumentWord::Known(address), false);
            meaning.add_write(ArgumentWord::Known(address));
        }
        _ => meaning.add_unknown_effect(HIDDEN_EXECUTION),
    }
}

/// Reads a `wget` command. The last part of the address is the name of the file, unless an option
/// gives another name.
pub(in super::super) fn read_wget(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let (mut named, mut directory) =
        (meaning.class != CommandClass::Harmless, ArgumentWord::Known("."));
    for item in arguments.items() {
        let CommandItem::Option { option, value } = item else { continue };
        match option.name {
            "O" | "output-document" | "spider" => named = false,
            "P" | "directory-prefix" => directory = value.unwrap_or(ArgumentWord::Many),
            _ => {}
        }
    }
    note_misleading_hosts(&mut meaning);
    if named {
        add_url_file_names(&mut meaning, directory, "index.html", arguments);
    }
    meaning
}

/// Adds the operands. They are addresses if they have a scheme, and files otherwise.
pub(in super::super) fn read_url_operands(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    for item in arguments.items() {
        match item {
            CommandItem::Operand(arg @ ArgumentWord::Known(text), _)
                if text.contains("://") || text.starts_with("file:") =>
            {
                meaning.add_host(arg);
            }
            CommandItem::Operand(arg, _) if meaning.class != CommandClass::Harmless => {
                meaning.add_read(arg, false);
            }
            _ => {}
        }
    }
    meaning
}

/// Adds the files of options of nmap. `-oN FILE` and similar options write, and `-iL FILE` reads.
/// The file may be attached.
pub(in super::super) fn read_nmap(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let mut words = arguments.words();
    while let Some(word) = words.next() {
        let (ArgumentWord::Known(text) | ArgumentWord::Prefix(text)) = word else { continue };
        let Some(text) = text.strip_prefix('-').map(|text| text.trim_start_matches('-')) else {
            continue;
        };
        let Some((kind, rest)) = text.split_at_checked(2) else { continue };
        let rest = rest.trim_start_matches('=');
        let file = if rest.is_empty() {
            words.next().unwrap_or(ArgumentWord::Many)
        } else {
            ArgumentWord::Known(rest)
        };
        match kind {
            "oN" | "oX" | "oG" | "oS" | "oA" | "oM" | "oH" => meaning.add_write(file),
            "iL" => meaning.add_read(file, false),
            _ => {}
        }
    }
    meaning
}

/// Reads an `ssh-keygen` command. The file of `-f` is written, unless the command only shows its
/// contents.
pub(in super::super) fn read_ssh_keygen(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let (mut shows, mut other, mut file) = (false, false, None);
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => match option.name {
                "f" => file = value,
                "l" | "L" | "F" | "B" | "Q" => shows = true,
                "E" | "v" | "q" => {}
                _ => other = true,
            },
            CommandItem::Operand(..) | CommandItem::Number => {}
            CommandItem::Unclear => other = true,
        }
    }
    if shows && !other && meaning.effects.is_empty() {
        meaning.class = CommandClass::Harmless;
    }
    if let Some(file) = file {
        meaning.add_read(file, false);
        if meaning.class != CommandClass::Harmless {
            meaning.add_write(file);
        }
    }
    meaning
}

/// Adds the effect of the options of `dmesg` that clear the kernel's messages.
pub(in super::super) fn add_dmesg_option(
    meaning: &mut CommandMeaning,
    name: &str,
    _: Option<ArgumentWord<'_>>,
) {
    if matches!(name, "C" | "c" | "clear" | "read-clear") {
        meaning.add_write(ArgumentWord::Known("/dev/kmsg"));
    }
}

/// Adds the effects of the options of `journalctl` that shorten or rotate the journal.
pub(in super::super) fn add_journalctl_option(
    meaning: &mut CommandMeaning,
    name: &str,
    _: Option<ArgumentWord<'_>>,
) {
    if matches!(
        name,
        "flush" | "rotate" | "vacuum-files" | "vacuum-size" | "vacuum-time" | "setup-keys"
    ) {
        meaning.add_write(ArgumentWord::Known("/var/log/journal"));
    }
    // Reading journals from other sources was not tested, and an image is mounted.
    if matches!(name, "D" | "directory" | "i" | "file" | "root" | "image") {
        meaning.lower_class(CommandClass::Unknown);
    }
}

/// Adds the effect of `crontab -r`, which removes the table.
pub(in super::super) fn add_crontab_option(
    meaning: &mut CommandMeaning,
    name: &str,
    _: Option<ArgumentWord<'_>>,
) {
    if name == "r" {
        meaning.add_write(ArgumentWord::Known("/var/spool/cron"));
    }
}

/// Adds an unknown effect if the command reaches several hosts or has a misleading address. Rules
/// are written for the host that the first address appears to name.
fn note_misleading_hosts(meaning: &mut CommandMeaning) {
    let mut hosts: Vec<&str> = Vec::new();
    let mut misleads = false;
    for effect in &meaning.effects {
        let CommandEffect::Reaches(address) = effect else { continue };
        let rest = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        misleads |= host.contains('@') || host.contains(['{', '[']);
        hosts.push(host);
    }
    hosts.dedup();
    if misleads || hosts.len() > 1 {
        meaning.add_unknown_effect("reaches several hosts, or another than it seems");
    }
}

/// Reads an `rclone` command. `REMOTE,option=value:PATH` sets options of a backend, and some of
/// these options are commands.
pub(in super::super) fn read_rclone(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let sets = |text: &str| text.contains(',') && text.contains(['=', ':']);
    if arguments.words().any(
        |arg| matches!(arg, ArgumentWord::Known(text) | ArgumentWord::Prefix(text) if sets(text)),
    ) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    meaning
}
