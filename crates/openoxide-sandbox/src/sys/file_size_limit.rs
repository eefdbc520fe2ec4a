//! The limit on the size of files.

use std::{mem::MaybeUninit, ptr};

/// Makes writing beyond the limit on the size of files (`ulimit -f`) an error (EFBIG). Otherwise it
/// would kill this process (SIGXFSZ). Programs that this process starts have the default behaviour
/// again.
pub fn handle_file_size_signal() {
    // SAFETY: `sigaction` is plain memory, for which zero means "no flags, empty mask".
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: both structures are complete and outlive the call, which only reads the current
    // action.
    let read = unsafe { libc::sigaction(libc::SIGXFSZ, ptr::null(), &raw mut action) };
    if read != 0 || action.sa_sigaction != libc::SIG_DFL {
        return;
    }
    // A handler is not inherited by programs, unlike an ignored signal.
    let handler: extern "C" fn(libc::c_int) = ignore_signal;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler does nothing, so it may interrupt any code. It cannot fail: the arguments
    // are valid.
    unsafe { libc::sigaction(libc::SIGXFSZ, &raw const action, ptr::null_mut()) };
}

extern "C" fn ignore_signal(_signal: libc::c_int) {}
