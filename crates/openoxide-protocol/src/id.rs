//! Identifiers. Each one has a separate type, so they cannot be confused.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        #[schemars(transparent)]
        pub struct $name(#[schemars(with = "String")] Uuid);

        impl $name {
            /// Returns the UUIDv7 (RFC 9562) for this time. Later ids sort after earlier ones.
            ///
            /// The caller provides the time and the random bytes, so that this crate needs neither.
            #[must_use]
            pub fn from_parts(unix_millis: u64, random: [u8; 10]) -> Self {
                Self(uuid::Builder::from_unix_timestamp_millis(unix_millis, &random).into_uuid())
            }

            /// Returns the time of the id in milliseconds since 1970, or `None` if the id contains
            /// no time.
            #[must_use]
            pub fn unix_millis(&self) -> Option<u64> {
                let (seconds, nanos) = self.0.get_timestamp()?.to_unix();
                seconds.checked_mul(1_000)?.checked_add(u64::from(nanos) / 1_000_000)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

id! {
    /// The id of a session: one conversation of one agent.
    SessionId
}
id! {
    /// The id of a request to a reviewer.
    ApprovalId
}

/// The id of a tool call, as the agent writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallId(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_and_sort_by_time() {
        let early = ApprovalId::from_parts(1, [255; 10]);
        let late = ApprovalId::from_parts(2, [0; 10]);
        assert!(early < late);
        assert_eq!(early.0.get_version_num(), 7);
        assert_eq!(
            ApprovalId::from_parts(1_764_241_445_123, [7; 10]).unix_millis(),
            Some(1_764_241_445_123)
        );
        assert_eq!(early.to_string().parse::<ApprovalId>(), Ok(early));
    }
}
