//! Hosts in private networks, and the hints at rules and options that would allow a refused host.
//!
//! The host of these tests is a network namespace with the address 10.77.0.1. The machine of the
//! intranet is another one, with the address 10.77.0.2.

use std::{fs, process::Command};

use super::{Arena, is_root};
use crate::support::OPENOXIDE;

/// Sets up both machines, and then runs `test` as root or as another user, with `$openoxide`.
const MACHINES: &str = r#"
set -e
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
unshare -n sleep 300 & other=$!
trap 'kill $other $server $own $names 2> /dev/null' EXIT
ip link set lo up
ip link add name outer type veth peer name inner
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set inner netns $other
ip address add 10.77.0.1/24 dev outer; ip link set outer up
inside="nsenter -t $other -n"
$inside ip address add 10.77.0.2/24 dev inner; $inside ip link set inner up
mkdir "$1/intranet" "$1/own"
echo 'the intranet' > "$1/intranet/index.html"; echo 'the host' > "$1/own/index.html"
$inside python3 -m http.server -d "$1/intranet" 80 > /dev/null 2>&1 & server=$!
python3 -m http.server -d "$1/own" 80 > /dev/null 2>&1 & own=$!
printf '%s\n' '127.0.0.1 localhost' '10.77.0.2 file.corp.example' > "$1/hosts"
echo 'nameserver 127.0.0.1' > "$1/resolv.conf"
python3 -c "$4" & names=$!
mount --bind "$1/resolv.conf" "$(realpath /etc/resolv.conf)"
mount --bind "$1/hosts" /etc/hosts
for at in 10.77.0.2 10.77.0.1; do
    for try in $(seq 100); do curl -s "http://$at/" > /dev/null && break; sleep 0.1; done
done
mount -t tmpfs -o mode=755 none /mnt
cp "$0" /mnt/openoxide; cp -r "$1/home" "$1/w" /mnt
chown -R "$2:$2" /mnt/home /mnt/w
cd /mnt/w
HOME=/mnt/home setpriv --reuid="$2" --regid="$2" --clear-groups sh -c "$3"
"#;

/// A name server that knows the addresses of some names.
const NAME_SERVER: &str = r"
import socket
names = {b'git': '10.77.0.2', b'own': '10.77.0.1', b'loop': '127.0.0.1'}
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind(('127.0.0.1', 53))
while True:
    query, client = server.recvfrom(512)
    label = query[13:13 + query[12]]
    end = query.index(b'\0', 12) + 5
    is_address = query[end - 4:end - 2] == b'\0\x01' and label in names
    answer = b'\xc0\x0c\0\x01\0\x01\0\0\0\x01\0\x04' + socket.inet_aton(names[label]) if is_address else b''
    counts = b'\0\x01' + (b'\0\x01' if is_address else b'\0\0') + b'\0\0\0\0'
    server.sendto(query[:2] + b'\x81\x80' + counts + query[12:end] + answer, client)
";

/// Runs a script on the host of the intranet, as root and as another user. Each time, the workspace
/// has a script `fetch.sh` that prints a page, which a policy allows. Returns what it printed.
fn on_both_machines(script: &str) -> Vec<String> {
    if !is_root() {
        return Vec::new(); // Only root can set up such networks.
    }
    let run = |user: &str| {
        let arena = Arena::new();
        fs::create_dir_all(arena.path("home/.config/openoxide")).unwrap();
        let fetch = "#!/bin/sh\nexec curl -s -m 20 \"http://$1/\"\n";
        fs::write(arena.path("w/fetch.sh"), fetch).unwrap();
        let mut command = Command::new("unshare");
        command.args(["-n", "-m", "--propagation", "private", "sh", "-c", MACHINES, OPENOXIDE]);
        let output =
            command.arg(arena.path("")).args([user, script, NAME_SERVER]).output().unwrap();
        let (text, errors) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
        let text = String::from_utf8(text).unwrap();
        assert!(output.status.success(), "{text}\n{errors}");
        text
    };
    ["0", "1234"].map(run).into()
}

/// Defines `fetch HOST`, which runs the script of the workspace with the rules in `$rules`.
const FETCH: &str = r#"
chmod +x fetch.sh
fetch() {
    printf '[permissions]\nallow = ["Bash(./fetch.sh *)"%s]\n%s' "$rules" "$more" > ~/.config/openoxide/policy.toml
    /mnt/openoxide --no-input run -- ./fetch.sh "$1" 2> errors || :
}
refusal() { sed -n 's/^openoxide: refused: //p' errors; }
"#;

