//! The three functions that a rule file calls.

use std::{cell::RefCell, ops::Range};

use openoxide_codex::exact_semantics::{
    NetworkRuleCall, ParsedRuleFile, PrefixRuleCall, RuleArgument, RuleCallError,
};
use starlark::{
    codemap::FileSpan,
    environment::GlobalsBuilder,
    eval::Evaluator,
    starlark_module,
    values::{
        Value,
        list::{ListRef, UnpackList},
        none::NoneType,
    },
};

thread_local! {
    /// The rules that the functions of the file being evaluated have defined. Each thread evaluates
    /// one file. Storing them in the evaluator would require an unsafe trait.
    pub(super) static DEFINED_RULES: RefCell<ParsedRuleFile> = RefCell::default();
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn prefix_rule<'v>(
        pattern: UnpackList<Value<'v>>,
        decision: Option<&'v str>,
        r#match: Option<UnpackList<Value<'v>>>,
        not_match: Option<UnpackList<Value<'v>>>,
        justification: Option<&'v str>,
        canonical_matching: Option<bool>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let call = PrefixRuleCall {
            pattern: to_arguments(Some(pattern)),
            decision,
            matching: to_arguments(r#match),
            not_matching: to_arguments(not_match),
            justification,
            canonical_matching: canonical_matching.unwrap_or(false),
        };
        record_call(eval, |said, at| said.add_prefix_rule(&call, at))
    }

    fn host_executable<'v>(
        name: &'v str,
        paths: UnpackList<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        record_call(eval, |said, _| said.add_host_executable(name, &to_arguments(Some(paths))))
    }

    fn network_rule<'v>(
        host: &'v str,
        protocol: &'v str,
        decision: &'v str,
        justification: Option<&'v str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let call = NetworkRuleCall { host, protocol, decision, justification };
        record_call(eval, |said, at| said.add_network_rule(&call, at))
    }
}

fn record_call(
    eval: &Evaluator<'_, '_, '_>,
    call: impl FnOnce(&mut ParsedRuleFile, Range<usize>) -> Result<(), RuleCallError>,
) -> starlark::Result<NoneType> {
    let at = eval.call_stack_top_location().map(|place| to_byte_range(&place));
    let taken = DEFINED_RULES.with_borrow_mut(|said| call(said, at.unwrap_or_default()));
    taken.map_err(starlark::Error::new_other)?;
    Ok(NoneType)
}

fn to_arguments(list: Option<UnpackList<Value<'_>>>) -> Vec<RuleArgument> {
    list.map(|list| list.items).unwrap_or_default().into_iter().map(to_argument).collect()
}

/// Converts a value to an argument. Deeper nested lists are not converted, because no function
/// accepts them.
fn to_argument(value: Value<'_>) -> RuleArgument {
    match (value.unpack_str(), ListRef::from_value(value)) {
        (Some(text), _) => RuleArgument::Text(text.to_owned()),
        (_, Some(list)) => RuleArgument::List(list.iter().map(to_word_argument).collect()),
        _ => RuleArgument::Other(value.get_type()),
    }
}

fn to_word_argument(value: Value<'_>) -> RuleArgument {
    value
        .unpack_str()
        .map_or(RuleArgument::Other(value.get_type()), |text| RuleArgument::Text(text.to_owned()))
}

/// Returns the byte offsets of a position in a rule file.
pub(super) fn to_byte_range(span: &FileSpan) -> Range<usize> {
    span.span.begin().get() as usize..span.span.end().get() as usize
}
