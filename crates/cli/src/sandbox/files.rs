//! The files that Landlock leaves to a command.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};

use super::Sandbox;

/// The newest rules that are used; an older kernel enforces those that it has.
const RULES: ABI = ABI::V5;

/// What every command may read late: names of tables and groups, how busy this program was; and the terminal.
const ALWAYS_READ: [&str; 5] = [
    "/etc/iproute2",
    "/proc/self",
    "/sys/devices/system/cpu",
    "/usr/lib/iproute2",
    "/usr/share/iproute2",
];
const ALWAYS_WRITTEN: [&str; 2] = ["/dev/tty", "/dev/null"];

/// What getaddrinfo(3) and its modules read.
const READ_FOR_NAMES: [&str; 15] = [
    "/etc/ethers",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/networks",
    "/etc/nsswitch.conf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/lib",
    "/lib64",
    "/run/systemd/resolve",
    "/usr/lib",
    "/usr/lib64",
];

/// Which servers getaddrinfo(3) asks. It looks at the file before each query, and without it asks 127.0.0.1.
const NAME_SERVERS: &str = "/etc/resolv.conf";
const SETTINGS: &str = "/etc";

/// The port of name servers, for queries over TCP.
const DNS_PORT: u16 = 53;

/// The rules of a kernel's Landlock.
#[derive(Clone, Copy, Debug)]
pub struct FileRules(ABI);

impl FileRules {
    /// What it does not restrict yet, by name.
    pub fn missing(self) -> Vec<&'static str> {
        let later = [
            (ABI::V3, "landlock-truncate"),
            (ABI::V4, "landlock-connect"),
            (ABI::V5, "landlock-ioctl"),
        ];
        let missing = later.iter().filter(|(abi, _)| self.0 < *abi);
        missing.map(|&(_, name)| name).collect()
    }
}

/// Restricts the calling thread. Returns `None` if the kernel has no Landlock, or a container around this program refuses its calls.
pub fn restrict(sandbox: &Sandbox) -> io::Result<Option<FileRules>> {
    if_supported(enforce(sandbox))
}

/// Lets the calling thread and what it starts read and execute every file, write none and connect to no TCP port. Does nothing where
/// [`restrict`] returns `None`.
pub fn only_read() -> io::Result<()> {
    if_supported(enforce_only_read())
}

/// The default if the kernel has no Landlock, or a container around this program refuses its calls.
fn if_supported<T: Default>(result: Result<T, Failed>) -> io::Result<T> {
    result.or_else(|error| match refusal(&*error) {
        Some(libc::EPERM | libc::ENOSYS) => Ok(T::default()),
        _ => Err(io::Error::other(error)),
    })
}

/// An error of the kernel, or a path that cannot be opened.
type Failed = Box<dyn Error + Send + Sync>;

/// The number of the system call's error.
fn refusal(error: &(dyn Error + 'static)) -> Option<i32> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.raw_os_error();
        }
        cause = error.source();
    }
    None
}

/// Rules that forbid everything.
fn no_access() -> Result<RulesetCreated, Failed> {
    let handled = Ruleset::default().handle_access(AccessFs::from_all(RULES))?;
    Ok(handled
        .handle_access(AccessNet::from_all(RULES))?
        .create()?)
}

fn enforce_only_read() -> Result<(), Failed> {
    let everywhere = std::iter::once(Path::new("/"));
    let rules = allow(no_access()?, everywhere, AccessFs::from_read(RULES))?;
    let devices = ALWAYS_WRITTEN.iter().map(Path::new);
    let rules = allow(rules, devices, AccessFs::WriteFile | AccessFs::IoctlDev)?;
    rules.restrict_self()?;
    Ok(())
}

fn enforce(sandbox: &Sandbox) -> Result<Option<FileRules>, Failed> {
    let mut rules = no_access()?;
    let read = AccessFs::from_read(RULES) & !AccessFs::Execute;
    let reads = ALWAYS_READ.iter().map(Path::new);
    let reads = reads.chain(sandbox.reads.iter().map(PathBuf::as_path));
    rules = allow(rules, reads, read)?;
    let writes = ALWAYS_WRITTEN.iter().map(Path::new);
    let writes = writes.chain(sandbox.writes.iter().map(PathBuf::as_path));
    rules = allow(rules, writes, read | written())?;
    let outputs = sandbox.outputs.iter().map(PathBuf::as_path);
    rules = allow(rules, outputs, written())?;
    let grows = sandbox.grows.iter().map(PathBuf::as_path);
    let grown = written() | AccessFs::MakeDir | AccessFs::ReadDir;
    rules = allow(rules, grows, grown)?;
    let removes = sandbox.removes.iter().map(PathBuf::as_path);
    rules = allow(rules, removes, AccessFs::RemoveDir.into())?;
    if sandbox.opens_sockets {
        let library = AccessFs::from_read(RULES);
        rules = allow(rules, READ_FOR_NAMES.iter().map(Path::new), library)?;
        rules = rules.add_rule(NetPort::new(DNS_PORT, AccessNet::ConnectTcp))?;
    }
    if sandbox.looks_names_up {
        let directory = directory_of_name_servers();
        let file = AccessFs::ReadFile.into();
        rules = allow(rules, std::iter::once(directory.as_path()), file)?;
    }
    for &port in &sandbox.ports {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    let status = rules.restrict_self()?;
    let rules = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(FileRules(effective_abi)),
        _ => None,
    };
    Ok(rules.filter(|_| status.ruleset != RulesetStatus::NotEnforced))
}

/// The directory in which a file appears that takes the place of [`NAME_SERVERS`], and to whose files a rule has to apply: that of
/// the file itself belongs to the inode, and programs that change name servers rename a new file over the old one.
///
/// It is all of `/etc` if the file is there and not a link to a file elsewhere: Landlock has no rule for a name.
fn directory_of_name_servers() -> PathBuf {
    let file = Path::new(NAME_SERVERS).canonicalize();
    let directory = file.ok().and_then(|file| Some(file.parent()?.to_owned()));
    directory.unwrap_or_else(|| SETTINGS.into())
}

/// Creating, writing and removing regular files.
fn written() -> BitFlags<AccessFs> {
    AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::RemoveFile
        | AccessFs::IoctlDev
}

/// Allows `access` to `paths`. Those that do not exist stay forbidden.
fn allow<'p>(
    mut rules: RulesetCreated,
    paths: impl Iterator<Item = &'p Path>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Failed> {
    for path in paths {
        let Ok(about) = path.metadata() else {
            continue;
        };
        let access = if about.is_dir() {
            access
        } else {
            access & AccessFs::from_file(RULES)
        };
        // It may have gone. Without a rule, an existing one could not be written or removed later.
        let descriptor = match PathFd::new(path) {
            Ok(descriptor) => descriptor,
            Err(_) if !path.exists() => continue,
            Err(error) => return Err(error.into()),
        };
        match (&mut rules).add_rule(PathBeneath::new(descriptor, access)) {
            Ok(_) => {}
            // Pipes and files without a place in the tree: Landlock does not restrict them.
            Err(error) if refusal(&error) == Some(libc::EBADFD) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(rules)
}
