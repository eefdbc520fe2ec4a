//! Scripts, and what they mean.
