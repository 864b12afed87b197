//! Rows that are collected column by column.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Int32Builder, Int64Builder, StringBuilder, TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// Rows that are encoded together.
pub const BATCH_ROWS: usize = 8192;

/// Rows of one kind, in columns.
pub trait Rows: Default + Send {
    /// What a row is made of.
    type Row<'a>;

    /// Names and types of the columns.
    fn schema() -> SchemaRef;

    /// How a column's values are best encoded.
    fn shape(column: &str) -> Shape;

    /// Adds a row.
    fn add(&mut self, row: &Self::Row<'_>);

    /// Number of rows.
    fn len(&self) -> usize;

    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all rows.
    fn take(&mut self) -> RecordBatch;
}

/// What values of a column look like beside those of the rows around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A few values, many times.
    Repeated,
    /// A few texts that stand for something, so that their order says nothing.
    Label,
    /// Grows from row to row.
    Growing,
    /// Different in most rows.
    Distinct,
}

/// A column that is filled.
pub trait Column {
    /// An empty column.
    fn new() -> Self;
    /// Its type.
    fn data_type() -> DataType;
    /// Takes its values.
    fn take(&mut self) -> ArrayRef;
}

macro_rules! column {
    ($builder:ty, $type:expr, $new:expr) => {
        impl Column for $builder {
            fn new() -> Self {
                $new
            }

            fn data_type() -> DataType {
                $type
            }

            fn take(&mut self) -> ArrayRef {
                Arc::new(self.finish())
            }
        }
    };
}

column!(
    BooleanBuilder,
    DataType::Boolean,
    BooleanBuilder::with_capacity(BATCH_ROWS)
);
column!(
    Int32Builder,
    DataType::Int32,
    Int32Builder::with_capacity(BATCH_ROWS)
);
column!(
    Int64Builder,
    DataType::Int64,
    Int64Builder::with_capacity(BATCH_ROWS)
);
column!(
    StringBuilder,
    DataType::Utf8,
    StringBuilder::with_capacity(BATCH_ROWS, 16 * BATCH_ROWS)
);
column!(
    TimestampNanosecondBuilder,
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
    TimestampNanosecondBuilder::with_capacity(BATCH_ROWS).with_data_type(Self::data_type())
);

/// The schema of these columns, all of which may be null.
pub fn schema(columns: Vec<(&str, DataType)>) -> SchemaRef {
    let field = |(name, data_type)| Field::new(name, data_type, true);
    Arc::new(Schema::new(
        columns.into_iter().map(field).collect::<Vec<_>>(),
    ))
}

/// A batch of columns of the same length.
pub fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> RecordBatch {
    // Each row was added to each column.
    RecordBatch::try_new(schema, columns).expect("columns of the schema")
}

/// Defines a struct of columns, in the order of the schema, with the shape of each.
macro_rules! columns {
    ($name:ident { $($column:ident: $builder:ty = $shape:ident,)+ }) => {
        #[derive(Debug)]
        struct $name {
            schema: ::arrow_schema::SchemaRef,
            $($column: $builder,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    schema: Self::schema(),
                    $($column: <$builder as $crate::batch::Column>::new(),)+
                }
            }
        }

        impl $name {
            fn schema() -> ::arrow_schema::SchemaRef {
                $crate::batch::schema(vec![
                    $((stringify!($column), <$builder as $crate::batch::Column>::data_type()),)+
                ])
            }

            fn shape(column: &str) -> $crate::batch::Shape {
                match column {
                    $(stringify!($column) => $crate::batch::Shape::$shape,)+
                    _ => $crate::batch::Shape::Repeated,
                }
            }

            fn take(&mut self) -> ::arrow_array::RecordBatch {
                let columns = vec![$($crate::batch::Column::take(&mut self.$column),)+];
                $crate::batch::batch(self.schema.clone(), columns)
            }
        }
    };
}

pub(crate) use columns;

/// Nanoseconds since 1970 as Arrow counts them; `None` beyond the year 2262.
pub fn time(ns: u64) -> Option<i64> {
    i64::try_from(ns).ok()
}

/// A counter; those that are too large for any engine are the largest number.
pub fn counter(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
