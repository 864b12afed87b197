//! Addresses, in the words of ip-address(8).

mod question;
mod show;
mod spelled;
