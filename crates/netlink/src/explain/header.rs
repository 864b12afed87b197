use crate::codec::{HEADER_BYTES, Message};
use crate::uapi::{
    NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_ECHO, NLM_F_EXCL,
    NLM_F_MULTI, NLM_F_REPLACE, NLM_F_REQUEST,
};

pub(super) const BYTES: usize = HEADER_BYTES;

/// Flags that mean the same in every message.
const ALWAYS: [(u16, &str); 5] = [
    (NLM_F_REQUEST, "request"),
    (NLM_F_MULTI, "multi"),
    (NLM_F_ACK, "ack"),
    (NLM_F_ECHO, "echo"),
    (NLM_F_DUMP_INTR, "dump-intr"),
];
/// Flags of a message that makes or changes something.
const NEW: [(u16, &str); 4] = [
    (NLM_F_REPLACE, "replace"),
    (NLM_F_EXCL, "excl"),
    (NLM_F_CREATE, "create"),
    (NLM_F_APPEND, "append"),
];

/// Length, flags and number of a message.
pub(super) fn value(message: Message<'_>) -> String {
    let has = |(flag, name): &(u16, &'static str)| (message.flags & flag != 0).then_some(*name);
    let mut flags: Vec<_> = ALWAYS.iter().filter_map(has).collect();
    let is_request = message.flags & NLM_F_REQUEST != 0;
    // The types of rtnetlink come in fours: new, del, get, set.
    match message.kind % 4 {
        0 | 3 if is_request => flags.extend(NEW.iter().filter_map(has)),
        2 if message.flags & NLM_F_DUMP == NLM_F_DUMP => flags.push("dump"),
        _ => {}
    }
    let length = BYTES + message.body.len();
    format!(
        "length {length}, flags 0x{:x} [{}], sequence {}, port {}",
        message.flags,
        flags.join(" "),
        message.sequence,
        message.port
    )
}
