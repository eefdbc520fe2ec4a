//! `sandbox status`: the restrictions that each backend can enforce on this machine.

use openoxide_protocol::{AbsPath, NetworkAccess, SCHEMA, SandboxRestrictions, TempDirectories};
use openoxide_sandbox::{
    Enforcement, EnforcementPlan, HostFeatures, MissingFeature, ProfileClause, SandboxBackend,
    choose_backend,
};
use openoxide_tui::{LineMode, escape_text};
use serde_json::{Value, json};

use crate::{args::GlobalArgs, program_exit::ProgramExit, terminal_color, user_messages};

/// Probes all backends, and prints the results. The exit code is success even if none works.
pub(crate) fn show_status(json: bool, global: GlobalArgs) -> ProgramExit {
    let support = HostFeatures::probe();
    let profile = example_restrictions();
    let plans: Vec<_> = SandboxBackend::HERE
        .iter()
        .map(|backend| EnforcementPlan::for_profile(*backend, &profile, &support))
        .collect();
    let chosen = available_backend(&support);
    let text = if json {
        format!("{}\n", render_json(&support, &plans, chosen))
    } else {
        let colored = terminal_color::use_color(global.color, &std::io::stdout());
        render_text(&support, &plans, chosen, colored)
    };
    user_messages::print_data(&text, ProgramExit::Success)
}

/// Returns the backend that enforces every kind of restriction, if one does.
pub(crate) fn available_backend(support: &HostFeatures) -> Option<SandboxBackend> {
    choose_backend(&example_restrictions(), support).ok().map(|plan| plan.backend)
}

/// Returns why this machine cannot confine commands, and what helps. Returns `None` if it can.
pub(crate) fn unavailable_reason() -> Option<(String, Option<String>)> {
    let support = HostFeatures::probe();
    if available_backend(&support).is_some() {
        return None;
    }
    let missing = support.features().find_map(|(name, found)| Some((name, found.err()?)));
    let unknown = || ("no backend enforces every restriction".to_owned(), None);
    Some(missing.map_or_else(unknown, |(name, missing)| {
        (format!("{name}: {}", missing.reason), missing.help.clone())
    }))
}

/// Returns an example profile with every clause, for probing the backends.
fn example_restrictions() -> SandboxRestrictions {
    let place = |text: &str| AbsPath::root().join(text);
    SandboxRestrictions {
        writable: [place("project")].into(),
        protected: [place("project/.git")].into(),
        unreadable: [place("home/.ssh")].into(),
        network: NetworkAccess::Hosts(["example.org:443".parse()].into_iter().flatten().collect()),
        temp: TempDirectories::Private,
    }
}

fn render_json(
    support: &HostFeatures,
    plans: &[EnforcementPlan],
    chosen: Option<SandboxBackend>,
) -> Value {
    let point = |(name, able): (&str, Result<String, &MissingFeature>)| match able {
        Ok(detail) => json!({ "point": name, "works": true, "detail": detail }),
        Err(lack) => {
            json!({ "point": name, "works": false, "reason": lack.reason, "help": lack.help })
        }
    };
    let clause = |(clause, enforcement, reason): &(ProfileClause, Enforcement, Option<String>)| json!({ "clause": clause, "enforcement": enforcement, "reason": reason });
    let plan = |plan: &EnforcementPlan| {
        let clauses: Vec<_> = plan.clauses.iter().map(clause).collect();
        json!({ "backend": plan.backend, "usable": plan.is_fully_enforced(), "clauses": clauses })
    };
    json!({
        "schema": SCHEMA,
        "system": support.system,
        "root": support.is_root,
        "support": support.features().map(point).collect::<Vec<_>>(),
        "backends": plans.iter().map(plan).collect::<Vec<_>>(),
        "backend": chosen,
    })
}

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const BOLD: &str = "1";

