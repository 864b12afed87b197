use crate::classic::{Ancillary, Program};
use crate::error::{FilterError, Reason};
use crate::graph::condition::Condition;
use crate::graph::nodes::Graph;
use crate::graph::sets::{Set, Sets};
use crate::graph::values::{Value, Values};
use crate::graph::{expand, fold, group, run, settle, thread, widen};
use crate::language::tree::Expression;
use crate::language::{Parser, lex};
use crate::lower::Lowering;
use crate::names::{Answers, Asked, Names};
use crate::options::Options;
use crate::warnings::Warning;
use std::sync::OnceLock;

/// Longest filter, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Constants that one value is compared with, from which on they are a set.
const LEAST_IN_SET: usize = 16;

/// A filter that is understood: what it asks of packets of one link type at one place.
///
/// Its back ends give one and the same verdict for every packet, also for packets cut short.
///
/// ```
/// use tapline_filter::{Filter, LinkType, NoNames, Options};
///
/// let filter = Filter::new("udp port 53", &Options::new(LinkType::Ethernet), &NoNames)?;
/// assert_eq!(filter.run(&[0; 60], 60, &Default::default()), 0);
/// assert_eq!(filter.classic()?.run(&[0; 60], 60), 0);
/// # Ok::<(), tapline_filter::FilterError>(())
/// ```
pub struct Filter {
    pub(crate) text: String,
    /// What the names in the text stood for.
    pub(crate) names: Answers,
    pub(crate) warnings: OnceLock<Vec<Warning>>,
    pub(crate) tree: Expression,
    pub(crate) options: Options,
    pub(crate) graph: Graph,
    pub(crate) values: Values,
    pub(crate) sets: Vec<Set>,
}

impl Filter {
    /// Reads a filter in the language of pcap-filter(7). An empty one matches every packet.
    ///
    /// # Errors
    /// [`FilterError`] has the place in `text`, the reason and, where one is near, the word meant.
    /// # Source
    /// pcap-filter(7).
    pub fn new(text: &str, options: &Options, names: &dyn Names) -> Result<Self, FilterError> {
        let whole = |reason| FilterError::new(0..text.len(), reason);
        if text.len() > MAX_TEXT {
            return Err(whole(Reason::TooLong));
        }
        let tokens = lex(text)?;
        let tree = Parser::new(text, tokens).parse()?;
        let names = Asked::new(names);
        let (condition, mut values) = Lowering::new(options, &names).lower(&tree)?;
        let condition = group(condition, &values);
        let mut sets = Sets::default();
        let folded = fold(&condition, &values, &mut sets, LEAST_IN_SET);
        let graph = graph_of(&folded, &mut values);
        if graph.root == Graph::REJECT {
            return Err(whole(Reason::RejectsAll));
        }
        Ok(Self {
            text: text.to_owned(),
            names: names.into_answers(),
            warnings: OnceLock::new(),
            tree,
            options: *options,
            graph,
            values,
            sets: sets.into_vec(),
        })
    }

    /// The filter as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// For which packets the filter was read.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether it asks about a VLAN tag that may be beside the bytes.
    pub fn looks_at_tags(&self) -> bool {
        let mut values = self.values.iter();
        let is_tag = |offset| matches!(offset, Ancillary::VLAN_TAG | Ancillary::VLAN_TAG_PRESENT);
        values.any(|(_, value)| matches!(value, Value::Ancillary(_, offset) if is_tag(offset)))
    }

    /// What long lists of hosts, networks and ports became; [`Filter::classic`] has no sets.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// How many bytes of `packet` to keep; 0 refuses it. The reference of the other back ends: it
    /// walks the graph.
    ///
    /// `packet` is what was captured, `original_len` the packet's length on the wire in bytes.
    /// Never allocates.
    pub fn run(&self, packet: &[u8], original_len: u32, ancillary: &Ancillary) -> u32 {
        let accepts = run(self, packet, original_len, ancillary);
        if accepts { self.options.snaplen } else { 0 }
    }

    /// The classic BPF program, which returns [`Options::snaplen`] for packets that match and 0 for
    /// others. Lists are searched by comparisons, as it has no sets.
    ///
    /// # Errors
    /// [`FilterError`] when the program is longer than the kernel takes
    /// ([`Reason::TooManyInstructions`]) or needs more registers ([`Reason::TooManyRegisters`]).
    pub fn classic(&self) -> Result<Program, FilterError> {
        let mut values = self.values.clone();
        let graph = expand(&self.graph, &self.sets, &mut values);
        crate::emit::emit(&graph, &mut values, self.options.snaplen)
            .map_err(|reason| FilterError::new(0..self.text.len(), reason))
    }

    /// A classic program for where [`Filter::classic`] is too long: it lets through all that the
    /// filter accepts and, as it asks no long list, more than that.
    pub fn coarse(&self) -> Program {
        let mut values = self.values.clone();
        let graph = widen(&self.graph);
        let program = crate::emit::emit(&graph, &mut values, self.options.snaplen);
        program.unwrap_or_else(|_| Program::keep(self.options.snaplen))
    }
}

fn graph_of(condition: &Condition, values: &mut Values) -> Graph {
    let graph = Graph::of(condition, values);
    let graph = thread(graph, values);
    settle(&graph, values)
}
