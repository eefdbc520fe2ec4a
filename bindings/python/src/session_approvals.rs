//! The requests that were approved for a session.
//!
//! Two requests are equal if their tools have the same name and their payloads are deeply equal: as
//! `==` says, except that values of different types are different (`True` is not `1`, and a list
//! is not a tuple; an `int` may equal a `float`). NaN equals nothing.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Mutex, MutexGuard, PoisonError},
};

use pyo3::{
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple},
};

use crate::{error::ErrorClass, fork_guard::ForkGuard};

/// The maximum depth of a payload.
const MAX_DEPTH: usize = 100;

/// The requests that were approved for a session.
#[pyclass(module = "tool_approval._native", frozen)]
pub(crate) struct SessionApprovals {
    guard: ForkGuard,
    approvals: Mutex<HashMap<u64, Vec<Approval>>>,
}

/// An approved request. The payload is a copy that nothing else refers to.
struct Approval {
    tool_name: String,
    payload: Py<PyDict>,
}

#[pymethods]
impl SessionApprovals {
    #[new]
    fn new() -> Self {
        Self { guard: ForkGuard::new(), approvals: Mutex::default() }
    }

    /// Return whether an equal request is approved.
    fn contains(
        &self,
        py: Python<'_>,
        tool_name: &str,
        payload: &Bound<'_, PyDict>,
    ) -> PyResult<bool> {
        self.guard.check(py)?;
        let key = hash_request(tool_name, payload)?;
        let candidates: Vec<Py<PyDict>> = {
            let approvals = self.lock();
            let Some(candidates) = approvals.get(&key) else { return Ok(false) };
            let same_tool = candidates.iter().filter(|one| one.tool_name == tool_name);
            same_tool.map(|one| one.payload.clone_ref(py)).collect()
        };
        // The lock is not held here: comparing may run Python code.
        for candidate in candidates {
            if are_equal(candidate.bind(py).as_any(), payload.as_any(), 0)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Return a copy of a payload that nothing else refers to.
    fn copy_payload<'py>(&self, payload: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        self.guard.check(payload.py())?;
        copy_payload(payload)
    }

    /// Approve equal requests.
    fn add(&self, py: Python<'_>, tool_name: &str, payload: &Bound<'_, PyDict>) -> PyResult<()> {
        self.guard.check(py)?;
        let copied = copy_payload(payload)?;
        let key = hash_request(tool_name, &copied)?;
        let approval = Approval { tool_name: tool_name.to_owned(), payload: copied.unbind() };
        self.lock().entry(key).or_default().push(approval);
        Ok(())
    }

    /// Forget all approvals.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.guard.check(py)?;
        self.lock().clear();
        Ok(())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.guard.check(py)?;
        Ok(self.lock().values().map(Vec::len).sum())
    }
}

