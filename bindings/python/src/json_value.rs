//! Conversion between Python values and JSON.

use pyo3::{
    exceptions::{PyRecursionError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple},
};
use serde_json::{Map, Number, Value, json};

/// The maximum depth of the arguments of a call.
const MAX_DEPTH: usize = 100;

/// Returns the arguments of a call as JSON.
///
/// Values without a JSON form become an object with their type and `repr`. Such an object is never
/// taken for the path, the command or the address of a call.
///
/// # Errors
/// Returns a `TypeError` if a key is not a string, a `ValueError` if a number has no JSON form, and
/// a `RecursionError` if the value is nested too deeply.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    convert(value, 0)
}

fn convert(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        let message = format!("the arguments are nested more than {MAX_DEPTH} levels deep");
        return Err(PyRecursionError::new_err(message));
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Ok(Value::from(text.to_cow()?.into_owned()));
    }
    if let Ok(map) = value.cast::<PyDict>() {
        return convert_map(map, depth);
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().map(|one| convert(&one, depth + 1)).collect();
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return tuple.iter().map(|one| convert(&one, depth + 1)).collect();
    }
    if value.is_instance_of::<PyNone>() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::from(flag.is_true()));
    }
    if value.is_exact_instance_of::<PyInt>() {
        return convert_integer(value);
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        let number = Number::from_f64(number.value());
        return number.map(Value::Number).ok_or_else(|| {
            PyValueError::new_err("the arguments contain a number that is not finite")
        });
    }
    convert_object(value, depth)
}

fn convert_map(map: &Bound<'_, PyDict>, depth: usize) -> PyResult<Value> {
    let mut object = Map::with_capacity(map.len());
    for (key, value) in map {
        let Ok(key) = key.cast::<PyString>() else {
            let kind = key.get_type().name()?;
            let message = format!("the arguments contain a key that is a {kind}, not a str");
            return Err(PyTypeError::new_err(message));
        };
        object.insert(key.to_cow()?.into_owned(), convert(&value, depth + 1)?);
    }
    Ok(Value::Object(object))
}

/// Returns an integer. One that does not fit into 64 bits becomes its digits.
fn convert_integer(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Value::from(number));
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(Value::from(number));
    }
    Ok(json!({ "type": "int", "repr": value.str()?.to_cow()?.into_owned() }))
}

/// Returns a value of another type: a path and a string of a subclass as text, an enumeration as
/// its value, a data class and a model as their fields.
fn convert_object(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::from(text.to_cow()?.into_owned()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(json!({ "type": "bytes", "length": bytes.as_bytes().len() }));
    }
    if value.hasattr("__fspath__")?
        && let Ok(path) = value.call_method0("__fspath__")?.cast_into::<PyString>()
    {
        return Ok(Value::from(path.to_cow()?.into_owned()));
    }
    if value.hasattr("model_dump")? && !value.is_instance_of::<pyo3::types::PyType>() {
        return convert(&value.call_method0("model_dump")?, depth + 1);
    }
    if value.hasattr("__dataclass_fields__")? && !value.is_instance_of::<pyo3::types::PyType>() {
        let asdict = value.py().import("dataclasses")?.getattr("asdict")?;
        return convert(&asdict.call1((value,))?, depth + 1);
    }
    if value.is_instance(&value.py().import("enum")?.getattr("Enum")?)? {
        return convert(&value.getattr("value")?, depth + 1);
    }
    let (kind, shown) = (value.get_type().name()?, value.repr()?);
    Ok(json!({ "type": kind.to_cow()?, "repr": shown.to_cow()? }))
}

/// Returns JSON as a Python value.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => number_to_python(py, number)?,
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(values) => {
            let values = values.iter().map(|value| to_python(py, value));
            PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(map) => {
            let object = PyDict::new(py);
            for (key, value) in map {
                object.set_item(key, to_python(py, value)?)?;
            }
            object.into_any()
        }
    })
}

fn number_to_python<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    if let Some(number) = number.as_i64() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    if let Some(number) = number.as_u64() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    Ok(PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any())
}
