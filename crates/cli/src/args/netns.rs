//! Flags of the commands about network namespaces.

use std::ffi::OsString;
use std::str::FromStr;

use clap::{Args, Subcommand};

/// Add, delete and use named network namespaces, like 'ip netns'
#[derive(Args, Debug)]
#[command(infer_subcommands = true)]
pub struct NetnsArgs {
    /// For list, set and list-id: the namespace that assigns the numbers
    #[arg(
        short = 'n',
        long,
        value_name = "NAME",
        global = true,
        help_heading = "Selection"
    )]
    pub netns: Option<String>,

    /// Print JSON Lines with the keys of 'ip -json netns'
    #[arg(short, long, global = true, help_heading = "Output")]
    pub json: bool,

    /// The line of the batch file.
    #[arg(skip)]
    pub line: Option<usize>,

    #[command(subcommand)]
    pub command: Option<NetnsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum NetnsCommand {
    /// List names and numbers (default)
    #[command(aliases = ["l", "li", "lis", "ls", "lst", "sh", "show"])]
    List,

    /// Create a namespace
    #[command(aliases = ["a"])]
    Add {
        /// Name of the namespace
        name: String,
    },

    /// Name the namespace of a process
    Attach {
        /// Name of the namespace
        name: String,
        /// Process id, or self
        #[arg(value_name = "PID")]
        process: Process,
    },

    /// Delete a name; processes in the namespace continue
    #[command(alias = "del")]
    Delete {
        /// Name of the namespace
        name: String,
    },

    /// Assign a number (nsid), by which links refer to the namespace of their peer
    Set {
        /// Name of the namespace
        name: String,
        /// Number, or auto for a free one
        number: Nsid,
    },

    /// Run a program in a namespace, with its /sys and with the files of /etc/netns/NAME mounted over those
    /// in /etc
    Exec {
        /// Name of the namespace
        name: String,
        /// Program and its arguments
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "PROGRAM"
        )]
        program: Vec<OsString>,
    },

    /// List the processes in a namespace
    Pids {
        /// Name of the namespace
        name: String,
    },

    /// List the names of a process's namespace
    Identify {
        /// Process id, or self
        #[arg(value_name = "PID", default_value = "self")]
        process: Process,
    },

    /// List the numbers of namespaces, named or not
    ///
    /// WORDS may be 'target-nsid NUMBER' for the numbers that this namespace assigned, and 'nsid NUMBER' for one
    /// number.
    #[command(name = "list-id")]
    ListId {
        /// Which numbers
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
    },
}

/// The process whose namespace is used.
#[derive(Clone, Copy, Debug)]
pub enum Process {
    /// This process.
    Current,
    Pid(u32),
}

impl FromStr for Process {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("self", _) => Ok(Self::Current),
            (_, Ok(pid)) => Ok(Self::Pid(pid)),
            _ => Err("not a process id".to_owned()),
        }
    }
}

/// The number of a namespace.
#[derive(Clone, Copy, Debug)]
pub enum Nsid {
    /// Any free number.
    Auto,
    Number(u32),
}

impl FromStr for Nsid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(number)) if number <= i32::MAX.cast_unsigned() => Ok(Self::Number(number)),
            _ => Err("not a number from 0 to 2147483647, or auto".to_owned()),
        }
    }
}
