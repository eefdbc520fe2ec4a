//! A user, a project and a host for the tests of this crate.

use std::{
    cell::{Cell, RefCell},
    fs,
};

use openoxide_protocol::{AbsPath, Action, CallId, Operation, Principal};
use openoxide_store::{UserEnvironment, audit::RequestedConfinement};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    CheckHost, CheckOptions, CheckOutcome, Engine, EngineOptions, EngineWarning, InterruptWatch,
    PendingApproval, RecordOrigin, new_session_id,
};

/// A host that collects warnings, and is interrupted when a test sets the flag.
#[derive(Default)]
pub(crate) struct Host {
    warnings: RefCell<Vec<String>>,
    pub(crate) is_interrupted: Cell<bool>,
}

impl Host {
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }
}

impl CheckHost for Host {
    fn warn(&self, warning: EngineWarning) {
        self.warnings.borrow_mut().push(warning.to_string());
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(InterruptFlag(&self.is_interrupted))
    }
}

struct InterruptFlag<'a>(&'a Cell<bool>);

impl InterruptWatch for InterruptFlag<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.get()
    }

    fn stop(&self) -> bool {
        self.0.get()
    }
}

/// A user with this policy, and a project of theirs.
pub(crate) struct User {
    pub(crate) directory: TempDir,
    pub(crate) environment: UserEnvironment,
}

impl User {
    pub(crate) fn new(policy: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let below = |name: &str| Some(directory.path().join(name));
        let home = AbsPath::new(directory.path().to_str().unwrap()).unwrap();
        let environment = UserEnvironment {
            home: Some(home),
            config: below("config"),
            state: below("state"),
            data: below("data"),
            ..UserEnvironment::default()
        };
        let config = directory.path().join("config/openoxide");
        fs::create_dir_all(&config).unwrap();
        let user = Self { directory, environment };
        user.write_policy(policy);
        fs::create_dir_all(user.directory.path().join("project/.git")).unwrap();
        user
    }

    pub(crate) fn write_policy(&self, policy: &str) {
        fs::write(self.directory.path().join("config/openoxide/policy.toml"), policy).unwrap();
    }

    pub(crate) fn project(&self) -> AbsPath {
        let path = self.directory.path().join("project");
        AbsPath::new(path.to_str().unwrap()).unwrap()
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::open(EngineOptions::new(self.environment.clone(), self.project())).unwrap()
    }

    pub(crate) fn operation(&self, script: &str) -> Operation {
        Operation {
            session: new_session_id(),
            call: CallId::default(),
            principal: Principal::Person,
            tool: "Bash".to_owned(),
            action: Action::Command { script: script.to_owned() },
            input: json!({ "command": script }),
            cwd: self.project(),
        }
    }
}

pub(crate) fn check<'e>(
    engine: &'e Engine,
    operation: &Operation,
    host: &Host,
) -> CheckOutcome<'e> {
    let options = CheckOptions::new(RecordOrigin::RUN, RequestedConfinement::Confined);
    engine.check(operation.clone(), options, host).unwrap()
}

pub(crate) fn pending(outcome: CheckOutcome<'_>) -> Box<PendingApproval<'_>> {
    match outcome {
        CheckOutcome::NeedsApproval(pending) => pending,
        other @ (CheckOutcome::Allowed(_) | CheckOutcome::Denied(_)) => panic!("{other:?}"),
    }
}
