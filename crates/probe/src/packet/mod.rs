//! Probes and answers as bytes.
