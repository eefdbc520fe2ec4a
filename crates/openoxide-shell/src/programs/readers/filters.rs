//! The filters of jq, gojq, jaq and yq. A filter is understood only if all of them tokenize it in
//! the same way and it reads nothing except its input.

use super::forbidden;

/// The effect of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// Computes from its input.
    Plain,
    /// A filter that is not understood, but contains no name through which it could reach other
    /// data.
    Unknown,
    /// May read the environment or files.
    Reaches,
}

/// The keywords, and the functions that compute.
const NAMES: &str = "if then elif else end and or not as def reduce foreach try catch label break \
    abs acos acosh add all any arrays ascii ascii_downcase ascii_upcase asin asinh atan atan2 atanh booleans bsearch \
    builtins capture cbrt ceil combinations contains copysign cos cosh date dateadd datesub dateadd debug del delpaths \
    drem empty endswith error exp exp10 exp2 explode expm1 fabs false fdim finites first flatten floor fma fmax fmin \
    fmod frexp from_entries fromdate fromdateiso8601 fromjson fromstream gamma getpath gmtime group_by gsub halt \
    halt_error has hypot implode in index indices infinite input input_filename input_line_number inputs inside \
    isempty isfinite isinfinite isnan isnormal isvalid iterables join keys keys_unsorted last ldexp leaf_paths length \
    lgamma lgamma_r limit localtime log log10 log1p log2 logb ltrimstr ltrim map map_values match max max_by min min_by \
    mktime modf nan nearbyint normals now nth null nulls numbers objects path paths pick pow pow10 range recurse \
    recurse_down repeat reverse rindex rint round rtrimstr rtrim scalars scalb scalbln scan select setpath significand \
    sin sinh skip sort sort_by split splits sqrt startswith stderr strflocaltime strftime strings strptime sub tan \
    tanh test tgamma to_entries toarray todate todateiso8601 tojson tonumber tostream tostring transpose trim trimstr \
    true trunc truncate_stream type unique unique_by until utf8bytelength values walk while with_entries without";

/// The formats.
const FORMATS: &str = "text json html uri urid csv tsv sh base64 base64d base32 base32d";

/// The extensions of the files that these programs read.
const ENDINGS: [&str; 11] =
    ["yml", "yaml", "json", "jsonl", "toml", "xml", "html", "htm", "csv", "tsv", "properties"];

/// Texts with code in texts with code, and so on: filters with more of them are not understood.
const MOST_NESTED: usize = 16;

/// Judges a filter.
pub(super) fn judge(filter: &str) -> Filter {
    let mut reader =
        Reader { rest: filter, open: Vec::new(), key: false, defined: Vec::new(), nested: 0 };
    let plain = reader.until(None).is_some();
    match (forbidden::is_free_of_filters(filter), plain) {
        (true, true) => Filter::Plain,
        (true, false) => Filter::Unknown,
        (false, _) => Filter::Reaches,
    }
}

/// Judges a word that is a file if there is one of that name, and a filter otherwise.
pub(super) fn judge_file(word: &str) -> Filter {
    let plain = |each: char| each.is_ascii_alphanumeric() || "_./-".contains(each);
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_file = ENDINGS.contains(&ending) && word.chars().all(plain);
    match judge(word) {
        Filter::Unknown if is_file => Filter::Plain,
        judged => judged,
    }
}

struct Reader<'a> {
    rest: &'a str,
    /// The open parentheses, brackets and braces.
    open: Vec<char>,
    /// Whether a name at this position would be the key of an object.
    key: bool,
    /// The functions that the filter defines.
    defined: Vec<&'a str>,
    /// The number of texts with interpolated code around this code.
    nested: usize,
}

impl<'a> Reader<'a> {
    /// Reads to the end, or to the parenthesis that closes the code inside of a text.
    fn until(&mut self, depth: Option<usize>) -> Option<()> {
        while let Some(letter) = self.rest.chars().next() {
            if letter == ')' && depth == Some(self.open.len()) {
                self.skip(1)?;
                return Some(());
            }
            self.token(letter)?;
        }
        (depth.is_none() && self.open.is_empty()).then_some(())
    }

    fn skip(&mut self, bytes: usize) -> Option<&'a str> {
        let (skipped, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(skipped)
    }

