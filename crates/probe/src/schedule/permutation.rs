//! A pseudo-random order without a table.

/// A keyed permutation of the numbers below some size, and its inverse.
///
/// A Feistel network over two digits. A number is split into `left · width + right`; each digit in turn
/// is rotated by a keyed function of the other. Every step is invertible, so the whole is a bijection of
/// `height · width` numbers. Results not below the size are permuted again (cycle walking), at
/// most as often as the square root of the size.
///
/// # Source
/// Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, sections 4 and 5.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    size: u32,
    height: u32,
    width: u32,
    keys: [u32; 4],
}

impl Permutation {
    /// The permutation of the numbers below `size` that `key` selects.
    pub fn new(size: u32, key: u64) -> Self {
        let width = size.isqrt().max(1);
        // With `width` the root rounded down, `height` is at most `width + 2`.
        let height = size.div_ceil(width).max(1);
        let mut state = key;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            (mix(state) >> 32) as u32
        });
        Self {
            size,
            height,
            width,
            keys,
        }
    }

    /// The number at `position`; both are below the size.
    #[inline]
    pub fn at(&self, position: u32) -> u32 {
        if self.size == 1 {
            return 0;
        }
        let mut number = self.forward(position);
        while number >= self.size {
            number = self.forward(number);
        }
        number
    }

    /// The position of `number`; both are below the size.
    #[inline]
    pub fn position_of(&self, number: u32) -> u32 {
        if self.size == 1 {
            return 0;
        }
        let mut position = self.backward(number);
        while position >= self.size {
            position = self.backward(position);
        }
        position
    }

    fn forward(&self, number: u32) -> u32 {
        let [mut left, mut right] = [number / self.width, number % self.width];
        let [a, b, c, d] = self.keys;
        left = rotate(left, offset(right, a, self.height), self.height);
        right = rotate(right, offset(left, b, self.width), self.width);
        left = rotate(left, offset(right, c, self.height), self.height);
        right = rotate(right, offset(left, d, self.width), self.width);
        left * self.width + right
    }

    fn backward(&self, number: u32) -> u32 {
        let [mut left, mut right] = [number / self.width, number % self.width];
        let [a, b, c, d] = self.keys;
        right = rotate_back(right, offset(left, d, self.width), self.width);
        left = rotate_back(left, offset(right, c, self.height), self.height);
        right = rotate_back(right, offset(left, b, self.width), self.width);
        left = rotate_back(left, offset(right, a, self.height), self.height);
        left * self.width + right
    }
}

/// `digit` rotated by `offset`, both below `size`.
fn rotate(digit: u32, offset: u32, size: u32) -> u32 {
    let moved = u64::from(digit) + u64::from(offset);
    let size = u64::from(size);
    (if moved >= size { moved - size } else { moved }) as u32
}

/// `digit` rotated back by `offset`, both below `size`.
fn rotate_back(digit: u32, offset: u32, size: u32) -> u32 {
    rotate(digit, if offset == 0 { 0 } else { size - offset }, size)
}

/// A number below `size` that depends on `digit` and `key`.
fn offset(digit: u32, key: u32, size: u32) -> u32 {
    let mixed = mix(u64::from(digit) << 32 | u64::from(key)) >> 32;
    ((mixed * u64::from(size)) >> 32) as u32
}

/// Mixes the bits: the finaliser of `splitmix64`.
///
/// # Source
/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 17.
pub(super) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_occurs_once_and_its_position_is_found() {
        let sizes = (1..300).chain([999, 1000, 1001, 65_535, 65_536, 65_537, 99_856, 100_000]);
        for size in sizes {
            let order = Permutation::new(size, 7);
            let mut seen = vec![false; size as usize];
            for position in 0..size {
                let number = order.at(position);
                assert!(!std::mem::replace(&mut seen[number as usize], true));
                assert_eq!(order.position_of(number), position);
            }
        }
    }

    #[test]
    fn the_largest_size_stays_in_range_and_inverts() {
        let order = Permutation::new(u32::MAX, 1);
        for position in (0..u32::MAX).step_by(99_999_989) {
            assert_eq!(order.position_of(order.at(position)), position);
        }
        assert_eq!(order.position_of(order.at(u32::MAX - 1)), u32::MAX - 1);
    }

    #[test]
    fn keys_give_different_orders_and_neighbours_separate() {
        let [one, other] = [1, 2].map(|key| Permutation::new(1 << 16, key));
        let same = (0..1 << 16).filter(|position| one.at(*position) == other.at(*position));
        assert!(same.count() < 32, "about one of two random orders agrees");
        // Of 65536 neighbouring places, chance puts about 512 within 256 of one another.
        let near =
            (1..1 << 16).filter(|position| one.at(*position).abs_diff(one.at(position - 1)) < 256);
        assert!(near.count() < 1024, "neighbours stay together");
    }
}
