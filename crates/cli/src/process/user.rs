//! The user of `--user`: giving up what root has and a job does not need.

use std::io;

use rustix::thread::{CapabilitySet, set_keep_capabilities};

use super::privilege::{self, drop_all_but};
use crate::args::UserArgs;
use crate::failure::{Exit, Failure};

/// Changes to the user of `--user` if there is one, and drops every capability of the calling thread except `needed`; another
/// user keeps none with which permissions of files could be overridden. Open sockets keep working.
///
/// Capabilities are those of the calling thread: call it before starting others. All threads that run already change to the
/// user, so they must still have [`to_follow`].
pub fn leave(user: &UserArgs, mut needed: CapabilitySet) -> Result<(), Failure> {
    if let Some(user) = &user.user {
        let change = || {
            set_keep_capabilities(true)?;
            user.become_user()?;
            Ok(set_keep_capabilities(false)?)
        };
        change().map_err(|error: io::Error| {
            let line = format!("cannot change to user {}: {error}", user.name);
            match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    Failure::new(Exit::Privilege, line + " (--user requires root)")
                }
                _ => Failure::new(Exit::Failed, line),
            }
        })?;
        needed.remove(CapabilitySet::DAC_OVERRIDE);
    }
    Ok(drop_all_but(needed)?)
}

/// The capability to open files of other users for reading. With `--user` there is none.
pub fn to_read_any_file(user: &UserArgs) -> CapabilitySet {
    match user.user {
        Some(_) => CapabilitySet::empty(),
        None => privilege::READ_ANY_FILE,
    }
}

/// Capabilities of a thread that starts before the program changes to the user of `--user`: it drops them after the change.
pub fn to_follow(user: &UserArgs) -> CapabilitySet {
    match user.user {
        Some(_) => CapabilitySet::SETUID | CapabilitySet::SETGID,
        None => CapabilitySet::empty(),
    }
}
