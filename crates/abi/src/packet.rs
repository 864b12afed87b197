//! The uapi of AF_PACKET.
