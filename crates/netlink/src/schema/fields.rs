//! A flat encoding of an object's fields, and their shapes, for programs in other languages.
//!
//! An encoded object is a sequence of fields: the id of the field, the length of its value in bytes, both
//! 32-bit numbers, and the value. Numbers are in host byte order. The id is [`field_id`] of the field's name, so
//! it does not depend on the order of the table. A field without a value is not in the sequence.
//!
//! A field that holds a set of fields contains such a sequence again. The fields of a set that a table spreads
//! (`Flatten`) stand directly among those of the surrounding set.

mod values;

use super::spec::AttributeSpec;
use super::text::NameLookup;
use crate::quoted::Quoted;

pub(crate) use values::{field_values, text_field_values, utf8, wrong_length};

/// Maximum nesting depth of sets. The objects need four: a link, its kind, the peer, the peer's kind.
const MAX_DEPTH: usize = 8;

/// Length of a field's id and length.
const HEADER_BYTES: usize = 8;

/// The shape of a value: what a program in another language has to know to read and write it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// One byte: 0 or 1.
    Bool,
    /// An unsigned number of this many bytes.
    Unsigned(usize),
    /// A signed number of this many bytes.
    Signed(usize),
    /// UTF-8 text without a trailing NUL.
    Text,
    /// An IPv4 address of 4 bytes or an IPv6 address of 16 bytes.
    Ip,
    /// A hardware address of up to 32 bytes.
    HardwareAddress,
    /// An interface: its index, a 32-bit number, and then its name. In a request one of them is enough: index 0
    /// is none, and an index wins over a name.
    Interface,
    /// One byte with the length, then the address.
    Prefix,
    /// An unsigned number of which some values have names.
    Named(NamedNumber),
    /// An unsigned number whose bits have names.
    Flags(NamedNumber),
    /// A set of fields.
    Set(FieldSetShape),
    /// A list: for each element its length, a 32-bit number, and then the element.
    List(Box<Shape>),
    /// Not available in other languages.
    Absent,
}

/// A number with named values or bits.
#[derive(Clone, Debug)]
pub struct NamedNumber {
    /// Name of the type.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// The names in code, the numbers, and the names in text.
    pub values: Vec<(&'static str, u64, &'static str)>,
}

/// A set of fields.
#[derive(Clone, Debug)]
pub struct FieldSetShape {
    /// Name of the type.
    pub name: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// Returns its fields.
    pub fields: fn() -> Vec<FieldShape>,
}

/// A field of a set.
#[derive(Clone, Debug)]
pub struct FieldShape {
    /// Its name.
    pub name: &'static str,
    /// Its documentation, perhaps empty.
    pub doc: &'static str,
    /// The shape of its value.
    pub shape: Shape,
    /// The attribute that contains it in messages; `None` if it is in the fixed header or a part of an attribute.
    pub attribute: Option<AttributeSpec>,
    /// The bit of the header, or of an attribute, that it is; `None` if it is another number.
    pub flag: Option<FlagSpec>,
    /// The units in a second, of a time; `None` if it is none.
    pub units_per_second: Option<u32>,
    /// Whether it is read-only: the kernel reports it, and no request takes it.
    pub is_reported: bool,
    /// Whether requests take it, but a copy of what was reported is to leave it out.
    pub is_uncopied: bool,
}

/// What a table says of a field behind an `@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// `@reported`: it is read-only. The kernel reports it, and no request takes it.
    Reported,
    /// `@uncopied`: a request may give it, but sending back what was reported fails or does something else, so
    /// [`Object::settable`](crate::object::Object::settable) leaves it out.
    Uncopied,
}

impl Mark {
    /// The mark that this word of a table means. Tables are constant: another word does not compile.
    pub(crate) const fn named(word: &str) -> Self {
        match word.as_bytes() {
            b"reported" => Self::Reported,
            b"uncopied" => Self::Uncopied,
            _ => panic!("no mark of a field has this name"),
        }
    }

    /// Whether no request takes the field.
    pub(crate) const fn is_read_only(self) -> bool {
        matches!(self, Self::Reported)
    }
}

/// A bit among flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagSpec {
    /// The kernel's constant (`IFF_UP`).
    pub constant: &'static str,
    /// Its value.
    pub bit: u32,
}

