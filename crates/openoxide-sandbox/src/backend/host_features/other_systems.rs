//! Probing of the features of systems other than Linux.

use crate::backend::{
    host_features::{HostFeatures, MissingFeature},
    seatbelt::SANDBOX_EXEC,
};

impl HostFeatures {
    /// Probes whether `sandbox-exec` exists.
    #[must_use]
    pub fn probe() -> Self {
        let there = std::path::Path::new(SANDBOX_EXEC).is_file();
        let seatbelt =
            if there { Ok(()) } else { Err(MissingFeature::new("sandbox-exec does not exist")) };
        Self { seatbelt, ..Self::new_unsupported(std::env::consts::OS, "this is not Linux") }
    }
}
