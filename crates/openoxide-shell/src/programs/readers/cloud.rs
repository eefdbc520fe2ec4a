//! Readers for the command lines of cloud providers. They have hundreds of subcommands, and only
//! those with a few verbs are known to only read.

use openoxide_protocol::{CommandClass, CommandWord};

use super::{
    super::{ArgumentWord, CommandMeaning, command_arguments::CommandArguments},
    HIDDEN_EXECUTION,
};

/// Verbs of `aws` that read without showing secrets, besides `describe-*` and `list-*`.
const AWS_READ_VERBS: [&str; 29] = [
    "get-caller-identity",
    "head-object",
    "head-bucket",
    "get-bucket-acl",
    "get-bucket-cors",
    "get-bucket-encryption",
    "get-bucket-lifecycle-configuration",
    "get-bucket-location",
    "get-bucket-logging",
    "get-bucket-policy",
    "get-bucket-policy-status",
    "get-bucket-replication",
    "get-bucket-tagging",
    "get-bucket-versioning",
    "get-bucket-website",
    "get-object-tagging",
    "get-object-acl",
    "get-object-attributes",
    "get-metric-statistics",
    "get-metric-data",
    "get-user",
    "get-role",
    "get-policy",
    "get-policy-version",
    "get-group",
    "get-hosted-zone",
    "get-public-access-block",
    "filter-log-events",
    "get-log-events",
];

/// Commands whose output can contain the environment, start scripts or keys. An entry without a
/// verb applies to the whole service.
const AWS_SECRET_COMMANDS: [(&str, &str); 23] = [
    // The answer is written into the file that the operand names.
    ("medialive", "describe-input-device-thumbnail"),
    // The answer contains pre-shared keys.
    ("ec2", "describe-vpn-connections"),
    ("secretsmanager", ""),
    ("apprunner", ""),
    ("amplify", ""),
    ("codebuild", ""),
    ("sagemaker", ""),
    ("lightsail", ""),
    ("lambda", "list-functions"),
    ("lambda", "list-versions"),
    ("ecs", "describe-task"),
    ("ec2", "describe-instance-attribute"),
    ("ec2", "describe-launch-template-versions"),
    ("ec2", "describe-spot"),
    ("batch", "describe-job"),
    ("elasticbeanstalk", "describe-configuration"),
    ("cognito-idp", "describe-user-pool-client"),
    ("appsync", "list-api"),
    ("autoscaling", "describe-launch-configurations"),
    ("apigateway", "get-"),
    ("ssm", "list-command"),
    ("ssm", "describe-session"),
    ("glue", ""),
];

/// Options that reach other hosts, read files or reveal more. An abbreviation of one of them is
/// treated as that option. A bucket is a host of its owner, who can log the requests for it.
const AWS_OPTIONS: [&str; 10] = [
    "bucket",
    "endpoint-url",
    "cli-input-json",
    "cli-input-yaml",
    "outfile",
    "debug",
    "no-verify-ssl",
    "ca-bundle",
    "cli-auto-prompt",
    "with-decryption",
];

/// Reads an `aws SERVICE VERB …` command.
pub(in super::super) fn read_aws(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    if let Some(["--version"]) = known_words(arguments).as_deref() {
        return CommandMeaning::new(CommandClass::Harmless);
    }
    for text in arguments.words().filter_map(known_text) {
        if let Some((_, file)) = text.split_once("file://").or_else(|| text.split_once("fileb://"))
        {
            meaning.add_read(ArgumentWord::Known(file), false);
        }
    }
    // The option sends signed requests to another host.
    let elsewhere = |arg| known_text(arg).is_some_and(|text| text.starts_with("--endp"));
    if arguments.words().any(elsewhere) {
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    add_s3_files(&mut meaning, arguments);
    let harmless = known_words(arguments).is_some_and(|words| is_aws_read(&words));
    if harmless && meaning.effects.is_empty() {
        meaning.class = CommandClass::Harmless;
    }
    meaning
}

fn known_text(arg: ArgumentWord<'_>) -> Option<&str> {
    match arg {
        ArgumentWord::Known(text) | ArgumentWord::Prefix(text) => Some(text),
        ArgumentWord::Files(_) | ArgumentWord::Many => None,
    }
}

/// Returns the words, if all of them are known.
fn known_words<'a>(arguments: CommandArguments<'a>) -> Option<Vec<&'a str>> {
    let word = |word| match word {
        CommandWord::Known(text) => Some(text),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
    };
    arguments.command_words().map(word).collect()
}

