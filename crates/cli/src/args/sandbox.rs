//! The flag of commands that restrict themselves.

use clap::Args;

/// Flag of commands that restrict themselves once they are set up.
#[derive(Args, Clone, Copy, Debug)]
pub struct SandboxArgs {
    /// Do not restrict the program to the files and system calls that it needs
    ///
    /// By default Landlock and seccomp restrict it once everything is open, as far as the kernel has them: whoever takes
    /// it over with a packet or a file can open no other files, start no programs and change no interface.
    #[arg(hide_short_help = true, long, help_heading = "Sandbox")]
    pub no_sandbox: bool,
}
