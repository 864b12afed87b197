//! libpcap's interface on the engine of tapline: programs that were linked with libpcap run with this library unchanged.
//!
//! The functions have the names, arguments and results of libpcap 1.10, and `pcap/pcap.h` describes them. What this library
//! does not support returns `PCAP_ERROR` and a text. Packets stay in the ring until the next call that reads.
//!
//! | file or folder | |
//! |---|---|
//! | `ffi` | the border to C: `abi`: structs and numbers that programs were compiled with; `guard`: panics; `cancel`: `pthread_cancel`; `text`: strings; `stream`: `FILE`s |
//! | `handle`, `packet` | `pcap_t`, packets |
//! | `live` | interfaces: `devices` finds them, `activate` opens them as `settings` say; `interface`, `any`: their packets; `cooked`: the header on `any`; `adapter`: time stamps and the size of packets |
//! | `file` | files: `open`, `header`, `offline`: reading them; `dump`: writing them |
//! | `read`, `wake` | `pcap_loop`, `pcap_next` and waiting; `pcap_breakloop` |
//! | `compile` | filters |
//! | `resolve`, `datalinks` | names of hosts and services, link-layer header types |
//! | `status` | what a handle says about itself, and sending |
//! | `account` | the extension: the whole account, `include/tapline_pcap.h` |

#![expect(non_camel_case_types, reason = "exported types carry their names of C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "all functions ask of their callers what libpcap's manual asks"
)]

mod account;
mod compile;
mod datalinks;
mod ffi;
mod file;
mod handle;
mod live;
mod packet;
mod read;
mod resolve;
mod status;
mod wake;

pub use account::*;
pub use compile::*;
pub use ffi::abi::*;
pub use file::dump::*;
pub use file::open::*;
pub use handle::pcap_t;
pub use live::activate::*;
pub use live::devices::*;
pub use read::*;
pub use resolve::*;
pub use status::*;