/// Returns the words without the options before the service.
fn skip_global_options<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    match words {
        ["--region" | "--profile" | "--output" | "--query" | "--color", _, rest @ ..]
        | ["--no-cli-pager" | "--no-paginate" | "--no-cli-auto-prompt", rest @ ..] => {
            skip_global_options(rest)
        }
        [word, rest @ ..]
            if ["--region=", "--profile=", "--output=", "--query="]
                .iter()
                .any(|start| word.starts_with(start)) =>
        {
            skip_global_options(rest)
        }
        _ => words,
    }
}

fn is_aws_read(words: &[&str]) -> bool {
    let [service, verb, rest @ ..] = skip_global_options(words) else { return false };
    let revealing =
        AWS_SECRET_COMMANDS.iter().any(|(of, start)| service == of && verb.starts_with(start));
    let secret = ["secret", "password", "token", "credential", "api-key", "user-data"];
    let reads =
        verb.starts_with("describe-") || verb.starts_with("list-") || AWS_READ_VERBS.contains(verb);
    let plain = |word: &&str| match word.strip_prefix("--") {
        Some(option) => {
            let name = option.split('=').next().unwrap_or_default();
            !name.is_empty()
                && !AWS_OPTIONS.iter().any(|denied| denied.starts_with(name))
                && !option.contains("://")
        }
        None => *word != "help" && !word.contains("http://") && !word.contains("https://"),
    };
    // Without an operand, it lists the buckets of the account.
    let lists = (*service, *verb) == ("s3", "ls") && has_only_options(rest);
    let (reads, whole) = (reads && !revealing, rest.iter().all(plain));
    (lists || reads)
        && whole
        && has_plain_region(words)
        && !secret.iter().any(|part| verb.contains(part))
}

/// Returns whether all words are options, or values of options that take one.
fn has_only_options(words: &[&str]) -> bool {
    const WITH_VALUE: [&str; 4] = ["--output", "--page-size", "--profile", "--region"];
    words.iter().enumerate().all(|(index, word)| {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        word.starts_with('-') || before.is_some_and(|option| WITH_VALUE.contains(option))
    })
}

/// Returns whether the region is a part of the name of a host, and no other host. The option may be
/// abbreviated.
fn has_plain_region(words: &[&str]) -> bool {
    let is_plain = |(index, word): (usize, &&str)| {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*word, None),
        };
        if name.len() < 3 || !"--region".starts_with(name) {
            return true;
        }
        let value = attached.or_else(|| words.get(index + 1).copied()).unwrap_or_default();
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    words.iter().enumerate().all(is_plain)
}

/// Adds the local files that objects are copied from or to.
fn add_s3_files(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) {
    let Some(words) = known_words(arguments) else { return };
    match skip_global_options(&words) {
        ["s3", "cp" | "mv" | "sync", rest @ ..] => {
            let files: Vec<&&str> =
                rest.iter().filter(|word| !word.starts_with("--")).take(2).collect();
            for (index, file) in
                files.iter().enumerate().filter(|(_, file)| !file.starts_with("s3://"))
            {
                let file = ArgumentWord::Known(file);
                if index == 0 { meaning.add_read(file, false) } else { meaning.add_write(file) }
            }
        }
        ["configure", "set", name, ..] if name.contains("credential_process") => {
            meaning.add_unknown_effect("it configures a program that runs later");
        }
        [_, verb, .., file] if !file.starts_with('-') => {
            let saves = [
                "invoke",
                "get-object",
                "download-",
                "get-media",
                "get-export",
                "get-sdk",
                "synthesize-",
            ];
            if saves.iter().any(|start| verb.starts_with(start)) && !AWS_READ_VERBS.contains(verb) {
                meaning.add_write(ArgumentWord::Known(file));
            }
        }
        _ => {}
    }
}

