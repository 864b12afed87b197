//! Where tapline runs: on this host, or on another one by SSH.

use std::ffi::OsString;
use std::process::Command;

use crate::args::RemoteArgs;
use crate::failure::{Exit, Failure};

/// Before the name of an interface of this host. Without it, Wireshark could not tell it from its own interface of this name.
pub const PREFIX: &str = "tapline-";

/// All interfaces.
pub const ANY: &str = "any";

/// The interface of another host.
pub const REMOTE: &str = "tapline-ssh";

/// Fails instead of asking for a password, for which there is no terminal, and ends if the host is silent for 45 seconds.
const SSH_FLAGS: [&str; 5] = [
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3",
];

/// Where tapline runs.
#[derive(Clone, Debug)]
pub enum CaptureHost {
    Here,
    Remote {
        /// Arguments of ssh(1), with the host.
        ssh: Vec<OsString>,
        /// How the shell of the host starts tapline.
        tapline: String,
    },
}

impl CaptureHost {
    /// The host of an interface.
    pub fn of(interface: &str, remote: &RemoteArgs) -> Result<Self, Failure> {
        if interface != REMOTE {
            return Ok(Self::Here);
        }
        let usage = |line: &str| Err(Failure::new(Exit::Usage, line));
        let Some(host) = remote.ssh_host.as_deref().filter(|host| !host.is_empty()) else {
            return usage(
                "no host to capture on (set Host in the options of the interface, --ssh-host)",
            );
        };
        // ssh(1) would take it for a flag.
        if host.starts_with('-') {
            return usage("the name of a host does not begin with a dash");
        }
        let mut ssh: Vec<OsString> = SSH_FLAGS.map(OsString::from).to_vec();
        if let Some(port) = remote.ssh_port.as_ref().filter(|port| !port.is_empty()) {
            if port.parse::<std::num::NonZeroU16>().is_err() {
                return usage("a port is a number from 1 to 65535");
            }
            ssh.extend(["-p".into(), port.into()]);
        }
        if let Some(file) = remote
            .ssh_identity
            .as_ref()
            .filter(|file| !file.as_os_str().is_empty())
        {
            ssh.extend(["-i".into(), file.into()]);
        }
        ssh.extend(["--".into(), host.into()]);
        let tapline = remote
            .remote_command
            .clone()
            .filter(|command| !command.trim().is_empty());
        Ok(Self::Remote {
            ssh,
            tapline: tapline.unwrap_or_else(|| "tapline".to_owned()),
        })
    }

    /// `tapline WORDS` on this host.
    pub fn command(&self, words: &[String]) -> Command {
        match self {
            Self::Here => {
                let mut command = Command::new("/proc/self/exe");
                command.args(words);
                command
            }
            Self::Remote { ssh, tapline } => {
                let mut line = tapline.clone();
                for word in words {
                    line.push(' ');
                    line.push_str(&quoted(word));
                }
                let mut command = Command::new("ssh");
                command.args(ssh).arg(line);
                command
            }
        }
    }
}

/// A word of a command line of sh(1).
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with the shell.
    #[test]
    fn a_shell_gets_the_words_as_they_are() {
        let words = ["", "it's", "$(false) `false` \\ \"x\"", "*", "a\nb"];
        let line = words.map(quoted).join(" ");
        let script = format!("printf '%s\\0' {line}");
        let output = Command::new("sh").args(["-c", &script]).output();
        let output = output.expect("a shell").stdout;
        assert_eq!(
            output,
            words.map(|word| format!("{word}\0")).concat().into_bytes()
        );
    }

    #[test]
    fn hosts_that_ssh_would_take_for_flags_are_refused() {
        let of = |host: &str, port: &str| {
            let remote = RemoteArgs {
                ssh_host: Some(host.to_owned()),
                ssh_port: Some(port.to_owned()),
                ..RemoteArgs::default()
            };
            CaptureHost::of(REMOTE, &remote)
        };
        assert!(of("-oProxyCommand=false", "").is_err());
        assert!(of("", "").is_err());
        assert!(of("host", "22 -v").is_err());
        assert!(matches!(
            of("user@host", "22"),
            Ok(CaptureHost::Remote { .. })
        ));
        assert!(matches!(
            CaptureHost::of("tapline-lo", &RemoteArgs::default()),
            Ok(CaptureHost::Here)
        ));
    }
}
