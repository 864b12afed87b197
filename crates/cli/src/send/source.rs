//! The packets to send: those of files with the changes of the flags, or generated ones.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tapline::read::{Read, ReadBuilder, ReadProgress};
use tapline::send::{
    Clients, Fill, FlowRoles, Generator, GeneratorError, PacketKind, Replay, Rewrite, SendError,
    SendQueue, SourceError, VxlanTunnel,
};
use tapline::{Expression, Filter};

use crate::args::SendArgs;
use crate::failure::{Exit, Failure, chain};
use tapline::filter::SystemNames;

/// Fills queues with packets.
pub type Source = Box<dyn FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send>;

/// The packets, and how much of them was read.
pub struct Packets {
    pub source: Source,
    pub share: Share,
}

/// How much of the files was read, for the time that is left.
#[derive(Clone, Default)]
pub struct Share(Arc<Mutex<Option<Pass>>>);

/// The current pass through the files.
struct Pass {
    number: u64,
    /// `None` if the files are sent without end.
    of: Option<u64>,
    /// The last pass in which the files were read: packets that are kept in memory are not read again.
    read_in: u64,
    progress: ReadProgress,
}

impl Share {
    /// 0 to 1; `None` if there are no files, if they are sent without end, or if their size is not known.
    pub fn get(&self) -> Option<f64> {
        let pass = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = pass.as_ref()?;
        let total = pass.progress.total_bytes().filter(|total| *total > 0)? as f64;
        let read = if pass.read_in == pass.number {
            (pass.progress.bytes() as f64 / total).min(1.0)
        } else {
            0.0
        };
        Some(((pass.number - 1) as f64 + read) / pass.of? as f64)
    }

    /// The files are opened, for the first pass or a repetition that begins.
    fn open(&self, of: Option<u64>, progress: ReadProgress) {
        let mut pass = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, read_in) = match &*pass {
            None => (1, 1),
            Some(pass) => (pass.number, pass.number + 1),
        };
        *pass = Some(Pass {
            number,
            of,
            read_in,
            progress,
        });
    }

    /// A repetition has begun.
    fn repeat(&self) {
        let mut pass = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pass) = &mut *pass {
            pass.number += 1;
        }
    }
}

pub fn open(args: &SendArgs) -> Result<Packets, Failure> {
    let share = Share::default();
    let source = match kind(args) {
        Some(kind) => generated(args, kind),
        None => recorded(args, share.clone()),
    };
    Ok(Packets {
        source: source?,
        share,
    })
}

fn kind(args: &SendArgs) -> Option<PacketKind> {
    let generator = &args.generator;
    if let Some(frame) = &generator.raw {
        return Some(PacketKind::Raw(frame.0.clone()));
    }
    let kinds = [
        (generator.udp, PacketKind::Udp),
        (generator.tcp_syn, PacketKind::TcpSyn),
        (generator.icmp, PacketKind::Icmp),
        (generator.arp, PacketKind::Arp),
    ];
    let mut kinds = kinds.into_iter();
    kinds.find_map(|(is_given, kind)| is_given.then_some(kind))
}

fn generated(args: &SendArgs, kind: PacketKind) -> Result<Source, Failure> {
    if matches!(args.rate, tapline::send::Rate::Recorded(_)) {
        let line = "generated packets have no recorded times: use another --rate";
        return Err(Failure::new(Exit::Usage, line));
    }
    let flags = &args.generator;
    let tunnel = (flags.vxlan.zip(flags.outer_src).zip(flags.outer_dst)).map(
        |((vni, source), destination)| VxlanTunnel {
            vni,
            source,
            destination,
        },
    );
    let mut generator = Generator::new(kind)
        .source_mac(args.src_mac)
        .destination_mac(args.dst_mac)
        .vlan(args.vlan)
        .vxlan(tunnel)
        .flows(flags.flows.map(NonZeroU64::get))
        .packets(args.count.map(NonZeroU64::get))
        .seed(flags.seed)
        .stamp(flags.stamp);
    generator.sources.clone_from(&flags.src);
    generator.destinations.clone_from(&flags.dst);
    generator.source_ports.clone_from(&flags.sport);
    generator.destination_ports.clone_from(&flags.dport);
    generator.sizes.clone_from(&flags.size);
    if let Some(interface) = &args.interface {
        generator = generator
            .for_interface(interface, None)
            .map_err(|error| failure(&error))?;
    }
    let source = generator.into_source().map_err(|error| failure(&error))?;
    Ok(Box::new(source))
}

fn failure(error: &GeneratorError) -> Failure {
    let (exit, advice) = match error {
        GeneratorError::NoDestination => (Exit::Usage, ": give --dst"),
        GeneratorError::NoSource => (Exit::Usage, ": give --src"),
        GeneratorError::TooFewValues { .. } => (Exit::Usage, "; use wider ranges or random:"),
        GeneratorError::NoNeighbour { .. } => (Exit::Failed, "; give --dst-mac, or ping it once"),
        GeneratorError::Link(error) if error.errno() == Some(19) => {
            (Exit::Failed, " ('ip link' lists the interfaces)")
        }
        GeneratorError::Link(_) | GeneratorError::Namespace(_) => (Exit::Failed, ""),
        _ => (Exit::Usage, ""),
    };
    Failure::new(exit, chain(error) + advice)
}

