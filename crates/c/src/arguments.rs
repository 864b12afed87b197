//! What C passes: strings, memory, option structs, and places for results.
//!
//! Every pointer that the library follows is read here, and only here. The rules that C must keep are at the top of
//! `tapline.h`.

use std::ffi::{CStr, OsStr, c_char};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

use crate::failure::Error;
use crate::status::tapline_status;

/// A string, or null.
// Only C makes one, or unsafe code: it is null or a string that lives as long as the call, as `tapline.h` demands.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Text<'a>(*const c_char, PhantomData<&'a c_char>);

impl<'a> Text<'a> {
    /// The string of a field of a struct that the library fills as well.
    ///
    /// # Safety
    /// It is null or a string that ends with a zero byte and lives for `'a`.
    pub unsafe fn of(string: *const c_char) -> Self {
        Self(string, PhantomData)
    }

    fn c_str(self) -> Option<&'a CStr> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: C passed it: not null, so a string that ends with a zero byte and outlives the call.
        Some(unsafe { CStr::from_ptr(self.0) })
    }

    /// The text, `None` if it is null.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn optional(self, name: &str) -> Result<Option<&'a str>, Error> {
        let Some(text) = self.c_str() else {
            return Ok(None);
        };
        let text = text.to_str();
        text.map(Some)
            .map_err(|_| Error::argument(format!("{name} is not UTF-8")))
    }

    /// The text.
    ///
    /// # Errors
    /// It is null, or not UTF-8.
    pub fn required(self, name: &str) -> Result<&'a str, Error> {
        self.optional(name)?.ok_or_else(|| Error::null(name))
    }

    /// The path of a file, whatever its bytes are.
    ///
    /// # Errors
    /// It is null, or empty: there is no such file.
    pub fn path(self, name: &str) -> Result<&'a Path, Error> {
        let bytes = self.c_str().ok_or_else(|| Error::null(name))?.to_bytes();
        if bytes.is_empty() {
            return Err(Error::no_file(format!("{name} is empty")));
        }
        Ok(Path::new(OsStr::from_bytes(bytes)))
    }
}

/// The `count` elements at `start`. Null is an empty array if `count` is 0.
///
/// # Safety
/// `start` is null or points to `count` elements that live as long as the call and that nobody changes meanwhile.
/// # Errors
/// It is null and `count` is not 0, or not aligned, or larger than half of the address space.
pub unsafe fn array<'a, T>(start: *const T, count: usize, name: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Error::null(name));
    }
    if !start.is_aligned() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Error::argument(format!(
            "{name} is not aligned, or its {count} elements are more than memory can hold"
        )));
    }
    // SAFETY: not null, aligned, not too large (checked), and the elements are there (promised by the caller).
    Ok(unsafe { slice::from_raw_parts(start, count) })
}

/// An option struct of C.
///
/// # Safety
/// `repr(C)`, begins with `size: usize`, and is valid for any bytes, where zeros are the defaults. (Strings are
/// [`Text`], which C promises to be valid.)
pub unsafe trait Options: Copy {
    /// Its name in C.
    const NAME: &'static str;
}

/// Reads an option struct. Null: all defaults. One that is smaller than ours, from an older header, has the defaults
/// in the missing tail. One that is larger, from a newer header, must have zeros in the tail that we do not know.
///
/// # Safety
/// `options` is null or points to a struct whose first field says how many bytes may be read.
/// # Errors
/// The size is none that a struct has, or the unknown tail is not zero.
pub unsafe fn options<T: Options>(options: *const T) -> Result<T, Error> {
    let mut ours = MaybeUninit::<T>::zeroed();
    if !options.is_null() {
        // SAFETY: not null; each option struct begins with its size.
        let size = unsafe { size_of_struct(options, T::NAME) }?;
        // SAFETY: as many bytes as the struct says that it has.
        let bytes = unsafe { slice::from_raw_parts(options.cast::<MaybeUninit<u8>>(), size) };
        let (known, unknown) = bytes.split_at(size.min(size_of::<T>()));
        let is_set = |byte: &MaybeUninit<u8>| {
            // SAFETY: what lies behind our struct are fields of a newer one, which its maker has set.
            unsafe { byte.assume_init() != 0 }
        };
        if unknown.iter().any(is_set) {
            let text = format!(
                "{} has options that tapline {VERSION} does not know",
                T::NAME
            );
            return Err(
                Error::new(tapline_status::Unsupported, text).hint("install a newer libtapline")
            );
        }
        let to = ours.as_mut_ptr().cast::<MaybeUninit<u8>>();
        // SAFETY: `known` has at most the size of `ours`, which is another object.
        unsafe { known.as_ptr().copy_to_nonoverlapping(to, known.len()) };
    }
    // SAFETY: any bytes are valid (promised by the trait): zeros, or what C has set.
    Ok(unsafe { ours.assume_init() })
}

/// A struct of another version of the header is at most this large: a larger number is no size.
const MAX_STRUCT_BYTES: usize = 1 << 16;

