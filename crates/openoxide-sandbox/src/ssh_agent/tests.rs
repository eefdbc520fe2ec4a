//! The filter, with messages of the real `ssh` (`openssh.txt`) and changed ones.

use std::sync::{Arc, Mutex};

use super::{
    agent_filter::{AgentFilter, AgentPolicy, AgentRefusal, FilteredMessage},
    agent_message::{EXTENSION, FAILURE, REQUEST_IDENTITIES},
    known_hosts::KnownHostKeys,
    session_bind::{BindError, BoundSession},
};

const TYPES: [&str; 5] = ["ed25519", "ecdsa256", "ecdsa384", "ecdsa521", "rsa"];

/// Returns an entry of the recorded messages.
fn recorded(kind: &str, what: &str) -> String {
    let start = format!("{kind} {what} ");
    let found = include_str!("openssh.txt").lines().find_map(|line| line.strip_prefix(&start));
    found.unwrap().to_owned()
}

fn message(kind: &str, what: &str) -> Vec<u8> {
    let text = recorded(kind, what);
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn field(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

/// A policy that permits some hosts, and the refusals that it has recorded.
struct World {
    policy: AgentPolicy,
    refused: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// Creates a policy. The host of each key type has its name, with `.example`.
    fn permitting(hosts: &'static [&'static str]) -> Self {
        let lines = TYPES.map(|kind| format!("{kind}.example {}\n", recorded(kind, "key")));
        Self::with_known_hosts(&lines.concat(), &[], hosts)
    }

    fn with_known_hosts(
        text: &str,
        contacted: &'static [(&'static str, u16)],
        hosts: &'static [&'static str],
    ) -> Self {
        let mut known = KnownHostKeys::default();
        known.add_text(text);
        let refused = Arc::new(Mutex::new(Vec::new()));
        let (asked, told) = (Arc::clone(&refused), Arc::clone(&refused));
        let policy = AgentPolicy::new(
            known,
            move || contacted.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect(),
            move |host| {
                let is_permitted = hosts.contains(&host);
                if !is_permitted {
                    asked.lock().unwrap().push(host.to_owned());
                }
                is_permitted
            },
            move |reason: AgentRefusal| told.lock().unwrap().push(format!("{reason:?}")),
        );
        Self { policy, refused }
    }

    /// Sends messages through one connection. Returns which of them the agent would receive.
    fn send(&self, messages: &[&[u8]]) -> Vec<bool> {
        let mut filter = AgentFilter::new(&self.policy);
        messages.iter().map(|one| filter.check(one) == FilteredMessage::Forward).collect()
    }

    fn refused(&self) -> Vec<String> {
        std::mem::take(&mut *self.refused.lock().unwrap())
    }
}

/// Guards I22.
#[test]
fn a_sign_in_to_a_permitted_host_passes() {
    for kind in TYPES {
        let world = World::permitting(&[
            "ed25519.example",
            "ecdsa256.example",
            "ecdsa384.example",
            "ecdsa521.example",
            "rsa.example",
        ]);
        let (bind, sign) = (message(kind, "bind"), message(kind, "sign"));
        assert_eq!(world.send(&[&bind, &[REQUEST_IDENTITIES], &sign]), [true; 3], "{kind}");
        assert_eq!(world.refused(), Vec::<String>::new());
    }
}

/// Guards I22.
#[test]
fn nothing_passes_for_a_host_that_is_not_permitted() {
    let world = World::permitting(&["rsa.example"]);
    let (bind, sign) = (message("ed25519", "bind"), message("ed25519", "sign"));
    assert_eq!(
        world.send(&[&bind, &[REQUEST_IDENTITIES], &sign, &sign]),
        [true, false, false, false]
    );
    assert_eq!(world.refused(), ["ed25519.example"], "asked once for a connection");
}

/// Guards I22.
#[test]
fn a_session_with_one_host_signs_for_no_other() {
    let world = World::permitting(&["ed25519.example", "rsa.example"]);
    let bind = message("ed25519", "bind");
    assert_eq!(world.send(&[&bind, &message("rsa", "sign")]), [true, false]);
    assert_eq!(world.refused(), ["NotThisSignIn"]);
}

/// Guards I22.
#[test]
fn a_session_is_bound_once() {
    let world = World::permitting(&["ed25519.example", "rsa.example"]);
    let (one, other) = (message("ed25519", "bind"), message("rsa", "bind"));
    assert_eq!(world.send(&[&one, &one, &other]), [true, false, false], "in one connection");
    assert_eq!(world.send(&[&one, &message("ed25519", "sign")]), [false, false], "in another");
    let refused = world.refused();
    assert_eq!(refused, ["RepeatedBind", "RepeatedBind", "RepeatedBind", "UnboundSession"]);
}

/// Any changed byte of the host's key, the session or the signature makes a bind worthless.
///
/// Guards I22.
#[test]
fn a_forged_bind_is_refused() {
    for kind in TYPES {
        let bind = message(kind, "bind");
        assert!(BoundSession::verify(&bind).is_ok(), "{kind}");
        // The verification is slow without optimization.
        let step = if kind == "ed25519" { 1 } else { 13 };
        for at in (0..bind.len()).step_by(step) {
            for bit in [1, 0x80] {
                let mut forged = bind.clone();
                forged[at] ^= bit;
                let found = BoundSession::verify(&forged);
                assert!(found.is_err(), "{kind} {at} {bit} {found:?}");
            }
        }
        for short in 0..bind.len() {
            assert!(BoundSession::verify(&bind[..short]).is_err(), "{kind} {short}");
        }
        assert_eq!(BoundSession::verify(&[&bind[..], &[0]].concat()), Err(BindError::NotABind));
    }
    let mut forwarded = message("rsa", "bind");
    *forwarded.last_mut().unwrap() = 1;
    assert_eq!(BoundSession::verify(&forwarded), Err(BindError::Forwarded));
}

