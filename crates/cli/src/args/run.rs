//! Flags of `tapline run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Run a program that uses libpcap on tapline's engine
///
/// Starts the program with libtapline_pcap in place of libpcap (LD_PRELOAD): tcpdump, dumpcap, tshark, ngrep and others
/// run unchanged, with tapline's rings, filters and delivery. The programs that it starts use the library, too. Refuses
/// programs that the system would start without the library: setuid and setgid programs, programs with capabilities,
/// and static ones. The exit status is the program's.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Use this library [default: libtapline_pcap.so.1 where 'make install' puts it]
    #[arg(help_heading = "Input", long, value_name = "FILE")]
    pub library: Option<PathBuf>,

    /// Do not print which library the program runs with
    #[arg(help_heading = "Output", short, long)]
    pub quiet: bool,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub command: Vec<OsString>,
}
