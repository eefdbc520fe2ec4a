//! Readers for database clients. Their commands can start shells, and read and write files.

use openoxide_protocol::{CommandClass, SqliteDatabase};

use super::{
    super::{
        ArgumentWord, CommandMeaning,
        command_arguments::CommandArguments,
        command_items::CommandItem,
        command_reading::read_without_custom_reader,
        command_spec::{OptionEffect, OptionSpec},
    },
    HIDDEN_EXECUTION,
    sql::{self, SqlEffect},
};

/// Reads a `psql` command. A text that begins with a backslash is a command of the client, which
/// runs text in backquotes in a shell.
pub(in super::super) fn read_psql(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let mut worst = None;
    for item in arguments.items() {
        match item {
            CommandItem::Option { option: OptionSpec { name: "c" | "command", .. }, value } => {
                worst = worst.max(Some(classify_value(value, classify_psql_text)));
            }
            CommandItem::Option { option: OptionSpec { name: "l" | "list", .. }, .. } => {
                worst = worst.max(Some(SqlEffect::Reads));
            }
            CommandItem::Option {
                option: OptionSpec { name: "o" | "output" | "log-file" | "L", .. },
                value: Some(ArgumentWord::Known(file)),
            } if file.starts_with('|') => {
                worst = Some(SqlEffect::ReachesOutside);
            }
            _ => {}
        }
    }
    lower_by_effect(&mut meaning, worst, has_help_option(arguments));
    meaning
}

/// Returns whether the command asks for help or a version.
fn has_help_option(arguments: CommandArguments<'_>) -> bool {
    let ends = |item| matches!(item, CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends);
    arguments.items().any(ends)
}

fn classify_value(value: Option<ArgumentWord<'_>>, judge: fn(&str) -> SqlEffect) -> SqlEffect {
    match value {
        Some(ArgumentWord::Known(text)) => judge(text),
        _ => SqlEffect::ReachesOutside,
    }
}

/// Lowers the class according to the effect of the texts. Without any text, the program runs its
/// input.
fn lower_by_effect(meaning: &mut CommandMeaning, worst: Option<SqlEffect>, ends: bool) {
    match worst {
        Some(SqlEffect::Reads) => {}
        Some(SqlEffect::Changes) => meaning.lower_class(CommandClass::Unknown),
        Some(SqlEffect::ReachesOutside) => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(HIDDEN_EXECUTION);
        }
        None if ends && meaning.class == CommandClass::Harmless && meaning.effects.is_empty() => {}
        None => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect("it runs its input");
        }
    }
}

fn classify_psql_text(text: &str) -> SqlEffect {
    let trimmed = text.trim();
    let Some(command) = trimmed.strip_prefix('\\') else {
        return if trimmed.contains('\\') {
            SqlEffect::ReachesOutside
        } else {
            sql::classify_sql(trimmed)
        };
    };
    let name: String = command.chars().take_while(|each| !each.is_whitespace()).collect();
    let shows = name.starts_with(['d', 'l', 'z']) && !name.starts_with("lo");
    let shows = shows || matches!(name.as_str(), "conninfo" | "timing" | "x" | "?" | "h");
    let plain = !command.contains(['\\', '`', '|', '\n']);
    if shows && plain { SqlEffect::Reads } else { SqlEffect::ReachesOutside }
}

/// Reads a `mysql` command. The text of `-e` can contain a backslash or statements that are
/// commands of the client.
pub(in super::super) fn read_mysql(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let text = |item| match item {
        CommandItem::Option { option: OptionSpec { name: "e" | "execute", .. }, value } => {
            Some(classify_value(value, classify_mysql_text))
        }
        _ => None,
    };
    let worst = arguments.items().filter_map(text).max();
    lower_by_effect(&mut meaning, worst, has_help_option(arguments));
    meaning
}

