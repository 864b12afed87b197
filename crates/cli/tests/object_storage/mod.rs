//! Uploads to object storage.

mod failures;
mod services;
mod spool;
mod uploads;