    fn token(&mut self, letter: char) -> Option<()> {
        match letter {
            ' ' | '\t' | '\n' => return self.skip(1).map(drop),
            '"' => self.text()?,
            '@' => {
                self.skip(1)?;
                let format = self.name();
                FORMATS.split_whitespace().any(|each| each == format).then_some(())?;
            }
            '$' => {
                self.skip(1)?;
                let name = self.name();
                (!name.is_empty() && name != "ENV" && !name.starts_with("__")).then_some(())?;
            }
            '.' => self.path()?,
            '0'..='9' => self.number()?,
            _ if letter.is_ascii_alphabetic() || letter == '_' => return self.word(),
            _ => return self.sign(letter),
        }
        // A module's name, or something that only one of the programs reads so.
        (!self.rest.starts_with("::")).then_some(())?;
        self.key = false;
        Some(())
    }

    fn name(&mut self) -> &'a str {
        let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
        let digit = self.rest.starts_with(|each: char| each.is_ascii_digit());
        let rest = if digit { self.rest } else { self.rest.trim_start_matches(plain) };
        let read = self.rest.len() - rest.len();
        self.skip(read).unwrap_or_default()
    }

    /// Reads `.`, `..` and `.name`.
    fn path(&mut self) -> Option<()> {
        self.skip(1)?;
        if self.rest.starts_with('.') {
            self.skip(1)?;
            // `..name` is split in two ways.
            return self.name().is_empty().then_some(()).filter(|()| !self.is_number());
        }
        self.name();
        (!self.is_number()).then_some(())
    }

    fn is_number(&self) -> bool {
        self.rest.starts_with(|each: char| each.is_ascii_digit())
    }

    fn number(&mut self) -> Option<()> {
        let digits = |text: &'a str| text.trim_start_matches(|each: char| each.is_ascii_digit());
        let whole = digits(self.rest);
        let rest = whole.strip_prefix('.').map_or(whole, digits);
        let exponent =
            rest.strip_prefix('e').map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
        let rest = exponent.filter(|rest| digits(rest).len() < rest.len()).map_or(rest, digits);
        self.rest = rest;
        let ends = |each: char| !each.is_alphanumeric() && !matches!(each, '_' | '.');
        (rest.is_empty() || rest.starts_with(ends)).then_some(())
    }

    fn word(&mut self) -> Option<()> {
        let name = self.name();
        let rest = self.rest.trim_start_matches([' ', '\t', '\n']);
        let module = self.rest.starts_with("::");
        if name == "def" {
            let blanks = self.rest.len() - rest.len();
            self.skip(blanks)?;
            let defined = self.name();
            self.defined.push(defined);
            // Its parameters are names as well.
            return self.parameters();
        }
        let key = std::mem::take(&mut self.key);
        let known = key && rest.starts_with([':', ',', '}'])
            || self.defined.contains(&name)
            || NAMES.split_whitespace().any(|each| each == name);
        (known && !module).then_some(())
    }

    fn parameters(&mut self) -> Option<()> {
        let Some(rest) = self.rest.strip_prefix('(') else { return Some(()) };
        let (parameters, rest) = rest.split_once(')')?;
        for parameter in parameters.split(';') {
            let name = parameter.trim();
            let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
            let bare = name.strip_prefix('$').unwrap_or(name);
            (!bare.is_empty() && bare.chars().all(plain)).then_some(())?;
            self.defined.push(bare);
        }
        self.rest = rest;
        Some(())
    }

    fn text(&mut self) -> Option<()> {
        self.skip(1)?;
        loop {
            let letter = self.rest.chars().next()?;
            self.skip(letter.len_utf8())?;
            match letter {
                '"' => return Some(()),
                '\\' => {
                    let escaped = self.rest.chars().next()?;
                    self.skip(escaped.len_utf8())?;
                    match escaped {
                        '(' => {
                            self.key = false;
                            let depth = self.open.len();
                            self.nested += 1;
                            (self.nested <= MOST_NESTED).then_some(())?;
                            self.until(Some(depth))?;
                            self.nested -= 1;
                        }
                        'n' | 't' | 'r' | 'b' | 'f' | '\\' | '/' | '"' | 'u' => {}
                        _ => return None,
                    }
                }
                _ if letter.is_control() => return None,
                _ => {}
            }
        }
    }

    fn sign(&mut self, letter: char) -> Option<()> {
        self.skip(letter.len_utf8())?;
        self.key = false;
        match letter {
            '(' | '[' => self.open.push(letter),
            '{' => {
                self.open.push(letter);
                self.key = true;
            }
            ')' => return self.close('('),
            ']' => return self.close('['),
            '}' => return self.close('{'),
            ',' => self.key = self.open.last() == Some(&'{'),
            ':' if self.rest.starts_with(':') => return None,
            '!' => return self.rest.starts_with('=').then_some(()),
            '|' | ':' | ';' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '?' => {}
            _ => return None,
        }
        Some(())
    }

    fn close(&mut self, opened: char) -> Option<()> {
        (self.open.pop()? == opened).then_some(())
    }
}
