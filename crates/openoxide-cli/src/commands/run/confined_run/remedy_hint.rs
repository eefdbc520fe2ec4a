//! Hints at what would allow an access that the sandbox refused.

use openoxide_engine::EngineCall;
use openoxide_permission::pattern::socket::quote as quote_socket;
use openoxide_protocol::{Effect, Operation, registries::PackageRegistry};
use openoxide_sandbox::{RefusedAddress, SandboxDenial};
use openoxide_store::NetworkSetting;
use openoxide_tui::{LineMode, escape_text};

use super::run_context::RunContext;
use crate::confinement_report::is_name_lookup;

impl RunContext<'_> {
    /// Returns a hint for a denied connection: the rule that would allow it or, if no rule can, the
    /// reason for the denial.
    pub(super) fn connection_hint(&self, denial: &SandboxDenial) -> String {
        let (host, port, address) = match denial {
            SandboxDenial::Connect { host, port, address } => (host, port, address),
            SandboxDenial::UnixSocket { path } => return self.socket_hint(path),
            _ => return String::new(),
        };
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
        if let Some(reason) = self.deciding_rule(&operation) {
            return reason;
        }
        if let Some(registry) = PackageRegistry::with_host(host).filter(|_| port == 443) {
            return format!("; a rule `{}` would allow it", registry.allow_rule());
        }
        let host = escape_text(host, LineMode::SingleLine);
        if is_private {
            format!("; a rule with this exact name, `WebFetch(domain:{host})`, would allow it")
        } else {
            format!("; a rule `WebFetch(domain:{host})` would allow it")
        }
    }

    fn socket_hint(&self, socket: &str) -> String {
        let operation = self.connect_operation(socket);
        self.deciding_rule(&operation).unwrap_or_else(|| {
            // The host of a rule has a name or an IPv4 address.
            let agent = socket.strip_prefix("ssh-agent:").filter(|host| host.contains(':'));
            let rule = agent.map_or(socket, |_| "ssh-agent");
            let pattern = escape_text(&quote_socket(rule), LineMode::SingleLine);
            format!("; a rule `Socket({pattern})` would allow it")
        })
    }

    /// Returns the rule that denies an operation or asks about it. No other rule allows the
    /// operation then.
    fn deciding_rule(&self, operation: &Operation) -> Option<String> {
        let decision = self.engine.evaluate(&EngineCall::from_operation(operation)).decision;
        (decision.effect != Effect::Allow && decision.rule.is_some())
            .then(|| format!("; {}", escape_text(&decision.reason, LineMode::SingleLine)))
    }
}
