//! Parsing of what strace writes: calls, their strings, and the DNS messages in them.

use std::collections::HashMap;

/// Returns the calls of a record, each whole and without the number of its process. While a call lasts, strace writes
/// the calls of other processes: it writes the beginning and the end of such a call in two lines.
pub(super) fn calls(trace: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut unfinished: HashMap<&str, usize> = HashMap::new();
    for line in trace.lines() {
        let rest = line.trim_start_matches(|each: char| each.is_ascii_digit());
        let process = line.strip_suffix(rest).unwrap_or_default();
        let call = rest.trim_start();
        if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
            let _ = unfinished.insert(process, all.len());
            all.push(begun.to_owned());
        } else if let Some(resumed) = call.strip_prefix("<... ") {
            let end = resumed.split_once(" resumed>").map_or("", |(_, end)| end);
            let begun = unfinished.remove(process).and_then(|index| all.get_mut(index));
            if let Some(begun) = begun {
                begun.push_str(end);
            }
        } else {
            all.push(call.to_owned());
        }
    }
    all
}

/// Returns the first text in quotes, as it is written.
pub(super) fn quoted(rest: &str) -> Option<String> {
    let (_, rest) = rest.split_once('"')?;
    let (text, _) = rest.split_once('"')?;
    Some(text.to_owned())
}

/// Returns the strings of a list, up to its `]`, or `None` if one of them was truncated or if the
/// list has no end.
pub(super) fn strings(mut rest: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if rest.starts_with(']') {
            return Some(all);
        }
        let (text, after) = string(rest.strip_prefix('"')?)?;
        if after.starts_with("...") {
            return None;
        }
        all.push(String::from_utf8_lossy(&text).into_owned());
        rest = after;
    }
}

/// Returns the bytes of a text without its first quote, and what follows it.
fn string(rest: &str) -> Option<(Vec<u8>, &str)> {
    let mut bytes = Vec::new();
    let mut chars = rest.char_indices().peekable();
    while let Some((at, each)) = chars.next() {
        match each {
            '"' => return Some((bytes, rest.get(at + 1..)?)),
            '\\' => {
                let (_, escaped) = chars.next()?;
                let byte = match escaped {
                    'n' => b'\n',
                    't' => b'\t',
                    'r' => b'\r',
                    'v' => 11,
                    'f' => 12,
                    '0'..='7' => {
                        let mut value = escaped.to_digit(8)?;
                        for _ in 0..2 {
                            let Some(digit) = chars.peek().and_then(|(_, next)| next.to_digit(8))
                            else {
                                break;
                            };
                            value = value * 8 + digit;
                            let _ = chars.next();
                        }
                        u8::try_from(value).ok()?
                    }
                    other => u8::try_from(other).ok()?,
                };
                bytes.push(byte);
            }
            other => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    None
}

/// Returns the name that a message to a resolver asks for. Over TCP two bytes with the length come before it.
pub(super) fn dns_name(rest: &str) -> Option<String> {
    let (_, text) = rest.split_once('"')?;
    let (bytes, _) = string(text)?;
    name_at(&bytes, 12).or_else(|| name_at(&bytes, 14))
}

/// A question has the count 1 eight bytes before its name, and no answers.
fn name_at(bytes: &[u8], at: usize) -> Option<String> {
    let counts = bytes.get(at - 8..at)?;
    if counts.get(..4)? != [0, 1, 0, 0] {
        return None;
    }
    let (mut labels, mut at) = (Vec::new(), at);
    loop {
        let length = usize::from(*bytes.get(at)?);
        if length == 0 {
            break;
        }
        let label = bytes.get(at + 1..at + 1 + length).filter(|_| length < 64)?;
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        if !label.iter().all(plain) {
            return None;
        }
        labels.push(String::from_utf8_lossy(label).into_owned());
        at += 1 + length;
    }
    (!labels.is_empty()).then(|| labels.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_lines_of_a_call_that_lasted_are_one_call() {
        let trace = "1 mkdir(\"/a\", 0777 <unfinished ...>\n2 unlink(\"b\") = 0\n\
                     1 <... mkdir resumed>) = -1 EACCES (x)\n2 unlink(\"c\" <unfinished ...>\n";
        let expected = ["mkdir(\"/a\", 0777) = -1 EACCES (x)", "unlink(\"b\") = 0", "unlink(\"c\""];
        assert_eq!(calls(trace), expected);
    }

    #[test]
    fn texts_are_read_as_they_were_before_strace_wrote_them() {
        let read = |text: &str| strings(text);
        assert_eq!(read(r#""a", "b c"], 0x1"#), Some(vec!["a".to_owned(), "b c".to_owned()]));
        assert_eq!(
            read(r#""\"\\\n\0011", "x"]"#),
            Some(vec!["\"\\\n\u{1}1".to_owned(), "x".to_owned()])
        );
        assert_eq!(read(r#""a"..., "b"]"#), None);
        assert_eq!(read(r#""a", "b"#), None);
    }

    #[test]
    fn the_name_in_a_question_is_read_over_udp_and_tcp() {
        let question = r"\1\2\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1";
        let udp = format!("3<UDP:[1]>, \"{question}\", 33");
        assert_eq!(dns_name(&udp).as_deref(), Some("www.example.com"));
        let tcp = format!("3<TCP:[1]>, \"\\0!{question}\", 35");
        assert_eq!(dns_name(&tcp).as_deref(), Some("www.example.com"));
        assert_eq!(dns_name(r#"3<TCP:[1]>, "GET / HTTP/1.1\r\nHost: example.com\r\n", 30"#), None);
    }
}
