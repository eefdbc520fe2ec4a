//! The policy of a batch, which goes on while its files change.

use std::sync::Arc;

use openoxide_store::{Loaded, PolicyWatch};

use crate::{
    args::{Global, PolicyArgs},
    policy::World,
    report,
};

/// The policy in force, read anew when one of its files changes.
pub(crate) struct Watched<'a> {
    world: World,
    args: &'a PolicyArgs,
    global: Global,
    watch: Option<(PolicyWatch, Arc<Loaded>)>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(world: World, args: &'a PolicyArgs, global: Global) -> Result<Self, String> {
        let watch = world.watch(args)?.map(|mut watch| {
            let loaded = watch.refresh();
            (watch, loaded)
        });
        let mut watched = Self { world, args, global, watch };
        if let Some((_, loaded)) = &watched.watch {
            watched.world.put(args, loaded);
        }
        Ok(watched)
    }

    /// Returns the policy as it is now.
    ///
    /// # Errors
    /// When the managed policy cannot be relied on: then nothing is decided.
    pub(crate) fn now(&mut self) -> Result<&World, String> {
        if let Some((watch, seen)) = &mut self.watch {
            let loaded = watch.refresh();
            if !Arc::ptr_eq(seen, &loaded) {
                self.world.put(self.args, &loaded);
                *seen = loaded;
                if self.world.sound(self.global).is_err() {
                    report::note(&"until the policy is put right, nothing is allowed");
                }
            }
        }
        match &self.world.loaded.closed {
            Some(closed) => Err(closed.clone()),
            None => Ok(&self.world),
        }
    }
}
