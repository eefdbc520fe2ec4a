//! The engine, for Python: the policy that applies to a directory.

use std::{
    hint::black_box,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Instant,
};

use openoxide_adapters::tool_action;
use openoxide_engine::{
    CheckOptions, CheckOutcome, EngineCall, EngineOptions, RecordOrigin, WatchedEngine,
    absolute_directory, new_session_id,
};
use openoxide_formats::named_policy_source;
use openoxide_permission::OperationRefusal;
use openoxide_protocol::{
    AbsPath, CallId, Effect, Operation, PermissionMode, Principal, RequestPresentation, SessionId,
};
use openoxide_store::{BrokenFile, UserEnvironment, audit::RequestedConfinement};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
    types::PyDict,
};
use serde_json::Value;

use crate::{
    decision::Decision,
    error::ErrorClass,
    fork_guard::ForkGuard,
    host::CallHost,
    json_value::to_json,
    question::{AnswerSettings, Question},
};

/// The engine of one directory. It may be used by several threads.
#[pyclass(module = "tool_approval._native", frozen)]
pub(crate) struct Engine {
    guard: ForkGuard,
    session: SessionId,
    watched: Arc<RwLock<WatchedEngine>>,
    options: EngineOptions,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (
        *, cwd=None, project=None, policy_files=Vec::new(), rules=Vec::new(), mode=None,
        directories=Vec::new(), explain=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        cwd: Option<PathBuf>,
        project: Option<PathBuf>,
        policy_files: Vec<PathBuf>,
        rules: Vec<(String, String)>,
        mode: Option<String>,
        directories: Vec<PathBuf>,
        explain: bool,
    ) -> PyResult<Self> {
        let policy_error = |message: String| ErrorClass::Policy.with_message(py, message);
        let directory = |path: Option<&Path>| {
            absolute_directory(path).map_err(|error| policy_error(error.to_string()))
        };
        let mut options =
            EngineOptions::new(UserEnvironment::from_process(), directory(cwd.as_deref())?);
        options.project = project.map(|path| directory(Some(&path))).transpose()?;
        let source = |path: &PathBuf| {
            named_policy_source(path, None, &options.cwd)
                .map_err(|error| policy_error(error.to_string()))
        };
        options.policy_files = policy_files.iter().map(source).collect::<PyResult<_>>()?;
        options.extra_rules =
            rules.into_iter().map(parse_rule_effect).collect::<PyResult<Vec<_>>>()?;
        options.mode = mode.as_deref().map(parse_mode).transpose()?;
        options.extra_directories =
            directories.iter().map(|path| directory(Some(path))).collect::<PyResult<_>>()?;
        options.read_layers = explain;
        options.include_managed = true;
        let kept = options.clone();
        let opened = py.detach(|| {
            openoxide_engine::Engine::open(options)
                .map_err(|error| with_hint(&error.to_string(), error.hint()))
                .and_then(|engine| match engine_problem(&engine) {
                    Some(problem) => Err(problem),
                    None => WatchedEngine::new(engine).map_err(|error| error.to_string()),
                })
        });
        Ok(Self {
            guard: ForkGuard::new(),
            session: new_session_id(),
            watched: Arc::new(RwLock::new(opened.map_err(policy_error)?)),
            options: kept,
        })
    }

    /// Decide about a call without effects.
    #[pyo3(signature = (tool, args, *, cwd=None))]
    fn evaluate(
        &self,
        py: Python<'_>,
        tool: &str,
        args: &Bound<'_, PyDict>,
        cwd: Option<PathBuf>,
    ) -> PyResult<Decision> {
        self.guard.check(py)?;
        let input = to_json(args.as_any())?;
        let cwd = self.call_directory(py, cwd)?;
        Ok(py.detach(|| {
            let call = EngineCall::from_tool(tool, &input, cwd);
            let engine = self.current();
            let evaluation = match self.options.read_layers {
                true => engine.engine().explain(&call),
                false => engine.engine().evaluate(&call),
            };
            Decision::new(evaluation.decision, Vec::new())
        }))
    }

    /// Decide about a call several times, and return the seconds that it took: the cost without
    /// Python, for the benchmark.
    fn _time_evaluations(
        &self,
        py: Python<'_>,
        tool: &str,
        args: &Bound<'_, PyDict>,
        count: u32,
    ) -> PyResult<f64> {
        let (input, cwd) = (to_json(args.as_any())?, self.options.cwd.clone());
        Ok(py.detach(|| {
            let start = Instant::now();
            for _ in 0..count {
                let call = EngineCall::from_tool(tool, &input, cwd.clone());
                black_box(self.current().engine().evaluate(&call));
            }
            start.elapsed().as_secs_f64()
        }))
    }

