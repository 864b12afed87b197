//! Which packets a job takes: a filter expression, or a classic BPF program.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use filter::classic::ClassicProgram;
use filter::{FilterError, NameResolver, NoNames};

/// Which packets a job takes, on each interface.
///
/// ```
/// let filter = tapline::Filter::try_from("tcp port 443")?;
/// assert!(tapline::Filter::try_from("tcp prt 443").is_err());
/// # Ok::<(), tapline::filter::FilterError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Filter {
    /// A classic BPF program, the same for every interface. The kernel runs it.
    Program(ClassicProgram),
    /// Text, compiled for the link type of each interface.
    Expression(Expression),
}

impl Filter {
    /// The text of an expression.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Expression(expression) => Some(&expression.text),
            Self::Program(_) => None,
        }
    }
}

/// A filter in the language of pcap-filter(7).
///
/// It sees a packet as a socket filter does: a VLAN tag that the kernel removed from the bytes is
/// metadata, so `udp` matches tagged packets too. `ip broadcast` takes the netmask from the first IPv4
/// address of the interface; without one it matches only 255.255.255.255 and 0.0.0.0.
#[derive(Clone)]
pub struct Expression {
    /// The text; an empty one matches every packet.
    pub text: String,
    /// Resolves the names in the text when the job is opened.
    pub names: Arc<dyn NameResolver + Send + Sync>,
}

impl Expression {
    /// The expression `text`, whose names `names` resolves. Errors in it are reported when a job compiles it.
    pub fn new(text: impl Into<String>, names: Arc<dyn NameResolver + Send + Sync>) -> Self {
        Self {
            text: text.into(),
            names,
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Expression");
        fields.field("text", &self.text).finish_non_exhaustive()
    }
}

impl From<ClassicProgram> for Filter {
    fn from(program: ClassicProgram) -> Self {
        Self::Program(program)
    }
}

impl From<Expression> for Filter {
    fn from(expression: Expression) -> Self {
        Self::Expression(expression)
    }
}

/// Checks the syntax. The expression resolves no names: use [`Expression::new`] for that.
impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        filter::check_syntax(text)?;
        Ok(Expression::new(text, Arc::new(NoNames)).into())
    }
}

impl TryFrom<&str> for Filter {
    type Error = FilterError;

    fn try_from(text: &str) -> Result<Self, FilterError> {
        text.parse()
    }
}

impl TryFrom<String> for Filter {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Self, FilterError> {
        text.parse()
    }
}

impl TryFrom<&String> for Filter {
    type Error = FilterError;

    fn try_from(text: &String) -> Result<Self, FilterError> {
        text.parse()
    }
}
