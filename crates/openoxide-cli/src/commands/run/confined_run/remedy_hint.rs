//! Hints at what would allow an access that the sandbox refused.

use openoxide_engine::EngineCall;
use openoxide_protocol::Effect;
use openoxide_sandbox::{RefusedAddress, SandboxDenial};
use openoxide_store::NetworkSetting;
use openoxide_tui::{LineMode, escape_text};

use super::run_context::RunContext;
use crate::confinement_report::is_name_lookup;

impl RunContext<'_> {
    /// Returns a hint for a denied connection: the rule that would allow it or, if no rule can, the
    /// reason for the denial.
    pub(super) fn connection_hint(&self, denial: &SandboxDenial) -> String {
        let SandboxDenial::Connect { host, port, address } = denial else { return String::new() };
        if self.engine.sandbox_settings().network == Some(NetworkSetting::Off) {
            return "; a policy sets `network = \"off\"`".to_owned();
        }
        if is_name_lookup(denial) {
            return "; a program looked up a name: a rule `WebFetch(domain:NAME)` would allow that \
                    host"
                .to_owned();
        }
        match address {
            Some(RefusedAddress { address, is_neighbour: false }) => {
                let kind = "; only a rule that names this address would allow it: ";
                format!("{kind}`WebFetch(domain:{address})`")
            }
            _ => self.host_hint(host, address.is_some(), *port),
        }
    }

    fn host_hint(&self, host: &str, is_private: bool, port: u16) -> String {
        let operation = self.fetch_operation(host, None, port);
        let decision = self.engine.evaluate(&EngineCall::from_operation(&operation)).decision;
        if decision.effect != Effect::Allow && decision.rule.is_some() {
            return format!("; {}", escape_text(&decision.reason, LineMode::SingleLine));
        }
        let host = escape_text(host, LineMode::SingleLine);
        if is_private {
            format!("; a rule with this exact name, `WebFetch(domain:{host})`, would allow it")
        } else {
            format!("; a rule `WebFetch(domain:{host})` would allow it")
        }
    }
}
