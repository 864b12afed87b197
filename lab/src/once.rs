//! Programs that a test program builds once, for all of its tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Calls `build`, which makes the file `program`, unless it was called for this file before. Other tests that want the
/// file wait: a program that a compiler is still writing cannot be run.
pub fn build(program: &Path, build: impl FnOnce()) {
    static BUILT: Mutex<BTreeMap<PathBuf, Arc<OnceLock<()>>>> = Mutex::new(BTreeMap::new());
    let mut all = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let built = Arc::clone(all.entry(program.to_owned()).or_default());
    drop(all);
    built.get_or_init(build);
}
