//! Making a list of targets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::IpAddr;

use super::block::Block;
use super::error::{TargetError, TargetErrorKind};
use super::list::Targets;
use super::parse::{Named, named};
use super::span::{Prefix, Span, address, merge, number};

/// Targets at most, when nothing else is asked for: a /8.
const DEFAULT_MOST: u32 = 1 << 24;

/// Finds addresses of names; the program brings it along.
pub trait Resolver {
    /// The addresses of a host, in the order in which they are to be tried.
    ///
    /// # Errors
    /// There is no such host, or it cannot be told now.
    fn addresses(&mut self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// The index of the interface called `name`.
    ///
    /// # Errors
    /// There is none.
    fn interface(&mut self, name: &str) -> io::Result<u32>;
}

/// Knows no names: for lists of addresses, prefixes and ranges.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Resolver for NoNames {
    fn addresses(&mut self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn interface(&mut self, _: &str) -> io::Result<u32> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Which addresses are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// Those of both families; of a name the first.
    #[default]
    Any,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

impl Family {
    fn has(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// Collects targets, and what is not to be one.
///
/// Memory and time follow the text that was given, not the number of addresses it stands for.
#[derive(Clone, Debug)]
pub struct Builder {
    family: Family,
    most: u32,
    items: Vec<Item>,
    excluded: Vec<Span>,
}

/// Something that was named.
#[derive(Clone, Debug)]
struct Item {
    span: Span,
    name: Option<Box<str>>,
    zone: Option<u32>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new(Family::Any)
    }
}

impl Builder {
    /// No targets yet; addresses of another family are refused.
    pub fn new(family: Family) -> Self {
        Self {
            family,
            most: DEFAULT_MOST,
            items: Vec::new(),
            excluded: Vec::new(),
        }
    }

    /// Allows `most` targets instead of 16 777 216.
    #[must_use]
    pub fn at_most(mut self, most: u32) -> Self {
        self.most = most;
        self
    }

    /// Excludes addresses, whether they are named before or after.
    pub fn exclude(&mut self, prefix: Prefix) {
        self.excluded.push(prefix.span());
    }

    /// Adds what `word` names: an address (`10.0.0.1`, `fe80::1%eth0`), the hosts of a prefix
    /// (`10.0.0.0/24`), a range (`10.0.0.1-10.0.0.9`, `10.0.0.1-9`), or a host by its name.
    ///
    /// # Errors
    /// [`TargetError`] says what is wrong with the word; the builder is as before.
    pub fn add(&mut self, word: &str, resolver: &mut dyn Resolver) -> Result<(), TargetError> {
        self.add_word(word, resolver)
            .map_err(|kind| TargetError::of(word, kind))
    }

    /// Adds the words of a list: parted by white space, with comments from `#` to the end of a line.
    ///
    /// # Errors
    /// [`TargetError`] names line and word of the first that is wrong; those before it are added.
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
        let item = match named(word)? {
            Named::Span(span) => Item {
                span,
                name: None,
                zone: None,
            },
            Named::Zoned(address, zone) => {
                let index = match zone.parse() {
                    Ok(index) => Ok(index),
                    Err(_) => resolver.interface(zone),
                };
                Item {
                    span: Span::one(address.into()),
                    name: None,
                    zone: Some(index.map_err(|source| TargetErrorKind::Zone { source })?),
                }
            }
            Named::Name(name) => {
                let addresses = resolver.addresses(name);
                let addresses =
                    addresses.map_err(|source| TargetErrorKind::Unresolved { source })?;
                let mut addresses = addresses.into_iter().map(|address| address.to_canonical());
                let address = addresses.find(|address| self.family.has(*address));
                Item {
                    span: Span::one(address.ok_or(TargetErrorKind::NoAddress)?),
                    name: Some(name.into()),
                    zone: None,
                }
            }
        };
        if !self.family.has(address(item.span.first)) {
            return Err(TargetErrorKind::WrongFamily);
        }
        self.items.push(item);
        Ok(())
    }

    /// The targets, in the order in which they were named, each address once.
    ///
    /// # Errors
    /// There would be too many: the error names the word's first address.
    pub fn build(mut self) -> Result<Targets, TargetError> {
        merge(&mut self.excluded);
        let mut targets = Targets::default();
        let mut kept = Vec::with_capacity(self.items.len());
        for item in self.items {
            let mut left = 0_u128;
            item.span.without(&self.excluded, |span| {
                left = left.saturating_add(span.len());
                kept.push(Item {
                    span,
                    ..item.clone()
                });
            });
            targets.excluded += item.span.len() - left;
        }
        let kept = once(&kept, &mut targets.repeated);
        let mut count = 0_u128;
        for item in kept {
            count = count.saturating_add(item.span.len());
            if count > self.most.into() {
                return Err(TargetError {
                    target: address(item.span.first).to_string(),
                    line: None,
                    kind: TargetErrorKind::TooMany {
                        count,
                        most: self.most,
                    },
                });
            }
            targets.push(item);
        }
        targets.index();
        Ok(targets)
    }
}

/// Takes out addresses that were named before, and counts them.
fn once(items: &[Item], repeated: &mut u128) -> Vec<Item> {
    let mut by_first: Vec<usize> = (0..items.len()).collect();
    by_first.sort_unstable_by_key(|at| (items[*at].span.first, *at));
    let pieces = sweep(items, &by_first);
    let named = items.iter().map(|item| item.span.len());
    let named = named.fold(0, u128::saturating_add);
    let kept = pieces.iter().map(|(_, span)| span.len());
    *repeated = named - kept.fold(0, u128::saturating_add).min(named);
    let piece = |(at, span): (usize, Span)| Item {
        span,
        ..items[at].clone()
    };
    pieces.into_iter().map(piece).collect()
}

/// Cuts the spans of `items`, which `by_first` has in order, where one named earlier covers them.
///
/// A walk over the ends of all spans in the order of the addresses. The pieces come in the order in
/// which their items were named.
fn sweep(items: &[Item], by_first: &[usize]) -> Vec<(usize, Span)> {
    let mut pieces: Vec<(usize, Span)> = Vec::with_capacity(items.len());
    // Those that reach over the present address, by the order in which they were named.
    let mut open: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut coming = by_first.iter().copied().peekable();
    let mut from = 0;
    loop {
        if open.is_empty() {
            let Some(next) = coming.peek() else { break };
            from = items[*next].span.first;
        }
        while let Some(next) = coming.next_if(|next| items[*next].span.first <= from) {
            open.push(Reverse(next));
        }
        let Some(Reverse(first_named)) = open.peek().copied() else {
            continue;
        };
        let own_last = items[first_named].span.last;
        if own_last < from {
            open.pop();
            continue;
        }
        // It holds until it ends, or until another begins, which may have been named before it.
        let until = coming
            .peek()
            .map_or(own_last, |next| own_last.min(items[*next].span.first - 1));
        match pieces.last_mut() {
            Some((at, span)) if *at == first_named && span.last.checked_add(1) == Some(from) => {
                span.last = until;
            }
            _ => pieces.push((
                first_named,
                Span {
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
    fn push(&mut self, item: Item) {
        let place = self.len;
        if let Some(name) = item.name {
            self.names.push((place, name));
        }
        if let Some(zone) = item.zone {
            self.zones.push((place, zone));
        }
        let first = address(item.span.first);
        // Single addresses in a row share a block.
        let is_single = item.span.len() == 1;
        if !is_single || !self.blocks.last_mut().is_some_and(|last| last.push(first)) {
            let block = match (is_single, first) {
                (false, _) => Block::Span(item.span),
                (true, IpAddr::V4(address)) => Block::V4(vec![address.to_bits()]),
                (true, IpAddr::V6(address)) => Block::V6(vec![address.to_bits()]),
            };
            self.blocks.push(block);
            self.firsts.push(place);
        }
        self.len += item.span.len() as u32;
    }

    /// Makes places findable by address.
    fn index(&mut self) {
        for (number, (block, first)) in (0..).zip(self.blocks.iter().zip(&self.firsts)) {
            let count = match block {
                Block::Span(span) => {
                    self.spans.push((span.first, number));
                    continue;
                }
                Block::V4(list) => list.len(),
                Block::V6(list) => list.len(),
            };
            self.singles.extend(*first..*first + count as u32);
        }
        self.spans.sort_unstable();
        let mut singles = std::mem::take(&mut self.singles);
        singles.sort_unstable_by_key(|place| number(self.address(*place)));
        self.singles = singles;
    }
}