/// The size that a struct states in its first field. Its alignment is that of this field, so its size is a multiple.
///
/// # Safety
/// `place` points to a struct that begins with its size.
unsafe fn size_of_struct<T>(place: *const T, name: &str) -> Result<usize, Error> {
    if !place.is_aligned() {
        return Err(Error::argument(format!("{name} is not aligned")));
    }
    // SAFETY: aligned (checked), and the first field of the struct (promised by the caller).
    let size = unsafe { place.cast::<usize>().read() };
    let word = size_of::<usize>();
    if (word..=MAX_STRUCT_BYTES).contains(&size) && size.is_multiple_of(word) {
        return Ok(size);
    }
    let hint = format!("set its field size to sizeof({name})");
    let message = format!("the size of {name} is {size}, which no version of it has");
    Err(Error::argument(message).hint(hint))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Fails if there is less memory than `bytes`: for a call that allocates as much in small pieces, of which none can fail alone.
///
/// # Errors
/// SYSTEM with ENOMEM; `what` names what the memory is for.
pub fn check_memory(bytes: usize, what: &str) -> Result<(), Error> {
    let mut memory = Vec::<u8>::new();
    let reserved = memory.try_reserve_exact(bytes);
    // Otherwise the compiler may leave out an allocation that nobody uses.
    std::hint::black_box(memory.as_ptr());
    reserved.map_err(|_| Error::no_memory(what))
}

/// Writes a result to the place that C passed.
///
/// # Errors
/// The place is null.
pub fn put<T>(place: Option<&mut MaybeUninit<T>>, value: T, name: &str) -> Result<(), Error> {
    place.ok_or_else(|| Error::null(name))?.write(value);
    Ok(())
}

/// A struct that the library fills and whose size the caller sets, as with [`Options`].
///
/// # Safety
/// `repr(C)`, begins with `size: usize`, and has no padding.
pub unsafe trait Output: Copy {
    /// Its name in C.
    const NAME: &'static str;

    /// Fails where [`write_to`](Self::write_to) would, for a call that must not begin without a place for its result.
    ///
    /// # Safety
    /// `place` is null or points to a struct whose first field says how many bytes may be written.
    /// # Errors
    /// The place is not aligned, or its size is none that a struct has.
    unsafe fn check(place: *const Self) -> Result<usize, Error> {
        if place.is_null() {
            return Ok(0);
        }
        // SAFETY: not null; the caller promises that the first field is there.
        unsafe { size_of_struct(place, Self::NAME) }
    }

    /// Writes as much as the caller's struct holds, and leaves its field `size` alone. Fields that we do not know become
    /// zero. Does nothing if `place` is null.
    ///
    /// # Safety
    /// As [`check`](Self::check).
    /// # Errors
    /// As [`check`](Self::check).
    unsafe fn write_to(self, place: *mut Self) -> Result<(), Error> {
        // SAFETY: promised by the caller.
        let size = unsafe { Self::check(place) }?;
        if place.is_null() {
            return Ok(());
        }
        let (ours, theirs) = (&raw const self, place.cast::<MaybeUninit<u8>>());
        let header = size_of::<usize>();
        let known = size.min(size_of::<Self>());
        // SAFETY: all bytes of `self`, of which none is padding.
        let ours = unsafe { slice::from_raw_parts(ours.cast(), size_of::<Self>()) };
        // SAFETY: as many bytes as the caller's struct says that it has, and nobody else uses it during the call.
        let theirs = unsafe { slice::from_raw_parts_mut(theirs, size) };
        theirs[header..known].copy_from_slice(&ours[header..known]);
        theirs[known..].fill(MaybeUninit::new(0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    struct Sample {
        size: usize,
        first: u32,
        second: u32,
    }

    // SAFETY: `repr(C)`, its size first, and integers after it.
    unsafe impl Options for Sample {
        const NAME: &'static str = "sample";
    }

    // SAFETY: as above; 16 bytes without padding.
    unsafe impl Output for Sample {
        const NAME: &'static str = "sample";
    }

    /// A struct of C: its size, then words of another version.
    type Theirs = [u64; 4];

    fn read(theirs: &Theirs) -> Result<Sample, Error> {
        // SAFETY: sizes up to that of `theirs`, and wrong ones that are refused before anything else is read.
        unsafe { options(theirs.as_ptr().cast::<Sample>()) }
    }

    #[test]
    fn smaller_structs_have_defaults_and_larger_ones_must_end_with_zeros() {
        let words = u64::from_ne_bytes([1, 1, 1, 1, 2, 2, 2, 2]);
        for size in [8, 16, 24, 32] {
            let sample = read(&[size, words, 0, 0]).expect("a size");
            let expected = if size > 8 {
                (0x0101_0101, 0x0202_0202)
            } else {
                (0, 0)
            };
            assert_eq!((sample.first, sample.second), expected, "{size} bytes");
            let unknown = read(&[size, words, 0, 1 << 56]);
            assert_eq!(unknown.is_err(), size == 32, "{size} bytes");
        }
        for size in [0, 7, 9, 12, 17, 31, 1 << 17, u64::MAX] {
            let error = read(&[size, 0, 0, 0]).expect_err("no size");
            assert_eq!(error.status, tapline_status::InvalidArgument);
            assert_eq!(
                error.hint.as_deref(),
                Some("set its field size to sizeof(sample)")
            );
        }
        // SAFETY: null is all defaults.
        let sample = unsafe { options(std::ptr::null::<Sample>()) }.expect("null");
        assert_eq!((sample.first, sample.second), (0, 0));
    }

    #[test]
    fn results_are_written_as_far_as_there_is_room() {
        let ours = Sample {
            size: 16,
            first: u32::MAX,
            second: u32::MAX,
        };
        for size in [8, 16, 24, 32_u64] {
            let mut theirs = [size, 7, 7, 7];
            // SAFETY: a size up to that of `theirs`.
            unsafe { ours.write_to(theirs.as_mut_ptr().cast::<Sample>()) }.expect("a size");
            let bytes: Vec<u8> = theirs.iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!(theirs[0], size);
            let (written, left) = bytes[8..].split_at(size as usize - 8);
            let (known, unknown) = written.split_at(written.len().min(8));
            assert!(known.iter().all(|byte| *byte == 0xff), "{size} bytes");
            assert!(unknown.iter().all(|byte| *byte == 0), "{size} bytes");
            let before: Vec<u8> = [7_u64; 3]
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect();
            assert_eq!(left, &before[size as usize - 8..], "{size} bytes");
        }
    }
}
