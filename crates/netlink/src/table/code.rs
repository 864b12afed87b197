use super::{BadWord, Entry, Lookup, Shape, Words};
use crate::codec::{Attribute, Malformed, Request};

/// How a value of type `T` stands in an attribute.
pub trait Code<T> {
    /// What is in the attribute.
    const SHAPE: Shape;

    /// Adds the attribute `kind` with `value`.
    fn put(value: &T, kind: u16, request: &mut Request);

    /// Reads the value.
    ///
    /// # Errors
    /// [`Malformed`] when the payload is too short.
    fn take(attribute: Attribute<'_>) -> Result<T, Malformed>;

    /// Whether `value` is what is asked for.
    fn matches(value: &T, wanted: &T) -> bool;

    /// Makes `value` what `change` says.
    fn merge(value: &mut T, change: T);

    /// Whether the kernel has an attribute for `value`; one that it does not tell is the same as none.
    fn is_told(_value: &T) -> bool {
        true
    }

    /// Keeps those parts of `value` alone that `to` has.
    fn restrict(_value: &mut T, _to: &T) {}
}

/// A set of attributes with a struct of its own.
pub trait Table: Default {
    /// The attributes, in the order of their fields.
    fn entries() -> &'static [Entry];

    /// Adds the attributes that are given.
    fn put(&self, request: &mut Request);

    /// Reads an attribute; one that is not in the table is passed over.
    ///
    /// # Errors
    /// [`Malformed`] when the payload is too short.
    fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed>;

    /// Whether each attribute that is given in `wanted` is the same here.
    fn matches(&self, wanted: &Self) -> bool;

    /// Takes over each attribute that is given in `change`.
    fn merge(&mut self, change: Self);

    /// Keeps the attributes alone that are given in `to`.
    fn restrict(&mut self, to: &Self);

    /// Reads the field that `word` means, with the words behind it that are its value; `Ok(false)` when
    /// it means none.
    ///
    /// # Errors
    /// [`BadWord`] when the value cannot be one.
    fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord>;

    /// Hands each field that is given and has a word to `show`: the word, and the value as `ip(8)`
    /// writes it.
    fn show(&self, lookup: &mut dyn Lookup, show: &mut dyn FnMut(&'static str, String));
}

/// As the kernel usually has it: a number in the machine's byte order, a text with a NUL, bytes.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// A number in network byte order.
#[derive(Clone, Copy, Debug)]
pub struct Be;

/// `true` is an attribute without a payload, `false` is none; one that is told with a payload says it there.
#[derive(Clone, Copy, Debug)]
pub struct Flag;

/// Attributes within the attribute.
#[derive(Clone, Copy, Debug)]
pub struct Nested;

/// Attributes within the attribute, in memory of their own.
#[derive(Clone, Copy, Debug)]
pub struct Boxed;

/// A list: within the attribute one attribute for each element, of type 1 and coded as `C` says.
#[derive(Clone, Copy, Debug)]
pub struct Listed<C>(std::marker::PhantomData<C>);

/// What is the same for each value that has no parts.
macro_rules! whole {
    ($type:ty) => {
        fn matches(value: &$type, wanted: &$type) -> bool {
            value == wanted
        }

        fn merge(value: &mut $type, change: $type) {
            *value = change;
        }
    };
}
pub(crate) use whole;

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Code<$type> for Native {
            const SHAPE: Shape = Shape::Number;

            fn put(value: &$type, kind: u16, request: &mut Request) {
                request.attribute(kind, &value.to_ne_bytes());
            }

            fn take(attribute: Attribute<'_>) -> Result<$type, Malformed> {
                attribute.array().map(<$type>::from_ne_bytes)
            }

            whole!($type);
        }
    )*};
}
numbers!(u8, u16, u32, u64, i8, i32);

