//! The decimal form of a program: read, written, refused with a place.

#[path = "programs/mod.rs"]
mod programs;

use proptest::prelude::*;
use tapline_filter::classic::{ParseError, Program, Reason, Rule};

fn refused(text: &str) -> (usize, Reason) {
    let ParseError { line, reason, .. } = text.parse::<Program>().unwrap_err();
    (line, reason)
}

#[test]
fn a_wrong_text_is_refused_with_its_line() {
    assert_eq!(refused(""), (1, Reason::Count));
    assert_eq!(refused("0\n"), (1, Reason::Count));
    assert_eq!(refused("4097\n"), (1, Reason::Count));
    assert_eq!(refused("(000) ret #0"), (1, Reason::Count));
    let too_few = Reason::TooFew {
        announced: 2,
        there: 1,
    };
    assert_eq!(refused("2\n6 0 0 0\n"), (2, too_few));
    assert_eq!(
        refused("1\n6 0 0 0\n\n6 0 0 0"),
        (4, Reason::TooMany { announced: 1 })
    );
    assert_eq!(refused("1\n6 0 0"), (2, Reason::Fields(3)));
    assert_eq!(refused("1\n6 0 0 0 0"), (2, Reason::Fields(5)));
    assert_eq!(refused("1\n6 0 0 -1"), (2, Reason::NotANumber("k")));
    assert_eq!(refused("1\n65536 0 0 0"), (2, Reason::TooLarge("code")));
    assert_eq!(refused("1\n6 256 0 0"), (2, Reason::TooLarge("jt")));
    assert_eq!(refused("1\n6 0 0 4294967296"), (2, Reason::TooLarge("k")));
    let (line, reason) = refused("2\n52 0 0 0\n6 0 0 0\n");
    let Reason::Rule(error) = reason else {
        panic!("{reason:?}");
    };
    assert_eq!(
        (line, error.index, error.rule),
        (2, 0, Rule::DivisionByZero)
    );
}

#[test]
fn an_error_reads_as_one_clause() {
    let text = |text: &str| text.parse::<Program>().unwrap_err().to_string();
    assert_eq!(
        text("2\n6 0 0 0\n5 0 0 7\n"),
        "line 3: instruction 1: jump behind the end"
    );
    assert_eq!(
        text("3\n6 0 0 0\n"),
        "line 2: 3 instructions announced, 1 there"
    );
}

#[test]
fn blanks_and_line_ends_of_other_systems_are_read() {
    let program: Program = " 1 \r\n\t6  0 0 1 \r\n\r\n".parse().unwrap();
    assert_eq!(program.to_string(), "1\n6 0 0 1\n");
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(list in programs::valid_instructions()) {
        let program = Program::new(list).unwrap();
        prop_assert_eq!(program.to_string().parse::<Program>(), Ok(program));
    }

    #[test]
    fn any_text_is_a_program_or_an_error(text in "[0-9 \n-]{0,80}") {
        if let Ok(program) = text.parse::<Program>() {
            prop_assert_eq!(program.to_string().parse::<Program>(), Ok(program));
        }
    }

    #[test]
    fn any_program_ends_on_any_packet(
        list in programs::any_instructions(),
        packet in proptest::collection::vec(any::<u8>(), 0..80),
        original_len: u32,
    ) {
        if let Ok(program) = Program::new(list) {
            program.run(&packet, original_len);
            prop_assert!(!program.listing().to_string().is_empty());
        }
    }
}
