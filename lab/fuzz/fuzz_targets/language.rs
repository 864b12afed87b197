#![no_main]

use filter::{At, LinkType, NoNames, Options, compile};

/// A link type by number, whether the program is for a socket, and a filter.
type Input<'a> = (u8, bool, &'a str);

libfuzzer_sys::fuzz_target!(|input: Input<'_>| {
    let (link, socket, text) = input;
    let link = LinkType::from_number(u32::from(link)).unwrap_or(LinkType::Ethernet);
    let mut options = Options::new(link);
    options.at = if socket { At::Socket } else { At::File };
    match compile(text, &options, &NoNames) {
        Ok(program) => {
            program.run(&[0; 64], 64);
        }
        Err(error) => assert!(!error.caret(text).is_empty()),
    }
});
