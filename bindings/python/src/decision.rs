//! A decision of the policy, for Python.

use openoxide_protocol::Decision as PolicyDecision;
use pyo3::{exceptions::PyValueError, prelude::*, sync::PyOnceLock};

use crate::json_value::to_python;

/// A decision of the policy about a call.
#[pyclass(module = "tool_approval._native", frozen)]
pub(crate) struct Decision {
    decision: PolicyDecision,
    warnings: Vec<String>,
    fields: PyOnceLock<Py<PyAny>>,
}

impl Decision {
    /// Returns a decision with the warnings that occurred.
    pub(crate) fn new(decision: PolicyDecision, warnings: Vec<String>) -> Self {
        Self { decision, warnings, fields: PyOnceLock::new() }
    }

    /// Returns all fields as a Python dictionary.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields = self.fields.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
            let value = serde_json::to_value(&self.decision)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(to_python(py, &value)?.unbind())
        })?;
        Ok(fields.bind(py).clone())
    }
}

#[pymethods]
impl Decision {
    /// `allow`, `ask` or `deny`.
    #[getter]
    fn effect(&self) -> &'static str {
        self.decision.effect.as_str()
    }

    /// The reason, in one sentence.
    #[getter]
    fn reason(&self) -> &str {
        &self.decision.reason
    }

    /// The rule that decided, or `None`.
    #[getter]
    fn rule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fields(py)?.get_item("rule")
    }

    /// True if rules of the user, and no default, decided every part.
    #[getter]
    fn is_explicit(&self) -> bool {
        let parts = &self.decision.parts;
        let is_own = |rule: &openoxide_protocol::RuleRef| rule.layer != "built-in";
        !parts.is_empty() && parts.iter().all(|part| part.rule.as_ref().is_some_and(is_own))
    }

    /// The decision on each access.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fields(py)?.get_item("parts")
    }

    /// The findings of the analysis.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fields(py)?.get_item("findings")
    }

    /// The rules that "always" would add.
    #[getter]
    fn suggested_rules(&self) -> Vec<String> {
        self.decision.suggested_rules.clone()
    }

    /// The warnings that occurred.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Return the decision as a dictionary, as `openoxide check --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let copy = py.import("copy")?;
        copy.call_method1("deepcopy", (self.fields(py)?,))
    }

    fn __repr__(&self) -> String {
        format!("<Decision {}: {}>", self.decision.effect.as_str(), self.decision.reason)
    }
}
