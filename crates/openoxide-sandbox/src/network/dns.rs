//! Answers to DNS queries (RFC 1035), without any query to another server. A name that is looked up
//! is not necessarily reached, and a query that leaves the sandbox would carry data out.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::network::address_pool::AddressPool;

/// The maximum size of a query for one name, with all additional records.
pub(super) const MAX_MESSAGE_BYTES: usize = 4096;

const HEADER_LEN: usize = 12;
const INTERNET: u16 = 1;
const A: u16 = 1;
const AAAA: u16 = 28;
/// The time in seconds for which an answer may be cached. It stays valid until the run ends.
const TTL_SECONDS: u32 = 60;

/// The response code of an answer (RFC 1035 §4.1.1).
#[derive(Clone, Copy, PartialEq, Eq)]
enum DnsResponseCode {
    NoError = 0,
    FormatError = 1,
    ServerFailure = 2,
    NameError = 3,
    NotImplemented = 4,
}

/// A question: its bytes, the name in lower case, the record type and the class.
struct DnsQuestion<'a> {
    bytes: &'a [u8],
    name: Option<String>,
    record_type: u16,
    class: u16,
}

/// Returns the answer to a packet, or `None` if it is not a query. Such a packet is ignored.
pub(super) fn build_answer(packet: &[u8], pool: &AddressPool) -> Option<Vec<u8>> {
    let header = packet.get(..HEADER_LEN)?;
    let flags = read_u16(header, 2)?;
    if flags & 0x8000 != 0 {
        return None;
    }
    let question = (read_u16(header, 4)? == 1).then(|| parse_question(packet)).flatten();
    let (code, data) = match &question {
        _ if flags & 0x7800 != 0 => (DnsResponseCode::NotImplemented, None),
        None => (DnsResponseCode::FormatError, None),
        Some(question) => resolve_question(question, pool),
    };
    let bytes = question.as_ref().map_or(&[][..], |question| question.bytes);
    Some(encode_answer(header, bytes, code, data.as_deref()))
}

/// Resolves a question. Returns the response code, and the data of the one record if there is one.
fn resolve_question(
    question: &DnsQuestion<'_>,
    pool: &AddressPool,
) -> (DnsResponseCode, Option<Vec<u8>>) {
    let Some(name) = &question.name else { return (DnsResponseCode::NameError, None) };
    if question.class != INTERNET {
        return (DnsResponseCode::NotImplemented, None);
    }
    let wanted = matches!(question.record_type, A | AAAA);
    let addresses = if is_localhost(name) {
        Some((Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST))
    } else {
        wanted.then(|| pool.assign_addresses(name)).flatten()
    };
    match (question.record_type, addresses) {
        (A, Some((v4, _))) => (DnsResponseCode::NoError, Some(v4.octets().to_vec())),
        (AAAA, Some((_, v6))) => (DnsResponseCode::NoError, Some(v6.octets().to_vec())),
        (A | AAAA, None) => (DnsResponseCode::ServerFailure, None),
        _ => (DnsResponseCode::NoError, None),
    }
}

/// Returns whether a name is `localhost` or below it. Such names always mean the client's own
/// machine (RFC 6761 §6.3).
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Parses the only question of a packet.
fn parse_question(packet: &[u8]) -> Option<DnsQuestion<'_>> {
    let from = packet.get(HEADER_LEN..)?;
    let (labels, length) = parse_labels(from)?;
    let bytes = from.get(..length + 4)?;
    let name = parse_host_name(&labels);
    Some(DnsQuestion {
        bytes,
        name,
        record_type: read_u16(from, length)?,
        class: read_u16(from, length + 2)?,
    })
}

/// Parses the labels of a name. Returns them with the number of bytes that they take. There is no
/// compression, because nothing before the name in a question could be referred to.
fn parse_labels(bytes: &[u8]) -> Option<(Vec<&[u8]>, usize)> {
    let mut labels = Vec::new();
    let mut at = 0;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels, at));
        }
        labels.push(bytes.get(at..at + length).filter(|_| length < 64)?);
        at += length;
        if at > 254 {
            return None;
        }
    }
}

/// Returns the name of a host in lower case, or `None` if it is not a valid host name. A name that
/// ends in a number is an address for some programs (WHATWG URL, "ends in a number"), and would be
/// a different host for each program.
fn parse_host_name(labels: &[&[u8]]) -> Option<String> {
    let fine = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let last = labels.last()?;
    let number =
        last.iter().all(u8::is_ascii_digit) || last.starts_with(b"0x") || last.starts_with(b"0X");
    let host = !number && labels.iter().all(|label| label.iter().all(fine));
    let text = String::from_utf8(labels.join(&b'.')).ok().filter(|_| host)?;
    Some(text.to_ascii_lowercase())
}

/// Encodes an answer: the question, and one record that refers back to the name in the question.
fn encode_answer(
    header: &[u8],
    question: &[u8],
    code: DnsResponseCode,
    data: Option<&[u8]>,
) -> Vec<u8> {
    let count = |any: bool| [0, u8::from(any)];
    let asked = header.get(2).copied().unwrap_or_default() & 0x79;
    let mut answer = header.get(..2).unwrap_or_default().to_vec();
    answer.extend([0x80 | asked, 0x80 | code as u8]);
    answer.extend([count(!question.is_empty()), count(data.is_some()), [0; 2], [0; 2]].concat());
    answer.extend(question);
    if let Some(data) = data {
        let kind = if data.len() == 4 { A } else { AAAA };
        answer.extend([0xc0, 0x0c]);
        answer.extend([kind.to_be_bytes(), INTERNET.to_be_bytes()].concat());
        answer.extend(TTL_SECONDS.to_be_bytes());
        answer.extend([0, u8::try_from(data.len()).unwrap_or_default()]);
        answer.extend(data);
    }
    answer
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
