//! Network configuration, compared with ip(8), bridge(8) and ethtool(8), and with the kernel.

mod addr;
mod batch;
mod bridge;
mod drivers;
mod link;
mod neigh;
mod netns;
mod odd;
mod packet_route;
mod route;
mod stats;
mod transport;
mod watch;
