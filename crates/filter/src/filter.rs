//! A parsed and compiled filter.

use crate::classic::Ancillary;
use crate::error::{FilterError, FilterErrorReason};
use crate::graph::control_flow::Graph;
use crate::graph::passes::dead_variables::remove_dead_variables;
use crate::graph::passes::group_alternatives::group_alternatives;
use crate::graph::passes::jump_threading::thread_jumps;
use crate::graph::passes::lists_to_sets::lists_to_sets;
use crate::graph::sets::{Set, Sets};
use crate::graph::values::{Value, Values};
use crate::language::lexer::lex;
use crate::language::parser::Parser;
use crate::language::tree::Expression;
use crate::lower::lowering::Lowering;
use crate::names::{NameResolver, RecordedNames, RecordingResolver};
use crate::options::FilterOptions;
use crate::warnings::warning::FilterWarning;
use std::sync::OnceLock;

/// Maximum length of a filter text, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// A list with at least this many constants becomes a set.
const MIN_SET_CONSTANTS: usize = 16;

/// A compiled filter, for packets of one link type and one target.
///
/// Every back end returns the same verdict for every packet, also for truncated packets.
///
/// ```
/// use tapline_filter::{Filter, FilterOptions, LinkType, NoNames};
///
/// let filter = Filter::new("udp port 53", &FilterOptions::new(LinkType::Ethernet), &NoNames)?;
/// assert_eq!(filter.run(&[0; 60], 60, &Default::default()), 0);
/// assert_eq!(filter.classic()?.run(&[0; 60], 60), 0);
/// # Ok::<(), tapline_filter::FilterError>(())
/// ```
pub struct Filter {
    pub(crate) text: String,
    /// The names in the text with their resolved values.
    pub(crate) names: RecordedNames,
    pub(crate) warnings: OnceLock<Vec<FilterWarning>>,
    pub(crate) tree: Expression,
    pub(crate) options: FilterOptions,
    pub(crate) graph: Graph,
    pub(crate) values: Values,
    pub(crate) sets: Vec<Set>,
}

/// Checks the syntax of a filter, without a link type and without resolving names.
///
/// # Errors
/// The syntax errors of [`Filter::new`].
pub fn check_syntax(text: &str) -> Result<(), FilterError> {
    parse(text).map(drop)
}

/// Compiles a filter to classic BPF: [`Filter::new`], then [`Filter::classic`].
///
/// ```
/// use tapline_filter::{FilterOptions, LinkType, NoNames, compile};
///
/// let program = compile("udp port 53", &FilterOptions::new(LinkType::Ethernet), &NoNames)?;
/// assert_eq!(program.run(&[0; 60], 60), 0);
///
/// let text = "udp prot 53";
/// let error = compile(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap_err();
/// assert_eq!(error.suggestion, Some("port"));
/// assert_eq!(error.caret(text), "udp prot 53\n    ^^^^");
/// # Ok::<(), tapline_filter::FilterError>(())
/// ```
///
/// # Errors
/// Those of the two functions.
pub fn compile(
    text: &str,
    options: &FilterOptions,
    names: &dyn NameResolver,
) -> Result<crate::classic::ClassicProgram, FilterError> {
    Filter::new(text, options, names)?.classic()
}

pub(crate) fn parse(text: &str) -> Result<Expression, FilterError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(FilterError::new(0..text.len(), FilterErrorReason::TooLong));
    }
    Parser::new(text, lex(text)?).parse()
}

impl Filter {
    /// Compiles a filter in the language of pcap-filter(7). An empty text matches every packet.
    ///
    /// # Errors
    /// [`FilterError`] has the position in `text`, the reason and, if a known word is similar, a suggestion.
    /// # Source
    /// pcap-filter(7).
    pub fn new(
        text: &str,
        options: &FilterOptions,
        names: &dyn NameResolver,
    ) -> Result<Self, FilterError> {
        let tree = parse(text)?;
        let names = RecordingResolver::new(names);
        let (condition, mut values) = Lowering::new(options, &names).lower(&tree)?;
        let condition = group_alternatives(condition, &values);
        let mut sets = Sets::default();
        let condition = lists_to_sets(&condition, &values, &mut sets, MIN_SET_CONSTANTS);
        let graph = Graph::of(&condition, &mut values);
        let graph = thread_jumps(graph, &values);
        let graph = remove_dead_variables(&graph, &mut values);
        if graph.root == Graph::REJECT {
            return Err(FilterError::new(
                0..text.len(),
                FilterErrorReason::RejectsAll,
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            names: names.into_recorded(),
            warnings: OnceLock::new(),
            tree,
            options: *options,
            graph,
            values,
            sets: sets.into_vec(),
        })
    }

    /// The text of the filter.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The options that the filter was compiled with.
    pub fn options(&self) -> &FilterOptions {
        &self.options
    }

    /// Whether the filter reads a VLAN tag from the packet's metadata.
    pub fn reads_vlan_tag(&self) -> bool {
        let mut values = self.values.iter();
        let is_tag = |offset| matches!(offset, Ancillary::VLAN_TAG | Ancillary::VLAN_TAG_PRESENT);
        values.any(|(_, value)| matches!(value, Value::Ancillary(_, offset) if is_tag(offset)))
    }

    /// The sets that long lists of hosts, networks and ports became. [`Filter::classic`] expands them again.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }
}
