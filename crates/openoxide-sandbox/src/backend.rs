//! The ways to confine a program (backends), and what each of them enforces on this machine.
//!
//! Nothing here runs a program. `interface`, `ipc` and `supervisor` use this module, and callers of
//! the crate show its plans.

mod backend_kind;
mod bubblewrap;
mod clause;
mod enforcement_plan;
mod host_features;
mod landlock;
mod namespaces;
mod nesting;
pub mod seatbelt;
mod selection;

pub use backend_kind::SandboxBackend;
pub(crate) use bubblewrap::BWRAP;
pub use clause::{Enforcement, ProfileClause};
pub use enforcement_plan::EnforcementPlan;
pub use host_features::{
    BubblewrapVersion, FeatureSupport, HostFeatures, LandlockVersion, MissingFeature,
};
pub(crate) use nesting::INIT_NAME;
pub use nesting::is_in_sandbox;
pub use selection::{NoBackendError, choose_backend};