/// The messages of the protocol that change the agent, and unknown ones.
///
/// Guards I22.
#[test]
fn nothing_else_reaches_the_agent() {
    let world = World::permitting(&["ed25519.example"]);
    let bind = message("ed25519", "bind");
    let query = [&[EXTENSION], field(b"query").as_slice()].concat();
    let mut filter = AgentFilter::new(&world.policy);
    assert_eq!(filter.check(&bind), FilteredMessage::Forward);
    for number in (0..=u8::MAX).filter(|number| !matches!(number, 11 | 13 | 27)) {
        for rest in [&[][..], &[0; 40]] {
            let message = [&[number], rest].concat();
            assert_eq!(filter.check(&message), FilteredMessage::Answer(vec![FAILURE]), "{number}");
        }
    }
    for odd in [&[][..], &[11, 0], &query, &[13], &[27]] {
        assert_eq!(filter.check(odd), FilteredMessage::Answer(vec![FAILURE]), "{odd:?}");
    }
}

/// Guards I22.
#[test]
fn only_the_data_of_a_sign_in_is_signed() {
    let world = World::permitting(&["ed25519.example"]);
    let sign = message("ed25519", "sign");
    let key_end = 5 + usize::from(sign[4]);
    let key = &sign[1..key_end];
    let data = &sign[key_end + 4..sign.len() - 4];
    let request = |data: &[u8]| [&[13], key, &field(data), &[0; 4]].concat();
    // The identifier of the session has 64 bytes. The name of the user follows the message's number.
    let user = 4 + 64 + 1..4 + 64 + 1 + field(b"root").len();
    let algorithm = data.windows(11).position(|text| text == b"ssh-ed25519").unwrap();
    let mut filter = AgentFilter::new(&world.policy);
    assert_eq!(filter.check(&message("ed25519", "bind")), FilteredMessage::Forward);
    assert_eq!(filter.check(&request(data)), FilteredMessage::Forward, "the data is found");
    for at in 0..data.len() {
        let mut other = data.to_vec();
        other[at] ^= 1;
        let passes = filter.check(&request(&other)) == FilteredMessage::Forward;
        let is_free = user.contains(&at) || (algorithm..algorithm + 11).contains(&at);
        assert!(!passes || is_free, "{at}");
    }
    for data in [&b"anything"[..], b"SSHSIG\0\0\0\x03git", &data[..data.len() - 1], b""] {
        assert_ne!(filter.check(&request(data)), FilteredMessage::Forward);
    }
    assert!(world.refused().contains(&"FileSignature".to_owned()));
}

/// The lines of a file of known hosts, the addresses of the connection, and the host that is found.
type Row<'a> = (&'a str, &'static [(&'static str, u16)], Option<&'a str>);

/// The names of hosts, as sshd(8) describes them. The hashed lines are those of `ssh-keygen -H`.
///
/// Guards I22.
#[test]
fn a_host_is_known_by_its_key() {
    let key = recorded("ed25519", "key");
    let hashed = |hash: &str| format!("{hash} {key}\n");
    let rows: &[Row<'_>] = &[
        ("git.example KEY comment", &[], Some("git.example")),
        ("  git.example,10.0.0.1\tKEY", &[], Some("git.example")),
        ("git.example,10.0.0.1 KEY", &[("10.0.0.1", 22)], Some("10.0.0.1")),
        ("[git.example]:2222 KEY", &[], Some("git.example")),
        ("[git.example]:2222 KEY", &[("git.example", 2222)], Some("git.example")),
        ("one.example KEY\nGit.Example KEY", &[("git.example", 22)], Some("git.example")),
        ("*.example KEY", &[], None),
        ("*.example KEY", &[("git.example", 22)], Some("git.example")),
        ("*.example,!git.example KEY", &[("git.example", 22)], None),
        ("g?t.example KEY", &[("git.example", 22)], Some("git.example")),
        ("g?t.example KEY", &[("gt.example", 22)], None),
        ("@cert-authority *.example KEY", &[("git.example", 22)], None),
        ("@cert-authority git.example KEY", &[], None),
        ("git.example KEY\n@revoked * KEY", &[], None),
        ("git.example KEY\n@revoked\tother.example  KEY", &[], None),
        ("# git.example KEY", &[], None),
        ("git.example ssh-ed25519 AAAA", &[], None),
        ("", &[("git.example", 22)], None),
    ];
    for (text, contacted, expected) in rows {
        let text = text.replace("KEY", &key);
        let mut known = KnownHostKeys::default();
        known.add_text(&text);
        let blob = BoundSession::verify(&message("ed25519", "bind")).unwrap().host_key;
        let set = contacted.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect();
        assert_eq!(known.host_name(&blob, &set).as_deref(), *expected, "{text} {contacted:?}");
        let other = BoundSession::verify(&message("rsa", "bind")).unwrap().host_key;
        assert_eq!(known.host_name(&other, &set), None, "{text}");
    }
    let salted = hashed(HASHED_NAME);
    for (contacted, passes) in [
        (&[("host.example", 22)][..], true),
        (&[("host.example", 2222)], true),
        (&[("other.example", 22)], false),
        (&[], false),
    ] {
        let world = World::with_known_hosts(&salted, contacted, &["host.example"]);
        let bind = message("ed25519", "bind");
        assert_eq!(world.send(&[&bind, &[11]]), [true, passes], "{contacted:?}");
    }
}

/// `host.example`, hashed by `ssh-keygen -H`.
const HASHED_NAME: &str = "|1|dT+cnnW/YhnA9Njtm/KqP8NijOo=|I/mk8zPJtoE51/oUP46os+cPGUY=";