impl SessionApprovals {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Vec<Approval>>> {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn uncomparable(py: Python<'_>, why: &str) -> PyErr {
    let message = format!("the payload cannot be compared: {why}");
    ErrorClass::UncomparablePayload.with_message(py, message)
}

/// Returns the exception for a failed comparison or copy, unless the program is to end.
fn uncomparable_because(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<pyo3::exceptions::PyException>(py) {
        return error;
    }
    let wrapped = uncomparable(py, &error.to_string());
    wrapped.set_cause(py, Some(error));
    wrapped
}

/// Returns a deep copy of a payload, which is equal to it.
fn copy_payload<'py>(payload: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let py = payload.py();
    let copied = py.import("copy")?.call_method1("deepcopy", (payload,));
    let copied = copied.map_err(|error| uncomparable_because(py, error))?;
    let copied = copied.cast_into::<PyDict>()?;
    if hash_value(&copied, 0)? != hash_value(payload, 0)? || !are_equal(&copied, payload, 0)? {
        return Err(uncomparable(py, "a copy of it is not equal to it"));
    }
    Ok(copied)
}

fn hash_request(tool_name: &str, payload: &Bound<'_, PyDict>) -> PyResult<u64> {
    let mut hasher = DefaultHasher::new();
    tool_name.hash(&mut hasher);
    hasher.write_u64(hash_value(payload.as_any(), 0)?);
    Ok(hasher.finish())
}

/// Returns a number that is equal for equal values. Values that Python alone can compare have the
/// number of their type.
fn hash_value(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<u64> {
    if depth > MAX_DEPTH {
        let message = format!("it is nested more than {MAX_DEPTH} levels deep");
        return Err(uncomparable(value.py(), &message));
    }
    if value.is_exact_instance_of::<PyString>() {
        return Ok(mix(1, value.hash()?.cast_unsigned() as u64));
    }
    if let Ok(map) = value.cast_exact::<PyDict>() {
        // The order of the keys does not matter.
        let mut sum = 0_u64;
        for (key, value) in map {
            let pair = mix(hash_value(&key, depth + 1)?, hash_value(&value, depth + 1)?);
            sum = sum.wrapping_add(pair);
        }
        return Ok(mix(2, sum));
    }
    if value.is_none() {
        return Ok(8);
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return list.iter().try_fold(3, |sum, one| Ok(mix(sum, hash_value(&one, depth + 1)?)));
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return tuple.iter().try_fold(4, |sum, one| Ok(mix(sum, hash_value(&one, depth + 1)?)));
    }
    if is_number(value) || value.is_exact_instance_of::<PyBytes>() {
        return Ok(mix(5, value.hash()?.cast_unsigned() as u64));
    }
    if let Ok(flag) = value.cast_exact::<PyBool>() {
        return Ok(mix(6, u64::from(flag.is_true())));
    }
    Ok(mix(7, value.get_type().as_ptr() as u64))
}

/// Combines two numbers. The order matters.
const fn mix(first: u64, second: u64) -> u64 {
    let mixed = first.rotate_left(23) ^ second.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 29)
}

fn is_number(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>()
}

/// Returns whether two values are deeply equal.
fn are_equal(first: &Bound<'_, PyAny>, second: &Bound<'_, PyAny>, depth: usize) -> PyResult<bool> {
    let py = first.py();
    if depth > MAX_DEPTH {
        let message = format!("it is nested more than {MAX_DEPTH} levels deep");
        return Err(uncomparable(py, &message));
    }
    if first.is_exact_instance_of::<PyString>() && first.is(second) {
        return Ok(true);
    }
    if let (Ok(first), Ok(second)) = (first.cast_exact::<PyDict>(), second.cast_exact::<PyDict>()) {
        return are_maps_equal(first, second, depth);
    }
    if let (Ok(first), Ok(second)) = (first.cast_exact::<PyList>(), second.cast_exact::<PyList>()) {
        return are_sequences_equal(first.iter(), second.iter(), depth);
    }
    if let (Ok(first), Ok(second)) = (first.cast_exact::<PyTuple>(), second.cast_exact::<PyTuple>())
    {
        return are_sequences_equal(first.iter(), second.iter(), depth);
    }
    let are_numbers = is_number(first) && is_number(second);
    if !are_numbers && !first.get_type().is(second.get_type()) {
        return Ok(false);
    }
    if first.is_instance_of::<PyNone>() {
        return Ok(true);
    }
    first.eq(second).map_err(|error| uncomparable_because(py, error))
}

fn are_maps_equal(
    first: &Bound<'_, PyDict>,
    second: &Bound<'_, PyDict>,
    depth: usize,
) -> PyResult<bool> {
    if first.len() != second.len() {
        return Ok(false);
    }
    for (key, value) in first {
        let Some((other_key, other)) = find_entry(second, &key)? else { return Ok(false) };
        if !are_equal(&key, &other_key, depth + 1)? || !are_equal(&value, &other, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the entry of a key. The key is returned, too, because `True` finds the entry of `1`.
fn find_entry<'py>(
    map: &Bound<'py, PyDict>,
    key: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let Some(value) = map.get_item(key)? else { return Ok(None) };
    if key.is_exact_instance_of::<PyString>() {
        return Ok(Some((key.clone(), value)));
    }
    for (other, value) in map {
        if other.eq(key)? {
            return Ok(Some((other, value)));
        }
    }
    Ok(None)
}

fn are_sequences_equal<'py>(
    mut first: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
    mut second: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<bool> {
    if first.len() != second.len() {
        return Ok(false);
    }
    while let (Some(first), Some(second)) = (first.next(), second.next()) {
        if !are_equal(&first, &second, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}
