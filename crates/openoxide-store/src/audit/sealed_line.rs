//! One line of the journal, and its place in the hash chain.
//!
//! A line is `{"schema":1,"seq":7,"time":"…","prev":"…","record":"decision",…,"hash":"…"}`. `hash`
//! is the SHA-256 of the bytes before `,"hash":`, and `prev` is the hash of the line before. Every
//! byte of a line is therefore covered by its own hash, fixed by the format, or part of the hash.
//! Every line is covered by the next one.

use openoxide_protocol::{OperationDigest, SCHEMA};
use sha2::{Digest as _, Sha256};

use super::timestamp::UtcTimestamp;

/// The length of a hash in hexadecimal digits.
const HASH_DIGITS: usize = 64;
/// The length of a timestamp as text.
const TIMESTAMP_LENGTH: usize = 24;

/// A position in the chain: the number and the hash of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalPosition {
    /// The number of the record, starting at 1.
    pub seq: u64,
    /// The hash of the record, in hexadecimal digits.
    pub hash: String,
}

impl Default for JournalPosition {
    /// Returns the position before the first record.
    fn default() -> Self {
        Self { seq: 0, hash: "0".repeat(HASH_DIGITS) }
    }
}

/// Appends a line that follows `before` to `out`, and returns its position. `body` is the record as
/// a JSON object with at least one key, and `kind` is the kind of the record.
pub(super) fn append_sealed(
    before: &JournalPosition,
    time: UtcTimestamp,
    kind: &str,
    body: &str,
    out: &mut String,
) -> JournalPosition {
    let seq = before.seq + 1;
    let body = body.strip_prefix('{').and_then(|body| body.strip_suffix('}')).unwrap_or_default();
    let prev = &before.hash;
    let line = format!(
        r#"{{"schema":{SCHEMA},"seq":{seq},"time":"{time}","prev":"{prev}","record":"{kind}",{body}"#
    );
    let hash = compute_hash(line.as_bytes());
    out.push_str(&line);
    out.push_str(r#","hash":""#);
    out.push_str(&hash);
    out.push_str("\"}\n");
    JournalPosition { seq, hash }
}

fn compute_hash(bytes: &[u8]) -> String {
    OperationDigest(Sha256::digest(bytes).into()).to_string()
}

/// A parsed line whose hash has not been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedLine<'a> {
    pub(super) seq: u64,
    pub(super) time: &'a str,
    pub(super) prev: &'a str,
    pub(super) kind: &'a str,
    pub(super) hash: &'a str,
    hashed_text: &'a str,
}

impl<'a> SealedLine<'a> {
    /// Parses a line without its line feed. Returns `None` if it does not have the format of a
    /// record.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let (sealed, end) = line.split_at_checked(line.len().checked_sub(HASH_DIGITS + 11)?)?;
        let hash = parse_hash(end.strip_prefix(r#","hash":""#)?.strip_suffix("\"}")?)?;
        let rest = sealed.strip_prefix(r#"{"schema":"#)?.strip_prefix(&SCHEMA.to_string())?;
        let (seq, rest) = rest.strip_prefix(r#","seq":"#)?.split_once(',')?;
        let (time, rest) = rest.strip_prefix(r#""time":""#)?.split_at_checked(TIMESTAMP_LENGTH)?;
        let (prev, rest) = rest.strip_prefix(r#"","prev":""#)?.split_at_checked(HASH_DIGITS)?;
        let (kind, _) = rest.strip_prefix(r#"","record":""#)?.split_once('"')?;
        Some(Self {
            seq: seq.parse().ok()?,
            time,
            prev: parse_hash(prev)?,
            kind,
            hash,
            hashed_text: sealed,
        })
    }

    /// Returns whether the line matches its hash.
    pub(super) fn has_valid_hash(&self) -> bool {
        compute_hash(self.hashed_text.as_bytes()) == self.hash
    }

    pub(super) fn link(&self) -> JournalPosition {
        JournalPosition { seq: self.seq, hash: self.hash.to_owned() }
    }
}

fn parse_hash(digits: &str) -> Option<&str> {
    let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_hex && digits.len() == HASH_DIGITS).then_some(digits)
}

/// Returns the schema version of a line if it is newer than the supported one.
pub(super) fn newer_schema_version(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(br#"{"schema":"#)?;
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let version = std::str::from_utf8(digits.get(..length)?).ok()?.parse().ok()?;
    (version > u64::from(SCHEMA)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> String {
        let mut line = String::new();
        append_sealed(
            &JournalPosition::default(),
            UtcTimestamp(0),
            "outcome",
            r#"{"of":1}"#,
            &mut line,
        );
        line
    }

    #[test]
    fn the_hash_is_the_sha_256_of_the_text_before_it() {
        let line = line();
        let (before, hash) = line.split_once(r#","hash":""#).unwrap();
        // printf '%s' BEFORE | sha256sum
        let zeros = "0".repeat(64);
        let expected = format!(
            r#"{{"schema":1,"seq":1,"time":"1970-01-01T00:00:00.000Z","prev":"{zeros}","record":"outcome","of":1"#
        );
        assert_eq!(before, expected);
        assert_eq!(hash, "8223522b38cdfc171c969c1d89707b2e0003918c20a5249b97e105a826bcb77f\"}\n");
    }

    #[test]
    fn a_line_comes_back() {
        let line = line();
        let frame = SealedLine::parse(line.trim_end().as_bytes()).unwrap();
        assert_eq!((frame.seq, frame.kind, frame.time), (1, "outcome", "1970-01-01T00:00:00.000Z"));
        assert_eq!(frame.prev, JournalPosition::default().hash);
        assert!(frame.has_valid_hash());
    }

    #[test]
    fn text_that_is_not_a_sealed_line_is_not_parsed() {
        for line in [&b""[..], b"{}", b"\xFF", &[b'x'; 200], "\u{1F600}".repeat(50).as_bytes()] {
            assert!(SealedLine::parse(line).is_none());
        }
        assert_eq!(newer_schema_version(br#"{"schema":2,"#), Some(2));
        assert_eq!(newer_schema_version(br#"{"schema":1,"#), None);
        assert_eq!(newer_schema_version(b"{"), None);
    }
}
