//! Values that objects of several types have: interfaces, prefixes, the DS field.

pub mod ds_field;
pub mod interface;
pub mod prefix;
