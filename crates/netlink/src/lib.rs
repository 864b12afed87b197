//! Links, addresses and namespaces over rtnetlink

#![forbid(unsafe_code)]
