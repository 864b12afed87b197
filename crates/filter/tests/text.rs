//! The decimal form of a program: parsing, printing, and errors with positions.

use crate::programs;
use proptest::prelude::*;
use tapline_filter::classic::{ClassicProgram, KernelRule, ParseError, ParseErrorReason};

fn refused(text: &str) -> (usize, ParseErrorReason) {
    let ParseError { line, reason, .. } = text.parse::<ClassicProgram>().unwrap_err();
    (line, reason)
}

#[test]
fn an_invalid_text_is_rejected_with_its_line() {
    assert_eq!(refused(""), (1, ParseErrorReason::Count));
    assert_eq!(refused("0\n"), (1, ParseErrorReason::Count));
    assert_eq!(refused("4097\n"), (1, ParseErrorReason::Count));
    assert_eq!(refused("(000) ret #0"), (1, ParseErrorReason::Count));
    let too_few = ParseErrorReason::TooFew {
        announced: 2,
        there: 1,
    };
    assert_eq!(refused("2\n6 0 0 0\n"), (2, too_few));
    assert_eq!(
        refused("1\n6 0 0 0\n\n6 0 0 0"),
        (4, ParseErrorReason::TooMany { announced: 1 })
    );
    assert_eq!(refused("1\n6 0 0"), (2, ParseErrorReason::Fields(3)));
    assert_eq!(refused("1\n6 0 0 0 0"), (2, ParseErrorReason::Fields(5)));
    assert_eq!(
        refused("1\n6 0 0 -1"),
        (2, ParseErrorReason::NotANumber("k"))
    );
    assert_eq!(
        refused("1\n65536 0 0 0"),
        (2, ParseErrorReason::TooLarge("code"))
    );
    assert_eq!(
        refused("1\n6 256 0 0"),
        (2, ParseErrorReason::TooLarge("jt"))
    );
    assert_eq!(
        refused("1\n6 0 0 4294967296"),
        (2, ParseErrorReason::TooLarge("k"))
    );
    let (line, reason) = refused("2\n52 0 0 0\n6 0 0 0\n");
    let ParseErrorReason::Rule(error) = reason else {
        panic!("{reason:?}");
    };
    assert_eq!(
        (line, error.index, error.rule),
        (2, 0, KernelRule::DivisionByZero)
    );
}

#[test]
fn an_error_reads_as_one_clause() {
    let text = |text: &str| text.parse::<ClassicProgram>().unwrap_err().to_string();
    assert_eq!(
        text("2\n6 0 0 0\n5 0 0 7\n"),
        "line 3: instruction 1: jump past the end"
    );
    assert_eq!(
        text("3\n6 0 0 0\n"),
        "line 2: 3 instructions announced, 1 found"
    );
}

#[test]
fn blanks_and_line_ends_of_other_systems_are_accepted() {
    let program: ClassicProgram = " 1 \r\n\t6  0 0 1 \r\n\r\n".parse().unwrap();
    assert_eq!(program.to_string(), "1\n6 0 0 1\n");
}

proptest! {
    #[test]
    fn printed_programs_parse_back(list in programs::valid_instructions()) {
        let program = ClassicProgram::new(list).unwrap();
        prop_assert_eq!(program.to_string().parse::<ClassicProgram>(), Ok(program));
    }

    #[test]
    fn any_text_is_a_program_or_an_error(text in "[0-9 \n-]{0,80}") {
        if let Ok(program) = text.parse::<ClassicProgram>() {
            prop_assert_eq!(program.to_string().parse::<ClassicProgram>(), Ok(program));
        }
    }

    #[test]
    fn any_program_ends_on_any_packet(
        list in programs::any_instructions(),
        packet in proptest::collection::vec(any::<u8>(), 0..80),
        original_len: u32,
    ) {
        if let Ok(program) = ClassicProgram::new(list) {
            program.run(&packet, original_len);
            prop_assert!(!program.listing().to_string().is_empty());
        }
    }
}
