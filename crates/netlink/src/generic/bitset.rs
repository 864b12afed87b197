//! Sets of named bits, as the ethtool family has them.

use crate::codec::{Attribute, Malformed, Request};
use crate::uapi::{
    ETHTOOL_A_BITSET_BIT_NAME, ETHTOOL_A_BITSET_BIT_VALUE, ETHTOOL_A_BITSET_BITS,
    ETHTOOL_A_BITSET_BITS_BIT, ETHTOOL_A_BITSET_NOMASK,
};

/// The names of the bits that are set.
///
/// # Source
/// Documentation/networking/ethtool-netlink.rst, "Bit sets".
pub(super) fn names(set: Attribute<'_>) -> Result<Vec<String>, Malformed> {
    let mut names = Vec::new();
    // Without a mask the bits that are listed are those that are set.
    let mut listed_is_set = false;
    for part in set.attributes() {
        let part = part?;
        match part.kind {
            ETHTOOL_A_BITSET_NOMASK => listed_is_set = true,
            ETHTOOL_A_BITSET_BITS => {
                for bit in part.attributes() {
                    let (name, is_set) = read_bit(bit?)?;
                    if is_set || listed_is_set {
                        names.extend(name);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

fn read_bit(bit: Attribute<'_>) -> Result<(Option<String>, bool), Malformed> {
    let (mut name, mut is_set) = (None, false);
    for part in bit.attributes() {
        let part = part?;
        match part.kind {
            ETHTOOL_A_BITSET_BIT_NAME => name = Some(part.text()),
            ETHTOOL_A_BITSET_BIT_VALUE => is_set = true,
            _ => {}
        }
    }
    Ok((name, is_set))
}

/// Adds a set that switches the bits of these names and no others.
pub(super) fn change(request: &mut Request, kind: u16, bits: &[(&str, bool)]) {
    request.nested(kind, &[], |set| put(set, bits));
}

/// Adds a set in which the bit called `name` is set and all others are not.
pub(super) fn only(request: &mut Request, kind: u16, name: &str) {
    request.nested(kind, &[], |set| {
        set.attribute(ETHTOOL_A_BITSET_NOMASK, &[]);
        put(set, &[(name, true)]);
    });
}

fn put(set: &mut Request, bits: &[(&str, bool)]) {
    set.nested(ETHTOOL_A_BITSET_BITS, &[], |list| {
        for (name, on) in bits {
            list.nested(ETHTOOL_A_BITSET_BITS_BIT, &[], |bit| {
                // No name of the kernel's is as long.
                let name = name.as_bytes();
                bit.text(ETHTOOL_A_BITSET_BIT_NAME, &name[..name.len().min(128)]);
                if *on {
                    bit.attribute(ETHTOOL_A_BITSET_BIT_VALUE, &[]);
                }
            });
        }
    });
}
