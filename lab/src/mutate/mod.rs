//! Mutators that know the structure of their inputs, for the fuzz targets of `lab/fuzz`: lengths and padding agree afterwards, so
//! that readers get to what is behind them.

mod filter;
mod netlink;
mod pcapng;

pub use self::filter::filter;
pub use self::netlink::netlink;
pub use self::pcapng::pcapng;

/// Changes bytes in any way, as the fuzzer does; afterwards there are at most so many.
pub type Plain<'f> = &'f mut dyn FnMut(&mut Vec<u8>, usize);

/// Two places of a list of `count`, which may be the same; 0 if it is empty.
fn two(random: &mut crate::oracle::Random, count: usize) -> [usize; 2] {
    let end = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    [random.below(end), random.below(end)].map(|place| place as usize)
}
