//! What other programs have decided, held against what is said of them here.

mod claude;
mod opencode;
