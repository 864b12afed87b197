//! The block that describes a process: a custom block of the Wireshark Foundation.
//!
//! ```text
//! CUSTOM_BLOCK │ length │ 32622 │ entry type 3 │ entry length │ process │ options │ length
//!      byte order of the section │ little-endian                                 │ of the section
//! ```

use crate::model::Process;

/// Custom Block that programs may copy to other files.
const CUSTOM: u32 = 0x0bad;
/// The Private Enterprise Number of the Wireshark Foundation.
const WIRESHARK: u32 = 32_622;
/// Process Information.
const PROCESS_INFORMATION: u32 = 3;

/// Maximum bytes of an option. A longer text is truncated at a whole character.
const VALUE_BYTES_MAX: usize = 32_768;

/// A Process Information entry.
///
/// # Source
/// Wireshark, wiretap/pcapng-wireshark-custom.c; pull request 209 of draft-ietf-opsawg-pcap.
pub(in super::super) fn process(process: &Process) -> Vec<u8> {
    let mut entry = process.id.to_le_bytes().to_vec();
    let mut option = |code: u16, value: &[u8]| {
        // Readers take an empty option for a missing one.
        if !value.is_empty() {
            entry.extend(code.to_le_bytes());
            entry.extend((value.len() as u16).to_le_bytes());
            entry.extend(value);
            entry.resize(entry.len().next_multiple_of(4), 0);
        }
    };
    option(1, text(process.comment.as_ref()));
    option(2, text(process.name.as_ref()));
    option(3, text(process.path.as_ref()));
    let kept = process.command_line.len().min(VALUE_BYTES_MAX);
    option(4, &process.command_line[..kept]);
    option(5, number(process.parent.map(u32::to_le_bytes).as_ref()));
    option(6, number(process.user.map(u32::to_le_bytes).as_ref()));
    option(9, number(process.start_ns.map(u64::to_le_bytes).as_ref()));
    entry.extend([0; 4]); // end of options
    let length = (24 + entry.len()) as u32;
    [
        &CUSTOM.to_ne_bytes(),
        &length.to_ne_bytes(),
        &WIRESHARK.to_ne_bytes(),
        &PROCESS_INFORMATION.to_le_bytes(),
        &(entry.len() as u32).to_le_bytes(),
        &entry[..],
        &length.to_ne_bytes(),
    ]
    .concat()
}

fn text(text: Option<&String>) -> &[u8] {
    text.map_or(&[], |text| {
        &text.as_bytes()[..text.floor_char_boundary(VALUE_BYTES_MAX)]
    })
}

fn number<const N: usize>(bytes: Option<&[u8; N]>) -> &[u8] {
    bytes.map_or(&[], |bytes| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that Wireshark's tests have for such a process, on a little-endian machine.
    #[test]
    fn the_entry_is_little_endian_and_its_options_are_padded() {
        let described = Process {
            name: Some("ping".into()),
            command_line: b"ping\0-c\x001\0".to_vec(),
            parent: Some(7),
            user: Some(0),
            start_ns: Some(1 << 40),
            ..Process::new(4711)
        };
        let block = process(&described);
        let word = |at: usize| {
            u32::from_ne_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
        };
        assert_eq!((word(0), word(8)), (CUSTOM, WIRESHARK));
        assert_eq!(
            (word(4) as usize, word(block.len() - 4) as usize),
            (block.len(), block.len())
        );
        assert_eq!(block[12..16], [3, 0, 0, 0]);
        let entry = &block[20..block.len() - 4];
        assert_eq!(block[16..20], (entry.len() as u32).to_le_bytes());
        let expected: &[&[u8]] = &[
            &[0x67, 0x12, 0, 0],
            &[2, 0, 4, 0],
            b"ping",
            &[4, 0, 10, 0],
            b"ping\0-c\x001\0\0\0",
            &[5, 0, 4, 0, 7, 0, 0, 0],
            &[6, 0, 4, 0, 0, 0, 0, 0],
            &[9, 0, 8, 0, 0, 0, 0, 0, 0, 1, 0, 0],
            &[0; 4],
        ];
        assert_eq!(entry, expected.concat());
    }
}
