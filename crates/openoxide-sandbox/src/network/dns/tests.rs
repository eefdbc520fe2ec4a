use proptest::prelude::*;

use super::*;

/// Returns a question in the format of RFC 1035 §4.1.
fn packet(name: &[&[u8]], kind: u16) -> Vec<u8> {
    let mut packet = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00".to_vec();
    for label in name {
        packet.push(u8::try_from(label.len()).unwrap());
        packet.extend(*label);
    }
    packet.push(0);
    packet.extend([kind.to_be_bytes(), [0, 1]].concat());
    packet
}

fn asked(name: &[&[u8]], kind: u16) -> Vec<u8> {
    build_answer(&packet(name, kind), &AddressPool::default()).unwrap()
}

fn code(answer: &[u8]) -> u8 {
    answer[3] & 15
}

#[test]
fn a_name_is_answered_with_an_address_of_each_family() {
    let four = asked(&[b"Example", b"ORG"], 1);
    assert_eq!(&four[..12], b"\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00");
    assert_eq!(&four[12..29], b"\x07Example\x03ORG\0\x00\x01\x00\x01");
    assert_eq!(&four[29..], b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x02");
    let six = asked(&[b"example", b"org"], 28);
    assert_eq!(&six[29..41], b"\xc0\x0c\x00\x1c\x00\x01\x00\x00\x00\x3c\x00\x10");
    assert_eq!(&six[41..], b"\x20\x01\x00\x02\0\0\0\0\0\0\0\0\0\0\0\x02");
}

#[test]
fn other_kinds_are_answered_with_nothing() {
    for kind in [2, 5, 12, 15, 16, 33, 65, 255] {
        let answer = asked(&[b"example", b"org"], kind);
        assert_eq!((code(&answer), answer[7]), (0, 0), "{kind}");
    }
}

#[test]
fn localhost_is_the_askers_own_machine() {
    for name in [&[b"localhost".as_slice()][..], &[b"a", b"LocalHost"]] {
        assert!(asked(name, 1).ends_with(&[127, 0, 0, 1]));
        assert!(asked(name, 28).ends_with(&[0, 0, 0, 1]));
    }
}

#[test]
fn invalid_host_names_do_not_exist() {
    let odd: [&[&[u8]]; 11] = [
        &[],
        &[b"a\0b", b"org"],
        &[b"exa mple", b"org"],
        &[b"a.b", b"org"],
        &[b"a/b", b"org"],
        &["b\u{fc}cher".as_bytes(), b"org"],
        &[b"127", b"1"],
        &[b"2130706433"],
        &[b"0x7f000001"],
        &[b"0177", b"0", b"0", b"0x1"],
        &[b"*", b"org"],
    ];
    for name in odd {
        let answer = asked(name, 1);
        assert_eq!((code(&answer), answer[7]), (3, 0), "{name:?}");
    }
    // A label may have 63 bytes and a name 255 (RFC 1035 §2.3.4).
    let long = [b'a'; 63];
    assert_eq!(code(&asked(&[&long, &long, &long, &long[..61]], 1)), 0);
    assert_eq!(code(&asked(&[&long, &long, &long, &long[..62]], 1)), 1);
}

#[test]
fn packets_that_are_not_plain_queries_are_rejected() {
    let pool = AddressPool::default();
    let fine = packet(&[b"example", b"org"], 1);
    let with = |at: usize, byte: u8| {
        let mut packet = fine.clone();
        packet[at] = byte;
        build_answer(&packet, &pool)
    };
    assert_eq!(with(2, 0x81), None, "an answer");
    assert_eq!(code(&with(2, 0x29).unwrap()), 4, "an update");
    assert_eq!(code(&with(5, 2).unwrap()), 1, "two questions");
    assert_eq!(code(&with(12, 0xc0).unwrap()), 1, "a pointer");
    assert_eq!(code(&with(28, 3).unwrap()), 4, "another class");
    for length in 0..fine.len() {
        let answer = build_answer(&fine[..length], &pool);
        assert_eq!(answer.map(|answer| code(&answer)), (length >= 12).then_some(1), "{length}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered_in_bounds_or_not_at_all(
        head in prop::collection::vec(any::<u8>(), 0..12),
        body in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let mut packet = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00".to_vec();
        packet.extend(&body);
        packet.splice(..head.len().min(2), head);
        let answer = build_answer(&packet, &AddressPool::default());
        prop_assert!(answer.is_none_or(|answer| (12..320).contains(&answer.len())));
    }
}