/// Groups of `gcloud` whose `list` and `describe` commands are harmless. None of them is the name
/// of a command.
const GCLOUD_GROUPS: [&str; 92] = [
    "accelerator-types",
    "addresses",
    "apis",
    "attachments",
    "backend-buckets",
    "backend-services",
    "backups",
    "budgets",
    "buckets",
    "builds",
    "certificates",
    "clusters",
    "connections",
    "connectors",
    "databases",
    "datasets",
    "deployments",
    "disk-types",
    "disks",
    "dns-keys",
    "domain-mappings",
    "endpoints",
    "entries",
    "environments",
    "executions",
    "external-vpn-gateways",
    "fields",
    "firewall-policies",
    "firewall-rules",
    "flags",
    "folders",
    "forwarding-rules",
    "functions",
    "gateways",
    "groups",
    "health-checks",
    "images",
    "indexes",
    "instance-groups",
    "instance-templates",
    "instances",
    "interconnects",
    "jobs",
    "keyrings",
    "keys",
    "locations",
    "logs",
    "machine-images",
    "machine-types",
    "managed-zones",
    "migration-jobs",
    "models",
    "network-endpoint-groups",
    "networks",
    "node-pools",
    "node-types",
    "operations",
    "organizations",
    "os-images",
    "packages",
    "policies",
    "pools",
    "projects",
    "queues",
    "record-sets",
    "regions",
    "repositories",
    "reservations",
    "resource-policies",
    "revisions",
    "roles",
    "routers",
    "schemas",
    "security-policies",
    "service-accounts",
    "services",
    "sinks",
    "snapshots",
    "ssl-certificates",
    "ssl-policies",
    "subnets",
    "subscriptions",
    "tags",
    "target-pools",
    "tiers",
    "topics",
    "triggers",
    "types",
    "url-maps",
    "versions",
    "workflows",
    "zones",
];

/// Groups whose objects contain an environment, start scripts or inputs.
const GCLOUD_SECRET_GROUPS: [&str; 14] = [
    "services",
    "revisions",
    "jobs",
    "functions",
    "instances",
    "instance-templates",
    "versions",
    "builds",
    "executions",
    "environments",
    "triggers",
    "workflows",
    "deployments",
    "machine-images",
];

const GCLOUD_OPTIONS: [&str; 29] = [
    "project",
    "format",
    "filter",
    "limit",
    "sort-by",
    "region",
    "zone",
    "zones",
    "regions",
    "location",
    "quiet",
    "page-size",
    "uri",
    "verbosity",
    "account",
    "configuration",
    "cluster",
    "instance",
    "service",
    "global",
    "platform",
    "show-deleted",
    "organization",
    "folder",
    "namespace",
    "repository",
    "topic",
    "keyring",
    "database",
];

/// Reads `gcloud GROUP … list` and `gcloud GROUP … describe NAME`.
pub(in super::super) fn read_gcloud(arguments: CommandArguments<'_>) -> CommandMeaning {
    let harmless = known_words(arguments).is_some_and(|words| is_gcloud_read(&words));
    let mut meaning =
        CommandMeaning::new(if harmless { CommandClass::Harmless } else { arguments.spec.class });
    // A file of flags can add any option.
    if arguments.words().filter_map(known_text).any(|text| text.starts_with("--flags-f")) {
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    meaning
}

fn is_gcloud_read(words: &[&str]) -> bool {
    let is_word = |word: &&&str| !word.starts_with('-');
    let path: Vec<&str> = words.iter().take_while(is_word).copied().collect();
    let rest = words.get(path.len()..).unwrap_or_default();
    let Some(format) = parse_gcloud_format(rest) else { return false };
    // `gcr.io/PROJECT/IMAGE` is a place of that project.
    let names_host = |word: &&str| {
        let value = word.rsplit('=').next().unwrap_or_default();
        value.split_once('/').is_some_and(|(host, _)| host.contains(['.', ':']))
    };
    if words.iter().any(names_host) {
        return false;
    }
    match path.as_slice() {
        [] => matches!(rest, ["--version" | "--help"]),
        ["version"]
        | ["auth" | "projects" | "organizations", "list"]
        | ["config", "configurations", "list"] => true,
        ["config", "get-value" | "get", name] => {
            !["pass", "token", "proxy", "auth"].iter().any(|part| name.contains(part))
        }
        [.., group, "list"] if are_group_names(&path, 1) => {
            GCLOUD_GROUPS.contains(group)
                && (!GCLOUD_SECRET_GROUPS.contains(group) || format != GcloudFormat::All)
        }
        [.., group, "describe", _] if are_group_names(&path, 2) => {
            GCLOUD_GROUPS.contains(group)
                && (!GCLOUD_SECRET_GROUPS.contains(group) || format == GcloudFormat::Some)
        }
        _ => false,
    }
}

/// The top-level groups of `gcloud`.
const GCLOUD_TOP_GROUPS: [&str; 38] = [
    "ai",
    "api-gateway",
    "app",
    "artifacts",
    "asset",
    "bigtable",
    "billing",
    "builds",
    "certificate-manager",
    "composer",
    "compute",
    "container",
    "dataflow",
    "dataproc",
    "deploy",
    "dns",
    "endpoints",
    "eventarc",
    "filestore",
    "firestore",
    "functions",
    "iam",
    "kms",
    "logging",
    "memcache",
    "monitoring",
    "network-connectivity",
    "notebooks",
    "organizations",
    "projects",
    "pubsub",
    "redis",
    "run",
    "scheduler",
    "services",
    "spanner",
    "sql",
    "storage",
];

/// Returns whether all words except the last ones are names of groups. Otherwise the name of an
/// object could be mistaken for a verb.
fn are_group_names(path: &[&str], last: usize) -> bool {
    let groups = path.get(..path.len().saturating_sub(last)).unwrap_or_default();
    let groups =
        groups.strip_prefix(&["beta"]).or(groups.strip_prefix(&["alpha"])).unwrap_or(groups);
    match groups {
        [top, rest @ ..] => {
            (GCLOUD_TOP_GROUPS.contains(top) || ["tasks", "workflows"].contains(top))
                && rest.iter().all(|group| GCLOUD_GROUPS.contains(group) || *group == "docker")
        }
        [] => false,
    }
}

/// The amount of information about the objects that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GcloudFormat {
    /// A few columns, the default of lists.
    Default,
    /// Named values.
    Some,
    All,
}

