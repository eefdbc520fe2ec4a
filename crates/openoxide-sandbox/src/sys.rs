//! System calls that no safe wrapper has. Nothing else in the project is `unsafe`.

mod filter;
mod mount;
mod notify;
pub(crate) mod probe;
mod process;
mod stack;

pub(crate) use filter::install;
pub(crate) use mount::{Attributes, set_attributes};
pub(crate) use notify::{
    Held, answer_held, copy_memory, give_held, is_held, let_go_on, network_of, next_held,
};
pub(crate) use process::{
    Namespaces, adopt, close_on_exec_from, end, fork_into, own_umask, signal_descriptor,
    take_signal, unblock_signals,
};
pub use stack::raise_stack_limit;
