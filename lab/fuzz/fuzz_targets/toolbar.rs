#![no_main]

#[path = "../../../crates/cli/src/extcap/message.rs"]
#[allow(dead_code, missing_docs)]
mod message;

use message::Message;

// What comes through the control pipe of Wireshark: messages up to the first damage, and each is the same when it is
// written and read again.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some(message)) = Message::read(&mut rest) {
        let written = message.bytes();
        let again = Message::read(&mut &written[..]);
        assert_eq!(again.expect("readable"), Some(message));
    }
});
