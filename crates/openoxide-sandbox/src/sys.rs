//! System calls without a safe wrapper. No other part of the project is `unsafe`.
//!
//! Every module of the crate may use this module. It uses no other.

mod bpf;
mod file_size_limit;
mod filter;
mod mount;
mod notify;
pub(crate) mod probe;
mod process;
mod socket_peer;
mod stack;

pub(crate) use bpf::{BpfInstruction, SeccompFilter};
pub use file_size_limit::handle_file_size_signal;
pub(crate) use filter::install_filter;
pub(crate) use mount::{MountAttributes, set_attributes};
pub(crate) use notify::{
    SeccompNotification, add_descriptor, continue_notification, is_notification_valid,
    network_cookie, read_process_memory, receive_notification, respond_to_notification,
    return_descriptor, switch_directly, write_process_memory,
};
pub(crate) use process::{
    NamespaceFlags, adopt_descriptor, block_signal, create_signalfd, detach_tracee, exit_process,
    fork_into_namespaces, inherit_descriptors, read_signal, set_close_on_exec, set_thread_umask,
    stop_process_group, unblock_signals,
};
pub use socket_peer::open_socket_peer;
pub use stack::raise_stack_limit;
