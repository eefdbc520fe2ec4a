//! Tests of the filter with a small interpreter. The tests of whole sandboxes run it in the kernel.
