//! Building a list of targets from words.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use super::error::{TargetError, TargetErrorKind};
use super::list::{Block, Targets};
use super::parse::{TargetWord, parse_word};
use super::range::{AddressRange, Cidr, address, merge};
use super::rules::{AddressFamilies, AddressRules};
use super::single::Singles;

/// Default maximum number of targets: a /8.
const DEFAULT_MOST: u32 = 1 << 24;

/// Resolves host and interface names. The caller provides it.
pub trait Resolver {
    /// The addresses of a host, in order of preference.
    ///
    /// # Errors
    /// Fails if there is no such host, or the lookup fails.
    fn addresses(&mut self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// The index of the interface called `name`.
    ///
    /// # Errors
    /// Fails if there is no such interface.
    fn interface(&mut self, name: &str) -> io::Result<u32>;
}

/// A resolver that knows no names, for lists of addresses, prefixes and ranges.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResolver;

impl Resolver for NoResolver {
    fn addresses(&mut self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn interface(&mut self, _: &str) -> io::Result<u32> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Builds a list of targets.
///
/// Memory and time depend on the length of the input, not on the number of addresses it describes.
#[derive(Clone, Debug)]
pub struct TargetsBuilder {
    family: AddressFamilies,
    most: u32,
    /// Ranges, names and addresses with zones.
    items: Vec<Item>,
    singles: Singles,
    /// Number of mentions so far.
    mentions: u32,
    excluded: Vec<AddressRange>,
    follows_names: bool,
}

/// A range that was added.
#[derive(Clone, Debug)]
struct Item {
    /// Which mention it is.
    place: u32,
    range: AddressRange,
    name: Option<Box<str>>,
    zone: Option<u32>,
    /// The name has an address, which is `range`.
    is_resolved: bool,
}

/// Stands for the address of a name that has none.
const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

impl Default for TargetsBuilder {
    fn default() -> Self {
        Self::new(AddressFamilies::Any)
    }
}

impl TargetsBuilder {
    /// Starts without targets. Addresses of another family are rejected.
    pub fn new(family: AddressFamilies) -> Self {
        Self {
            family,
            most: DEFAULT_MOST,
            items: Vec::new(),
            singles: Singles::default(),
            mentions: 0,
            excluded: Vec::new(),
            follows_names: false,
        }
    }

    /// Gives each name a target of its own, even if another target has the same address: its address may change
    /// during the run.
    #[must_use]
    pub fn follow_names(mut self) -> Self {
        self.follows_names = true;
        self
    }

    /// Adds a name that has no address yet. Requires [`TargetsBuilder::follow_names`]: other lists ignore it.
    pub fn add_unresolved(&mut self, name: &str) {
        let place = self.next_place();
        self.items.push(Item {
            place,
            range: AddressRange::one(NO_ADDRESS),
            name: Some(name.into()),
            zone: None,
            is_resolved: false,
        });
    }

    fn next_place(&mut self) -> u32 {
        let place = self.mentions;
        // A list of so many mentions has too many targets, or only repeats them.
        self.mentions = place.saturating_add(1);
        place
    }

    /// Sets the maximum number of targets. Default: 16 777 216.
    #[must_use]
    pub fn at_most(mut self, most: u32) -> Self {
        self.most = most;
        self
    }

    /// Excludes addresses, whether they are added before or after. An IPv6 prefix wider than `::ffff:0:0/96` excludes no IPv4
    /// address.
    pub fn exclude(&mut self, prefix: Cidr) {
        prefix.own_family(|range| self.excluded.push(range));
    }

    /// Adds an address (`10.0.0.1`, `fe80::1%eth0`), the hosts of a prefix (`10.0.0.0/24`), a range
    /// (`10.0.0.1-10.0.0.9`, `10.0.0.1-9`), or a host by name.
    ///
    /// # Errors
    /// [`TargetError`] if the word is malformed or cannot be resolved. The builder is unchanged.
    pub fn add(&mut self, word: &str, resolver: &mut dyn Resolver) -> Result<(), TargetError> {
        self.add_word(word, resolver)
            .map_err(|kind| TargetError::of(word, kind))
    }

    /// Adds the words of a list, separated by white space. `#` starts a comment.
    ///
    /// # Errors
    /// [`TargetError`] names line and word of the first error. The words before it are added.
    pub fn add_list(&mut self, text: &str, resolver: &mut dyn Resolver) -> Result<(), TargetError> {
        for (line, text) in (1..).zip(text.lines()) {
            let words = text.split('#').next().unwrap_or_default();
            for word in words.split_whitespace() {
                self.add(word, resolver).map_err(|error| TargetError {
                    line: Some(line),
                    ..error
                })?;
            }
        }
        Ok(())
    }

    fn add_word(&mut self, word: &str, resolver: &mut dyn Resolver) -> Result<(), TargetErrorKind> {
        let item = match parse_word(word)? {
            TargetWord::Range(range) => Item {
                place: 0,
                range,
                name: None,
                zone: None,
                is_resolved: true,
            },
            TargetWord::Zoned(address, zone) => {
                let index = match zone.parse() {
                    Ok(index) => Ok(index),
                    Err(_) => resolver.interface(zone),
                };
                Item {
                    place: 0,
                    range: AddressRange::one(address.into()),
                    name: None,
                    zone: Some(index.map_err(|source| TargetErrorKind::Zone { source })?),
                    is_resolved: true,
                }
            }
            TargetWord::Name(name) => {
                let addresses = resolver.addresses(name);
                let addresses =
                    addresses.map_err(|source| TargetErrorKind::Unresolved { source })?;
                let mut addresses = addresses.into_iter().map(|address| address.to_canonical());
                let address = addresses.find(|address| self.family.accepts(*address));
                Item {
                    place: 0,
                    range: AddressRange::one(address.ok_or(TargetErrorKind::NoAddress)?),
                    name: Some(name.into()),
                    zone: None,
                    is_resolved: true,
                }
            }
        };
        if !self.family.accepts(address(item.range.first)) {
            return Err(TargetErrorKind::WrongFamily);
        }
        let place = self.next_place();
        if item.range.len() == 1 && item.name.is_none() && item.zone.is_none() {
            self.singles.push(address(item.range.first), place);
        } else {
            self.items.push(Item { place, ..item });
        }
        Ok(())
    }

    /// Builds the list: targets in the order of their first mention, each address once.
    ///
    /// # Errors
    /// [`TargetErrorKind::TooMany`] if there are too many targets.
    pub fn build(mut self) -> Result<Targets, TargetError> {
        merge(&mut self.excluded);
        let mut targets = Targets {
            rules: AddressRules {
                family: self.family,
                excluded: self.excluded,
                follows_names: self.follows_names,
            },
            ..Targets::default()
        };
        let skipped = (self.singles).reduce(|address| targets.rules.accepts(address));
        targets.excluded += skipped.refused;
        targets.repeated += skipped.repeated;
        let mut kept = Vec::with_capacity(self.items.len());
        for mut item in self.items {
            if targets.rules.follows_names && item.name.is_some() {
                item.is_resolved &= targets.rules.accepts(address(item.range.first));
                kept.push(item);
                continue;
            }
            if !item.is_resolved {
                continue;
            }
            let mut left = 0_u128;
            item.range.without(&targets.rules.excluded, |range| {
                left = left.saturating_add(range.len());
                kept.push(Item {
                    range,
                    ..item.clone()
                });
            });
            targets.excluded += item.range.len() - left;
        }
        // Addresses that a range or a name has too.
        let is_followed = |item: &Item| targets.rules.follows_names && item.name.is_some();
        let others = kept.iter().filter(|item| !is_followed(item));
        let mut ranges: Vec<AddressRange> = others.map(|item| item.range).collect();
        merge(&mut ranges);
        self.singles.remove_within(&ranges, |address, place| {
            kept.push(Item {
                place,
                range: AddressRange::one(address),
                name: None,
                zone: None,
                is_resolved: true,
            });
        });
        kept.sort_by_key(|item| item.place);
        let mut repeated = 0;
        let kept = deduplicate(&kept, self.follows_names, &mut repeated);
        targets.repeated += repeated;
        let mut singles = self.singles.in_order().peekable();
        for item in kept {
            while let Some((_, address)) = singles.next_if(|(place, _)| *place < item.place) {
                targets.push_address(address, self.most)?;
            }
            targets.require_room(item.range, self.most)?;
            targets.push(item);
        }
        for (_, address) in singles {
            targets.push_address(address, self.most)?;
        }
        targets.finish();
        Ok(targets)
    }
}

/// Removes repeated addresses and counts them. Of names that are followed, removes repeated names; of addresses with a zone,
/// those with the same one.
fn deduplicate(items: &[Item], follows_names: bool, repeated: &mut u128) -> Vec<Item> {
    let is_apart = |at: &usize| {
        let item = &items[*at];
        item.zone.is_some() || (follows_names && item.name.is_some())
    };
    let (apart, mut by_first): (Vec<usize>, Vec<usize>) = (0..items.len()).partition(is_apart);
    by_first.sort_unstable_by_key(|at| (items[*at].range.first, *at));
    let mut pieces = sweep(items, &by_first);
    let given = by_first.iter().map(|at| items[*at].range.len());
    let given = given.fold(0, u128::saturating_add);
    let kept = pieces.iter().map(|(_, range)| range.len());
    *repeated = given - kept.fold(0, u128::saturating_add).min(given);
    let mut known = HashSet::new();
    for at in apart {
        let item = &items[at];
        let zoned = item.zone.map(|zone| (item.range.first, zone));
        if known.insert((item.name.as_deref(), zoned)) {
            pieces.push((at, item.range));
        } else {
            *repeated += 1;
        }
    }
    pieces.sort_unstable();
    let piece = |(at, range): (usize, AddressRange)| Item {
        range,
        ..items[at].clone()
    };
    pieces.into_iter().map(piece).collect()
}

/// Cuts the ranges of `items`, sorted by `by_first`, where an earlier item covers them.
///
/// Sweeps over the ends of all ranges in address order. The pieces are returned in item order.
fn sweep(items: &[Item], by_first: &[usize]) -> Vec<(usize, AddressRange)> {
    let mut pieces: Vec<(usize, AddressRange)> = Vec::with_capacity(items.len());
    // Items that cover the current address, by item order.
    let mut open: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut coming = by_first.iter().copied().peekable();
    let mut from = 0;
    loop {
        if open.is_empty() {
            let Some(next) = coming.peek() else { break };
            from = items[*next].range.first;
        }
        while let Some(next) = coming.next_if(|next| items[*next].range.first <= from) {
            open.push(Reverse(next));
        }
        let Some(Reverse(earliest)) = open.peek().copied() else {
            continue;
        };
        let own_last = items[earliest].range.last;
        if own_last < from {
            open.pop();
            continue;
        }
        // The piece ends with its item, or where another item begins, which may be an earlier one.
        let until = coming
            .peek()
            .map_or(own_last, |next| own_last.min(items[*next].range.first - 1));
        match pieces.last_mut() {
            Some((at, range)) if *at == earliest && range.last.checked_add(1) == Some(from) => {
                range.last = until;
            }
            _ => pieces.push((
                earliest,
                AddressRange {
                    first: from,
                    last: until,
                },
            )),
        }
        match until.checked_add(1) {
            Some(next) => from = next,
            None => break,
        }
    }
    pieces.sort_unstable();
    pieces
}

impl Targets {
    /// Refuses more than `most` targets.
    fn require_room(&self, range: AddressRange, most: u32) -> Result<(), TargetError> {
        let count = u128::from(self.hosts).saturating_add(range.len());
        if count <= most.into() {
            return Ok(());
        }
        let ends = [range.first, range.last].map(address);
        Err(TargetError {
            target: match ends {
                [first, last] if first == last => first.to_string(),
                [first, last] => format!("{first}-{last}"),
            },
            line: None,
            kind: TargetErrorKind::TooMany { count, most },
        })
    }

    fn push_address(&mut self, address: IpAddr, most: u32) -> Result<(), TargetError> {
        self.require_room(AddressRange::one(address), most)?;
        self.push_single(Some(address));
        Ok(())
    }

    fn push(&mut self, item: Item) {
        let host = self.hosts;
        if let Some(name) = item.name {
            self.names.push((host, name));
        }
        if let Some(zone) = item.zone {
            self.zones.push((host, zone));
        }
        if item.range.len() == 1 {
            // Consecutive single addresses share a block.
            self.push_single(Some(address(item.range.first)));
        } else {
            self.blocks.push(Block::Range(item.range));
            self.firsts.push(host);
            self.hosts += item.range.len() as u32;
        }
        if !item.is_resolved {
            self.set_address(host, None);
        }
    }

    /// Sorts the ranges, and frees what the blocks do not need.
    fn finish(&mut self) {
        for (number, block) in (0..).zip(&mut self.blocks) {
            if let Block::Range(range) = block {
                self.ranges.push((range.first, number));
            }
            block.shrink_to_fit();
        }
        self.ranges.sort_unstable();
    }
}
