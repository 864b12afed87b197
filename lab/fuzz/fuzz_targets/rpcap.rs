#![no_main]

use tapline::rpcap::{Header, PacketMessage, Reply, Request};

/// Longest packet.
const MAX_BYTES: usize = 65_535;

// A stream of rpcap, from a client, from a server, and the channel of packets: what can be read says the same when it is written and
// read again.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Some((header, behind)) = rest.split_first_chunk() {
        let header = Header::parse(*header);
        assert_eq!(Header::parse(header.bytes()), header);
        let length = usize::try_from(header.payload_bytes).unwrap_or(usize::MAX);
        let (payload, behind) = behind.split_at(length.min(behind.len()));
        if let Ok(request) = Request::parse(header, payload) {
            let written = request.bytes();
            let (header, payload) = split(&written);
            assert_eq!(Request::parse(header, payload), Ok(request));
        }
        if let Ok(reply) = Reply::parse(header, payload) {
            let written = reply.bytes();
            let (header, payload) = split(&written);
            assert_eq!(Reply::parse(header, payload), Ok(reply));
        }
        rest = behind;
    }
    let mut rest = bytes;
    while let Ok(Some((packet, behind))) = PacketMessage::split(rest, MAX_BYTES) {
        let mut written = Vec::new();
        packet.put(&mut written);
        assert!(rest.starts_with(&written[..1]));
        let again = PacketMessage::split(&written, MAX_BYTES);
        assert_eq!(again, Ok(Some((packet, &[][..]))));
        rest = behind;
    }
});

/// Header and payload of a message that was written.
fn split(message: &[u8]) -> (Header, &[u8]) {
    let (header, payload) = message.split_first_chunk().expect("a header");
    (Header::parse(*header), payload)
}