macro_rules! network_numbers {
    ($($type:ty),*) => {$(
        impl Code<$type> for Be {
            const SHAPE: Shape = Shape::NumberBe;

            fn put(value: &$type, kind: u16, request: &mut Request) {
                request.attribute(kind, &value.to_be_bytes());
            }

            fn take(attribute: Attribute<'_>) -> Result<$type, Malformed> {
                attribute.array().map(<$type>::from_be_bytes)
            }

            whole!($type);
        }
    )*};
}
network_numbers!(u16, u32, u64);

impl Code<bool> for Native {
    const SHAPE: Shape = Shape::Number;

    fn put(value: &bool, kind: u16, request: &mut Request) {
        request.attribute(kind, &[u8::from(*value)]);
    }

    fn take(attribute: Attribute<'_>) -> Result<bool, Malformed> {
        attribute.u8().map(|byte| byte != 0)
    }

    whole!(bool);
}

impl Code<bool> for Flag {
    const SHAPE: Shape = Shape::Flag;

    fn put(value: &bool, kind: u16, request: &mut Request) {
        if *value {
            request.attribute(kind, &[]);
        }
    }

    fn take(attribute: Attribute<'_>) -> Result<bool, Malformed> {
        Ok(attribute.bytes.first().is_none_or(|byte| *byte != 0))
    }

    fn is_told(value: &bool) -> bool {
        *value
    }

    whole!(bool);
}

impl Code<String> for Native {
    const SHAPE: Shape = Shape::Text;

    fn put(value: &String, kind: u16, request: &mut Request) {
        // No text of the kernel's is as long; what is longer is the kernel's to refuse.
        let text = value.as_bytes();
        request.text(kind, &text[..text.len().min(4096)]);
    }

    fn take(attribute: Attribute<'_>) -> Result<String, Malformed> {
        Ok(attribute.text())
    }

    whole!(String);
}

impl Code<Vec<u8>> for Native {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &Vec<u8>, kind: u16, request: &mut Request) {
        request.attribute(kind, &value[..value.len().min(32 * 1024)]);
    }

    fn take(attribute: Attribute<'_>) -> Result<Vec<u8>, Malformed> {
        Ok(attribute.bytes.to_vec())
    }

    whole!(Vec<u8>);
}

impl<T: Table> Code<T> for Nested {
    const SHAPE: Shape = Shape::Nest {
        skip: 0,
        entries: T::entries,
    };

    fn put(value: &T, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| value.put(request));
    }

    fn take(attribute: Attribute<'_>) -> Result<T, Malformed> {
        let mut value = T::default();
        for attribute in attribute.attributes() {
            value.take(attribute?)?;
        }
        Ok(value)
    }

    fn matches(value: &T, wanted: &T) -> bool {
        value.matches(wanted)
    }

    fn merge(value: &mut T, change: T) {
        value.merge(change);
    }

    fn restrict(value: &mut T, to: &T) {
        value.restrict(to);
    }
}

impl<T: Table> Code<Box<T>> for Boxed {
    const SHAPE: Shape = <Nested as Code<T>>::SHAPE;

    fn put(value: &Box<T>, kind: u16, request: &mut Request) {
        Nested::put(&**value, kind, request);
    }

    fn take(attribute: Attribute<'_>) -> Result<Box<T>, Malformed> {
        Nested::take(attribute).map(Box::new)
    }

    fn matches(value: &Box<T>, wanted: &Box<T>) -> bool {
        T::matches(value, wanted)
    }

    fn restrict(value: &mut Box<T>, to: &Box<T>) {
        T::restrict(value, to);
    }

    fn merge(value: &mut Box<T>, change: Box<T>) {
        T::merge(value, *change);
    }
}

impl<T: PartialEq, C: Code<T>> Code<Vec<T>> for Listed<C> {
    const SHAPE: Shape = Shape::List(&C::SHAPE);

    fn put(value: &Vec<T>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for element in value {
                C::put(element, 1, request);
            }
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Vec<T>, Malformed> {
        attribute
            .attributes()
            .map(|element| C::take(element?))
            .collect()
    }

    whole!(Vec<T>);
}
