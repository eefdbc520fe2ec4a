//! `sandbox status`: what this machine can hold, by which backend, what not and why.

use openoxide_protocol::{AbsPath, Confined, Network, SCHEMA, Temp};
use openoxide_sandbox::{Backend, Clause, Held, Lack, Plan, Support, choose};
use openoxide_tui::{Lines, visible};
use serde_json::{Value, json};

use crate::{args::Global, color, exit::Exit, report};

/// Tries what there is, and says how it went. That nothing works is an answer, too.
pub(crate) fn status(json: bool, global: Global) -> Exit {
    let support = Support::probe();
    let profile = workspace();
    let plans: Vec<_> =
        Backend::HERE.iter().map(|backend| Plan::of(*backend, &profile, &support)).collect();
    let chosen = choose(&profile, &support).ok().map(|plan| plan.backend);
    let text = if json {
        format!("{}\n", in_json(&support, &plans, chosen))
    } else {
        let colored = color::wanted(global.color, &std::io::stdout());
        in_words(&support, &plans, chosen, colored)
    };
    report::data(text.as_bytes(), Exit::Success)
}

/// What is asked of the backends: a profile with something for every clause. The paths are examples.
fn workspace() -> Confined {
    let place = |text: &str| AbsPath::root().join(text);
    Confined {
        writable: [place("project")].into(),
        protected: [place("project/.git")].into(),
        unreadable: [place("home/.ssh")].into(),
        network: Network::Hosts(["example.org:443".parse()].into_iter().flatten().collect()),
        temp: Temp::Private,
    }
}

fn in_json(support: &Support, plans: &[Plan], chosen: Option<Backend>) -> Value {
    let point = |(name, able): (&str, Result<String, &Lack>)| match able {
        Ok(detail) => json!({ "point": name, "works": true, "detail": detail }),
        Err(lack) => json!({ "point": name, "works": false, "why": lack.why, "help": lack.help }),
    };
    let clause = |(clause, held, why): &(Clause, Held, Option<String>)| json!({ "clause": clause, "held": held, "why": why });
    let plan = |plan: &Plan| {
        let clauses: Vec<_> = plan.clauses.iter().map(clause).collect();
        json!({ "backend": plan.backend, "usable": plan.holds(), "clauses": clauses })
    };
    json!({
        "schema": SCHEMA,
        "system": support.system,
        "root": support.is_root,
        "support": support.points().map(point).collect::<Vec<_>>(),
        "backends": plans.iter().map(plan).collect::<Vec<_>>(),
        "backend": chosen,
    })
}

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const BOLD: &str = "1";

fn in_words(support: &Support, plans: &[Plan], chosen: Option<Backend>, colored: bool) -> String {
    let mut text = verdict(support, chosen, colored);
    text += &heading("What works here", colored);
    for (name, able) in support.points() {
        text += &point(name, able, colored);
    }
    text += &heading(
        "What each backend enforces for a workspace with protected paths, denied reads and named hosts",
        colored,
    );
    for plan in plans {
        text += &backend(plan, chosen == Some(plan.backend), colored);
    }
    text
}

fn heading(text: &str, colored: bool) -> String {
    format!("\n{}\n", color::paint(colored, BOLD, text))
}

fn verdict(support: &Support, chosen: Option<Backend>, colored: bool) -> String {
    let who = if support.is_root { ", as root" } else { "" };
    let system = visible(&support.system, Lines::One);
    let verdict = match chosen {
        Some(backend) => {
            let name = backend.as_str();
            color::paint(
                colored,
                GREEN,
                &format!("Commands are confined here, by the backend `{name}`."),
            )
        }
        None => color::paint(
            colored,
            RED,
            "No backend can fully enforce the profile; confined commands will be refused.",
        ),
    };
    format!("{system}{who}\n{verdict}\n")
}

fn point(name: &str, able: Result<String, &Lack>, colored: bool) -> String {
    match able {
        Ok(detail) => {
            format!("  {} {name:<12}  {detail}", color::paint(colored, GREEN, "yes"))
                .trim_end()
                .to_owned()
                + "\n"
        }
        Err(lack) => {
            let why = visible(&lack.why, Lines::One);
            let help = lack.help.iter().map(|help| format!("{:20}to do: {help}\n", ""));
            let head = format!("  {}  {name:<12}  {why}\n", color::paint(colored, RED, "no"));
            help.fold(head, |text, help| text + &help)
        }
    }
}

/// A backend that lacks everything for one reason says it once.
fn backend(plan: &Plan, is_chosen: bool, colored: bool) -> String {
    let usable = match (plan.holds(), is_chosen) {
        (true, true) => color::paint(colored, GREEN, "enforces all of it; selected"),
        (true, false) => color::paint(colored, GREEN, "enforces all of it"),
        (false, _) => color::paint(colored, RED, "does not enforce all of it; not used"),
    };
    let head = format!("  {}: {usable}\n", plan.backend.as_str());
    if let Some(why) = one_reason(plan) {
        return format!("{head}    {:<18} {}\n", "everything", visible(why, Lines::One));
    }
    plan.clauses.iter().fold(head, |text, (clause, held, why)| {
        text + &in_line(*clause, *held, why.as_deref(), colored)
    })
}

fn one_reason(plan: &Plan) -> Option<&str> {
    let (_, _, first) = plan.clauses.first()?;
    let same =
        |(_, held, why): &(Clause, Held, Option<String>)| *held == Held::Unenforced && why == first;
    plan.clauses.iter().all(same).then_some(first.as_deref()?)
}

fn in_line(clause: Clause, held: Held, why: Option<&str>, colored: bool) -> String {
    let code = match held {
        Held::Enforced => GREEN,
        Held::Stricter => YELLOW,
        Held::Unenforced => RED,
    };
    let held = color::paint(colored, code, &format!("{:<10}", held.as_str()));
    let why = visible(why.unwrap_or_default(), Lines::One);
    format!("    {:<18} {held}  {why}", clause.as_str()).trim_end().to_owned() + "\n"
}
