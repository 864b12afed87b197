use crate::classic::Program;
use crate::error::FilterError;
use crate::filter::Filter;
use crate::names::Names;
use crate::options::Options;

/// The classic BPF program for a filter in the language of pcap-filter(7): [`Filter::new`], then
/// [`Filter::classic`].
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
/// Those of the two.
pub fn compile(text: &str, options: &Options, names: &dyn Names) -> Result<Program, FilterError> {
    Filter::new(text, options, names)?.classic()
}