impl FieldShape {
    /// A field without an attribute of its own, whose value is a `T`.
    pub fn of<T: FieldValue>(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            shape: T::shape(),
            attribute: None,
            flag: None,
            units_per_second: None,
            is_reported: false,
            is_uncopied: false,
        }
    }

    /// The same field, in an attribute of its own.
    pub(crate) fn in_attribute(self, attribute: AttributeSpec) -> Self {
        let attribute = Some(attribute);
        Self { attribute, ..self }
    }

    /// The same field, as a bit.
    pub(crate) fn in_flags(self, constant: &'static str, bit: u32) -> Self {
        let flag = Some(FlagSpec { constant, bit });
        Self { flag, ..self }
    }

    /// The same field, as a time.
    pub(crate) fn in_units(self, per_second: u32) -> Self {
        let units_per_second = Some(per_second);
        Self {
            units_per_second,
            ..self
        }
    }

    /// The same field, with a mark.
    pub(crate) fn marked(self, mark: Mark) -> Self {
        Self {
            is_reported: mark == Mark::Reported,
            is_uncopied: mark == Mark::Uncopied,
            ..self
        }
    }

    /// Appends a field, or its fields if they are spread.
    pub(crate) fn push<T: FieldValue>(fields: &mut Vec<Self>, field: Self, is_spread: bool) {
        match T::shape() {
            // Their attributes are nested in this one.
            Shape::Set(set) if is_spread => {
                let Self {
                    is_reported,
                    is_uncopied,
                    ..
                } = field;
                fields.extend((set.fields)().into_iter().map(|inner| Self {
                    attribute: None,
                    is_reported: is_reported || inner.is_reported,
                    is_uncopied: is_uncopied || inner.is_uncopied,
                    ..inner
                }));
            }
            _ => fields.push(field),
        }
    }
}

/// The id of the field called `name`: its 32-bit FNV-1a hash. A test checks that the ids of a set differ.
pub const fn field_id(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let mut hash: u32 = 0x811c_9dc5;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// A field that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
#[non_exhaustive]
pub struct InvalidField {
    /// Names of the field and of the sets around it: `Bridge.stp_state`. Empty if it concerns several fields of the object.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
    /// Whether it names an interface that does not exist.
    pub is_missing_interface: bool,
}

impl InvalidField {
    /// A value is invalid because of `reason`.
    pub fn new(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            path: String::new(),
            reason,
            is_missing_interface: false,
        }
    }

    /// There is no interface called `name`.
    pub fn missing_interface(name: &str) -> Self {
        Self {
            is_missing_interface: true,
            ..Self::new(format!("there is no interface {}", Quoted(name)))
        }
    }

    /// The same error in the field `name`.
    #[must_use]
    pub fn within(self, name: &str) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            inner => format!("{name}.{inner}"),
        };
        Self { path, ..self }
    }
}

/// Encodes fields.
pub struct FieldWriter<'n> {
    bytes: Vec<u8>,
    names: &'n mut dyn NameLookup,
}

impl<'n> FieldWriter<'n> {
    /// Appends to `bytes`. The names of interfaces are looked up in `names`.
    pub fn new(bytes: Vec<u8>, names: &'n mut dyn NameLookup) -> Self {
        Self { bytes, names }
    }

    /// Appends a field.
    pub fn field<T: FieldValue>(&mut self, id: u32, value: &T) {
        self.raw(&id.to_ne_bytes());
        self.sized(|out| value.put(out));
    }

    /// Appends bytes of a value.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends what `fill` appends, behind its length.
    pub fn sized(&mut self, fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.raw(&[0; 4]);
        fill(self);
        let length = (self.bytes.len() - start - 4) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// All bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl std::fmt::Debug for FieldWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FieldWriter").field(&self.bytes).finish()
    }
}

/// Decodes values. Looks up the interfaces that are given by name, and bounds the nesting.
pub struct FieldReader<'n> {
    names: &'n mut dyn NameLookup,
    depth: usize,
}

impl<'n> FieldReader<'n> {
    /// Looks up interfaces in `names`.
    pub fn new(names: &'n mut dyn NameLookup) -> Self {
        Self { names, depth: 0 }
    }

