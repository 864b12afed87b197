//! Flags of the commands about network namespaces.

use std::ffi::OsString;

use clap::{Args, Subcommand};

/// Network namespaces with names, as 'ip netns' has them
#[derive(Args, Debug)]
#[command(infer_subcommands = true)]
pub struct NetnsArgs {
    /// For list, set and list-id: numbers as they are in this network namespace
    #[arg(short = 'n', long, value_name = "NAME", global = true)]
    pub netns: Option<String>,

    /// JSON Lines, with the keys of 'ip -json netns'
    #[arg(short, long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Option<NetnsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum NetnsCommand {
    /// Names, and the numbers that the namespaces have here; the default
    #[command(aliases = ["l", "li", "lis", "ls", "lst", "sh", "show"])]
    List,

    /// Make a namespace and give it a name
    #[command(aliases = ["a"])]
    Add {
        /// The name
        name: String,
    },

    /// Give a name to the namespace of a process
    Attach {
        /// The name
        name: String,
        /// The process, or self
        #[arg(value_name = "PID")]
        process: Process,
    },

    /// Take a name away; what runs there goes on
    #[command(alias = "del")]
    Delete {
        /// The name
        name: String,
    },

    /// Give a namespace a number here, by which links say where their other end is
    Set {
        /// Its name
        name: String,
        /// The number, or auto for a free one
        number: Number,
    },

    /// Run a program in a namespace: with its /sys, and with files of /etc/netns/NAME in the place of those in
    /// /etc
    Exec {
        /// Its name
        name: String,
        /// The program and its arguments
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "PROGRAM"
        )]
        program: Vec<OsString>,
    },

    /// The processes in a namespace
    Pids {
        /// Its name
        name: String,
    },

    /// The names of a process's namespace
    Identify {
        /// The process, or self
        #[arg(value_name = "PID", default_value = "self")]
        process: Process,
    },

    /// Numbers of other namespaces, with and without names
    ///
    /// WORDS are 'target-nsid NUMBER', for the numbers that the namespace of that number has, and 'nsid NUMBER',
    /// for that one alone.
    #[command(name = "list-id")]
    ListId {
        /// Which numbers
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
    },
}

/// A process whose namespace is meant.
#[derive(Clone, Copy, Debug)]
pub enum Process {
    /// The program itself.
    Own,
    Other(u32),
}

impl std::str::FromStr for Process {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "self" => Ok(Self::Own),
            _ => match text.parse() {
                Ok(pid) => Ok(Self::Other(pid)),
                Err(_) => Err("not the number of a process".to_owned()),
            },
        }
    }
}

/// A number to be given.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Any that is free.
    Auto,
    This(u32),
}

impl std::str::FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(number)) if number <= i32::MAX.cast_unsigned() => Ok(Self::This(number)),
            _ => Err("not a number from 0 to 2147483647, or auto".to_owned()),
        }
    }
}