#[test]
fn only_an_exact_name_leads_to_the_intranet() {
    let script = r#"
rules=', "WebFetch(domain:git.corp.example)"'; fetch git.corp.example; refusal
rules=', "WebFetch(domain:*.corp.example)"'; fetch git.corp.example; refusal
rules=', "WebFetch(domain:git.corp.example)"'; fetch own.corp.example; refusal
rules=', "WebFetch(domain:own.corp.example)", "WebFetch(domain:loop.corp.example)"'
fetch own.corp.example; refusal; fetch loop.corp.example; refusal
"#;
    let expected = "the intranet\n\
        a connection to git.corp.example:80, which leads to 10.77.0.2; a rule with this exact name, \
        `WebFetch(domain:git.corp.example)`, would allow it\n\
        a connection to own.corp.example:80; a rule `WebFetch(domain:own.corp.example)` would allow it\n\
        a connection to own.corp.example:80, which leads to 10.77.0.1; only a rule that names this \
        address would allow it: `WebFetch(domain:10.77.0.1)`\n\
        a connection to loop.corp.example:80, which leads to 127.0.0.1; only a rule that names this \
        address would allow it: `WebFetch(domain:127.0.0.1)`\n";
    for text in on_both_machines(&format!("{FETCH}{script}")) {
        assert_eq!(text, expected);
    }
}

/// Each hint is applied, until the program succeeds.
#[test]
fn printed_hints_are_true() {
    let script = r#"
for host in git own loop file; do hosts="$hosts $host.corp.example"; done
for host in $hosts 10.77.0.2; do
    for start in '' ', "WebFetch(domain:*.corp.example)"'; do
        rules=$start
        for attempt in 1 2 3; do
            page=$(fetch "$host"); [ -z "$page" ] || break
            hint=$(sed -n 's/^openoxide: refused: .*`\(WebFetch([^`]*)\)`.*/\1/p' errors)
            [ -n "$hint" ] || break
            rules="$rules, \"$hint\""
        done
        echo "$host: $page$rules"
    done
    # Without any host, no name is looked up.
    case $host in 10.* | file.*) option= ;; *) option='--net *.corp.example' ;; esac
    for attempt in 1 2 3; do
        page=$(/mnt/openoxide sandbox run $option -- ./fetch.sh "$host" 2> errors) && break
        hint=$(sed -n 's/^openoxide: refused: .*`--net \([^`]*\)`.*/\1/p' errors)
        [ -n "$hint" ] || break
        option="--net ${option:+${option#--net },}$hint"
    done
    echo "$host: $page $option"
done
"#;
    let expected = "\
        git.corp.example: the intranet, \"WebFetch(domain:git.corp.example)\"\n\
        git.corp.example: the intranet, \"WebFetch(domain:*.corp.example)\", \"WebFetch(domain:git.corp.example)\"\n\
        git.corp.example: the intranet --net *.corp.example,git.corp.example:80\n\
        own.corp.example: the host, \"WebFetch(domain:own.corp.example)\", \"WebFetch(domain:10.77.0.1)\"\n\
        own.corp.example: the host, \"WebFetch(domain:*.corp.example)\", \"WebFetch(domain:10.77.0.1)\"\n\
        own.corp.example: the host --net *.corp.example,10.77.0.1:80\n\
        loop.corp.example: the host, \"WebFetch(domain:loop.corp.example)\", \"WebFetch(domain:127.0.0.1)\"\n\
        loop.corp.example: the host, \"WebFetch(domain:*.corp.example)\", \"WebFetch(domain:127.0.0.1)\"\n\
        loop.corp.example: the host --net *.corp.example,127.0.0.1:80\n\
        file.corp.example: the intranet, \"WebFetch(domain:10.77.0.2)\"\n\
        file.corp.example: the intranet, \"WebFetch(domain:*.corp.example)\", \"WebFetch(domain:10.77.0.2)\"\n\
        file.corp.example: the intranet --net 10.77.0.2:80\n\
        10.77.0.2: the intranet, \"WebFetch(domain:10.77.0.2)\"\n\
        10.77.0.2: the intranet, \"WebFetch(domain:*.corp.example)\", \"WebFetch(domain:10.77.0.2)\"\n\
        10.77.0.2: the intranet --net 10.77.0.2:80\n";
    for text in on_both_machines(&format!("{FETCH}{script}")) {
        assert_eq!(text, expected);
    }
}

/// A host that a rule denies or asks about is not reached by another rule, and no hint promises that.
#[test]
fn no_hint_is_printed_if_no_rule_would_help() {
    let script = r#"
more='deny = ["WebFetch(domain:git.corp.example)"]'; fetch git.corp.example; refusal
more='ask = ["WebFetch(domain:git.corp.example)"]'; fetch git.corp.example; refusal
more='
[sandbox]
network = "off"'; fetch 10.77.0.2; refusal
"#;
    for text in on_both_machines(&format!("{FETCH}{script}")) {
        assert!(!text.contains("would allow"), "{text}");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("denied") && lines[0].contains("git.corp.example"), "{text}");
        assert!(lines[1].contains("asked") || lines[1].contains("ask"), "{text}");
        assert!(lines[2].ends_with("a policy sets `network = \"off\"`"), "{text}");
    }
}
