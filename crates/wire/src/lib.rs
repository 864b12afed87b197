//! Views of packet headers and their checksums

#![forbid(unsafe_code)]
