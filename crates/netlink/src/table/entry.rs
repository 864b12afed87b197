use std::fmt;

/// An attribute as the kernel's headers call it, and what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its type (`nla_type`).
    pub kind: u16,
    /// The kernel's constant (`IFLA_VXLAN_ID`), or a name of its own where that would not tell.
    pub constant: &'static str,
    /// What is in it.
    pub shape: Shape,
}

/// What is in an attribute.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// Nothing: it is there, or not.
    Flag,
    /// A number in the machine's byte order; as wide as the payload.
    Number,
    /// A number in network byte order.
    NumberBe,
    /// A text.
    Text,
    /// An IPv4 or IPv6 address.
    Ip,
    /// A hardware address.
    Mac,
    /// A number whose bits have these names.
    Bits(&'static [(u32, &'static str)]),
    /// Bytes of another kind.
    Bytes,
    /// Attributes behind a fixed header of `skip` bytes.
    Nest {
        /// Bytes before the first attribute.
        skip: usize,
        /// Which there may be.
        entries: fn() -> &'static [Entry],
    },
    /// Attributes that depend on what stands beside: `by` is given the attributes around it.
    Chosen {
        /// Gives those there may be.
        by: fn(&[u8]) -> &'static [Entry],
    },
    /// Any number of attributes of one shape; their types are numbers in a row, or all the same.
    List(&'static Shape),
}

impl Entry {
    /// The entry of `kind` among `entries`.
    pub fn find(entries: &'static [Self], kind: u16) -> Option<&'static Self> {
        entries.iter().find(|entry| entry.kind == kind)
    }
}

impl fmt::Display for Entry {
    /// The constant without its family, in lower case: `IFLA_VLAN_ID` is `vlan-id`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.constant.split_once('_') {
            Some((family, name)) if family.bytes().all(|byte| byte.is_ascii_uppercase()) => name,
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
