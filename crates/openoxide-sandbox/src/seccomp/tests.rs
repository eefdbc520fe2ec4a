//! The filter, read by a small machine of its own; the kernel reads it in the tests of whole sandboxes.
