use super::insn::{Insn, Label};
use super::program::{self, Verdicts};
use super::shape::Shape;
use super::write::{Source, write};
use crate::error::{FilterError, Reason};
use crate::filter::Filter;
use crate::graph::given;
use crate::graph::sets::{Set, SetId};
use crate::options::At;

/// A filter as a piece of a program, between [`prologue`](super::prologue) and what is done with
/// packets of either kind.
///
/// Fragments of one program share registers and the `stack_bytes` below `R10`: none needs what
/// another left there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fragment {
    /// The code. Its labels are [`Fragment::ACCEPT`] and [`Fragment::REJECT`], which have no place in
    /// it, and its own, all below `labels`. The last instruction is a jump.
    pub code: Vec<Insn<SetId>>,
    /// The sets that the code names.
    pub sets: Vec<Set>,
    /// Number of labels.
    pub labels: u32,
    /// What the code writes below `R10`.
    pub stack_bytes: u16,
    /// At tc: bytes of the packet that the code reads directly, for [`prologue`](super::prologue).
    pub direct_bytes: u16,
    /// Whether the verifier knows less of the packet's bytes behind the code than in front of it: no
    /// fragment for a [`Shape`] of known bytes may follow.
    pub forgets: bool,
    /// Where it runs.
    pub at: At,
    snaplen: u32,
}

impl Fragment {
    /// Where packets go that the filter refuses.
    pub const REJECT: Label = Label(0);
    /// Where packets go that the filter accepts.
    pub const ACCEPT: Label = Label(1);

    /// A whole program that returns `verdicts`.
    pub fn program(&self, verdicts: Verdicts) -> Vec<Insn<SetId>> {
        program::whole(self, verdicts)
    }

    /// The verdicts with which [`Fragment::program`] returns what [`Filter::run`] does.
    pub fn values(&self) -> Verdicts {
        Verdicts {
            accept: self.snaplen,
            reject: 0,
        }
    }
}

impl Filter {
    /// The filter as typed eBPF instructions for the place it was read for: [`At::Xdp`],
    /// [`At::TcIngress`] or [`At::TcEgress`].
    ///
    /// ```
    /// use tapline_filter::{At, Filter, LinkType, NoNames, Options, ebpf::Listing};
    ///
    /// let mut options = Options::new(LinkType::Ethernet);
    /// options.at = At::Xdp;
    /// let fragment = Filter::new("ip", &options, &NoNames)?.ebpf()?;
    /// let program = fragment.program(fragment.values());
    /// assert!(Listing(&program).to_string().contains("*(u16 *)(r7 + 12)"));
    /// # Ok::<(), tapline_filter::FilterError>(())
    /// ```
    ///
    /// # Errors
    /// [`FilterError`]: [`Reason::NotAt`] for another place, and for what is not known there;
    /// [`Reason::TooManyRegisters`] when arithmetic is nested too deeply for the stack.
    /// # Privileges
    /// To load what is made of it: `CAP_BPF`, `CAP_NET_ADMIN`, and `CAP_PERFMON` where the code
    /// computes with addresses of the packet: `len`, offsets that are values, and all of tc.
    /// # Kernel
    /// Linux 5.1 (32-bit jumps). The verifier takes no program with more than 64 sets in maps, and
    /// follows at most 8192 open branches: lists of more terms have to be such as become sets.
    pub fn ebpf(&self) -> Result<Fragment, FilterError> {
        let whole = |reason| FilterError::new(0..self.text.len(), reason);
        let at = self.options.at;
        if !matches!(at, At::Xdp | At::TcIngress | At::TcEgress) {
            return Err(whole(Reason::NotAt { what: "eBPF", at }));
        }
        self.fragment(&Source {
            graph: &self.graph,
            values: &self.values,
            sets: &self.sets,
            at,
            bytes: 0,
        })
    }

    /// As [`Filter::ebpf`], for packets that are known to be of `shape`. The filter is one for
    /// `shape.at`, or one for [`At::TcIngress`] and for XDP a shape that tells where the tag is.
    ///
    /// What arithmetic computes as an offset is taken to lead behind the Ethernet addresses.
    ///
    /// # Errors
    /// As [`Filter::ebpf`].
    pub fn ebpf_for(&self, shape: Shape) -> Result<Fragment, FilterError> {
        let (graph, values) = given(&self.graph, &self.values, shape);
        self.fragment(&Source {
            graph: &graph,
            values: &values,
            sets: &self.sets,
            at: shape.at,
            bytes: shape.bytes(),
        })
    }

    fn fragment(&self, source: &Source<'_>) -> Result<Fragment, FilterError> {
        let whole = |reason| FilterError::new(0..self.text.len(), reason);
        let written = write(source).map_err(whole)?;
        Ok(Fragment {
            code: written.code,
            sets: self.sets.clone(),
            labels: written.labels,
            stack_bytes: written.stack_bytes,
            direct_bytes: written.direct_bytes,
            forgets: written.forgets,
            at: source.at,
            snaplen: self.options.snaplen,
        })
    }
}
