//! A filter as a fragment of an eBPF program.

use crate::backend::ebpf::codegen::writer::{CodegenInput, write};
use crate::backend::ebpf::context::{Verdicts, prologue};
use crate::backend::ebpf::insn::{Insn, Label, Reg};
use crate::error::{FilterError, FilterErrorReason};
use crate::filter::Filter;
use crate::graph::assumptions::PacketAssumptions;
use crate::graph::passes::specialize::specialize;
use crate::graph::sets::{Set, SetId};
use crate::options::FilterTarget;

/// A filter as a part of a program. It follows [`prologue`], and precedes the code for accepted and
/// rejected packets.
///
/// Fragments of one program share the registers and the `stack_bytes` below `R10`; none relies on
/// what another left there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fragment {
    /// The code. It jumps to [`Fragment::ACCEPT`] and [`Fragment::REJECT`], which it does not
    /// define, and to its own labels. All labels are below `labels`. The last instruction is a
    /// jump.
    pub code: Vec<Insn<SetId>>,
    /// The sets that the code uses.
    pub sets: Vec<Set>,
    /// Number of labels.
    pub labels: u32,
    /// The stack that the code uses below `R10`, in bytes.
    pub stack_bytes: u16,
    /// At tc: packet bytes that the code reads directly, for [`prologue`].
    pub direct_bytes: u16,
    /// Whether the verifier loses packet bounds in the code. No fragment for [`PacketAssumptions`]
    /// with a known protocol may follow.
    pub loses_bounds: bool,
    /// Where the code runs.
    pub target: FilterTarget,
    snaplen: u32,
}

impl Fragment {
    /// The jump target for rejected packets.
    pub const REJECT: Label = Label(0);
    /// The jump target for accepted packets.
    pub const ACCEPT: Label = Label(1);

    /// A complete program that returns `verdicts`.
    pub fn program(&self, verdicts: Verdicts) -> Vec<Insn<SetId>> {
        whole(self, verdicts)
    }

    /// The verdicts with which [`Fragment::program`] returns the same as [`Filter::run`].
    pub fn snaplen_verdicts(&self) -> Verdicts {
        Verdicts {
            accept: self.snaplen,
            reject: 0,
        }
    }
}

impl Filter {
    /// The filter as typed eBPF instructions, for the target it was compiled for:
    /// [`FilterTarget::Xdp`], [`FilterTarget::TcIngress`] or [`FilterTarget::TcEgress`].
    ///
    /// ```
    /// use tapline_filter::{FilterTarget, Filter, LinkType, NoNames, FilterOptions, ebpf::EbpfListing};
    ///
    /// let mut options = FilterOptions::new(LinkType::Ethernet);
    /// options.target = FilterTarget::Xdp;
    /// let fragment = Filter::new("ip", &options, &NoNames)?.ebpf()?;
    /// let program = fragment.program(fragment.snaplen_verdicts());
    /// assert!(EbpfListing(&program).to_string().contains("*(u16 *)(r7 + 12)"));
    /// # Ok::<(), tapline_filter::FilterError>(())
    /// ```
    ///
    /// # Errors
    /// [`FilterErrorReason::NotAvailable`] for other targets, and for metadata that the target does
    /// not have; [`FilterErrorReason::TooManyRegisters`] if arithmetic is nested too deeply for the
    /// stack.
    /// # Privileges
    /// To load the program: `CAP_BPF`, `CAP_NET_ADMIN`, and `CAP_PERFMON` if the code computes with
    /// packet addresses (`len`, variable offsets, and everything at tc).
    /// # Kernel
    /// Linux 5.1 (32-bit jumps). The verifier rejects programs with more than 64 sets in maps, or
    /// with more than 8192 open branches; longer lists must be lists that become sets.
    pub fn ebpf(&self) -> Result<Fragment, FilterError> {
        let whole = |reason| FilterError::new(0..self.text.len(), reason);
        let target = self.options.target;
        if !matches!(
            target,
            FilterTarget::Xdp | FilterTarget::TcIngress | FilterTarget::TcEgress
        ) {
            return Err(whole(FilterErrorReason::NotAvailable {
                what: "eBPF",
                target,
            }));
        }
        self.fragment(&CodegenInput {
            graph: &self.graph,
            values: &self.values,
            sets: &self.sets,
            at: target,
            bytes: 0,
        })
    }

    /// The same as [`Filter::ebpf`], for packets that satisfy the assumptions. The filter must be
    /// compiled for the same target. For XDP with a known tag location it may be compiled for
    /// [`FilterTarget::TcIngress`].
    ///
    /// Assumes that computed offsets point past the Ethernet addresses.
    ///
    /// # Errors
    /// The same as for [`Filter::ebpf`].
    pub fn ebpf_specialized(&self, shape: PacketAssumptions) -> Result<Fragment, FilterError> {
        let (graph, values) = specialize(&self.graph, &self.values, shape);
        self.fragment(&CodegenInput {
            graph: &graph,
            values: &values,
            sets: &self.sets,
            at: shape.target,
            bytes: shape.bytes(),
        })
    }

    fn fragment(&self, input: &CodegenInput<'_>) -> Result<Fragment, FilterError> {
        let whole = |reason| FilterError::new(0..self.text.len(), reason);
        let written = write(input).map_err(whole)?;
        Ok(Fragment {
            code: written.code,
            sets: self.sets.clone(),
            labels: written.labels,
            stack_bytes: written.stack_bytes,
            direct_bytes: written.direct_bytes,
            loses_bounds: written.loses_bounds,
            target: input.at,
            snaplen: self.options.snaplen,
        })
    }
}

/// The fragment with a prologue and the two exits.
fn whole(fragment: &Fragment, verdicts: Verdicts) -> Vec<Insn<SetId>> {
    let labels = [Label(fragment.labels), Label(fragment.labels + 1)];
    let mut code = prologue(fragment.target, fragment.direct_bytes, labels);
    code.extend(fragment.code.iter().copied());
    let mut ends = [
        (Fragment::ACCEPT, verdicts.accept),
        (Fragment::REJECT, verdicts.reject),
    ];
    // The last jump is redundant if its target comes next.
    if let Some(Insn::Jump { target }) = code.last() {
        if *target == Fragment::REJECT {
            ends.reverse();
        }
        if *target == ends[0].0 {
            code.pop();
        }
    }
    for (at, (label, verdict)) in ends.into_iter().enumerate() {
        // The verifier rejects unreachable code.
        let is_reached = at == 0 || code.iter().any(|insn| insn.target() == Some(label));
        if is_reached {
            code.extend([
                Insn::Place(label),
                Insn::mov32(Reg::R0, verdict.cast_signed()),
                Insn::Exit,
            ]);
        }
    }
    code
}
