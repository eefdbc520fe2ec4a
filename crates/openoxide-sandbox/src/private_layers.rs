//! The layers that store the changes of a project's confined runs in caches of tools.
//!
//! They are stored with the state of OpenOxide, accessible only to this user. Confined programs
//! wrote everything in them, so nothing there is read or executed outside of a sandbox: they are
//! only mounted, measured and removed, without following links.
//!
//! The supervisor locks the layers of a project before a run (an upper layer can have only one
//! overlay), and `init` mounts them.

mod layer_lease;
mod layer_paths;
mod layer_store;

pub(crate) use layer_lease::LayerLease;
pub(crate) use layer_paths::LayerPaths;
pub use layer_paths::project_layer_directory;
pub(crate) use layer_store::evict_layers;
pub use layer_store::{ProjectLayers, list_project_layers};
