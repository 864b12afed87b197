use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use abi::namespace::NetNamespace;

use super::names::{error, namespace_error};
use super::{NamesError, NamesStep, NamespaceNames};

const PROCESSES: &str = "/proc";

impl NamespaceNames {
    /// The processes in the namespace of this name, by their numbers, upwards. Equals `ip netns pids NAME`.
    /// One that may not be looked at, or has ended meanwhile, is passed over.
    ///
    /// # Errors
    /// `NamesStep::Namespace` with ENOENT when there is no such name; `NamesStep::Processes`.
    /// # Privileges
    /// `CAP_SYS_PTRACE`, to see those of other users.
    /// # Source
    /// `/proc/PID/ns/net`, namespaces(7).
    pub fn pids(&self, name: &str) -> Result<Vec<u32>, NamesError> {
        let namespace: NetNamespace = self.get(name)?;
        let wanted = namespace.id().map_err(namespace_error(&self.path(name)?))?;
        let failed = || error(NamesStep::Processes, Path::new(PROCESSES));
        let mut pids = Vec::new();
        for entry in fs::read_dir(PROCESSES).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let own = fs::metadata(entry.path().join("ns/net"));
            if own.is_ok_and(|own| (own.dev(), own.ino()) == (wanted.device, wanted.inode)) {
                pids.push(pid);
            }
        }
        pids.sort_unstable();
        Ok(pids)
    }
}
