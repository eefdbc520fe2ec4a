//! The three functions that a rule file calls.

use std::{cell::RefCell, ops::Range};

use openoxide_adapters::codex::exact::{Given, NetworkCall, PrefixCall, Refusal, Said};
use starlark::{
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
    /// Where the functions write what a file says: a thread evaluates one file. What the evaluator itself could carry for them
    /// needs a trait that is unsafe.
    pub(super) static SAID: RefCell<Said> = RefCell::default();
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
        let call = PrefixCall {
            pattern: all(Some(pattern)),
            decision,
            matching: all(r#match),
            not_matching: all(not_match),
            justification,
            canonical_matching: canonical_matching.unwrap_or(false),
        };
        said(eval, |said, at| said.prefix(&call, at))
    }

    fn host_executable<'v>(
        name: &'v str,
        paths: UnpackList<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        said(eval, |said, _| said.host(name, &all(Some(paths))))
    }

    fn network_rule<'v>(
        host: &'v str,
        protocol: &'v str,
        decision: &'v str,
        justification: Option<&'v str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let call = NetworkCall { host, protocol, decision, justification };
        said(eval, |said, at| said.network(&call, at))
    }
}

fn said(
    eval: &Evaluator<'_, '_, '_>,
    call: impl FnOnce(&mut Said, Range<usize>) -> Result<(), Refusal>,
) -> starlark::Result<NoneType> {
    let at = eval.call_stack_top_location().map(|place| super::evaluate::bytes(&place));
    let taken = SAID.with_borrow_mut(|said| call(said, at.unwrap_or_default()));
    taken.map_err(starlark::Error::new_other)?;
    Ok(NoneType)
}

fn all(list: Option<UnpackList<Value<'_>>>) -> Vec<Given> {
    list.map(|list| list.items).unwrap_or_default().into_iter().map(given).collect()
}

/// Lists inside of lists inside of lists are none that a function takes: nothing is deeper than that.
fn given(value: Value<'_>) -> Given {
    match (value.unpack_str(), ListRef::from_value(value)) {
        (Some(text), _) => Given::Text(text.to_owned()),
        (_, Some(list)) => Given::List(list.iter().map(word).collect()),
        _ => Given::Other(value.get_type()),
    }
}

fn word(value: Value<'_>) -> Given {
    value.unpack_str().map_or(Given::Other(value.get_type()), |text| Given::Text(text.to_owned()))
}
