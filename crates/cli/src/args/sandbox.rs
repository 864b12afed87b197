//! The flag of commands that restrict themselves.

use clap::Args;

/// Flag of commands that restrict themselves once they are set up.
#[derive(Args, Clone, Copy, Debug)]
pub struct SandboxArgs {
    /// Do not restrict the program to the files and system calls that it needs
    ///
    /// By default Landlock and seccomp restrict it once everything is open, as far as the kernel has them. A packet or a
    /// file that takes the program over then opens few other files and starts no programs. SECURITY.md has the limits.
    #[arg(hide_short_help = true, long, help_heading = "Sandbox")]
    pub no_sandbox: bool,
}
