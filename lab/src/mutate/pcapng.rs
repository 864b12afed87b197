//! Capture files as pcapng: a list of blocks.

use super::{Plain, two};
use crate::oracle::Random;

/// The kind of a Section Header Block, the same in both byte orders.
const SECTION: u32 = 0x0a0d_0d0a;
const MAGIC: u32 = 0x1a2b_3c4d;

/// Kinds of blocks: interfaces, packets in three forms, names, statistics, journal, secrets, custom and process blocks.
const KINDS: [u32; 11] = [SECTION, 1, 2, 3, 4, 5, 6, 9, 10, 0xbad, 0x8000_0001];

/// Codes of options: end, comment, those of each kind of block, custom, and one that nobody knows.
const OPTIONS: [u16; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 2988, 19372, 999];

/// What a block adds to its body: kind, and its length twice.
const FRAME_BYTES: usize = 12;

/// Most bytes by which a body grows at once.
const GROWTH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    is_big: bool,
    kind: u32,
    body: Vec<u8>,
}

/// Changes one block, or the list of blocks; other inputs as `plain` does.
pub fn pcapng(random: &mut Random, input: &[u8], plain: Plain<'_>) -> Vec<u8> {
    let mut blocks = blocks(input);
    if blocks.is_empty() {
        let mut bytes = input.to_vec();
        plain(&mut bytes, input.len() + GROWTH);
        return bytes;
    }
    let [one, other] = two(random, blocks.len());
    match random.below(8) {
        0 => blocks.swap(one, other),
        1 => blocks.insert(other, blocks[one].clone()),
        2 => drop(blocks.remove(one)),
        3 => blocks[one].kind = *random.pick(&KINDS),
        4 => {
            let is_big = blocks[one].is_big;
            let option = option(random, is_big);
            blocks[one].body.extend(option);
        }
        5 => {
            let new = Block {
                is_big: blocks[one].is_big,
                kind: *random.pick(&KINDS[1..]),
                body: blocks[other].body.clone(),
            };
            blocks.insert(one + 1, new);
        }
        _ => {
            let body = &mut blocks[one].body;
            let most = body.len() + GROWTH;
            plain(body, most);
        }
    }
    blocks.iter().flat_map(encoded).collect()
}

/// The blocks up to the first one that is damaged.
fn blocks(mut input: &[u8]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    while let Some((block, rest)) = first(input, blocks.last().map(|block| block.is_big)) {
        blocks.push(block);
        input = rest;
    }
    blocks
}

/// The first block and what follows it. Without `is_big` it begins a section, which says its byte order.
fn first(input: &[u8], is_big: Option<bool>) -> Option<(Block, &[u8])> {
    let (kind, rest) = input.split_first_chunk()?;
    let (bytes, rest) = rest.split_first_chunk()?;
    let is_section = u32::from_le_bytes(*kind) == SECTION;
    let is_big = if is_section {
        let magic = rest.first_chunk()?;
        match (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)) {
            (MAGIC, _) => false,
            (_, MAGIC) => true,
            _ => return None,
        }
    } else {
        is_big?
    };
    let number = |bytes: &[u8; 4]| {
        if is_big {
            u32::from_be_bytes(*bytes)
        } else {
            u32::from_le_bytes(*bytes)
        }
    };
    let body_bytes = (number(bytes) as usize).checked_sub(FRAME_BYTES)?;
    let (body, rest) = rest.split_at_checked(body_bytes)?;
    let (_, rest) = rest.split_first_chunk::<4>()?;
    let block = Block {
        is_big,
        kind: number(kind),
        body: body.to_vec(),
    };
    Some((block, rest))
}

fn encoded(block: &Block) -> Vec<u8> {
    let number = |number: u32| {
        if block.is_big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let padded = block.body.len().next_multiple_of(4);
    let bytes = number((padded + FRAME_BYTES) as u32);
    let mut encoded = [number(block.kind), bytes].concat();
    encoded.extend(&block.body);
    encoded.resize(8 + padded, 0);
    encoded.extend(bytes);
    encoded
}

/// An option with a short value.
fn option(random: &mut Random, is_big: bool) -> Vec<u8> {
    let number = |number: u16| {
        if is_big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let bytes = random.below(GROWTH as u32) as u16;
    let code = *random.pick(&OPTIONS);
    let mut option = [number(code), number(bytes)].concat();
    option.extend((0..bytes).map(|_| random.number() as u8));
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Files of both byte orders, with several sections.
    fn files() -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/made");
        let names = ["big.pcapng", "little.pcapng", "sections.pcapng"];
        let files = names.map(|name| fs::read(folder.join(name)).expect("a file"));
        files.to_vec()
    }

    #[test]
    fn blocks_are_written_as_they_were_read() {
        for file in files() {
            let again: Vec<u8> = blocks(&file).iter().flat_map(encoded).collect();
            assert_eq!(again, file);
        }
    }

    #[test]
    fn mutated_files_consist_of_whole_blocks() {
        let mut random = Random::new(1);
        for mut file in files() {
            for _ in 0..2000 {
                let mutated = pcapng(&mut random, &file, &mut |bytes, most| {
                    bytes.push(7);
                    assert!(bytes.len() <= most);
                });
                let whole: Vec<u8> = blocks(&mutated).iter().flat_map(encoded).collect();
                // What follows a section header without its magic number has no byte order.
                assert!(mutated.starts_with(&whole));
                if mutated.len() < 4000 && whole == mutated && !mutated.is_empty() {
                    file = mutated;
                }
            }
        }
    }

    #[test]
    fn other_inputs_are_changed_plainly() {
        let mutated = pcapng(&mut Random::new(1), b"abc", &mut |bytes, _| {
            bytes.push(b'd');
        });
        assert_eq!(mutated, b"abcd");
    }
}
