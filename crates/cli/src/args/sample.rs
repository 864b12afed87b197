//! `--sample`, as typed.

use std::num::NonZeroU32;

use tapline::capture::{Probability, Sampling};

use crate::values::units;

/// Reads `1/100`, `p=0.01` or `first/10ms`.
pub fn sample(text: &str) -> Result<Sampling, String> {
    let wrong = || "use 1/N, p=PROBABILITY or first/TIME".to_owned();
    if let Some(number) = text.strip_prefix("1/") {
        let number: NonZeroU32 = number.parse().map_err(|_| wrong())?;
        return Ok(Sampling::OneIn(number));
    }
    if let Some(value) = text.strip_prefix("p=") {
        let value: f64 = value.parse().map_err(|_| wrong())?;
        let probability = Probability::new(value).map(Sampling::Probability);
        return probability.ok_or_else(|| {
            if value > 0.0 && value < 1.0 {
                "chance has 32 bits: a probability is from 2.33e-10 to 0.9999999998, or 1".into()
            } else {
                "a probability is above 0 and at most 1".into()
            }
        });
    }
    let time = text.strip_prefix("first/").ok_or_else(wrong)?;
    units::nonzero_time(time).map(Sampling::FirstAfter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplings_are_read_as_they_are_reported() {
        for text in [
            "1/1",
            "1/100",
            "1/4294967295",
            "p=0.01",
            "p=1",
            "p=0.00000000025",
            "first/10ms",
            "first/2s",
        ] {
            assert_eq!(
                sample(text).map(|sampling| sampling.to_string()),
                Ok(text.into())
            );
        }
        assert_eq!(sample("first/0.01s"), sample("first/10ms"));
    }

    #[test]
    fn what_is_no_sampling_is_refused() {
        let wrong = [
            "",
            "1",
            "1/",
            "1/0",
            "2/3",
            "1/-1",
            "1/4294967296",
            "p=0",
            "p=1.5",
            "p=nan",
            "p=x",
            "0.01",
            "first/",
            "first/0ms",
            "first/10",
            "p=-0.1",
            "p=1e-10",
            "p=1e-300",
            "p=0.9999999999",
        ];
        for text in wrong {
            assert!(sample(text).is_err(), "{text}");
        }
    }
}
