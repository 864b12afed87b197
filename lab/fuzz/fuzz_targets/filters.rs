#![no_main]

use filter::{Filter, FilterTarget, LinkType, NoNames};
use tapline_lab::oracle::{Packet, Random, Subject, text};

/// The seed of a filter, a link type by number, and a packet.
type Input<'a> = (u64, u8, &'a [u8]);

libfuzzer_sys::fuzz_target!(|input: Input<'_>| {
    let (seed, link, bytes) = input;
    let link = LinkType::from_number(u16::from(link));
    let text = text::expression(&mut Random::new(seed), link, FilterTarget::File);
    let options = Subject::options(link, FilterTarget::File);
    let Ok(filter) = Filter::new(&text, &options, &NoNames) else {
        return;
    };
    let packet = Packet::whole(bytes.to_vec());
    let walked = filter.run(bytes, packet.original_len, &packet.ancillary);
    if let Ok(program) = filter.classic() {
        assert_eq!(program.run(bytes, packet.original_len), walked, "{text}");
    }
    if let Ok(program) = filter.native() {
        assert_eq!(program.run(bytes, packet.original_len), walked, "{text}");
    }
});
