//! Scripts made to break the reader.
