//! Statements in a database that is a file.
//!
//! `sqlite3` and `duckdb` contact no server. They change only the file that their words name, which
//! is a separate access. Statements that remove data cannot be undone, so their cause is kept.

use openoxide_protocol::{Access, CauseCode, CommandCause, ExecAccess};

const RUNS_STATEMENTS: CommandCause = CommandCause::Stated {
    code: CauseCode::WritesFiles,
    phrase: "runs statements in a database file",
};

/// Words of statements and commands that remove data.
const REMOVING_WORDS: [&str; 8] =
    ["drop", "delete", "truncate", "replace", "restore", "open", "erase", "recover"];

/// Changes the cause of each command that reads or adds data in a database file.
pub(crate) fn check(accesses: &mut [Access]) {
    for access in accesses {
        if let Access::Exec(exec) = access
            && keeps_data(exec)
        {
            exec.cause = Some(RUNS_STATEMENTS);
        }
    }
}

fn keeps_data(exec: &ExecAccess) -> bool {
    let is_database =
        matches!(exec.cause, Some(CommandCause::Stated { code: CauseCode::ChangesData, .. }));
    let is_client = matches!(exec.argv.known_word(0), Some("sqlite3" | "duckdb"));
    let keeps = |word: &str| {
        let lower = word.to_ascii_lowercase();
        let mut words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
        !words.any(|word| REMOVING_WORDS.contains(&word))
    };
    is_database && is_client && exec.argv.known_words(1).all(|word| word.is_some_and(keeps))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{AbsPath, Action};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn keeps_data(script: &str) -> bool {
        let cwd = AbsPath::new("/p").unwrap();
        let action = Action::Command { script: script.to_owned() };
        let place = CallLocation { cwd: &cwd, home: None };
        let facts = collect_action_facts(&action, "Bash", place);
        let is_opaque = |access: &Access| matches!(access, Access::Opaque { .. });
        !facts.accesses.iter().any(is_opaque)
            && facts.accesses.iter().any(
                |access| matches!(access, Access::Exec(exec) if exec.cause == Some(RUNS_STATEMENTS)),
            )
    }

    #[test]
    fn statements_that_read_or_add_data_are_found() {
        for script in [
            "sqlite3 sales.db 'select * from t'",
            "sqlite3 -header -csv sales.db 'select count(*) from t'",
            "sqlite3 sales.db 'insert into t values (1)'",
            "sqlite3 sales.db 'create table u(a)'",
            "sqlite3 sales.db \"update t set a = 2 where a = 1\"",
            "duckdb sales.duckdb 'select * from t'",
        ] {
            assert!(keeps_data(script), "{script}");
        }
    }

    #[test]
    fn other_statements_are_not_found() {
        for script in [
            "sqlite3 sales.db 'drop table t'",
            "sqlite3 sales.db 'DELETE FROM t'",
            "sqlite3 sales.db 'insert or replace into t values (1)'",
            "sqlite3 sales.db '.restore main old.db'",
            "sqlite3 sales.db '.shell ls'",
            "sqlite3 sales.db '.read x.sql'",
            "sqlite3 sales.db \"select edit('', 'sh')\"",
            "sqlite3 sales.db \"select load_extension('./x')\"",
            "sqlite3 sales.db \"$SQL\"",
            "sqlite3 -init x.sql sales.db 'select 1 from t'",
            "sqlite3 sales.db < x.sql",
            "psql -c 'insert into t values (1)'",
            "mysql -e 'insert into t values (1)'",
        ] {
            assert!(!keeps_data(script), "{script}");
        }
    }
}
