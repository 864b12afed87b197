//! The names and contents of attributes, for error paths and for [`explain`](crate::explain).

use std::fmt;

use crate::codec::{Attribute, Attributes, HEADER_BYTES, KernelError, attributes};

/// Maximum nesting depth of attributes.
const MAX_DEPTH: usize = 8;

/// One attribute: its type, its name in the kernel's headers and its contents.
#[derive(Clone, Copy, Debug)]
pub struct AttributeSpec {
    /// Its type (`nla_type`).
    pub kind: u16,
    /// The kernel's constant (`IFLA_VXLAN_ID`), or another name where the constant is not descriptive.
    pub constant: &'static str,
    /// What it contains.
    pub contents: AttributeType,
}

/// What an attribute contains.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AttributeType {
    /// Nothing: its presence is the value.
    Flag,
    /// A number in host byte order, as wide as the payload.
    Number,
    /// A number in network byte order.
    BigEndianNumber,
    /// Text.
    Text,
    /// An IPv4 or IPv6 address.
    Ip,
    /// A hardware address.
    Mac,
    /// A number whose bits have these names.
    Bits(&'static [(u32, &'static str)]),
    /// Raw bytes.
    Bytes,
    /// Nested attributes after a fixed header of `skip` bytes.
    Nest {
        /// Length of the header in bytes.
        skip: usize,
        /// The nested attributes.
        attributes: fn() -> &'static [AttributeSpec],
    },
    /// Nested attributes that depend on a sibling attribute.
    Dependent {
        /// Returns the nested attributes; its argument is the surrounding attributes.
        choose: fn(&[u8]) -> &'static [AttributeSpec],
    },
    /// Any number of attributes with the same contents. Their types are all equal or consecutive numbers.
    List(&'static AttributeType),
}

impl AttributeSpec {
    pub(crate) const fn new(kind: u16, constant: &'static str, contents: AttributeType) -> Self {
        Self {
            kind,
            constant,
            contents,
        }
    }

    /// The attribute of type `kind` among `specs`.
    pub fn find(specs: &'static [Self], kind: u16) -> Option<&'static Self> {
        specs.iter().find(|spec| spec.kind == kind)
    }
}

impl fmt::Display for AttributeSpec {
    /// The constant without its prefix, in lower case: `IFLA_VLAN_ID` is `vlan-id`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.constant.split_once('_') {
            Some((prefix, name)) if prefix.bytes().all(|byte| byte.is_ascii_uppercase()) => name,
            _ => self.constant,
        };
        for letter in name.chars() {
            let letter = if letter == '_' {
                '-'
            } else {
                letter.to_ascii_lowercase()
            };
            fmt::Write::write_char(f, letter)?;
        }
        Ok(())
    }
}

/// The path of the attribute that `error` points to, or reports as missing, in `request`: for example
/// `linkinfo.data.vlan-id`. `request` is one message. A missing attribute ends in ` missing`.
pub(crate) fn attribute_path(
    error: &KernelError,
    request: &[u8],
    header_bytes: usize,
    specs: &'static [AttributeSpec],
) -> Option<Box<str>> {
    let start = HEADER_BYTES + header_bytes;
    let top = attributes(request.get(start..)?, start);
    if let Some(offset) = error.offset {
        return path_at(top, request.get(start..)?, offset as usize, specs)
            .map(|(path, _)| path.into());
    }
    let missing = u16::try_from(error.missing?).ok()?;
    let nest = error.missing_in.map(|offset| offset as usize);
    let (parent, specs) = match nest {
        Some(offset) => {
            let (path, nested) = path_at(top, request.get(start..)?, offset, specs)?;
            (path + ".", nested)
        }
        None => (String::new(), specs),
    };
    let name = match AttributeSpec::find(specs, missing) {
        Some(spec) => spec.to_string(),
        None => missing.to_string(),
    };
    Some(format!("{parent}{name} missing").into())
}

/// The path of the attribute at byte `offset`, and the attributes that it can contain.
fn path_at<'a>(
    mut level: Attributes<'a>,
    mut siblings: &'a [u8],
    offset: usize,
    mut specs: &'static [AttributeSpec],
) -> Option<(String, &'static [AttributeSpec])> {
    let mut path = String::new();
    for _ in 0..MAX_DEPTH {
        let contains_offset = |attribute: &Attribute<'_>| {
            (attribute.at - 4..attribute.at + attribute.bytes.len()).contains(&offset)
        };
        let attribute = level.by_ref().flatten().find(contains_offset)?;
        let spec = AttributeSpec::find(specs, attribute.kind);
        match spec {
            Some(spec) => path += &spec.to_string(),
            None => path += &attribute.kind.to_string(),
        }
        let (skip, nested) = match spec.map(|spec| spec.contents) {
            Some(AttributeType::Nest { skip, attributes }) => (skip, attributes()),
            Some(AttributeType::Dependent { choose }) => (0, choose(siblings)),
            _ => (attribute.bytes.len(), &[][..]),
        };
        if offset < attribute.at + skip || nested.is_empty() {
            return Some((path, nested));
        }
        level = attributes(attribute.bytes.get(skip..)?, attribute.at + skip);
        siblings = attribute.bytes;
        specs = nested;
        path.push('.');
    }
    None
}

/// A list of attributes by their constants: `specs! { IFLA_INFO_KIND: AttributeType::Text, … }`.
macro_rules! specs {
    ($($id:ident: $contents:expr),* $(,)?) => {
        &[$(crate::schema::AttributeSpec::new(crate::uapi::$id as u16, stringify!($id), $contents)),*]
    };
}
pub(crate) use specs;
