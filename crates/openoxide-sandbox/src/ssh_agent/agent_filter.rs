//! The decision about each message of a program to the agent.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
};

use crate::ssh_agent::{
    agent_message::{
        ADD_ID_CONSTRAINED, ADD_IDENTITY, ADD_SMARTCARD_KEY, ADD_SMARTCARD_KEY_CONSTRAINED,
        EXTENSION, FAILURE, IDENTITIES_ANSWER, LOCK, REMOVE_ALL_IDENTITIES, REMOVE_IDENTITY,
        REMOVE_SMARTCARD_KEY, REQUEST_IDENTITIES, SIGN_REQUEST, UNLOCK,
    },
    known_hosts::{ContactedHost, KnownHostKeys},
    session_bind::{BindError, BoundSession},
    signature_request::{SignIn, SignedData, parse_request},
};

/// The maximum number of sessions in one run.
const MAX_SESSIONS: usize = 4096;

/// The reason that the filter did not pass a message to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentRefusal {
    /// The agent was asked to change its keys, to lock itself, or to do something unknown.
    OtherOperation,
    /// The keys were listed outside of a sign-in.
    UnboundList,
    /// The client does not prove which host a session belongs to.
    UnboundSession,
    /// The signature of the host is missing, wrong or of an unsupported type.
    InvalidBind,
    /// The session was bound before.
    RepeatedBind,
    /// The agent would be used by programs of another machine.
    Forwarded,
    /// The key of the host is not in `known_hosts`, or it is revoked.
    UnknownHost,
    /// A file or a commit was to be signed.
    FileSignature,
    /// Something other than the sign-in of the session was to be signed.
    NotThisSignIn,
}

/// The functions that the filters of a run use to decide, and the sessions that were bound.
pub(crate) struct AgentPolicy {
    known_hosts: KnownHostKeys,
    contacted: Box<dyn Fn() -> BTreeSet<ContactedHost> + Send + Sync>,
    permits: Box<dyn Fn(&str) -> bool + Send + Sync>,
    refuse: Box<dyn Fn(AgentRefusal) + Send + Sync>,
    bound_sessions: Mutex<BTreeSet<Vec<u8>>>,
}

/// The filter of one connection.
pub(super) struct AgentFilter<'a> {
    policy: &'a AgentPolicy,
    session: Option<BoundSession>,
    is_permitted: Option<bool>,
}

/// The result of checking a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FilteredMessage {
    /// The agent answers it.
    Forward,
    /// The filter answers it.
    Answer(Vec<u8>),
}

impl AgentPolicy {
    /// Creates a policy. `contacted` returns the hosts that programs have connected to, `permits`
    /// decides about a host, and `refuse` records a refusal that `permits` has not recorded.
    pub(crate) fn new(
        known_hosts: KnownHostKeys,
        contacted: impl Fn() -> BTreeSet<ContactedHost> + Send + Sync + 'static,
        permits: impl Fn(&str) -> bool + Send + Sync + 'static,
        refuse: impl Fn(AgentRefusal) + Send + Sync + 'static,
    ) -> Self {
        Self {
            known_hosts,
            contacted: Box::new(contacted),
            permits: Box::new(permits),
            refuse: Box::new(refuse),
            bound_sessions: Mutex::default(),
        }
    }

    /// Records a session. Returns false if it was recorded before, or if there are too many.
    fn add_session(&self, session_id: &[u8]) -> bool {
        let mut sessions = self.bound_sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.len() < MAX_SESSIONS && sessions.insert(session_id.to_vec())
    }
}

impl<'a> AgentFilter<'a> {
    pub(super) const fn new(policy: &'a AgentPolicy) -> Self {
        Self { policy, session: None, is_permitted: None }
    }

    /// Decides about a message.
    pub(super) fn check(&mut self, message: &[u8]) -> FilteredMessage {
        match message.first() {
            Some(&REQUEST_IDENTITIES) if message.len() == 1 => self.check_list(),
            Some(&SIGN_REQUEST) => self.check_signature(message),
            Some(&EXTENSION) => self.bind(message),
            Some(
                &(ADD_IDENTITY
                | REMOVE_IDENTITY
                | REMOVE_ALL_IDENTITIES
                | ADD_SMARTCARD_KEY
                | REMOVE_SMARTCARD_KEY
                | LOCK
                | UNLOCK
                | ADD_ID_CONSTRAINED
                | ADD_SMARTCARD_KEY_CONSTRAINED),
            ) => self.refuse(AgentRefusal::OtherOperation),
            _ => failure(),
        }
    }

