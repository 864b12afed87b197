//! The macros that generate types from tables.

/// Generates the struct of a set of attributes and its [`AttributeSet`](super::AttributeSet).
///
/// ```text
/// attribute_set! {
///     /// Documentation of the struct.
///     pub struct Vlan {
///         @header {                               fields that are not single attributes
///             /// Documentation.
///             "dev" index: IfIndex;
///         }
///         @flags {                                fields that are bits of a number, perhaps inverted
///             /// Documentation.
///             "arp" arp = IFF_NOARP, inverse;
///         }
///         @parts { IFA_CACHEINFO: AttributeType::Bytes; }  attributes that hold several of those
///         @own parse_special_keyword;             a method that parses keywords before the fields do
///         /// Documentation of the field.
///         #[serde(rename = "vlanProtocol")]
///         "protocol" protocol: u16 as BigEndian = IFLA_VLAN_PROTOCOL;
///          keyword   field     type   codec       constant; the keyword is optional
///         /// Documentation of the field.
///         "remote" | "group" remote: Ipv4Addr = IFLA_VXLAN_GROUP;          alternative keywords
///         /// Documentation of the field.
///         flags: VlanFlags as MaskedBitField = IFLA_VLAN_FLAGS, Flatten;   its fields have the keywords
///         /// Documentation of the field.
///         "id" [0..=4094] id: u16 = IFLA_VLAN_ID;                          valid range of typed values
///         /// Documentation of the field.
///         "max_age" max_age: u32 = IFLA_BR_MAX_AGE, 100 per second;        a time in such units
///         /// Documentation of the field.
///         root_port @reported: u16 = IFLA_BR_ROOT_PORT;                    read-only: no request takes it
///         /// Documentation of the field.
///         carrier @uncopied: bool = IFLA_CARRIER;                          `settable` leaves it out
///     }
/// }
/// ```
///
/// Each field is an `Option` and has a setter of the same name for chaining. `@` sections and `serde`
/// attributes are optional.
macro_rules! attribute_set {
    (
        $(#[doc = $set_doc:literal])*
        pub struct $name:ident {
            $(@header { $(
                $(#[doc = $hdoc:literal])*
                $(#[serde($($hserde:tt)*)])*
                $($hword:literal $(| $halias:literal)*)? $hfield:ident $(@ $hreported:ident)? : $htype:ty $(, $hunits:literal per second)? ;
            )* })?
            $(@flags { $(
                $(#[doc = $fdoc:literal])*
                $(#[serde($($fserde:tt)*)])*
                $($fword:literal)? $flag:ident $(@ $freported:ident)? = $bit:ident $(, $inverse:ident)? ;
            )* })?
            $(@parts { $( $part:ident : $shape:expr ; )* })?
            $(@own $own_word:ident ;)?
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])*
                $($word:literal $(| $alias:literal)* $([$min:literal ..= $max:literal])?)?
                $field:ident $(@ $reported:ident)? : $type:ty $(as $code:ty)? = $id:ident $(, $spread:ident)? $(, $units:literal per second)? ;
            )*
        }
    ) => {
        $(#[doc = $set_doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $($(
                $(#[doc = $hdoc])*
                $(#[serde($($hserde)*)])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $hfield: Option<$htype>,
            )*)?
            $($(
                $(#[doc = $fdoc])*
                $(#[serde($($fserde)*)])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[doc = concat!("\n\n`", stringify!($bit), "`.")]
                pub $flag: Option<bool>,
            )*)?
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[doc = concat!("\n\n`", stringify!($id), "`.")]
                $(
                    #[doc = concat!("\n\n", stringify!($spread), ": JSON and command lines contain its fields directly.")]
                    #[serde(flatten, deserialize_with = "crate::schema::deserialize_if_given")]
                )?
                pub $field: Option<$type>,
            )*
        }

        impl $name {
            /// All fields unset.
            pub fn new() -> Self {
                Self::default()
            }

            $($(
                #[doc = concat!("Sets [`", stringify!($hfield), "`](#structfield.", stringify!($hfield), ").")]
                #[must_use]
                pub fn $hfield(mut self, $hfield: $htype) -> Self {
                    self.$hfield = Some($hfield);
                    self
                }
            )*)?

            $(
                $(
                    #[doc = concat!("Sets [`", stringify!($flag), "`](#structfield.", stringify!($flag), ").")]
                    #[must_use]
                    pub fn $flag(mut self, $flag: bool) -> Self {
                        self.$flag = Some($flag);
                        self
                    }
                )*

                /// The bits of the flags that are on, and of those that are given.
                pub(crate) fn flag_bits(&self) -> (u32, u32) {
                    let (mut on, mut given) = (0, 0);
                    $(if let Some(flag) = self.$flag {
                        given |= crate::uapi::$bit as u32;
                        if flag != (false $(|| stringify!($inverse) == "inverse")?) {
                            on |= crate::uapi::$bit as u32;
                        }
                    })*
                    (on, given)
                }

                /// Sets the flags whose bits are in `given` to the values in `on`.
                pub(crate) fn set_flag_bits(&mut self, on: u32, given: u32) {
                    $(if given & crate::uapi::$bit as u32 != 0 {
                        let is_on = on & crate::uapi::$bit as u32 != 0;
                        self.$flag = Some(is_on != (false $(|| stringify!($inverse) == "inverse")?));
                    })*
                }
            )?

            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = Some($field);
                    self
                }
            )*
        }

        const _: () = {
            #[allow(unused_imports, reason = "a set may be empty")]
            use crate::schema::{
                Arguments, AttributeCodec, AttributeSet, AttributeSpec, FieldMatcher, FieldReader, FieldSet,
                FieldShape, FieldValue, FieldVisitor, FieldWriter, Flatten, InvalidField, Mark, NameLookup, Parsed,
                TextValue, check_range, codec, field_id,
            };
            use crate::codec::{Attribute, Malformed, Request};

            impl AttributeSet for $name {
                fn specs() -> &'static [AttributeSpec] {
                    &[$($(AttributeSpec {
                        kind: crate::uapi::$part as u16,
                        constant: stringify!($part),
                        contents: $shape,
                    },)*)?
                    $(AttributeSpec {
                        kind: crate::uapi::$id as u16,
                        constant: stringify!($id),
                        contents: <codec!($($code)?) as AttributeCodec<$type>>::TYPE,
                    }),*]
                }

                /// Field by field: most are `None` already, so nothing is written.
                #[inline]
                fn clear(&mut self) {
                    $($(self.$hfield = None;)*)?
                    $($(self.$flag = None;)*)?
                    $(self.$field = None;)*
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn encode_attributes(&self, request: &mut Request) {
                    $(if let Some(value) = &self.$field {
                        <codec!($($code)?) as AttributeCodec<$type>>::encode(value, crate::uapi::$id as u16, request);
                    })*
                }

                #[inline]
                fn decode_attribute(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
                    $(const $id: u16 = crate::uapi::$id as u16;)*
                    match attribute.kind {
                        $($id => {
                            <codec!($($code)?) as AttributeCodec<$type>>::decode_into(&mut self.$field, attribute)?;
                        })*
                        _ => {}
                    }
                    Ok(())
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn fields_match(&self, filter: &Self) -> bool {
                    $($(
                        if filter.$hfield.is_some() && self.$hfield != filter.$hfield {
                            return false;
                        }
                    )*)?
                    $($(
                        if filter.$flag.is_some() && self.$flag != filter.$flag {
                            return false;
                        }
                    )*)?
                    $(
                        if !<codec!($($code)?) as AttributeCodec<$type>>::field_matches(self.$field.as_ref(), filter.$field.as_ref())
                        {
                            return false;
                        }
                    )*
                    true
                }

                #[allow(unused_mut, reason = "a set may be empty")]
                fn field_matchers(&self) -> Vec<FieldMatcher<Self>> {
                    let mut matchers: Vec<FieldMatcher<Self>> = Vec::new();
                    $($(
                        if self.$hfield.is_some() {
                            matchers.push(|object, filter| object.$hfield == filter.$hfield);
                        }
                    )*)?
                    $($(
                        if self.$flag.is_some() {
                            matchers.push(|object, filter| object.$flag == filter.$flag);
                        }
                    )*)?
                    $(
                        if self.$field.is_some() {
                            matchers.push(|object, filter| {
                                <codec!($($code)?) as AttributeCodec<$type>>::field_matches(object.$field.as_ref(), filter.$field.as_ref())
                            });
                        }
                    )*
                    matchers
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn merge(&mut self, change: Self) {
                    $($(
                        if change.$hfield.is_some() {
                            self.$hfield = change.$hfield;
                        }
                    )*)?
                    $($(self.$flag = change.$flag.or(self.$flag);)*)?
                    $(<codec!($($code)?) as AttributeCodec<$type>>::merge_field(&mut self.$field, change.$field);)*
                }

                fn reported_field(&self) -> Option<String> {
                    $($($(if const { Mark::named(stringify!($hreported)).is_read_only() } && self.$hfield.is_some() {
                        return Some(stringify!($hfield).to_owned());
                    })?)*)?
                    // Off is what they are without a request, too.
                    $($($(if const { Mark::named(stringify!($freported)).is_read_only() } && self.$flag == Some(true) {
                        return Some(stringify!($flag).to_owned());
                    })?)*)?
                    $(
                        $(if const { Mark::named(stringify!($reported)).is_read_only() } && self.$field.is_some() {
                            return Some(stringify!($field).to_owned());
                        })?
                        if let Some(value) = &self.$field
                            && let Some(inner) = <codec!($($code)?) as AttributeCodec<$type>>::reported_field(value)
                        {
                            let is_spread = false $(|| !stringify!($spread).is_empty())?;
                            return Some(if is_spread { inner } else { format!("{}.{inner}", stringify!($field)) });
                        }
                    )*
                    None
                }

                fn remove_reported(&mut self) {
                    $($($(if const { Mark::named(stringify!($hreported)).is_read_only() } {
                        self.$hfield = None;
                    })?)*)?
                    $($($(if const { Mark::named(stringify!($freported)).is_read_only() } {
                        self.$flag = None;
                    })?)*)?
                    $(
                        $(if const { Mark::named(stringify!($reported)).is_read_only() } {
                            self.$field = None;
                        })?
                        if let Some(value) = &mut self.$field {
                            <codec!($($code)?) as AttributeCodec<$type>>::remove_reported(value);
                        }
                    )*
                }

                fn remove_uncopied(&mut self) {
                    $($($(if const { !Mark::named(stringify!($hreported)).is_read_only() } {
                        self.$hfield = None;
                    })?)*)?
                    $($(if const { !Mark::named(stringify!($reported)).is_read_only() } {
                        self.$field = None;
                    })?)*
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn retain_fields(&mut self, other: &Self) {
                    $($(
                        if other.$hfield.is_none() {
                            self.$hfield = None;
                        }
                    )*)?
                    $($(self.$flag = self.$flag.filter(|_| other.$flag.is_some());)*)?
                    $(<codec!($($code)?) as AttributeCodec<$type>>::retain_field(&mut self.$field, other.$field.as_ref());)*
                }

            }

            impl FieldSet for $name {
                const NAME: &'static str = stringify!($name);
                const DOC: &'static str = concat!($($set_doc, "\n"),*);

                #[allow(unused_mut, reason = "a set may be empty")]
                fn fields() -> Vec<FieldShape> {
                    let mut fields = vec![
                        $($(
                            FieldShape::of::<$htype>(stringify!($hfield), concat!($($hdoc, "\n"),*))
                                $(.in_units($hunits))? $(.marked(Mark::named(stringify!($hreported))))?,
                        )*)?
                        $($(
                            FieldShape::of::<bool>(stringify!($flag), concat!($($fdoc, "\n"),*))
                                .in_flags(stringify!($bit), crate::uapi::$bit as u32)
                                $(.marked(Mark::named(stringify!($freported))))?,
                        )*)?
                    ];
                    $(FieldShape::push::<$type>(
                        &mut fields,
                        FieldShape::of::<$type>(stringify!($field), concat!($($doc, "\n"),*))
                            .in_attribute(AttributeSpec {
                                kind: crate::uapi::$id as u16,
                                constant: stringify!($id),
                                contents: <codec!($($code)?) as AttributeCodec<$type>>::TYPE,
                            })
                            $(.in_units($units))? $(.marked(Mark::named(stringify!($reported))))?,
                        <$type as FieldValue>::IS_SPREAD $(|| !stringify!($spread).is_empty())?,
                    );)*
                    fields
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn put_fields(&self, out: &mut FieldWriter<'_>) {
                    $($(if let Some(value) = &self.$hfield {
                        out.field(const { field_id(stringify!($hfield)) }, value);
                    })*)?
                    $($(if let Some(value) = &self.$flag {
                        out.field(const { field_id(stringify!($flag)) }, value);
                    })*)?
                    $(if let Some(value) = &self.$field {
                        if <$type as FieldValue>::IS_SPREAD $(|| !stringify!($spread).is_empty())? {
                            FieldValue::put(value, out);
                        } else {
                            out.field(const { field_id(stringify!($field)) }, value);
                        }
                    })*
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn take_field(
                    &mut self,
                    id: u32,
                    bytes: &[u8],
                    reader: &mut FieldReader<'_>,
                ) -> Result<bool, InvalidField> {
                    $($(if id == const { field_id(stringify!($hfield)) } {
                        let value = FieldValue::take(bytes, reader);
                        self.$hfield = Some(value.map_err(|error| error.within(stringify!($hfield)))?);
                        return Ok(true);
                    })*)?
                    $($(if id == const { field_id(stringify!($flag)) } {
                        let value = FieldValue::take(bytes, reader);
                        self.$flag = Some(value.map_err(|error| error.within(stringify!($flag)))?);
                        return Ok(true);
                    })*)?
                    $(
                        let is_spread = <$type as FieldValue>::IS_SPREAD $(|| !stringify!($spread).is_empty())?;
                        if !is_spread && id == const { field_id(stringify!($field)) } {
                            let value = FieldValue::take(bytes, reader);
                            self.$field = Some(value.map_err(|error| error.within(stringify!($field)))?);
                            return Ok(true);
                        }
                    )*
                    $(
                        let is_spread = <$type as FieldValue>::IS_SPREAD $(|| !stringify!($spread).is_empty())?;
                        if is_spread && FieldValue::take_spread(&mut self.$field, id, bytes, reader)? {
                            return Ok(true);
                        }
                    )*
                    Ok(false)
                }
            }

            impl Flatten for $name {
                #[allow(unused_variables, reason = "a set may have no keywords")]
                fn parse_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
                    $(
                        if self.$own_word(keyword, args)? {
                            return Ok(true);
                        }
                    )?
                    $($($(for name in [$hword $(, $halias)*] {
                        if let Some(value) = <$htype as TextValue>::parse_field(name, keyword, args)? {
                            self.$hfield = Some(value);
                            return Ok(true);
                        }
                    })?)*)?
                    $($($(
                        if let Some(on) = bool::parse_field($fword, keyword, args)? {
                            self.$flag = Some(on);
                            return Ok(true);
                        }
                    )?)*)?
                    $(
                        $(for name in [$word $(, $alias)*] {
                            let parsed = <$type as TextValue>::parse_field(name, keyword, args);
                            $(let parsed = check_range(parsed, name, $min..=$max);)?
                            if let Some(value) = parsed? {
                                self.$field = Some(value);
                                return Ok(true);
                            }
                        })?
                        $({
                            let mut value = self.$field.clone().unwrap_or_default();
                            if $spread::parse_keyword(&mut value, keyword, args)? {
                                self.$field = Some(value);
                                return Ok(true);
                            }
                        })?
                    )*
                    Ok(false)
                }

                #[allow(unused_variables, reason = "a set may have no keywords")]
                fn format_fields(&self, lookup: &mut dyn NameLookup, visit: &mut FieldVisitor<'_>) {
                    $($($(
                        if let Some(value) = &self.$hfield {
                            visit($hword, TextValue::format(value, lookup));
                        }
                    )?)*)?
                    $($($(
                        if let Some(on) = &self.$flag {
                            visit($fword, on.format(lookup));
                        }
                    )?)*)?
                    $(
                        $(if let Some(value) = &self.$field {
                            visit($word, TextValue::format(value, lookup));
                        })?
                        $(if let Some(value) = &self.$field {
                            $spread::format_fields(value, lookup, visit);
                        })?
                    )*
                }
            }
        };

        crate::schema::field_set_value!($name);
    };
}
pub(crate) use attribute_set;

/// The codec of a field: the given one, or the kernel's usual encoding.
macro_rules! codec {
    () => {
        crate::schema::Native
    };
    ($code:ty) => {
        $code
    };
}
pub(crate) use codec;
