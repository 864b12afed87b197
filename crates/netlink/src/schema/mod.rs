//! The schema of messages: one table for each set of attributes. Its struct, encoder, decoder, filter,
//! JSON, keywords and the names in errors are generated from it.
//!
//! | macro | generates |
//! |---|---|
//! | `attribute_set!` | the struct of a set of attributes and its [`AttributeSet`] |
//! | `number_enum!` | an enumeration of a number with named values |
//! | `flag_set!` | a set of named flags |
//! | `switches!` | a struct of switches, each given or not, stored as the bits of a number |
//!
//! An [`AttributeCodec`] encodes a value in an attribute. A [`TextValue`] parses and formats it. A [`FieldValue`]
//! describes it to programs in other languages and encodes it for them: the C++ types are generated from the same
//! tables.

mod bits;
mod codec;
mod fields;
mod macros;
mod number_macros;
mod number_or_name;
mod spec;
mod text;

pub use bits::{BitField, BitFieldBigEndian, Bits, MaskedBitField};
pub use codec::{AttributeCodec, BigEndian, Boxed, Flag, Listed, Native, Nested, NonZero};
pub(crate) use codec::{fixed_size, join};
pub use fields::{
    FieldReader, FieldSet, FieldSetShape, FieldShape, FieldValue, FieldWriter, FlagSpec,
    InvalidField, Mark, NamedNumber, Shape, field_id,
};
pub(crate) use fields::{field_set_value, field_values, text_field_values, utf8, wrong_length};
pub(crate) use macros::{attribute_set, codec};
pub(crate) use number_macros::{flag_set, number, number_enum, switches};
pub use spec::{AttributeSpec, AttributeType};
pub(crate) use spec::{attribute_path, specs};
pub use text::{
    Arguments, FieldVisitor, Flatten, InvalidValue, NameLookup, NumberNames, Parsed, TextValue,
};
pub(crate) use text::{
    Line, Unnamed, c_number, check_range, deserialize_if_given, parse_ip, push, text_form,
};

pub use number_or_name::NumberOrName;
pub(crate) use number_or_name::from_number_or_name;

use crate::codec::{Attribute, Malformed, Request};

/// Compares one field of an object (first) with that of a filter (second).
pub type FieldMatcher<T> = fn(&T, &T) -> bool;

/// A set of attributes as a struct of optional fields.
pub trait AttributeSet: Default + Flatten {
    /// The attributes, in the order of the fields.
    fn specs() -> &'static [AttributeSpec];

    /// Resets all fields.
    fn clear(&mut self) {
        *self = Self::default();
    }

    /// Appends the attributes that have a value.
    fn encode_attributes(&self, request: &mut Request);

    /// Decodes one attribute. Ignores attributes that are not in the set.
    ///
    /// # Errors
    /// [`Malformed`] if the payload is too short.
    fn decode_attribute(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed>;

    /// Whether each field given in `filter` has the same value here.
    fn fields_match(&self, filter: &Self) -> bool;

    /// The comparisons that [`fields_match`](Self::fields_match) makes for this filter: one for each field that it
    /// gives.
    fn field_matchers(&self) -> Vec<FieldMatcher<Self>> {
        vec![Self::fields_match]
    }

    /// Applies each field given in `change`.
    fn merge(&mut self, change: Self);

    /// Keeps only the fields that `other` gives.
    fn retain_fields(&mut self, other: &Self);

    /// The first given field that is read-only: the kernel reports it, and no request takes it. With the names of the sets
    /// around it, as in JSON: `info_data.root_port`.
    fn reported_field(&self) -> Option<String>;

    /// Removes the fields that are read-only.
    fn remove_reported(&mut self);

    /// Removes the fields of this set itself that a copy of what was reported leaves out.
    fn remove_uncopied(&mut self) {}
}
