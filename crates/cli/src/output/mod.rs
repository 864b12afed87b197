//! How text, JSON, pages and capture files leave the program.

mod capture_file;
pub mod decoder;
pub mod json;
pub mod page_durations;
pub mod page_file;
pub mod paint;
pub mod streams;

pub use capture_file::{
    Written, column_format, compression, format, is_stdout, named, needed_capabilities, options,
    refuse_columns, refuse_compressed_name, refuse_keep_alone, refuse_objects,
    refuse_other_compression, refuse_two_on_stdout, rotation, screen,
};
