//! The filters of jq, gojq, jaq and yq. A filter is understood only if all of them tokenize it in
//! the same way and it reads nothing except its input.

use super::forbidden_words;

/// The effect of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilterClass {
    /// Computes from its input.
    Plain,
    /// A filter that is not understood, but contains no name through which it could reach other
    /// data.
    Unknown,
    /// May read the environment or files.
    Reaches,
}

/// The keywords, and the functions that only compute.
const PLAIN_NAMES: &str = "if then elif else end and or not as def reduce foreach try catch label break \
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

/// The names of string formats.
const STRING_FORMATS: &str = "text json html uri urid csv tsv sh base64 base64d base32 base32d";

/// The extensions of the files that these programs read.
const FILE_EXTENSIONS: [&str; 11] =
    ["yml", "yaml", "json", "jsonl", "toml", "xml", "html", "htm", "csv", "tsv", "properties"];

/// The maximum depth of nested string interpolation in a filter that is understood.
const MAX_NESTING: usize = 16;

/// Returns the class of a filter.
pub(super) fn classify_filter(filter: &str) -> FilterClass {
    let mut reader = FilterReader {
        rest: filter,
        open: Vec::new(),
        expects_key: false,
        defined_functions: Vec::new(),
        nesting_depth: 0,
    };
    let plain = reader.read_until(None).is_some();
    match (forbidden_words::has_no_forbidden_filter(filter), plain) {
        (true, true) => FilterClass::Plain,
        (true, false) => FilterClass::Unknown,
        (false, _) => FilterClass::Reaches,
    }
}

/// Returns the class of a word that is a file if a file of that name exists, and a filter
/// otherwise.
pub(super) fn classify_file_or_filter(word: &str) -> FilterClass {
    let plain = |each: char| each.is_ascii_alphanumeric() || "_./-".contains(each);
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_file = FILE_EXTENSIONS.contains(&ending) && word.chars().all(plain);
    match classify_filter(word) {
        FilterClass::Unknown if is_file => FilterClass::Plain,
        judged => judged,
    }
}

struct FilterReader<'a> {
    rest: &'a str,
    /// The open parentheses, brackets and braces.
    open: Vec<char>,
    /// Whether a name at this position would be the key of an object.
    expects_key: bool,
    /// The functions that the filter defines.
    defined_functions: Vec<&'a str>,
    /// The number of interpolated strings that enclose this code.
    nesting_depth: usize,
}

impl<'a> FilterReader<'a> {
    /// Reads to the end, or to the parenthesis that closes interpolated code.
    fn read_until(&mut self, depth: Option<usize>) -> Option<()> {
        while let Some(letter) = self.rest.chars().next() {
            if letter == ')' && depth == Some(self.open.len()) {
                self.skip_bytes(1)?;
                return Some(());
            }
            self.read_token(letter)?;
        }
        (depth.is_none() && self.open.is_empty()).then_some(())
    }

    fn skip_bytes(&mut self, bytes: usize) -> Option<&'a str> {
        let (skipped, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(skipped)
    }

    fn read_token(&mut self, letter: char) -> Option<()> {
        match letter {
            ' ' | '\t' | '\n' => return self.skip_bytes(1).map(drop),
            '"' => self.read_string()?,
            '@' => {
                self.skip_bytes(1)?;
                let format = self.read_name();
                STRING_FORMATS.split_whitespace().any(|each| each == format).then_some(())?;
            }
            '$' => {
                self.skip_bytes(1)?;
                let name = self.read_name();
                (!name.is_empty() && name != "ENV" && !name.starts_with("__")).then_some(())?;
            }
            '.' => self.read_path()?,
            '0'..='9' => self.read_number()?,
            _ if letter.is_ascii_alphabetic() || letter == '_' => return self.read_word(),
            _ => return self.read_operator(letter),
        }
        // This is the name of a module, or syntax that only one of the programs supports.
        (!self.rest.starts_with("::")).then_some(())?;
        self.expects_key = false;
        Some(())
    }

    fn read_name(&mut self) -> &'a str {
        let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
        let digit = self.rest.starts_with(|each: char| each.is_ascii_digit());
        let rest = if digit { self.rest } else { self.rest.trim_start_matches(plain) };
        let read = self.rest.len() - rest.len();
        self.skip_bytes(read).unwrap_or_default()
    }

    /// Reads `.`, `..` and `.name`.
    fn read_path(&mut self) -> Option<()> {
        self.skip_bytes(1)?;
        if self.rest.starts_with('.') {
            self.skip_bytes(1)?;
            // The programs tokenize `..name` in two ways.
            return self.read_name().is_empty().then_some(()).filter(|()| !self.is_number());
        }
        self.read_name();
        (!self.is_number()).then_some(())
    }

    fn is_number(&self) -> bool {
        self.rest.starts_with(|each: char| each.is_ascii_digit())
    }

    fn read_number(&mut self) -> Option<()> {
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

    fn read_word(&mut self) -> Option<()> {
        let name = self.read_name();
        let rest = self.rest.trim_start_matches([' ', '\t', '\n']);
        let module = self.rest.starts_with("::");
        if name == "def" {
            let blanks = self.rest.len() - rest.len();
            self.skip_bytes(blanks)?;
            let defined = self.read_name();
            self.defined_functions.push(defined);
            // Parameters are names as well.
            return self.read_parameters();
        }
        let key = std::mem::take(&mut self.expects_key);
        let known = key && rest.starts_with([':', ',', '}'])
            || self.defined_functions.contains(&name)
            || PLAIN_NAMES.split_whitespace().any(|each| each == name);
        (known && !module).then_some(())
    }

    fn read_parameters(&mut self) -> Option<()> {
        let Some(rest) = self.rest.strip_prefix('(') else { return Some(()) };
        let (parameters, rest) = rest.split_once(')')?;
        for parameter in parameters.split(';') {
            let name = parameter.trim();
            let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
            let bare = name.strip_prefix('$').unwrap_or(name);
            (!bare.is_empty() && bare.chars().all(plain)).then_some(())?;
            self.defined_functions.push(bare);
        }
        self.rest = rest;
        Some(())
    }

    fn read_string(&mut self) -> Option<()> {
        self.skip_bytes(1)?;
        loop {
            let letter = self.rest.chars().next()?;
            self.skip_bytes(letter.len_utf8())?;
            match letter {
                '"' => return Some(()),
                '\\' => {
                    let escaped = self.rest.chars().next()?;
                    self.skip_bytes(escaped.len_utf8())?;
                    match escaped {
                        '(' => {
                            self.expects_key = false;
                            let depth = self.open.len();
                            self.nesting_depth += 1;
                            (self.nesting_depth <= MAX_NESTING).then_some(())?;
                            self.read_until(Some(depth))?;
                            self.nesting_depth -= 1;
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

    fn read_operator(&mut self, letter: char) -> Option<()> {
        self.skip_bytes(letter.len_utf8())?;
        self.expects_key = false;
        match letter {
            '(' | '[' => self.open.push(letter),
            '{' => {
                self.open.push(letter);
                self.expects_key = true;
            }
            ')' => return self.close_bracket('('),
            ']' => return self.close_bracket('['),
            '}' => return self.close_bracket('{'),
            ',' => self.expects_key = self.open.last() == Some(&'{'),
            ':' if self.rest.starts_with(':') => return None,
            '!' => return self.rest.starts_with('=').then_some(()),
            '|' | ':' | ';' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '?' => {}
            _ => return None,
        }
        Some(())
    }

    fn close_bracket(&mut self, opened: char) -> Option<()> {
        (self.open.pop()? == opened).then_some(())
    }
}