fn classify_mysql_text(text: &str) -> SqlEffect {
    const SHOWS: [&str; 6] = ["tables", "databases", "columns", "schemas", "status", "processlist"];
    let lower = text.trim().trim_end_matches(';').to_ascii_lowercase();
    let commands = [
        "system",
        "source",
        "tee",
        "pager",
        "edit",
        "delimiter",
        "connect",
        "prompt",
        "charset",
        "!",
        "ssl_session_data_print",
        "query_attributes",
        "resetconnection",
        "notee",
        "nopager",
        "use",
        "sandbox",
    ];
    let first =
        |statement: &str| statement.split_whitespace().next().unwrap_or_default().to_owned();
    let mut statements = lower.split([';', '\n']);
    if lower.contains('\\')
        || statements.any(|statement| commands.contains(&first(statement).as_str()))
    {
        return SqlEffect::ReachesOutside;
    }
    let mut words = lower.split_whitespace();
    let shows = matches!(words.next(), Some("show" | "describe" | "desc"))
        && !lower.contains([';', '(', '"'])
        && words.next().is_some_and(|word| !lower.starts_with("show") || SHOWS.contains(&word));
    if shows { SqlEffect::Reads } else { sql::classify_sql(&lower) }
}

/// Reads `sqlite3 FILE [SQL]…` and duckdb. A line that begins with a dot is a command of the
/// client.
pub(in super::super) fn read_sqlite(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let (mut worst, mut file) = (None, None);
    let (mut stored, mut safe, mut early, mut read_only) = (false, false, false, false);
    for item in arguments.items() {
        let text = match item {
            CommandItem::Option { option: OptionSpec { name: "cmd" | "c" | "s", .. }, value } => {
                early = true;
                value
            }
            CommandItem::Option { option: OptionSpec { name: "safe", .. }, .. } => {
                safe = true;
                continue;
            }
            CommandItem::Option { option: OptionSpec { name: "readonly", .. }, .. } => {
                read_only = true;
                continue;
            }
            CommandItem::Option { .. } | CommandItem::Number | CommandItem::Unclear => continue,
            CommandItem::Operand(arg, _) if file.is_none() => {
                file = Some(arg);
                continue;
            }
            CommandItem::Operand(arg, _) => Some(arg),
        };
        worst = worst.max(Some(classify_value(text, classify_dot_commands)));
        let plain = matches!(text, Some(ArgumentWord::Known(text)) if !names_files(text));
        if arguments.spec.name() == "duckdb" && !plain {
            worst = Some(SqlEffect::ReachesOutside);
        }
        stored |= matches!(text, Some(ArgumentWord::Known(text)) if may_run_stored_code(text));
    }
    lower_by_effect(&mut meaning, worst, has_help_option(arguments));
    // The text of `-cmd` can run before `-safe` takes effect.
    if stored && (!safe || early) {
        meaning.lower_class(CommandClass::Unknown);
    }
    match file {
        Some(ArgumentWord::Known(":memory:")) | None => {}
        Some(ArgumentWord::Known(text)) => {
            add_database(&mut meaning, text, worst == Some(SqlEffect::Reads), read_only);
        }
        Some(_) => meaning.lower_class(CommandClass::Unknown),
    }
    meaning
}

/// Returns whether a text of duckdb may name files. These are statements that write, read or load
/// files, functions (`read_text`), and a string instead of a table (`from '/etc/passwd'`).
fn names_files(text: &str) -> bool {
    const WORDS: [&str; 11] = [
        "copy", "export", "import", "attach", "load", "install", "pragma", "set", "use", "call",
        "glob",
    ];
    const BEGINNINGS: [&str; 6] = ["read_", "parquet_", "sniff_", "st_read", "query", "getenv"];
    let lower = text.to_ascii_lowercase();
    let is_word = |each: char| each.is_ascii_alphanumeric() || each == '_';
    let mut words = lower.split(|each| !is_word(each));
    // Every second part is in quotes.
    let parts: Vec<&str> = lower.split(['\'', '"']).collect();
    let quoted_table = parts.chunks_exact(2).any(|pair| {
        let before = pair.first().map_or("", |before| before.trim_end());
        let last = before.rsplit(|each| !is_word(each)).next();
        matches!(last, Some("from" | "join" | "into" | "table")) || before.ends_with(',')
    });
    let file_word = |word: &str| {
        WORDS.contains(&word)
            || word.ends_with("_scan")
            || BEGINNINGS.iter().any(|start| word.starts_with(start))
    };
    quoted_table || words.any(file_word)
}

