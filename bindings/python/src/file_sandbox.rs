//! The file sandbox, for Python: which files a tool may access, and the accesses themselves.

mod file_error;
mod file_list;
mod file_read;
mod file_write;

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use openoxide_permission::safety_floor;
use openoxide_protocol::AbsPath;
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict},
};

use self::{
    file_error::FileError,
    file_list::{NamePattern, list_files},
    file_read::{check_length, read_file},
    file_write::write_file,
};
use crate::{
    anchored_open::OpenMethod,
    error::ErrorClass,
    json_value::to_json,
    real_path::real_path,
    sandbox_paths::{FilePermission, SandboxPaths},
};

/// The number of attempts if a path changes while it is accessed.
const MAX_ATTEMPTS: usize = 4;

/// The maximum size of a file that is read, if the configuration has none.
const DEFAULT_MAX_READ: u64 = 64 << 20;

/// A file sandbox. It has no state, so threads and forked processes may use it.
#[pyclass(module = "tool_approval._native", frozen)]
pub(crate) struct FileSandbox {
    base: PathBuf,
    paths: SandboxPaths,
    method: OpenMethod,
}

/// An operation on files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
    List,
}

/// A permitted access to a file.
struct FileAccess<'a> {
    /// The real path.
    real: PathBuf,
    permission: FilePermission<'a>,
}

/// The result of a check, for Python.
#[pyclass(module = "tool_approval._native", frozen, get_all)]
pub(crate) struct FileCheck {
    /// The name of the innermost sandbox.
    sandbox: String,
    /// The real path, relative to the base directory if it is inside.
    path: String,
    /// The real path.
    real_path: String,
    /// True if the access needs approval.
    needs_approval: bool,
    /// The reason, if it is not the configuration.
    note: Option<&'static str>,
}

#[pymethods]
impl FileSandbox {
    /// `paths` are the settings by name, whose roots are real paths.
    #[new]
    #[pyo3(signature = (base, paths, *, uses_openat2=true))]
    fn new(base: PathBuf, paths: &Bound<'_, PyDict>, uses_openat2: bool) -> PyResult<Self> {
        let paths = SandboxPaths::from_json(&to_json(paths.as_any())?)
            .ok_or_else(|| PyValueError::new_err("invalid settings of a sandbox"))?;
        let method = if uses_openat2 { OpenMethod::detect() } else { OpenMethod::Components };
        Ok(Self { base, paths, method })
    }

    /// Check an operation: `read`, `write` or `list`.
    fn check(&self, py: Python<'_>, operation: &str, path: &str) -> PyResult<FileCheck> {
        let operation = parse_operation(operation)?;
        let access = self.decide(py, operation, path)?;
        let real_path = utf8(&access.real, path)?.to_owned();
        let note = escalation(operation, &real_path);
        Ok(FileCheck {
            sandbox: access.permission.innermost.name.clone(),
            path: self.relative_to_base(&access.real, path)?,
            needs_approval: note.is_some() || self.asks(operation, &access),
            real_path,
            note,
        })
    }

    /// Return the content of a file. `expected` is the real path that was approved.
    fn read<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        expected: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let content = self.retry(py, Operation::Read, path, expected, |access, root, below| {
            let limit = access.permission.max_file_bytes.unwrap_or(DEFAULT_MAX_READ);
            read_file(root, below, limit, self.method)
        })?;
        Ok(PyBytes::new(py, &content))
    }

    /// Replace the content of a file. `expected` is the real path that was approved.
    fn write(
        &self,
        py: Python<'_>,
        path: &str,
        content: &[u8],
        expected: Option<&str>,
    ) -> PyResult<()> {
        self.retry(py, Operation::Write, path, expected, |access, root, below| {
            let limit = access.permission.max_file_bytes.unwrap_or(u64::MAX);
            check_length(u64::try_from(content.len()).unwrap_or(u64::MAX), limit)?;
            write_file(root, below, content, self.method)
        })
    }

    /// Return the paths of the files below a directory that match a pattern, relative to the base
    /// directory. `expected` is the real path that was approved.
    fn list(
        &self,
        py: Python<'_>,
        path: &str,
        pattern: &str,
        expected: Option<&str>,
    ) -> PyResult<Vec<String>> {
        let pattern = NamePattern::new(pattern);
        let found = self.retry(py, Operation::List, path, expected, |access, root, below| {
            let found = list_files(root, below, &pattern, self.method)?;
            let all = found.into_iter().map(|file| access.real.join(file));
            Ok(all.filter(|file| self.is_listed(file)).collect::<Vec<_>>())
        })?;
        found.iter().map(|file| self.relative_to_base(file, path)).collect()
    }
}