    /// Passes the list of public keys to a session that may sign in. Any other program sees an agent
    /// without keys: they identify the user.
    fn check_list(&mut self) -> FilteredMessage {
        if self.session.is_none() {
            (self.policy.refuse)(AgentRefusal::UnboundList);
        } else if self.may_sign_in() {
            return FilteredMessage::Forward;
        }
        FilteredMessage::Answer([&[IDENTITIES_ANSWER], 0_u32.to_be_bytes().as_slice()].concat())
    }

    fn bind(&mut self, message: &[u8]) -> FilteredMessage {
        match BoundSession::verify(message) {
            // Clients try extensions, and work without them.
            Err(BindError::NotABind) => failure(),
            Err(BindError::Forwarded) => self.refuse(AgentRefusal::Forwarded),
            Err(BindError::UnsupportedKey | BindError::WrongSignature) => {
                self.refuse(AgentRefusal::InvalidBind)
            }
            Ok(session) => {
                if self.session.is_some() || !self.policy.add_session(&session.session_id) {
                    return self.refuse(AgentRefusal::RepeatedBind);
                }
                self.session = Some(session);
                // The agent applies its own restrictions of keys to hosts, if it has any.
                FilteredMessage::Forward
            }
        }
    }

    fn check_signature(&mut self, message: &[u8]) -> FilteredMessage {
        let sign_in = match parse_request(message) {
            Some(SignedData::SignIn(sign_in)) => sign_in,
            Some(SignedData::File) => return self.refuse(AgentRefusal::FileSignature),
            Some(SignedData::Unknown) | None => return self.refuse(AgentRefusal::NotThisSignIn),
        };
        match &self.session {
            None => self.refuse(AgentRefusal::UnboundSession),
            Some(session) if !sign_in.belongs_to(session) => {
                self.refuse(AgentRefusal::NotThisSignIn)
            }
            Some(_) => {
                if self.may_sign_in() {
                    FilteredMessage::Forward
                } else {
                    failure()
                }
            }
        }
    }

    /// Returns whether the program may sign in to the host of the session. It is asked once.
    fn may_sign_in(&mut self) -> bool {
        if self.is_permitted.is_none() {
            self.is_permitted = Some(self.is_host_permitted());
        }
        self.is_permitted == Some(true)
    }

    fn is_host_permitted(&self) -> bool {
        let Some(session) = &self.session else { return false };
        let contacted = (self.policy.contacted)();
        let host = self.policy.known_hosts.host_name(&session.host_key, &contacted);
        if host.is_none() {
            (self.policy.refuse)(AgentRefusal::UnknownHost);
        }
        host.is_some_and(|host| (self.policy.permits)(&host))
    }

    fn refuse(&self, reason: AgentRefusal) -> FilteredMessage {
        (self.policy.refuse)(reason);
        failure()
    }
}

impl SignIn {
    fn belongs_to(&self, session: &BoundSession) -> bool {
        self.session_id == session.session_id
            && self.host_key.as_ref().is_none_or(|key| *key == session.host_key)
    }
}

fn failure() -> FilteredMessage {
    FilteredMessage::Answer(vec![FAILURE])
}

impl AgentRefusal {
    /// Returns the reason, as the end of the sentence "the SSH agent …".
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::OtherOperation => {
                "a program in the sandbox can use keys only to sign in to a host"
            }
            Self::UnboundList => {
                "a program in the sandbox sees keys only while it signs in to a host"
            }
            Self::UnboundSession => {
                "the program does not prove which host it signs in to (OpenSSH 8.9 or later does)"
            }
            Self::InvalidBind => {
                "the host has not signed the session, or its key type is not supported"
            }
            Self::RepeatedBind => "the session was used before",
            Self::Forwarded => "the agent is not forwarded to other machines",
            Self::UnknownHost => {
                "the key of the host is not in `known_hosts`, or it is revoked there; connect to the \
                 host once outside of the sandbox"
            }
            Self::FileSignature => {
                "a program in the sandbox cannot sign commits or files; sign outside of it"
            }
            Self::NotThisSignIn => "the data is not a sign-in to the host of this session",
        }
    }
}

impl fmt::Debug for AgentPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentPolicy").finish_non_exhaustive()
    }
}
