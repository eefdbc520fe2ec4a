//! Parsing of JSON that people write. Every value has its location, and keys keep their order.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value},
    common::Ranged as _,
    parse_to_ast,
};

use crate::policy_translation::PolicyTextError;

/// The dialect of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonDialect {
    /// JSON as in RFC 8259.
    Strict,
    /// JSON with comments and trailing commas.
    WithComments,
}

/// Parses a text that is a single object.
///
/// # Errors
/// Returns an error with its location if the text is not an object.
pub(crate) fn parse_object(
    text: &str,
    dialect: JsonDialect,
) -> Result<Object<'_>, PolicyTextError> {
    let loose = dialect == JsonDialect::WithComments;
    let options = ParseOptions {
        allow_comments: loose,
        allow_trailing_commas: loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    match parsed.map_err(|error| syntax_error(&error))?.value {
        Some(Value::Object(object)) => Ok(object),
        Some(other) => {
            Err(PolicyTextError::new("the file is not a JSON object", value_span(&other)))
        }
        None => Err(PolicyTextError::new("the file is empty", 0..text.len())),
    }
}

fn syntax_error(error: &jsonc_parser::errors::ParseError) -> PolicyTextError {
    let message = error.kind().to_string();
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    let message: String = first.into_iter().chain(letters).collect();
    let range = error.range();
    PolicyTextError::new(format!("invalid JSON: {message}"), range.start..range.end)
}

/// Returns the location of a value.
pub(crate) fn value_span(value: &Value<'_>) -> Range<usize> {
    let range = value.range();
    range.start..range.end
}

/// Returns the members of an object as JavaScript sees them: equal keys have the last value at the
/// position of the first.
pub(crate) fn effective_members<'o, 't>(object: &'o Object<'t>) -> Vec<(&'o str, &'o Value<'t>)> {
    let mut members: Vec<(&str, &Value<'t>)> = Vec::with_capacity(object.properties.len());
    let mut places = std::collections::HashMap::new();
    for property in &object.properties {
        let (name, value) = (property.name.as_str(), &property.value);
        let place = *places.entry(name).or_insert(members.len());
        match members.get_mut(place) {
            Some(member) => member.1 = value,
            None => members.push((name, value)),
        }
    }
    members
}

/// Returns the value of a key.
pub(crate) fn find_member<'o, 't>(object: &'o Object<'t>, name: &str) -> Option<&'o Value<'t>> {
    let mut from_the_end = object.properties.iter().rev();
    from_the_end.find(|property| property.name.as_str() == name).map(|property| &property.value)
}
