#![no_main]

use filter::classic::{ClassicProgram, Instruction};

/// A text that may be a program, a program as numbers, and a packet to run them on.
type Input<'a> = (&'a str, Vec<(u16, u8, u8, u32)>, u32, &'a [u8]);

libfuzzer_sys::fuzz_target!(|input: Input<'_>| {
    let (text, numbers, original_len, packet) = input;
    let instruction = |(code, jt, jf, k)| Instruction { code, jt, jf, k };
    let programs = [
        text.parse().ok(),
        ClassicProgram::new(numbers.into_iter().map(instruction).collect()).ok(),
    ];
    for program in programs.into_iter().flatten() {
        let again: ClassicProgram = program
            .to_string()
            .parse()
            .expect("what is written is read");
        assert_eq!(again, program);
        assert!(!program.listing().to_string().is_empty());
        program.run(packet, original_len);
    }
});
