//! Numbers of one to ten bytes: seven bits a byte, the lowest first (LEB128), and signed ones with their sign lowest
//! (zigzag).

/// Bytes that end within a number, or one that is too great.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a number is cut off, or greater than 64 bits")]
pub struct BadNumber;

/// Appends `number`.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front of `bytes`.
pub(crate) fn take(bytes: &mut &[u8]) -> Result<u64, BadNumber> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(BadNumber)?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            return Err(BadNumber);
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(BadNumber)
}

/// Signed as unsigned, small when it is near zero.
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Returns the number that [`zigzag`] was given.
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(number: u64, signed: i64) {
            let mut out = Vec::new();
            put(&mut out, number);
            prop_assert_eq!(take(&mut &out[..]), Ok(number));
            prop_assert_eq!(take(&mut &out[..out.len() - 1]), Err(BadNumber));
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        assert_eq!(take(&mut &[0xff; 10][..]), Err(BadNumber));
        assert_eq!(take(&mut &[0x80; 20][..]), Err(BadNumber));
    }
}