    /// Calls `visit` with the id and the value of each field.
    ///
    /// # Errors
    /// [`InvalidField`] if the fields are truncated or too deeply nested, and the errors of `visit`.
    pub fn each(
        &mut self,
        mut bytes: &[u8],
        mut visit: impl FnMut(&mut Self, u32, &[u8]) -> Result<(), InvalidField>,
    ) -> Result<(), InvalidField> {
        if self.depth >= MAX_DEPTH {
            return Err(InvalidField::new("sets of fields are nested too deeply"));
        }
        self.depth += 1;
        while !bytes.is_empty() {
            let (header, rest) = bytes
                .split_first_chunk::<HEADER_BYTES>()
                .ok_or_else(truncated)?;
            let [i0, i1, i2, i3, length @ ..] = *header;
            let length = u32::from_ne_bytes(length) as usize;
            let (value, rest) = rest.split_at_checked(length).ok_or_else(truncated)?;
            visit(self, u32::from_ne_bytes([i0, i1, i2, i3]), value)?;
            bytes = rest;
        }
        self.depth -= 1;
        Ok(())
    }
}

impl std::fmt::Debug for FieldReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldReader").finish_non_exhaustive()
    }
}

fn truncated() -> InvalidField {
    InvalidField::new("the fields are truncated")
}

/// A value of a field.
pub trait FieldValue: Sized {
    /// Whether its fields stand directly among those of the surrounding set, whatever the table says.
    const IS_SPREAD: bool = false;

    /// Its shape.
    fn shape() -> Shape;

    /// Appends the value.
    fn put(&self, out: &mut FieldWriter<'_>);

    /// Decodes the value.
    ///
    /// # Errors
    /// [`InvalidField`] if it is truncated, or if it names an interface that does not exist.
    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField>;

    /// Decodes one field of a spread set into `field`. Returns false if the set does not have it.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn take_spread(
        _field: &mut Option<Self>,
        _id: u32,
        _bytes: &[u8],
        _reader: &mut FieldReader<'_>,
    ) -> Result<bool, InvalidField> {
        Ok(false)
    }
}

/// A set of fields.
pub trait FieldSet: Default {
    /// Name of the type.
    const NAME: &'static str;
    /// Its documentation.
    const DOC: &'static str;

    /// Its fields.
    fn fields() -> Vec<FieldShape>;

    /// Appends the fields that have a value.
    fn put_fields(&self, out: &mut FieldWriter<'_>);

    /// Decodes one field. Returns false if the set does not have it.
    ///
    /// # Errors
    /// As [`FieldValue::take`].
    fn take_field(
        &mut self,
        id: u32,
        bytes: &[u8],
        reader: &mut FieldReader<'_>,
    ) -> Result<bool, InvalidField>;

    /// Decodes an encoded set.
    ///
    /// # Errors
    /// As [`FieldValue::take`]; also if a field is unknown: ignoring it would not do what was requested.
    fn take_fields(
        &mut self,
        bytes: &[u8],
        reader: &mut FieldReader<'_>,
    ) -> Result<(), InvalidField> {
        reader.each(bytes, |reader, id, value| {
            if self.take_field(id, value, reader)? {
                return Ok(());
            }
            Err(InvalidField::new(format!(
                "{} has no field {id:#010x}",
                Self::NAME
            )))
        })
    }
}

/// Makes a [`FieldSet`] the value of a field.
macro_rules! field_set_value {
    ($type:ty) => {
        impl crate::schema::FieldValue for $type {
            fn shape() -> crate::schema::Shape {
                crate::schema::Shape::Set(crate::schema::FieldSetShape {
                    name: <Self as crate::schema::FieldSet>::NAME,
                    doc: <Self as crate::schema::FieldSet>::DOC,
                    fields: <Self as crate::schema::FieldSet>::fields,
                })
            }

            crate::schema::field_set_value!(@codec);
        }
    };
    (@codec) => {
        fn put(&self, out: &mut crate::schema::FieldWriter<'_>) {
            crate::schema::FieldSet::put_fields(self, out);
        }

        fn take(
            bytes: &[u8],
            reader: &mut crate::schema::FieldReader<'_>,
        ) -> Result<Self, crate::schema::InvalidField> {
            let mut value = Self::default();
            crate::schema::FieldSet::take_fields(&mut value, bytes, reader)?;
            Ok(value)
        }

        fn take_spread(
            field: &mut Option<Self>,
            id: u32,
            bytes: &[u8],
            reader: &mut crate::schema::FieldReader<'_>,
        ) -> Result<bool, crate::schema::InvalidField> {
            let was_given = field.is_some();
            let value = field.get_or_insert_default();
            let found = crate::schema::FieldSet::take_field(value, id, bytes, reader)?;
            if !found && !was_given {
                *field = None;
            }
            Ok(found)
        }
    };
}
pub(crate) use field_set_value;
