#![no_main]

use filter::{FilterOptions, FilterTarget, LinkType, NoNames, compile};

/// A link type by number, whether the program is for a socket, and a filter.
type Input<'a> = (u8, bool, &'a str);

libfuzzer_sys::fuzz_target!(|input: Input<'_>| {
    let (link, socket, text) = input;
    let link = LinkType::from_number(u16::from(link));
    let mut options = FilterOptions::new(link);
    options.target = if socket {
        FilterTarget::Socket
    } else {
        FilterTarget::File
    };
    match compile(text, &options, &NoNames) {
        Ok(program) => {
            program.run(&[0; 64], 64);
        }
        Err(error) => assert!(!error.caret(text).is_empty()),
    }
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tapline_fuzz::mutated(data, (size, max_size), seed, 2, tapline_lab::mutate::filter)
});
