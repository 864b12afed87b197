use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};

use super::names::{error, namespace_error};
use super::{NamesError, NamesStep, NamespaceNames};

const ROOT: &str = "/";
const SYSFS: &str = "/sys";
/// Files for the namespaces of these names.
const OWN_FILES: &str = "/etc/netns";
const FILES: &str = "/etc";

impl NamespaceNames {
    /// Moves the calling thread into the namespace of this name for good, for a program that is about to
    /// become another one. Equals what `ip netns exec NAME` does: `/sys` is the namespace's, and files in
    /// `/etc/netns/NAME` stand in the place of those in `/etc`, for this thread and its children alone.
    ///
    /// Returns the files that could not be put in their place, e.g. because `/etc` has no such file.
    ///
    /// # Errors
    /// `NamesStep::Namespace` with ENOENT when there is no such name; `NamesStep::Enter`, `NamesStep::Hide`,
    /// `NamesStep::Inside`. The thread may be inside then.
    /// # Privileges
    /// `CAP_SYS_ADMIN`.
    /// # Source
    /// ip-netns(8); mount_namespaces(7).
    pub fn enter(&self, name: &str) -> Result<Vec<NamesError>, NamesError> {
        let namespace = self.get(name)?;
        let entered = namespace.enter_with_own_mounts();
        entered.map_err(namespace_error(&self.path(name)?))?;
        let hidden = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change(ROOT, hidden)
            .map_err(|errno| error(NamesStep::Hide, Path::new(ROOT))(errno.into()))?;
        mount_sysfs(name)?;
        put_files(&Path::new(OWN_FILES).join(name))
    }
}

/// The namespace's own sysfs in the place of the one there.
fn mount_sysfs(name: &str) -> Result<(), NamesError> {
    let mut flags = MountFlags::empty();
    let is_free = unmount(SYSFS, UnmountFlags::DETACH).is_ok();
    // Over one that stays and can only be read another cannot be mounted that can be written.
    let stays = statvfs(SYSFS).is_ok_and(|there| there.f_flag.contains(StatVfsMountFlags::RDONLY));
    flags.set(MountFlags::RDONLY, !is_free && stays);
    mount(name, SYSFS, "sysfs", flags, None)
        .map_err(|errno| error(NamesStep::Inside, Path::new(SYSFS))(errno.into()))
}

/// Binds what is in `own` over files of the same names, and returns what could not be.
fn put_files(own: &Path) -> Result<Vec<NamesError>, NamesError> {
    let entries = match fs::read_dir(own) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(NamesStep::Inside, own)(source)),
    };
    let mut failed = Vec::new();
    for entry in entries {
        let entry = entry.map_err(error(NamesStep::Inside, own))?;
        let place = Path::new(FILES).join(entry.file_name());
        if let Err(errno) = mount_bind(entry.path(), &place) {
            failed.push(error(NamesStep::Inside, &place)(errno.into()));
        }
    }
    Ok(failed)
}
