//! Users of the system, and becoming one.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::ptr;

use crate::socket::check;

/// Bytes at first for the texts of a user's entry.
const ENTRY_BYTES: usize = 1024;

/// Bytes at most: entries of directories on the network can be long.
const ENTRY_BYTES_MAX: usize = 1 << 20;

/// Groups of a user, at most: `NGROUPS_MAX` of the kernel.
const GROUPS_MAX: usize = 65_536;

/// A user of the system, with the groups that a login has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name that it was looked up by.
    pub name: String,
    /// User ID.
    pub id: u32,
    /// The user's primary group.
    pub group: u32,
    /// All groups, the primary one included.
    pub groups: Vec<u32>,
}

impl User {
    /// Looks a user up by name, in what nsswitch.conf(5) names. `None` if there is no such user.
    ///
    /// # Errors
    /// Those of getpwnam_r(3); `InvalidInput` for a name with a zero byte.
    /// # Source
    /// getpwnam_r(3), getgrouplist(3).
    #[doc(alias("getpwnam", "getgrouplist"))]
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let text = CString::new(name)?;
        let Some((id, group)) = entry(&text)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            name: name.to_owned(),
            id,
            group,
            groups: groups(&text, group)?,
        }))
    }

    /// Makes this process one of the user's: real, effective and saved IDs and the groups of all its threads.
    ///
    /// Every thread needs `CAP_SETUID` and `CAP_SETGID`: the C library ends the process if only some may change. A thread loses
    /// its capabilities unless it has asked to keep them (`PR_SET_KEEPCAPS`), or the user is root.
    ///
    /// # Errors
    /// EPERM without these capabilities.
    /// # Source
    /// setresuid(2), "C library/kernel differences"; capabilities(7).
    #[doc(alias("setuid", "setgid", "initgroups"))]
    pub fn become_user(&self) -> io::Result<()> {
        // SAFETY: the pointer is valid for as many groups as are passed.
        check(unsafe { libc::setgroups(self.groups.len(), self.groups.as_ptr()) })?;
        // SAFETY: plain numbers.
        check(unsafe { libc::setresgid(self.group, self.group, self.group) })?;
        // SAFETY: plain numbers.
        check(unsafe { libc::setresuid(self.id, self.id, self.id) })?;
        Ok(())
    }
}

/// The IDs of a user and of the primary group.
fn entry(name: &CStr) -> io::Result<Option<(u32, u32)>> {
    let mut texts: Vec<c_char> = vec![0; ENTRY_BYTES];
    loop {
        // SAFETY: all zeroes are a valid value of this struct of numbers and pointers.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = ptr::null_mut();
        // SAFETY: the name ends with a zero byte; the other places are valid for writing as long as is passed.
        let error = unsafe {
            libc::getpwnam_r(
                name.as_ptr(),
                &raw mut entry,
                texts.as_mut_ptr(),
                texts.len(),
                &raw mut found,
            )
        };
        match error {
            0 if found.is_null() => return Ok(None),
            0 => return Ok(Some((entry.pw_uid, entry.pw_gid))),
            libc::ERANGE if texts.len() < ENTRY_BYTES_MAX => texts.resize(texts.len() * 2, 0),
            // Modules of the C library say so of a user that does not exist.
            libc::ENOENT | libc::ESRCH => return Ok(None),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// All groups of a user.
fn groups(name: &CStr, primary: u32) -> io::Result<Vec<u32>> {
    let mut groups: Vec<u32> = vec![0; 64];
    loop {
        let mut count = c_int::try_from(groups.len()).unwrap_or(c_int::MAX);
        // SAFETY: the name ends with a zero byte; `groups` is valid for writing `count` groups.
        let answer = unsafe {
            libc::getgrouplist(name.as_ptr(), primary, groups.as_mut_ptr(), &raw mut count)
        };
        let needed = usize::try_from(count).unwrap_or_default();
        if answer >= 0 {
            groups.truncate(needed);
            return Ok(groups);
        }
        if groups.len() >= GROUPS_MAX {
            return Err(io::Error::other("the user is in too many groups"));
        }
        groups.resize(needed.max(groups.len() * 2).min(GROUPS_MAX), 0);
    }
}
