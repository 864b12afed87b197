//! Files mapped for reading.
