//! The kinds of a link and of its master as fields, for programs in other languages.

use super::object::{LinkInfo, LinkKind, PortKind};
use crate::schema::{
    FieldReader, FieldSet, FieldSetShape, FieldShape, FieldValue, FieldWriter, InvalidField, Shape,
    field_id, field_set_value, utf8,
};

/// The types are text; the settings of a kind are a field called like their type.
impl FieldSet for LinkInfo {
    const NAME: &'static str = "LinkInfo";
    const DOC: &'static str = "The kind of a link and that of its master, with their settings.";

    fn fields() -> Vec<FieldShape> {
        let mut fields = vec![
            FieldShape::of::<String>("type", "Its kind, as in `ip link add … type TYPE`."),
            FieldShape::of::<String>("port_type", "The kind of its master."),
        ];
        LinkKind::settings_fields(&mut fields);
        PortKind::settings_fields(&mut fields);
        fields
    }

    fn put_fields(&self, out: &mut FieldWriter<'_>) {
        if let Some(kind) = &self.kind {
            out.field(const { field_id("type") }, &kind.name().to_owned());
            kind.put_settings(out);
        }
        if let Some(port) = &self.port {
            out.field(const { field_id("port_type") }, &port.name().to_owned());
            port.put_settings(out);
        }
    }

    fn take_field(
        &mut self,
        id: u32,
        bytes: &[u8],
        reader: &mut FieldReader<'_>,
    ) -> Result<bool, InvalidField> {
        if id == const { field_id("type") } {
            self.kind = Some(LinkKind::named(utf8(bytes)?));
        } else if id == const { field_id("port_type") } {
            self.port = Some(PortKind::named(utf8(bytes)?));
        } else {
            return Ok(LinkKind::take_settings(&mut self.kind, id, bytes, reader)?
                || PortKind::take_settings(&mut self.port, id, bytes, reader)?);
        }
        Ok(true)
    }
}

impl FieldValue for LinkInfo {
    const IS_SPREAD: bool = true;

    fn shape() -> Shape {
        Shape::Set(FieldSetShape {
            name: Self::NAME,
            doc: Self::DOC,
            fields: Self::fields,
        })
    }

    field_set_value!(@codec);
}