/// Parses the options. Returns `None` if one of them is not known.
fn parse_gcloud_format(options: &[&str]) -> Option<GcloudFormat> {
    let mut format = GcloudFormat::Default;
    let mut options = options.iter();
    while let Some(word) = options.next() {
        if matches!(*word, "-q" | "--quiet" | "--uri" | "--global" | "--version" | "--help") {
            continue;
        }
        let (name, value) =
            word.strip_prefix("--")?.split_once('=').map_or((*word, None), |(n, v)| (n, Some(v)));
        let name = name.trim_start_matches('-');
        let value =
            value.or_else(|| options.next().copied()).filter(|_| GCLOUD_OPTIONS.contains(&name))?;
        if name == "format" {
            format = classify_fields(value);
        }
    }
    Some(format)
}

fn classify_fields(format: &str) -> GcloudFormat {
    let named = ["value(", "table(", "csv(", "get("].iter().any(|start| format.starts_with(start));
    let lower = format.to_ascii_lowercase();
    let carries = ["env", "metadata", "spec", "template", "config", "substitutions", "source"];
    if named && !carries.iter().any(|part| lower.contains(part)) {
        GcloudFormat::Some
    } else {
        GcloudFormat::All
    }
}

/// Parts of the names of `az` groups that may contain secrets.
const AZ_SECRET_WORDS: [&str; 17] = [
    "secret",
    "key",
    "cred",
    "token",
    "connection",
    "appsettings",
    "appconfig",
    "sas",
    "password",
    "config",
    "variable",
    "container",
    "hostname",
    "publish",
    "deployment",
    "logic",
    "automation",
];

/// Reads `az GROUP … list|show OPTIONS`. These commands have no operands, so the words before the
/// first option are the command.
pub(in super::super) fn read_az(arguments: CommandArguments<'_>) -> CommandMeaning {
    let harmless = known_words(arguments).is_some_and(|words| is_az_read(&words));
    let mut meaning =
        CommandMeaning::new(if harmless { CommandClass::Harmless } else { arguments.spec.class });
    // `@FILE` is replaced by the contents of the file.
    for file in arguments.words().filter_map(known_text).filter_map(|text| text.strip_prefix('@')) {
        meaning.add_read(ArgumentWord::Known(file), false);
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

fn is_az_read(words: &[&str]) -> bool {
    let path: Vec<&str> = words.iter().take_while(|word| !word.starts_with('-')).copied().collect();
    let rest = words.get(path.len()..).unwrap_or_default();
    let plain =
        |word: &&str| !word.starts_with("--debug") && !word.contains("://") && !word.contains("=@");
    match path.as_slice() {
        [] => matches!(rest, ["--version" | "--help" | "-h"]),
        ["version"] => true,
        // A storage account and a registry are hosts of their owner, who can log the requests.
        ["storage", group, .., _] if *group != "account" => false,
        ["acr", _, .., "list" | "show"] => false,
        [groups @ .., "list" | "show"] => {
            let named =
                |part: &&str| !groups.is_empty() && groups.iter().any(|group| group.contains(part));
            !groups.is_empty() && !AZ_SECRET_WORDS.iter().any(named) && rest.iter().all(plain)
        }
        _ => false,
    }
}