fn recorded(args: &SendArgs, share: Share) -> Result<Source, Failure> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    let once = args
        .read
        .iter()
        .find(|path| is_stdin(path) || is_pipe(path));
    if let Some(path) = once.filter(|_| args.passes != 1) {
        let name = if is_stdin(path) {
            "standard input".into()
        } else {
            format!("{} is a pipe, which", path.display())
        };
        let line = format!("{name} can be sent only once: --loop needs a file");
        return Err(Failure::new(Exit::Usage, line));
    }
    // A file that is not there is reported before the device is opened.
    for path in args.read.iter().filter(|path| !is_stdin(path)) {
        std::fs::metadata(path)
            .map_err(|error| Failure::job_on(format!("cannot open {}", path.display()), &error))?;
    }
    let filter = (!args.filter.is_empty()).then(|| args.filter.join(" "));
    if let Some(text) = &filter {
        tapline::filter::check_syntax(text)
            .map_err(|error| Failure::new(Exit::Usage, chain(&error)))?;
    }
    let unreadable = |error| super::failure(&SendError::Source(error));
    let (files, passes) = (args.read.clone(), args.passes().map(NonZeroU64::get));
    let open = move || open_files(&files, filter.as_deref());
    let clients = match args.clients() {
        Some(Clients::Learned(_)) if once.is_some() => Some(Clients::Auto),
        Some(Clients::Learned(_)) => {
            let roles = open().and_then(|mut read| Ok(FlowRoles::read(&mut read)?));
            Some(Clients::Learned(roles.map_err(unreadable)?))
        }
        clients => clients,
    };
    // Files that cannot be opened are reported before an interface is.
    let mut first = Some(open().map_err(unreadable)?);
    let (opened, is_preloaded) = (share.clone(), args.preload);
    let open = move || {
        let read = match first.take() {
            Some(read) => read,
            None => open()?,
        };
        // Packets that are read before say nothing about those that were sent.
        if !is_preloaded {
            opened.open(passes, read.progress());
        }
        Ok(read)
    };
    let mut replay = Replay::new(open);
    replay = match args.passes() {
        Some(passes) => replay.repeat(passes),
        None => replay.repeat_endlessly(),
    };
    if let Some(clients) = clients {
        replay = replay.split(clients);
    }
    if args.preload {
        replay = replay.preload();
    }
    let mut rewrite = Rewrite::new();
    rewrite.destination_mac = args.dst_mac;
    rewrite.source_mac = args.src_mac;
    rewrite.vlan = args.vlan;
    rewrite.maps.clone_from(&args.map);
    rewrite.fix_checksums = args.fix_checksums;
    if rewrite.is_any() {
        replay = replay.edit(move |frame| rewrite.apply(frame));
    }
    let mut source = replay.into_source();
    Ok(Box::new(move |queue| {
        let fill = source(queue)?;
        if fill == Fill::Repeat {
            share.repeat();
        }
        Ok(fill)
    }))
}

/// Whether what is read from `path` cannot be read again.
fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Opens the files, from which packets are read that `filter` accepts.
fn open_files(files: &[PathBuf], filter: Option<&str>) -> Result<Read, SourceError> {
    let mut builder = ReadBuilder::new();
    for path in files {
        builder = add(builder, path)?;
    }
    if let Some(text) = filter {
        let expression = Expression::new(text, Arc::new(SystemNames::new()));
        let Ok(filtered) = builder.filter(Filter::from(expression));
        builder = filtered;
    }
    Ok(builder.open()?)
}

fn add(builder: ReadBuilder, path: &Path) -> std::io::Result<ReadBuilder> {
    if path.as_os_str() != "-" {
        return Ok(builder.file(path));
    }
    let stdin = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned()?;
    Ok(builder.stream("standard input", stdin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_from_memory_count_as_sent() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
        let bytes: Vec<u8> = header.into_iter().flat_map(u32::to_ne_bytes).collect();
        std::io::Write::write_all(&mut file, &bytes).expect("room");
        let progress = || {
            let read = ReadBuilder::new().file(file.path()).open();
            read.expect("a capture file").progress()
        };
        let share = Share::default();
        assert_eq!(share.get(), None);
        share.open(Some(4), progress());
        share.repeat();
        assert_eq!(share.get(), Some(0.25));
        share.repeat();
        assert_eq!(share.get(), Some(0.5));
        share.open(Some(4), progress());
        share.repeat();
        assert_eq!(share.get(), Some(0.75));
        let endless = Share::default();
        endless.open(None, progress());
        assert_eq!(endless.get(), None);
    }
}
