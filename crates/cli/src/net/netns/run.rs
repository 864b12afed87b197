//! `tapline netns`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use abi::namespace::NetNamespace;
use netlink::table::{BadWord, Words};
use netlink::{NamespaceNames, NamespaceNumber};
use serde_json::{Value, json};

use crate::args::{NetnsArgs, NetnsCommand, Number, Process};
use crate::failure::{Exit, Failure, chain};
use crate::json;
use crate::net::fields::printable;
use crate::net::job::Stack;
use crate::net::spelled::{Extent, Spelled, unknown};

/// Runs `tapline netns`.
pub fn run(args: &NetnsArgs) -> Result<Exit, Failure> {
    use NetnsCommand::{List, ListId, Set};

    let names = NamespaceNames::default();
    let command = args.command.as_ref().unwrap_or(&List);
    if args.netns.is_some() && !matches!(command, List | Set { .. } | ListId { .. }) {
        let line = "netns: -n is for list, set and list-id ('tapline netns --help' tells more)";
        return Err(Failure::new(Exit::Usage, line));
    }
    match command {
        List => return list(&names, args),
        NetnsCommand::Add { name } => _ = names.add(name)?,
        NetnsCommand::Attach { name, process } => names.attach(name, &of(*process)?)?,
        NetnsCommand::Delete { name } => names.del(name)?,
        Set { name, number } => set(&names, name, *number, args)?,
        NetnsCommand::Exec { name, program } => return exec(&names, name, program),
        NetnsCommand::Pids { name } => {
            let pids = names.pids(name)?;
            let shown = pids
                .iter()
                .map(|pid| (pid.to_string(), json!({ "pid": pid })));
            return show(shown, args);
        }
        NetnsCommand::Identify { process } => {
            let names = names.of(&of(*process)?)?;
            let shown = names
                .into_iter()
                .map(|name| (name.clone(), json!({ "name": name })));
            return show(shown, args);
        }
        ListId { words } => return list_id(words, args),
    }
    Ok(Exit::Done)
}

/// The namespace of a process.
fn of(process: Process) -> Result<NetNamespace, Failure> {
    let path = match process {
        Process::Own => PathBuf::from("/proc/self/ns/net"),
        Process::Other(pid) => Path::new("/proc").join(pid.to_string()).join("ns/net"),
    };
    Ok(NetNamespace::open(&path)?)
}

fn list(names: &NamespaceNames, args: &NetnsArgs) -> Result<Exit, Failure> {
    let mut netlink = Stack::open(args.netns.as_deref())?.netlink;
    let mut shown = Vec::new();
    for named in names.list()? {
        let asked = NamespaceNumber::new().fd(named.namespace.as_fd().as_raw_fd());
        let number = netlink.get(&asked)?.nsid.filter(|number| *number >= 0);
        let name = named.name;
        shown.push(match number {
            Some(id) => (
                format!("{name} (id: {id})"),
                json!({ "name": name, "id": id }),
            ),
            None => (name.clone(), json!({ "name": name })),
        });
    }
    show(shown, args)
}

fn set(
    names: &NamespaceNames,
    name: &str,
    number: Number,
    args: &NetnsArgs,
) -> Result<(), Failure> {
    let namespace = names.get(name)?;
    let number = match number {
        Number::Auto => -1,
        Number::This(number) => number.cast_signed(),
    };
    let wanted = NamespaceNumber::new()
        .fd(namespace.as_fd().as_raw_fd())
        .nsid(number);
    Stack::open(args.netns.as_deref())?.netlink.add(&wanted)?;
    Ok(())
}

/// Becomes another program, inside.
fn exec(names: &NamespaceNames, name: &str, program: &[OsString]) -> Result<Exit, Failure> {
    for error in names.enter(name)? {
        writeln!(io::stderr(), "tapline: {}", printable(&chain(&error)))?;
    }
    let [program, arguments @ ..] = program else {
        return Err(Failure::new(Exit::Usage, "no program is given to run"));
    };
    let error = Command::new(program).args(arguments).exec();
    let what = format!("cannot run {}", program.display());
    Err(Failure::job_on(what, &error))
}

fn list_id(words: &[String], args: &NetnsArgs) -> Result<Exit, Failure> {
    let Stack {
        mut netlink,
        mut names,
    } = Stack::open(args.netns.as_deref())?;
    let asked = read(&mut Words::new(words, &mut names)).map_err(|bad| {
        let line = format!("netns list-id: {bad} ('tapline netns --help' tells more)");
        Failure::new(Exit::Usage, line)
    })?;
    let told = if asked.nsid.is_some() {
        vec![netlink.get(&asked)?]
    } else {
        netlink.list(&asked)?.items
    };
    let extent = Extent::default();
    let shown = told.iter();
    let shown = shown.map(|told| (told.text(&mut names, extent), told.json(&mut names, extent)));
    show(shown, args)
}

fn read(words: &mut Words<'_>) -> Result<NamespaceNumber, BadWord> {
    let mut asked = NamespaceNumber::new();
    while let Some(word) = words.next() {
        let field = match word {
            "target-nsid" => &mut asked.target_nsid,
            "nsid" => &mut asked.nsid,
            _ => return Err(unknown(word)),
        };
        let digits: String = words.value(word)?;
        let number = digits.parse().ok().filter(|number| *number >= 0);
        *field = Some(number.ok_or_else(|| BadWord::new("a number from 0", Some(&digits)))?);
    }
    Ok(asked)
}

/// Shows what has a line of text and an object in JSON each.
fn show(
    shown: impl IntoIterator<Item = (String, Value)>,
    args: &NetnsArgs,
) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    let mut count = 0;
    for (text, value) in shown {
        count += 1;
        if args.json {
            writeln!(out, "{}", json::line(&value))?;
        } else {
            writeln!(out, "{}", printable(&text))?;
        }
    }
    if args.json {
        let summary = json!({ "event": "summary", "objects": count, "interrupted": false });
        writeln!(out, "{}", json::line(&summary))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
