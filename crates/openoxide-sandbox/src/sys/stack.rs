//! The limit on this process's stack.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The stack size that the program needs, and the size that it requests if it has less.
const REQUIRED_BYTES: u64 = 1 << 20;
const USUAL_BYTES: u64 = 8 << 20;

/// Raises the limit on the stack of this process if it is too low for the program. The kernel
/// checks it whenever the stack grows. Returns false if it cannot be raised.
#[must_use]
pub fn raise_stack_limit() -> bool {
    let limit = getrlimit(Resource::Stack);
    if limit.current.is_none_or(|current| current >= REQUIRED_BYTES) {
        return true;
    }
    let most = limit.maximum.map_or(USUAL_BYTES, |maximum| maximum.min(USUAL_BYTES));
    let raised = Rlimit { current: Some(most), maximum: limit.maximum };
    if most >= REQUIRED_BYTES && setrlimit(Resource::Stack, raised).is_ok() {
        return true;
    }
    // Root may raise both limits.
    setrlimit(Resource::Stack, Rlimit { current: Some(USUAL_BYTES), maximum: Some(USUAL_BYTES) })
        .is_ok()
}
