//! Commands of a session in the real sandbox. This program has no test harness, because the sandbox
//! starts it again as a supervisor.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = openoxide_engine::run_as_supervisor() {
        return exit;
    }
    #[cfg(all(test, target_os = "linux"))]
    tests::run_all();
    ExitCode::SUCCESS
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::unwrap_used, reason = "clippy sees no test harness")]
mod tests {
    use std::{fs, path::Path, thread, time::Duration};

    use openoxide_engine::{
        AgentSession, CommandResult, CommandRunError, EngineOptions, FunctionReviewer,
        NotPermittedError, UserEnvironment, describe_denial,
    };
    use openoxide_protocol::{AbsPath, ApprovalRequest, ApprovalResponse, Effect, GrantScope};
    use tempfile::TempDir;

    pub(super) fn run_all() {
        let tests: [fn(&Arena); 5] = [
            a_command_runs_with_its_output_captured,
            a_command_changes_only_what_was_decided,
            a_command_that_is_not_permitted_does_not_run,
            the_reviewer_decides_about_hosts_while_the_command_waits,
            an_interrupt_kills_the_command,
        ];
        tests.iter().for_each(|test| test(&Arena::new()));
    }

    /// A home with a project. It is not below `/tmp`, which is private to a confined command.
    struct Arena(TempDir);

    impl Arena {
        fn new() -> Self {
            let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            fs::create_dir_all(home.path().join("project/.git")).unwrap();
            Self(home)
        }

        fn path(&self, name: &str) -> std::path::PathBuf {
            self.0.path().join(name)
        }

        fn session(&self, rules: &[(Effect, &str)]) -> AgentSession {
            let absolute = |path: &Path| AbsPath::new(path.to_str().unwrap()).unwrap();
            let environment = UserEnvironment {
                home: Some(absolute(self.0.path())),
                config: Some(self.path(".config")),
                cache: Some(self.path(".cache")),
                state: Some(self.path(".local/state")),
                ..UserEnvironment::default()
            };
            let mut options = EngineOptions::new(environment, absolute(&self.path("project")));
            options.extra_rules =
                rules.iter().map(|(effect, rule)| (*effect, (*rule).to_owned())).collect();
            AgentSession::open(options).unwrap()
        }
    }

    fn approve(_: &ApprovalRequest) -> ApprovalResponse {
        ApprovalResponse::new_approval(GrantScope::Once)
    }

    fn run(session: &mut AgentSession, script: &str) -> Result<CommandResult, CommandRunError> {
        session.run_command(script, &mut FunctionReviewer::new("a test", approve))
    }

    fn a_command_runs_with_its_output_captured(arena: &Arena) {
        let mut session = arena.session(&[]);
        let result = run(&mut session, "echo out; ls missing; cat; exit 3").unwrap();
        assert_eq!(result.status.code(), Some(3));
        let text = result.output.to_text();
        assert!(text.contains("out\n") && text.contains("ls: "), "{text}");
        assert!(result.report.is_some());
        assert!(session.host().take_warnings().is_empty());
    }

    fn a_command_changes_only_what_was_decided(arena: &Arena) {
        fs::write(arena.path("notes.txt"), "mine\n").unwrap();
        fs::write(arena.path("project/build.sh"), "echo new > out.txt; echo x > ../notes.txt\n")
            .unwrap();
        let result = run(&mut arena.session(&[]), "bash ./build.sh").unwrap();
        assert!(!result.status.success());
        assert_eq!(fs::read_to_string(arena.path("project/out.txt")).unwrap(), "new\n");
        assert_eq!(fs::read_to_string(arena.path("notes.txt")).unwrap(), "mine\n");
        let denials: Vec<_> = result.report.unwrap().denials.iter().map(describe_denial).collect();
        assert!(denials.iter().any(|denial| denial.contains("notes.txt")), "{denials:?}");
    }

    fn a_command_that_is_not_permitted_does_not_run(arena: &Arena) {
        let mut session = arena.session(&[(Effect::Deny, "Bash(touch *)")]);
        let denied = run(&mut session, "touch a");
        let is_denied =
            matches!(denied, Err(CommandRunError::NotPermitted(NotPermittedError::Denied(_))));
        assert!(is_denied && !arena.path("project/a").exists(), "{denied:?}");
        let mut reviewer = FunctionReviewer::new("a test", |_| ApprovalResponse::Denied);
        let rejected = session.run_command("mkdir a", &mut reviewer);
        assert!(matches!(rejected, Err(CommandRunError::NotPermitted(_))), "{rejected:?}");
        assert!(!arena.path("project/a").exists());
    }

    fn the_reviewer_decides_about_hosts_while_the_command_waits(arena: &Arena) {
        let connect = "for host in asked.invalid blocked.invalid; do\n  \
            (exec 3<>/dev/tcp/$host/80 && cat <&3)\ndone\n";
        fs::write(arena.path("project/connect.sh"), connect).unwrap();
        let mut session = arena.session(&[(Effect::Deny, "WebFetch(domain:blocked.invalid)")]);
        let mut asked = Vec::new();
        let mut reviewer = FunctionReviewer::new("a test", |request: &ApprovalRequest| {
            asked.push(format!("{} {}", request.tool, request.presentation.content));
            match request.tool.as_str() {
                "Bash" => ApprovalResponse::new_approval(GrantScope::Once),
                _ => ApprovalResponse::Denied,
            }
        });
        let result = session.run_command("bash ./connect.sh", &mut reviewer).unwrap();
        drop(reviewer);
        assert_eq!(asked, ["Bash bash ./connect.sh", "WebFetch http://asked.invalid/"]);
        let denials: Vec<_> = result.report.unwrap().denials.iter().map(describe_denial).collect();
        let expected =
            ["asked", "blocked"].map(|host| format!("a connection to {host}.invalid:80"));
        assert_eq!(denials, expected);
    }

    fn an_interrupt_kills_the_command(arena: &Arena) {
        let mut session = arena.session(&[]);
        let host = session.host().clone();
        let started = arena.path("project/started");
        let interrupt = thread::spawn(move || {
            while !started.exists() {
                thread::sleep(Duration::from_millis(20));
            }
            host.interrupt();
        });
        let result = run(&mut session, "touch started; sleep 600; touch ended");
        assert!(matches!(result, Err(CommandRunError::Interrupted)), "{result:?}");
        interrupt.join().unwrap();
        assert!(!arena.path("project/ended").exists());
        assert!(run(&mut session, "ls").is_err(), "later commands are interrupted, too");
        session.host().resume();
        assert!(run(&mut session, "ls").unwrap().status.success());
    }
}
