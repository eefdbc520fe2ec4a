//! A decision of the policy, for Python.

use openoxide_permission::LayerKind;
use openoxide_protocol::{Access, AccessRoute, Decision as PolicyDecision, RuleRef};
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

    /// True if rules of a policy file or of the program, and no default, decided about each access
    /// that the call makes itself.
    #[getter]
    fn is_explicit(&self) -> bool {
        let mut direct =
            self.decision.parts.iter().filter(|part| is_direct(&part.access)).peekable();
        let has_parts = direct.peek().is_some();
        let is_own = |rule: &RuleRef| rule.layer != LayerKind::Default.as_str();
        has_parts && direct.all(|part| part.rule.as_ref().is_some_and(is_own))
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

/// Returns whether the call makes this access itself. The accesses of a program that it runs are
/// decided together with the program.
fn is_direct(access: &Access) -> bool {
    let route = match access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => path.route,
        Access::Fetch { route, .. } => *route,
        Access::Socket(socket) => socket.route,
        Access::Exec(_)
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::Repetition { .. }
        | Access::Opaque { .. } => AccessRoute::Direct,
    };
    route == AccessRoute::Direct
}
