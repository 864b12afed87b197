//! libpcap's interface on the engine of tapline: programs that were linked with libpcap run with this library unchanged.
//!
//! The functions have the names, arguments and results of libpcap 1.10, and `pcap/pcap.h` describes them. What this library
//! does not support returns `PCAP_ERROR` and a text. Packets stay in the ring until the next call that reads.
//!
//! | file | |
//! |---|---|
//! | `abi` | structs and numbers that programs were compiled with |
//! | `handle`, `settings`, `packet` | `pcap_t`, what opens it, packets |
//! | `guard`, `cancel`, `text`, `stream`, `wake` | panics, `pthread_cancel`, strings, `FILE`s, `pcap_breakloop` |
//! | `activate`, `files` | opening interfaces and files |
//! | `adapter` | its time stamps and the size of its packets |
//! | `live`, `any`, `offline` | where packets come from; `cooked`: their header on `any`; `file_header`: that of a pcap file |
//! | `read` | `pcap_loop`, `pcap_next` and waiting |
//! | `compile` | filters |
//! | `dump` | writing files |
//! | `devices`, `resolve`, `datalinks` | interfaces and names |
//! | `status` | what a handle says about itself, and sending |
//! | `account` | the extension: the whole account, `include/tapline_pcap.h` |

#![expect(non_camel_case_types, reason = "exported types carry their names of C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "all functions ask of their callers what libpcap's manual asks"
)]

mod abi;
mod account;
mod activate;
mod adapter;
mod any;
mod cancel;
mod compile;
mod cooked;
mod datalinks;
mod devices;
mod dump;
mod file_header;
mod files;
mod guard;
mod handle;
mod live;
mod offline;
mod packet;
mod read;
mod resolve;
mod settings;
mod status;
mod stream;
mod text;
mod wake;

pub use abi::*;
pub use account::*;
pub use activate::*;
pub use compile::*;
pub use devices::*;
pub use dump::*;
pub use files::*;
pub use handle::pcap_t;
pub use read::*;
pub use resolve::*;
pub use status::*;