impl FileSandbox {
    /// Decides about an operation.
    ///
    /// # Errors
    /// Returns a `PermissionError` if it is not permitted.
    fn decide(&self, py: Python<'_>, operation: Operation, path: &str) -> PyResult<FileAccess<'_>> {
        if path.contains('\0') {
            return Err(PyValueError::new_err("the path contains a NUL byte"));
        }
        let real = real_path(&self.base.join(path))
            .map_err(|error| FileError::Io(error).into_exception(py, path))?;
        let blocked = |message| ErrorClass::OperationBlocked.with_message(py, message);
        let Some(permission) = self.paths.find(&real) else {
            let names = self.paths.names();
            return Err(blocked(format!("`{path}` is not in any sandbox (sandboxes: {names})")));
        };
        let name = &permission.innermost.name;
        if operation == Operation::Write && !permission.is_writable {
            return Err(blocked(format!("`{path}` is read-only in the sandbox `{name}`")));
        }
        if let (Some(suffixes), true) = (permission.violated_suffixes, operation != Operation::List)
        {
            let suffixes = suffixes.join("`, `");
            let message =
                format!("`{path}` does not have a permitted suffix (`{name}`: `{suffixes}`)");
            return Err(blocked(message));
        }
        Ok(FileAccess { real, permission })
    }

    /// Returns whether the configuration asks about an operation.
    fn asks(&self, operation: Operation, access: &FileAccess<'_>) -> bool {
        match operation {
            Operation::Write => access.permission.write_approval,
            Operation::Read => access.permission.read_approval,
            // A list shows the names in nested sandboxes, too.
            Operation::List => {
                let mut inner =
                    self.paths.iter().filter(|path| path.root.starts_with(&access.real));
                access.permission.read_approval || inner.any(|path| path.read_approval)
            }
        }
    }

    /// Runs an operation below the root of a sandbox. If the path changes meanwhile, the decision
    /// is made again.
    fn retry<T: Send>(
        &self,
        py: Python<'_>,
        operation: Operation,
        path: &str,
        expected: Option<&str>,
        run: impl Fn(&FileAccess<'_>, &OwnedFd, &Path) -> Result<T, FileError> + Sync,
    ) -> PyResult<T> {
        let mut last = FileError::Changed;
        for _ in 0..MAX_ATTEMPTS {
            let access = self.decide(py, operation, path)?;
            if expected.is_some_and(|expected| Path::new(expected) != access.real) {
                return Err(FileError::Changed.into_exception(py, path));
            }
            let root = &access.permission.innermost.root;
            let result = py.detach(|| {
                let below = access.real.strip_prefix(root).unwrap_or(Path::new(""));
                run(&access, &self.method.open_root(root)?, below)
            });
            match result {
                Err(error) if error.may_be_race() => last = error,
                result => return result.map_err(|error| error.into_exception(py, path)),
            }
        }
        Err(last.into_exception(py, path))
    }

    /// Returns whether a file appears in lists.
    fn is_listed(&self, file: &Path) -> bool {
        self.paths.find(file).is_some_and(|permission| permission.violated_suffixes.is_none())
    }

    /// Returns a path relative to the base directory, or the path itself if it is outside.
    fn relative_to_base(&self, real: &Path, path: &str) -> PyResult<String> {
        let shown = real.strip_prefix(&self.base).unwrap_or(real);
        let shown = utf8(shown, path)?;
        Ok(if shown.is_empty() { ".".to_owned() } else { shown.to_owned() })
    }
}

fn parse_operation(name: &str) -> PyResult<Operation> {
    match name {
        "read" => Ok(Operation::Read),
        "write" => Ok(Operation::Write),
        "list" => Ok(Operation::List),
        _ => Err(PyValueError::new_err(format!("unknown operation `{name}`"))),
    }
}

fn utf8<'a>(path: &'a Path, given: &str) -> PyResult<&'a str> {
    let error = || PyValueError::new_err(format!("the real path of `{given}` is not UTF-8"));
    path.to_str().ok_or_else(error)
}

/// Returns the reason why an operation needs approval in every configuration, if there is one.
fn escalation(operation: Operation, real_path: &str) -> Option<&'static str> {
    let path = AbsPath::new(real_path).ok()?;
    match operation {
        Operation::Write if safety_floor::is_protected(&path) => {
            Some("it configures shells, tools or agents")
        }
        Operation::Read if safety_floor::is_secret(&path) => Some("it usually contains secrets"),
        _ => None,
    }
}
