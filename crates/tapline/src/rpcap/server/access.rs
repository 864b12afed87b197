//! Who may connect: with a password, or without one as a user of this host whom the server trusts.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use netlink::{IfIndex, NetlinkError, SocketProtocol, SocketTable};
use rustix::process::geteuid;

use super::super::message::Credentials;

/// Shortest password of a server, bytes.
const PASSWORD_BYTES_MIN: usize = 8;

/// Longest password, bytes.
const PASSWORD_BYTES_MAX: usize = 1024;

/// Permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// Who may connect to a server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Access {
    /// Root and the user of the server, and the one who called sudo(8): the kernel says whose a connection is. Only of this host.
    LocalUsers,
    /// Whoever has the password.
    Password(Password),
}

/// The password of a server. `Debug` does not show it.
pub struct Password(Vec<u8>);

/// Why a file has no password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// It cannot be read.
    #[error("cannot read the password file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users may read or write it.
    #[error("other users have access to the password file {} (chmod 600 {0})", path.display())]
    Shared {
        /// The file.
        path: PathBuf,
    },
    /// The password is too short or too long.
    #[error(
        "the first line of {} is not a password: it has {bytes} bytes, not {least} to {PASSWORD_BYTES_MAX}",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Length of the first line, bytes.
        bytes: usize,
        /// The least length.
        least: usize,
    },
}

impl Password {
    /// The password of a server, at least 8 bytes: the first line of a file that only its owner may read, without its line end.
    ///
    /// # Errors
    /// [`PasswordError`].
    pub fn read(path: &Path) -> Result<Self, PasswordError> {
        Self::read_with(path, PASSWORD_BYTES_MIN)
    }

    /// As [`read`](Self::read), for a client: other servers have short passwords, too.
    ///
    /// # Errors
    /// [`PasswordError`].
    pub fn read_for_client(path: &Path) -> Result<Self, PasswordError> {
        Self::read_with(path, 1)
    }

    fn read_with(path: &Path, least: usize) -> Result<Self, PasswordError> {
        let failed = |source| PasswordError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let path = path.to_owned();
        if about.mode() & OTHERS != 0 {
            return Err(PasswordError::Shared { path });
        }
        let mut text = Vec::new();
        // With its line end, and one byte to notice that it is too long.
        let most = PASSWORD_BYTES_MAX as u64 + 2;
        (file.take(most).read_to_end(&mut text)).map_err(|source| PasswordError::Read {
            path: path.clone(),
            source,
        })?;
        let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let bytes = line.len();
        if (least..=PASSWORD_BYTES_MAX).contains(&bytes) {
            Ok(Self(line.to_owned()))
        } else {
            Err(PasswordError::Length { path, bytes, least })
        }
    }

    /// The password of `user`, for a server.
    pub fn of(&self, user: &[u8]) -> Credentials {
        Credentials {
            user: user.to_vec(),
            password: self.0.clone(),
        }
    }

    /// Whether the password is right, whatever the user is. Takes as long for each password of a length.
    pub fn is(&self, given: &Credentials) -> bool {
        let given = &given.password;
        let mut differs = u8::from(given.len() != self.0.len());
        // The length of the password is no secret, and what has another length is compared as far as it goes.
        for (&right, &one) in self.0.iter().zip(given.iter().chain(std::iter::repeat(&0))) {
            differs |= std::hint::black_box(right ^ one);
        }
        differs == 0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Password").finish_non_exhaustive()
    }
}

/// Finds the user of a connection from this host.
#[derive(Debug)]
pub struct LocalUsers {
    sockets: SocketTable,
    trusted: Vec<u32>,
}

impl LocalUsers {
    /// Root, the user of this process and, as root, the one who called sudo(8).
    pub fn usual() -> Vec<u32> {
        let user = geteuid().as_raw();
        let mut trusted = vec![0, user];
        if user == 0 {
            let caller = std::env::var("SUDO_UID").ok();
            trusted.extend(caller.and_then(|caller| caller.parse::<u32>().ok()));
        }
        trusted
    }

    /// Trusts these users, by number.
    ///
    /// # Errors
    /// No netlink socket can be opened.
    pub fn open(trusted: Vec<u32>) -> Result<Self, NetlinkError> {
        Ok(Self {
            sockets: SocketTable::open()?,
            trusted,
        })
    }

    /// Whether the process at the other end of a TCP connection belongs to a trusted user. `peer` is its address, `local` that of
    /// this end. No, if it has closed the connection.
    ///
    /// # Source
    /// sock_diag(7).
    pub fn trusts(&mut self, peer: SocketAddr, local: SocketAddr) -> bool {
        self.refuses(peer, local).is_none()
    }

    /// Why [`trusts`](Self::trusts) says no; `None` if the user is trusted.
    pub(super) fn refuses(&mut self, peer: SocketAddr, local: SocketAddr) -> Option<String> {
        const WHO: &str =
            "only root and the user who started the server may connect without a password";
        let any = IfIndex(0);
        let found = (self.sockets).find(SocketProtocol::Tcp, peer, local, any);
        // The kernel reports closed connections as root's.
        let open = found.ok().flatten().filter(|found| found.inode.is_some());
        match open.map(|found| found.user) {
            Some(user) if self.trusted.contains(&user) => None,
            Some(user) => Some(format!("{WHO}, and user {user} is neither")),
            None => Some(format!(
                "{WHO}, and the kernel does not say whose this connection is"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(text: &[u8], mode: u32) -> Result<Password, PasswordError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
        Password::read(&path)
    }

    fn given(password: &[u8]) -> Credentials {
        Credentials {
            user: Vec::new(),
            password: password.to_vec(),
        }
    }

    #[test]
    fn only_the_password_itself_is_right() {
        let password = file(b"correct horse\r\nbattery\n", 0o600).expect("a password");
        assert!(password.is(&given(b"correct horse")));
        for wrong in [
            &b""[..],
            b"correct hors",
            b"correct horse\0",
            b"correct horsf",
            b"Correct horse",
            b"correct horse\r",
        ] {
            assert!(!password.is(&given(wrong)), "{wrong:?}");
        }
        assert!(!format!("{password:?}").contains("horse"));
    }

    #[test]
    fn a_file_of_others_or_without_a_password_is_refused() {
        for mode in [0o640, 0o604, 0o620] {
            let refused = file(b"long enough", mode);
            assert!(
                matches!(refused, Err(PasswordError::Shared { .. })),
                "{mode:o}"
            );
        }
        let rows: [(&[u8], usize); 3] = [(b"", 0), (b"\nlong enough", 0), (b"short\n", 5)];
        for (text, bytes) in rows {
            let refused = file(text, 0o600).expect_err("no password");
            assert!(
                matches!(refused, PasswordError::Length { bytes: b, .. } if b == bytes),
                "{refused}"
            );
        }
        assert!(file(&[b'x'; 1024], 0o400).is_ok());
        assert!(file(&[b'x'; 1025], 0o400).is_err());
        let missing = Password::read(Path::new("/nonexistent/password"));
        assert!(matches!(missing, Err(PasswordError::Read { .. })));
    }
}
