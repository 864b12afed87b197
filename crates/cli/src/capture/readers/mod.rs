//! Captures with several readers: how many there are, their files, and their accounts.

pub mod accounts;
pub mod choice;
pub mod files;