fn render_text(
    support: &HostFeatures,
    plans: &[EnforcementPlan],
    chosen: Option<SandboxBackend>,
    colored: bool,
) -> String {
    let mut text = render_verdict(support, chosen, colored);
    text += &render_heading("What works here", colored);
    for (name, able) in support.features() {
        text += &render_feature(name, able, colored);
    }
    text += &render_heading(
        "What each backend enforces for a workspace with protected paths, denied reads and named hosts",
        colored,
    );
    for plan in plans {
        text += &render_backend(plan, chosen == Some(plan.backend), colored);
    }
    text
}

fn render_heading(text: &str, colored: bool) -> String {
    format!("\n{}\n", terminal_color::paint_text(colored, BOLD, text))
}

fn render_verdict(support: &HostFeatures, chosen: Option<SandboxBackend>, colored: bool) -> String {
    let who = if support.is_root { ", as root" } else { "" };
    let system = escape_text(&support.system, LineMode::SingleLine);
    let verdict = match chosen {
        Some(backend) => {
            let name = backend.as_str();
            terminal_color::paint_text(
                colored,
                GREEN,
                &format!("Commands are confined here, by the backend `{name}`."),
            )
        }
        None => terminal_color::paint_text(
            colored,
            RED,
            "No backend can fully enforce the profile; confined commands will be refused.",
        ),
    };
    format!("{system}{who}\n{verdict}\n")
}

fn render_feature(name: &str, able: Result<String, &MissingFeature>, colored: bool) -> String {
    match able {
        Ok(detail) => {
            format!("  {} {name:<12}  {detail}", terminal_color::paint_text(colored, GREEN, "yes"))
                .trim_end()
                .to_owned()
                + "\n"
        }
        Err(lack) => {
            let why = escape_text(&lack.reason, LineMode::SingleLine);
            let help = lack.help.iter().map(|help| format!("{:20}to do: {help}\n", ""));
            let head = format!(
                "  {}  {name:<12}  {why}\n",
                terminal_color::paint_text(colored, RED, "no")
            );
            help.fold(head, |text, help| text + &help)
        }
    }
}

/// Returns the lines about a backend. If one reason applies to every clause, it is printed once.
fn render_backend(plan: &EnforcementPlan, is_chosen: bool, colored: bool) -> String {
    let usable = match (plan.is_fully_enforced(), is_chosen) {
        (true, true) => terminal_color::paint_text(colored, GREEN, "enforces all of it; selected"),
        (true, false) => terminal_color::paint_text(colored, GREEN, "enforces all of it"),
        (false, _) => {
            terminal_color::paint_text(colored, RED, "does not enforce all of it; not used")
        }
    };
    let head = format!("  {}: {usable}\n", plan.backend.as_str());
    if let Some(why) = common_reason(plan) {
        return format!(
            "{head}    {:<18} {}\n",
            "everything",
            escape_text(why, LineMode::SingleLine)
        );
    }
    plan.clauses.iter().fold(head, |text, (clause, held, why)| {
        text + &render_clause(*clause, *held, why.as_deref(), colored)
    })
}

fn common_reason(plan: &EnforcementPlan) -> Option<&str> {
    let (_, _, first) = plan.clauses.first()?;
    let same = |(_, held, why): &(ProfileClause, Enforcement, Option<String>)| {
        *held == Enforcement::Unenforced && why == first
    };
    plan.clauses.iter().all(same).then_some(first.as_deref()?)
}

fn render_clause(
    clause: ProfileClause,
    held: Enforcement,
    why: Option<&str>,
    colored: bool,
) -> String {
    let code = match held {
        Enforcement::Enforced => GREEN,
        Enforcement::Stricter => YELLOW,
        Enforcement::Unenforced => RED,
    };
    let held = terminal_color::paint_text(colored, code, &format!("{:<10}", held.as_str()));
    let why = escape_text(why.unwrap_or_default(), LineMode::SingleLine);
    format!("    {:<18} {held}  {why}", clause.as_str()).trim_end().to_owned() + "\n"
}
