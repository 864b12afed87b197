//! What several commands have in common: errors, output, metrics, users.

mod closed_output;
mod error_lines;
mod metrics;
mod output_files;
mod user;
