//! `tapline generate`: writes manual pages and shell completions.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;
use tapline::file::output::OpenOutput;

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
    // Hidden in the list of commands only.
    let mut command = Args::command()
        .mut_subcommand("extcap", |command| command.hide(false))
        .disable_help_subcommand(true);
    command.build();
    write_pages(&command, &manual)?;
    let completions = directory.join("completions");
    fs::create_dir_all(&completions)?;
    for &shell in Shell::value_variants() {
        let mut command = Args::command();
        // Written at once: clap_complete panics if writing fails.
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "tapline", &mut text);
        write_file(&completions.join(shell.file_name("tapline")), &text)?;
    }
    Ok(())
}

/// Writes the pages of a command and of its subcommands.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    for command in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        write_pages(command, directory)?;
    }
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    write_file(&directory.join(page.get_filename()), &text)
}

fn write_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let output = OpenOutput::create().truncate().for_all();
    output.open(path)?.write_all(text)
}