    /// Decide about a call: run hooks, use limited grants, and record the decision.
    #[pyo3(signature = (tool, args, *, cwd=None))]
    fn check(
        &self,
        py: Python<'_>,
        tool: &str,
        args: &Bound<'_, PyDict>,
        cwd: Option<PathBuf>,
    ) -> PyResult<Decision> {
        self.guard.check(py)?;
        let operation =
            self.operation(tool, to_json(args.as_any())?, self.call_directory(py, cwd)?);
        let host = CallHost::default();
        let checked = py.detach(|| {
            let engine = self.current();
            let options =
                CheckOptions::new(RecordOrigin::PYTHON, RequestedConfinement::NotConfined);
            Ok(match engine.engine().check(operation.clone(), options, &host)? {
                CheckOutcome::Allowed(permit) => {
                    let decision = permit.decision().clone();
                    permit.redeem_for(&operation).then_some(decision)
                }
                CheckOutcome::Denied(OperationRefusal::Denied(decision)) => Some(*decision),
                CheckOutcome::Denied(_) => None,
                CheckOutcome::NeedsApproval(pending) => Some(pending.abandon(&host).decision),
            })
        });
        let decision = checked.map_err(|error: openoxide_engine::InterruptedError| {
            PyKeyboardInterrupt::new_err(error.to_string())
        })?;
        let warnings = host.take_warnings();
        let decision = decision.ok_or_else(|| {
            ErrorClass::ApprovalUnavailable.with_message(py, "the engine gave no decision")
        })?;
        Ok(Decision::new(decision, warnings))
    }

    /// Decide about a call, and ask if necessary. Returns the question in progress.
    #[pyo3(signature = (
        tool, args, *, cwd=None, title=None, presentation=None, requires_answer=false,
        requester="python", timeout=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn ask(
        &self,
        py: Python<'_>,
        tool: &str,
        args: &Bound<'_, PyDict>,
        cwd: Option<PathBuf>,
        title: Option<String>,
        presentation: Option<&Bound<'_, PyDict>>,
        requires_answer: bool,
        requester: &str,
        timeout: Option<f64>,
    ) -> PyResult<Question> {
        self.guard.check(py)?;
        let operation =
            self.operation(tool, to_json(args.as_any())?, self.call_directory(py, cwd)?);
        let presentation = presentation.map(parse_presentation).transpose()?;
        let mut options =
            CheckOptions::new(RecordOrigin::PYTHON, RequestedConfinement::NotConfined);
        options.title = title;
        options.presentation = presentation;
        options.requires_explicit_approval = requires_answer;
        let settings = AnswerSettings { requester: requester.to_owned(), timeout };
        Question::start(py, self.options.clone(), operation, options, settings)
    }

    /// The mode in force.
    #[getter]
    fn mode(&self) -> &'static str {
        self.read().engine().mode().as_str()
    }

    /// The working directory.
    #[getter]
    fn cwd(&self) -> String {
        self.read().engine().cwd().to_string()
    }

    /// The directory of the project, if there is one.
    #[getter]
    fn roots(&self) -> Vec<String> {
        self.read().engine().roots().iter().map(ToString::to_string).collect()
    }

    /// Notes about the policy, for a person.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.read().engine().policy_notes().to_vec()
    }
}

impl Engine {
    /// Returns the engine with the current policy.
    fn current(&self) -> RwLockReadGuard<'_, WatchedEngine> {
        if let Ok(mut watched) = self.watched.try_write() {
            watched.refresh();
        }
        self.read()
    }

    fn read(&self) -> RwLockReadGuard<'_, WatchedEngine> {
        self.watched.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn call_directory(&self, py: Python<'_>, cwd: Option<PathBuf>) -> PyResult<AbsPath> {
        let Some(path) = cwd else { return Ok(self.options.cwd.clone()) };
        let path = Path::new(self.options.cwd.as_str()).join(path);
        absolute_directory(Some(&path))
            .map_err(|error| ErrorClass::Policy.with_message(py, error.to_string()))
    }

    fn operation(&self, tool: &str, input: Value, cwd: AbsPath) -> Operation {
        Operation {
            session: self.session,
            call: CallId::default(),
            principal: Principal::Agent,
            action: tool_action::parse_action(tool, &input),
            tool: tool.to_owned(),
            input,
            cwd,
        }
    }
}

fn parse_rule_effect((effect, rule): (String, String)) -> PyResult<(Effect, String)> {
    let effects = [Effect::Allow, Effect::Ask, Effect::Deny];
    let found = effects.into_iter().find(|one| one.as_str() == effect);
    let found = found.ok_or_else(|| {
        PyValueError::new_err(format!(
            "the effect of a rule must be `allow`, `ask` or `deny`, not `{effect}`"
        ))
    })?;
    Ok((found, rule))
}

fn parse_mode(mode: &str) -> PyResult<PermissionMode> {
    serde_json::from_value(Value::from(mode))
        .map_err(|_| PyValueError::new_err(format!("unknown mode `{mode}`")))
}

fn parse_presentation(fields: &Bound<'_, PyDict>) -> PyResult<RequestPresentation> {
    let value = to_json(fields.as_any())?;
    serde_json::from_value(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn with_hint(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message}\nhelp: {hint}"))
}

/// Returns the problem because of which the policy cannot be used, if it has one.
fn engine_problem(engine: &openoxide_engine::Engine) -> Option<String> {
    let broken: Vec<_> = engine.broken_files().iter().flat_map(file_problems).collect();
    if broken.is_empty() {
        return engine.policy_error().map(str::to_owned);
    }
    Some(broken.join("\n"))
}

/// Returns the problems of a policy file, each with its file and line.
fn file_problems(file: &BrokenFile) -> Vec<String> {
    let path = file.path.display();
    let problem = |problem: &openoxide_store::PolicyProblem| {
        let before = file.text.get(..problem.span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
        let location = match file.text.is_empty() {
            true => format!("{path}"),
            false => format!("{path}:{line}:{column}"),
        };
        with_hint(&format!("{location}: {}", problem.message), problem.help.as_deref())
    };
    file.problems.iter().map(problem).collect()
}
