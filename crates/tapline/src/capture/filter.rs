//! Which packets a capture wants.

use std::fmt;
use std::sync::Arc;

use filter::Names;
use filter::classic::Program;

/// Which packets are wanted, on each interface.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Filter {
    /// A program, the same for every interface. The kernel runs it.
    Program(Program),
    /// A text, compiled for what the packets of each interface begin with.
    Expression(Expression),
}

impl From<Program> for Filter {
    fn from(program: Program) -> Self {
        Self::Program(program)
    }
}

/// A filter in the language of pcap-filter(7).
///
/// It sees a packet as a socket filter does: a VLAN tag that the kernel took out of the bytes is beside
/// them, so `udp` matches tagged packets too. `ip broadcast` takes the network's mask from the
/// interface's first IPv4 address; without one it means 255.255.255.255 and 0.0.0.0 only.
#[derive(Clone)]
pub struct Expression {
    /// The text; empty, it matches every packet.
    pub text: String,
    /// Who knows the names in it, asked while the capture is opened.
    pub names: Arc<dyn Names + Send + Sync>,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Expression");
        fields.field("text", &self.text).finish_non_exhaustive()
    }
}

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterPlace {
    /// In the kernel: what it refuses costs the reader nothing.
    Kernel,
    /// It is too long for the kernel, which runs a short one that refuses less; the reader decides on
    /// what that lets through. The ring keeps packets whole then, since the reader may look at any
    /// byte, and they are cut to the snaplen behind it.
    Split,
}

impl FilterPlace {
    /// Its name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Split => "split",
        }
    }
}
