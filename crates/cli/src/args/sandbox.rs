//! Flags of commands that restrict themselves.

use clap::Args;
use tapline::user::User;

/// Flag of commands that restrict themselves once they are set up.
#[derive(Args, Clone, Copy, Debug)]
pub struct SandboxArgs {
    /// Do not restrict the program to the files and system calls that it needs
    ///
    /// By default Landlock and seccomp restrict it once everything is open, if the kernel supports them. An attacker who
    /// takes over the program with a packet or a file can then open few files and start no programs. 'tapline doctor'
    /// shows what this kernel supports.
    #[arg(hide_short_help = true, long, help_heading = "Sandbox")]
    pub no_sandbox: bool,
}

/// Flag of commands that can change to another user once they are set up.
#[derive(Args, Clone, Debug)]
pub struct UserArgs {
    /// Change to the user NAME and its groups once sockets and input files are open
    ///
    /// As -Z of tcpdump: output files belong to NAME, who must be able to create them. A COMMAND of 'capture' runs as NAME.
    /// NAME must be able to read files that are opened again later. A capture opens a control socket only with --name; the
    /// next capture removes the socket's file. Requires root.
    #[arg(
        hide_short_help = true,
        short = 'Z',
        long,
        value_name = "NAME",
        value_parser = user,
        help_heading = "Sandbox"
    )]
    pub user: Option<User>,
}

/// Flags of the process that looks up processes, which are those of its capture.
#[derive(Args, Clone, Debug)]
pub struct HelperArgs {
    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

fn user(name: &str) -> Result<User, String> {
    match User::named(name) {
        Ok(Some(user)) => Ok(user),
        Ok(None) => Err("no such user".to_owned()),
        Err(error) => Err(format!("cannot look this user up: {error}")),
    }
}
