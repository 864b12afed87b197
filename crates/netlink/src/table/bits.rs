//! Numbers of which each bit is a switch.

use std::marker::PhantomData;

use super::{Code, Shape};
use crate::codec::{Attribute, Malformed, Request};

/// A struct of switches, each a bit of a number; made by `bits!`.
pub trait Bits: Default {
    /// The bits that are set, and those that are given.
    fn to_bits(&self) -> (u32, u32);

    /// The switches that are in `given`.
    fn from_bits(set: u32, given: u32) -> Self;

    /// Whether each switch that is given in `wanted` is the same here.
    fn matches(&self, wanted: &Self) -> bool {
        let ((set, given), (wanted, asked)) = (self.to_bits(), wanted.to_bits());
        asked & !given == 0 && (set ^ wanted) & asked == 0
    }

    /// Takes over each switch that is given in `change`.
    fn merge(&mut self, change: &Self) {
        let ((set, given), (change, said)) = (self.to_bits(), change.to_bits());
        *self = Self::from_bits((set & !said) | change, given | said);
    }

    /// Keeps those switches alone that `to` gives.
    fn restrict(&mut self, to: &Self) {
        let ((set, given), (_, kept)) = (self.to_bits(), to.to_bits());
        *self = Self::from_bits(set, given & kept);
    }
}

/// The bits, and behind them which are meant, in 32 bits each (`struct ifla_vlan_flags`,
/// `struct br_boolopt_multi`).
#[derive(Clone, Copy, Debug)]
pub struct Masked;

/// All bits, in the machine's byte order; those that are not given are 0.
#[derive(Clone, Copy, Debug)]
pub struct Plain<N>(PhantomData<N>);

/// All bits, in network byte order; those that are not given are 0.
#[derive(Clone, Copy, Debug)]
pub struct PlainBe<N>(PhantomData<N>);

macro_rules! parts {
    () => {
        fn matches(value: &T, wanted: &T) -> bool {
            value.matches(wanted)
        }

        fn merge(value: &mut T, change: T) {
            value.merge(&change);
        }

        fn restrict(value: &mut T, to: &T) {
            value.restrict(to);
        }
    };
}

impl<T: Bits> Code<T> for Masked {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &T, kind: u16, request: &mut Request) {
        let (set, given) = value.to_bits();
        let bytes = [set.to_ne_bytes(), given.to_ne_bytes()];
        request.attribute(kind, bytes.as_flattened());
    }

    fn take(attribute: Attribute<'_>) -> Result<T, Malformed> {
        let [a, b, c, d, rest @ ..] = attribute.array::<8>()?;
        let (set, given) = ([a, b, c, d], rest);
        Ok(T::from_bits(
            u32::from_ne_bytes(set),
            u32::from_ne_bytes(given),
        ))
    }

    parts!();
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl<T: Bits> Code<T> for Plain<$number> {
            const SHAPE: Shape = Shape::Number;

            fn put(value: &T, kind: u16, request: &mut Request) {
                request.attribute(kind, &(value.to_bits().0 as $number).to_ne_bytes());
            }

            fn take(attribute: Attribute<'_>) -> Result<T, Malformed> {
                let bytes = attribute.array()?;
                Ok(T::from_bits(<$number>::from_ne_bytes(bytes).into(), u32::MAX))
            }

            parts!();
        }

        impl<T: Bits> Code<T> for PlainBe<$number> {
            const SHAPE: Shape = Shape::NumberBe;

            fn put(value: &T, kind: u16, request: &mut Request) {
                request.attribute(kind, &(value.to_bits().0 as $number).to_be_bytes());
            }

            fn take(attribute: Attribute<'_>) -> Result<T, Malformed> {
                let bytes = attribute.array()?;
                Ok(T::from_bits(<$number>::from_be_bytes(bytes).into(), u32::MAX))
            }

            parts!();
        }
    )*};
}
plain!(u16, u32);

/// Makes a struct of switches.
///
/// ```text
/// bits! {
///     /// Documentation.
///     pub struct VlanFlags {
///         /// Documentation.
///         "gvrp" gvrp = 0x2;
///          word  field  bit; without a word no command line has it
///     }
/// }
/// ```
macro_rules! bits {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $($word:literal $(| $alias:literal)*)? $field:ident = $bit:literal ;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize,
        )]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<bool>,
            )*
        }

        impl $name {
            /// Nothing is given yet.
            pub fn new() -> Self {
                Self::default()
            }

            $(
                $(#[doc = $doc])*
                #[must_use]
                pub fn $field(mut self, $field: bool) -> Self {
                    self.$field = Some($field);
                    self
                }
            )*
        }

        impl crate::table::Bits for $name {
            fn to_bits(&self) -> (u32, u32) {
                let (mut set, mut given) = (0, 0);
                $(if let Some(on) = self.$field {
                    given |= $bit;
                    set |= if on { $bit } else { 0 };
                })*
                (set, given)
            }

            fn from_bits(set: u32, given: u32) -> Self {
                Self {
                    $($field: (given & $bit != 0).then_some(set & $bit != 0),)*
                }
            }
        }

        impl crate::table::Spread for $name {
            fn word(
                &mut self,
                word: &str,
                words: &mut crate::table::Words<'_>,
            ) -> Result<bool, crate::table::BadWord> {
                $($(for name in [$word $(, $alias)*] {
                    if let Some(on) = <bool as crate::table::Word>::field(name, word, words)? {
                        self.$field = Some(on);
                        return Ok(true);
                    }
                })?)*
                Ok(false)
            }

            fn show(
                &self,
                lookup: &mut dyn crate::table::Lookup,
                show: &mut dyn FnMut(&'static str, String),
            ) {
                $($(
                    if let Some(on) = &self.$field {
                        show($word, crate::table::Word::write(on, lookup));
                    }
                )?)*
            }
        }
    };
}
pub(crate) use bits;
