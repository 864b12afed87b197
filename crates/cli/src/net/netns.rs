//! `tapline netns`: named network namespaces, as ip-netns(8).

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tapline::Namespace;
use tapline::net::schema::{Arguments, InvalidValue, Parsed};
use tapline::net::{NamespaceNames, NamespaceNumber};

use super::handle::{NetHandle, unknown_word, usage_failure};
use super::output::{DetailLevel, ObjectWriter, Record, printable};
use super::syntax::CommandSyntax;
use crate::args::{NetnsArgs, NetnsCommand, Nsid, Process, ShowArgs};
use crate::failure::{Exit, Failure, chain};

/// Runs `tapline netns`.
pub fn run(args: &NetnsArgs) -> Result<Exit, Failure> {
    use NetnsCommand::{Add, Attach, Delete, Exec, Identify, List, ListId, Pids, Set};

    let names = NamespaceNames::default();
    let command = args.command.as_ref().unwrap_or(&List);
    if args.netns.is_some() && !matches!(command, List | Set { .. } | ListId { .. }) {
        let problem = "-n is for list, set and list-id";
        return Err(usage_failure("netns", problem));
    }
    match command {
        List => return list(&names, args),
        Add { name } => _ = names.add(name)?,
        Attach { name, process } => {
            let namespace = namespace_of(*process)?;
            names.attach(name, &namespace)?;
        }
        Delete { name } => names.del(name)?,
        Set { name, number } => set(&names, name, *number, args)?,
        Exec { name, program } => return exec(&names, name, program),
        Pids { name } => {
            let pids = names.pids(name)?;
            return show(args, pids, |pid, record| {
                record.text(format_args!("{pid}"));
                record.json("pid", Some(pid));
            });
        }
        Identify { process } => {
            let namespace = namespace_of(*process)?;
            let names = names.of(&namespace)?;
            return show(args, names, |name, record| {
                record.text(format_args!("{name}"));
                record.json("name", Some(name));
            });
        }
        ListId { words } => return list_id(words, args),
    }
    Ok(Exit::Done)
}

fn namespace_of(process: Process) -> Result<Namespace, Failure> {
    let path = match process {
        Process::Current => PathBuf::from("/proc/self/ns/net"),
        Process::Pid(pid) => Path::new("/proc").join(pid.to_string()).join("ns/net"),
    };
    Ok(Namespace::open(&path)?)
}

fn list(names: &NamespaceNames, args: &NetnsArgs) -> Result<Exit, Failure> {
    let mut netlink = NetHandle::open(args.netns.as_deref())?.netlink;
    let mut listed = Vec::new();
    for named in names.list()? {
        let query = NamespaceNumber::new().namespace(named.namespace.into());
        let nsid = netlink.get(&query)?.nsid.filter(|nsid| *nsid >= 0);
        listed.push((named.name, nsid));
    }
    show(args, listed, |(name, nsid), record| {
        record.text(format_args!("{name}"));
        if let Some(id) = nsid {
            record.text(format_args!(" (id: {id})"));
        }
        record.json("name", Some(name));
        record.json("id", nsid);
    })
}

fn set(names: &NamespaceNames, name: &str, nsid: Nsid, args: &NetnsArgs) -> Result<(), Failure> {
    let namespace = names.get(name)?;
    let nsid = match nsid {
        Nsid::Auto => -1,
        Nsid::Number(number) => number.cast_signed(),
    };
    let number = NamespaceNumber::new()
        .namespace(namespace.into())
        .nsid(nsid);
    NetHandle::open(args.netns.as_deref())?
        .netlink
        .add(&number)?;
    Ok(())
}

/// Replaces this process by a program in the namespace.
fn exec(names: &NamespaceNames, name: &str, program: &[OsString]) -> Result<Exit, Failure> {
    for error in names.enter(name)? {
        writeln!(io::stderr(), "tapline: {}", printable(&chain(&error)))?;
    }
    let [program, arguments @ ..] = program else {
        return Err(usage_failure("netns", "exec needs a program"));
    };
    let error = Command::new(program).args(arguments).exec();
    let what = format!("cannot run {}", program.display());
    Err(Failure::job_on(what, &error))
}

fn list_id(words: &[String], args: &NetnsArgs) -> Result<Exit, Failure> {
    let NetHandle {
        mut netlink,
        mut names,
    } = NetHandle::open(args.netns.as_deref())?;
    let query = parse_list_id(&mut Arguments::new(words, &mut names))
        .map_err(|bad| usage_failure("netns", &format!("list-id: {bad}")))?;
    let numbers = if query.nsid.is_some() {
        vec![netlink.get(&query)?]
    } else {
        netlink.list(&query)?.items
    };
    show(args, numbers, |number, record| {
        number.print(record, &mut names, DetailLevel::default());
    })
}

fn parse_list_id(words: &mut Arguments<'_>) -> Parsed<NamespaceNumber> {
    let mut query = NamespaceNumber::new();
    while let Some(word) = words.next() {
        let field = match word {
            "target-nsid" => &mut query.target_nsid,
            "nsid" => &mut query.nsid,
            _ => return Err(unknown_word(word)),
        };
        let digits: String = words.value(word)?;
        let number = digits.parse().ok().filter(|number| *number >= 0);
        *field = Some(number.ok_or_else(|| InvalidValue::new("a number from 0", Some(&digits)))?);
    }
    Ok(query)
}

/// Prints a list.
fn show<T>(
    args: &NetnsArgs,
    items: impl IntoIterator<Item = T>,
    mut print: impl FnMut(T, &mut Record),
) -> Result<Exit, Failure> {
    let flags = ShowArgs {
        json: args.json,
        ..ShowArgs::default()
    };
    let mut writer = ObjectWriter::new(&flags, args.line);
    for item in items {
        let mut record = writer.record();
        print(item, &mut record);
        writer.write(record)?;
    }
    writer.finish(false)
}
