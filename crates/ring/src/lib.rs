//! Receive rings across the kernel border, and their loss account
