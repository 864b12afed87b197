#![no_main]

use tapline::control::{ControlReply, ControlRequest};

// A line of the control protocol, from a client or from a capture: what can be read says the same when it is written
// and read again.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = ControlRequest::parse(bytes) {
        let again = ControlRequest::parse(&request.line());
        assert_eq!(again.expect("a request"), request);
    }
    if let Ok(reply) = ControlReply::parse(bytes) {
        let again = ControlReply::parse(&reply.line());
        assert_eq!(again.expect("a reply"), reply);
    }
});