/// Adds the file of the database. `file:NAME?mode=ro` is an address.
fn add_database(meaning: &mut CommandMeaning, text: &str, reads: bool, read_only: bool) {
    // The part after `#` does not belong to the address.
    let address = text.strip_prefix("file:").map(|rest| rest.split('#').next().unwrap_or(rest));
    let address = address.map(|rest| rest.split_once('?').unwrap_or((rest, "")));
    let (name, query) = address.unwrap_or((text, ""));
    let opens_existing = query.split('&').any(|part| matches!(part, "mode=ro" | "mode=rw"));
    if name.contains('%') || text.contains("vfs=") {
        meaning.lower_class(CommandClass::Unknown);
    }
    if reads {
        meaning.add_read(ArgumentWord::Known(name), false);
        let makes_missing = !read_only && !opens_existing;
        meaning
            .databases
            .push(SqliteDatabase { file: name.to_owned(), creates_if_missing: makes_missing });
    } else {
        meaning.add_write(ArgumentWord::Known(name));
    }
}

/// Returns whether a text may read a view. A view is code in the file that is used like a table,
/// and it may start an editor with `edit()`. `-safe` rejects that function. `.schema` reads
/// `pragma_database_list`, and a view can have that name.
fn may_run_stored_code(text: &str) -> bool {
    const PLAIN: [&str; 13] = [
        ".table",
        ".tables",
        ".indexes",
        ".indices",
        ".databases",
        ".mode",
        ".headers",
        ".header",
        ".show",
        ".width",
        ".help",
        ".version",
        ".separator",
    ];
    let lower = text.trim().to_ascii_lowercase();
    if lower.starts_with('.') {
        let name = lower.split_whitespace().next().unwrap_or_default();
        return !PLAIN.contains(&name);
    }
    sql::reads_tables(&lower)
}

fn classify_dot_commands(text: &str) -> SqlEffect {
    const SHOWS: [&str; 22] = [
        ".tables",
        ".table",
        ".schema",
        ".fullschema",
        ".indexes",
        ".indices",
        ".databases",
        ".mode",
        ".headers",
        ".header",
        ".show",
        ".width",
        ".nullvalue",
        ".separator",
        ".timer",
        ".stats",
        ".help",
        ".version",
        ".dump",
        ".dbinfo",
        ".bail",
        ".echo",
    ];
    let dotted = text.lines().any(|line| line.trim_start().starts_with('.'));
    if !dotted {
        return sql::classify_sql(text);
    }
    let name = text.split_whitespace().next().unwrap_or_default();
    let plain = text.trim().lines().count() == 1 && !text.contains(['|', '\'', '"', '`']);
    if plain && SHOWS.contains(&name) { SqlEffect::Reads } else { SqlEffect::ReachesOutside }
}

/// Returns whether an option connects only to this machine. The host must be local, and the name of
/// a database must not be an address of another host.
pub(in super::super) fn is_local_connection(name: &str, value: Option<ArgumentWord<'_>>) -> bool {
    let Some(ArgumentWord::Known(text)) = value else {
        return !matches!(name, "h" | "host" | "d" | "dbname");
    };
    match name {
        "h" | "host" => matches!(text, "localhost" | "127.0.0.1" | "::1"),
        "d" | "dbname" => !text.contains('=') && !text.contains("://"),
        _ => true,
    }
}
