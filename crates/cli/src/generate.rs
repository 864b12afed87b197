//! `tapline generate`: writes manual pages and shell completions.

use std::fs;
use std::io;
use std::path::Path;

use clap::{CommandFactory, ValueEnum};
use clap_complete::{Generator, Shell};

use crate::args::Args;
use crate::failure::{Exit, Failure};

/// Writes `man/*.1` and `completions/*` below `directory`.
pub fn run(directory: &Path) -> Result<Exit, Failure> {
    write(directory).map_err(|error| {
        Failure::job_on(format!("cannot write to {}", directory.display()), &error)
    })?;
    Ok(Exit::Done)
}

fn write(directory: &Path) -> io::Result<()> {
    let manual = directory.join("man");
    fs::create_dir_all(&manual)?;
    clap_mangen::generate_to(Args::command(), &manual)?;
    let completions = directory.join("completions");
    fs::create_dir_all(&completions)?;
    for &shell in Shell::value_variants() {
        let mut command = Args::command();
        // Written at once: clap_complete panics if writing fails.
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "tapline", &mut text);
        fs::write(completions.join(shell.file_name("tapline")), text)?;
    }
    Ok(())
}
