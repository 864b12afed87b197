use crate::classic::Program;
use crate::error::{FilterError, Reason};
use crate::graph::nodes::Graph;
use crate::graph::{group, settle, thread};
use crate::language::{Parser, lex};
use crate::lower::Lowering;
use crate::names::Names;
use crate::options::Options;

/// Longest filter, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// The classic BPF program for a filter in the language of pcap-filter(7).
///
/// The program returns [`Options::snaplen`] for packets that match and 0 for others. An empty filter
/// matches every packet.
///
/// ```
/// use tapline_filter::{LinkType, NoNames, Options, compile};
///
/// let program = compile("udp port 53", &Options::new(LinkType::Ethernet), &NoNames)?;
/// assert_eq!(program.run(&[0; 60], 60), 0);
///
/// let text = "udp prot 53";
/// let error = compile(text, &Options::new(LinkType::Ethernet), &NoNames).unwrap_err();
/// assert_eq!(error.suggestion, Some("port"));
/// assert_eq!(error.caret(text), "udp prot 53\n    ^^^^");
/// # Ok::<(), tapline_filter::FilterError>(())
/// ```
///
/// # Errors
/// [`FilterError`] has the place in `text`, the reason and, where one is near, the word meant.
/// # Source
/// pcap-filter(7).
pub fn compile(text: &str, options: &Options, names: &dyn Names) -> Result<Program, FilterError> {
    let whole = |reason| FilterError::new(0..text.len(), reason);
    if text.len() > MAX_TEXT {
        return Err(whole(Reason::TooLong));
    }
    let tokens = lex(text)?;
    let tree = Parser::new(text, tokens).parse()?;
    let (condition, mut values) = Lowering::new(options, names).lower(&tree)?;
    let condition = group(condition, &values);
    let graph = Graph::of(&condition, &mut values);
    let graph = thread(graph, &values);
    let graph = settle(&graph, &mut values);
    if graph.root == Graph::REJECT {
        return Err(whole(Reason::RejectsAll));
    }
    crate::emit::emit(&graph, &mut values, options.snaplen).map_err(whole)
}
