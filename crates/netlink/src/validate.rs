//! Checks that each attribute of a request fits its length field, and that text has no zero byte.

use crate::codec::{AttributeFault, FaultyAttribute, MAX_ATTRIBUTE_BYTES, Request};
use crate::error::InvalidRequest;
use crate::schema::{AttributeSpec, AttributeType};

/// Checks that a kernel reads the attributes of `request` as they are. `layout` is that of its messages: the length of the
/// fixed header and the attributes.
///
/// # Errors
/// [`InvalidRequest`] with the path of the attribute.
#[inline]
pub(crate) fn check_attributes(
    request: &Request,
    layout: (usize, &'static [AttributeSpec]),
) -> Result<(), InvalidRequest> {
    match request.faulty() {
        None => Ok(()),
        Some(attribute) => Err(refuse(attribute, request, layout)),
    }
}

#[cold]
fn refuse(
    attribute: &FaultyAttribute,
    request: &Request,
    (header_bytes, mut specs): (usize, &'static [AttributeSpec]),
) -> InvalidRequest {
    let mut names = Vec::new();
    let mut siblings = request.body().get(header_bytes..).unwrap_or_default();
    for (kind, at) in attribute.path.iter().rev() {
        let spec = AttributeSpec::find(specs, *kind);
        names.push(spec.map_or_else(|| kind.to_string(), ToString::to_string));
        let (skip, nested) = match spec.map(|spec| spec.contents) {
            Some(AttributeType::Nest { skip, attributes }) => (skip, attributes()),
            // The type on which they depend precedes them.
            Some(AttributeType::Dependent { choose }) => (0, choose(siblings)),
            _ => (0, &[][..]),
        };
        siblings = request.bytes().get(at + 4 + skip..).unwrap_or_default();
        specs = nested;
    }
    let name = names.join(".");
    InvalidRequest::new(match attribute.fault {
        AttributeFault::Length(bytes) => {
            format!("{name} has {bytes} bytes, and an attribute at most {MAX_ATTRIBUTE_BYTES}")
        }
        AttributeFault::ZeroByte => format!("{name} contains a zero byte"),
    })
}
