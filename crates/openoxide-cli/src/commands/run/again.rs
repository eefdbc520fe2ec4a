//! Another question of the same command, after it has run.

use openoxide_engine::Asked;
use openoxide_permission::Permit;
use openoxide_protocol::Operation;
use openoxide_store::audit::Enforced;

use super::{confined::Hosts, way::Way};
use crate::{report, review::Review};

/// Asks a person this about an operation, in its session. Rules and hooks may deny it; nothing but a person's yes grants it.
/// The permit comes with the number of its record.
pub(super) fn ask(
    around: &Hosts<'_>,
    operation: &Operation,
    title: String,
    enforced: Enforced,
) -> Option<(Permit, Option<u64>)> {
    let Hosts { world, args, global, audit, session, .. } = around;
    let operation = Operation { session: *session, ..operation.clone() };
    let review = Review::of(args, *global, operation.clone(), world.grants.clone());
    let way = Way::open(world.clone(), operation, review, enforced)?.again(title);
    let passed = way.pass(audit).inspect_err(report::failure).ok()?;
    match passed.asked {
        Asked::Granted(permit) => Some((permit, passed.number)),
        Asked::Refused(_) | Asked::Unanswerable(_) => None,
    }
}
