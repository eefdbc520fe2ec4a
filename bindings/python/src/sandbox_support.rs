//! Whether this machine can enforce a profile.

use openoxide_sandbox::{HostFeatures, choose_backend};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::{json_value::to_json, launch_plan::ProfilePermissions};

/// Return the reason why this machine cannot enforce a profile, or `None` if it can.
///
/// `profile` has the fields of an `OSProfile`. The features of the kernel are probed.
#[pyfunction]
pub(crate) fn sandbox_problem(
    py: Python<'_>,
    profile: &Bound<'_, PyDict>,
) -> PyResult<Option<String>> {
    let permissions = ProfilePermissions::from_json(&to_json(profile.as_any())?)
        .ok_or_else(|| PyValueError::new_err("invalid profile"))?;
    Ok(py.detach(|| match permissions.to_restrictions() {
        Ok(profile) => {
            choose_backend(&profile, &HostFeatures::probe()).err().map(|error| error.to_string())
        }
        Err(problem) => Some(problem),
    }))
}
