//! The reductions that the engine knows: MPI's built-in operations on its built-in types (MPI 4.0, 6.9).

use mpi_abi::{Datatype, Kind, Op};

/// Combines the value into what came before it: `before = before op value`.
pub(crate) type Combine = fn(before: &mut [u8], value: &[u8]);

macro_rules! each {
    ($type:ty, $combine:expr) => {
        Some(|before, value| {
            const N: usize = size_of::<$type>();
            let combine: fn($type, $type) -> $type = $combine;
            for (before, value) in before.as_chunks_mut::<N>().0.iter_mut().zip(value.as_chunks::<N>().0) {
                *before = combine(<$type>::from_ne_bytes(*before), <$type>::from_ne_bytes(*value)).to_ne_bytes();
            }
        })
    };
}

macro_rules! integer {
    ($type:ty, $op:expr) => {
        match $op {
            Op::Max => each!($type, |a, b| a.max(b)),
            Op::Min => each!($type, |a, b| a.min(b)),
            Op::Sum => each!($type, |a, b| a.wrapping_add(b)),
            Op::Prod => each!($type, |a, b| a.wrapping_mul(b)),
            Op::LogicalAnd => each!($type, |a, b| (a != 0 && b != 0).into()),
            Op::LogicalOr => each!($type, |a, b| (a != 0 || b != 0).into()),
            Op::LogicalXor => each!($type, |a, b| ((a != 0) != (b != 0)).into()),
            Op::BitAnd => each!($type, |a, b| a & b),
            Op::BitOr => each!($type, |a, b| a | b),
            Op::BitXor => each!($type, |a, b| a ^ b),
            Op::MaxLoc | Op::MinLoc => None,
        }
    };
}

// Comparisons as the libraries write them: where one is not a number, the later one stays.
macro_rules! real {
    ($type:ty, $op:expr) => {
        match $op {
            Op::Max => each!($type, |a, b| if a > b { a } else { b }),
            Op::Min => each!($type, |a, b| if a < b { a } else { b }),
            Op::Sum => each!($type, |a, b| a + b),
            Op::Prod => each!($type, |a, b| a * b),
            _ => None,
        }
    };
}

macro_rules! complex {
    ($type:ty, $op:expr) => {
        match $op {
            // Part by part.
            Op::Sum => each!($type, |a, b| a + b),
            Op::Prod => Some(|before, value| {
                const N: usize = size_of::<$type>();
                let read = |bytes: &[[u8; N]]| (<$type>::from_ne_bytes(bytes[0]), <$type>::from_ne_bytes(bytes[1]));
                let before = before.as_chunks_mut::<N>().0.chunks_exact_mut(2);
                for (before, value) in before.zip(value.as_chunks::<N>().0.chunks_exact(2)) {
                    let ((a, b), (c, d)) = (read(before), read(value));
                    before.copy_from_slice(&[(a * c - b * d).to_ne_bytes(), (a * d + b * c).to_ne_bytes()]);
                }
            }),
            _ => None,
        }
    };
}

// Of equal values the one with the lower index; what is between value and index goes with them.
macro_rules! pair {
    ($value:ty, $index_at:literal, $extent:literal, $op:expr) => {
        match $op {
            Op::MaxLoc => pair!($value, $index_at, $extent, better | b, a | b > a),
            Op::MinLoc => pair!($value, $index_at, $extent, better | b, a | b < a),
            _ => None,
        }
    };
    ($value:ty, $index_at:literal, $extent:literal, better $is_better:expr) => {
        Some(|before, value| {
            let is_better: fn(&$value, &$value) -> bool = $is_better;
            let read = |bytes: &[u8; $extent]| {
                let (value, _) =
                    bytes.split_first_chunk::<{ size_of::<$value>() }>().expect("it begins with the value");
                let index = bytes[$index_at..].first_chunk::<4>().expect("the index is behind it");
                (<$value>::from_ne_bytes(*value), i32::from_ne_bytes(*index))
            };
            let before = before.as_chunks_mut::<$extent>().0;
            for (before, value) in before.iter_mut().zip(value.as_chunks::<$extent>().0) {
                let ((a, i), (b, j)) = (read(before), read(value));
                if is_better(&b, &a) || (a == b && j < i) {
                    *before = *value;
                }
            }
        })
    };
}

/// Returns the function by which the operation combines elements of that type; none if MPI does not define it, or if
/// its numbers are unknown here.
pub(crate) fn combine(op: Op, datatype: Datatype) -> Option<Combine> {
    match (datatype.kind, datatype.size_bytes) {
        (Kind::Signed, 1) => integer!(i8, op),
        (Kind::Signed, 2) => integer!(i16, op),
        (Kind::Signed | Kind::Logical, 4) => integer!(i32, op),
        (Kind::Signed, 8) => integer!(i64, op),
        (Kind::Unsigned | Kind::Logical, 1) => integer!(u8, op),
        (Kind::Unsigned, 2) => integer!(u16, op),
        (Kind::Unsigned, 4) => integer!(u32, op),
        (Kind::Unsigned, 8) => integer!(u64, op),
        (Kind::Float, 4) => real!(f32, op),
        (Kind::Float, 8) => real!(f64, op),
        (Kind::Complex, 8) => complex!(f32, op),
        (Kind::Complex, 16) => complex!(f64, op),
        (Kind::Byte, 1) => match op {
            Op::BitAnd | Op::BitOr | Op::BitXor => integer!(u8, op),
            _ => None,
        },
        (Kind::FloatIndex, 8) => pair!(f32, 4, 8, op),
        (Kind::FloatIndex, 12) => pair!(f64, 8, 16, op),
        (Kind::SignedIndex, 6) => pair!(i16, 4, 8, op),
        (Kind::SignedIndex, 8) => pair!(i32, 4, 8, op),
        (Kind::SignedIndex, 12) => pair!(i64, 8, 16, op),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(kind: Kind, size_bytes: usize) -> Datatype {
        Datatype { kind, size_bytes, extent_bytes: size_bytes }
    }

    fn folded<const N: usize>(op: Op, datatype: Datatype, before: [u8; N], value: [u8; N]) -> [u8; N] {
        let mut result = before;
        combine(op, datatype).expect("it is defined")(&mut result, &value);
        result
    }

    #[test]
    fn numbers_combine_as_mpi_says() {
        let real = |a: f64, b: f64, op| {
            f64::from_ne_bytes(folded(op, dense(Kind::Float, 8), a.to_ne_bytes(), b.to_ne_bytes()))
        };
        assert_eq!(real(1.5, 2.0, Op::Sum), 3.5);
        assert_eq!(real(1.5, 2.0, Op::Prod), 3.0);
        assert_eq!(real(1.5, 2.0, Op::Min), 1.5);
        assert!(real(f64::NAN, 2.0, Op::Sum).is_nan());
        let whole = |a: i32, b: i32, op| {
            i32::from_ne_bytes(folded(op, dense(Kind::Signed, 4), a.to_ne_bytes(), b.to_ne_bytes()))
        };
        assert_eq!(whole(i32::MAX, 1, Op::Sum), i32::MIN);
        assert_eq!(whole(-3, 7, Op::Max), 7);
        assert_eq!(whole(6, 3, Op::LogicalXor), 0);
        assert_eq!(whole(6, 3, Op::BitXor), 5);
        assert!(
            combine(Op::BitAnd, dense(Kind::Float, 8)).is_none() && combine(Op::Sum, dense(Kind::Byte, 1)).is_none()
        );
    }

    #[test]
    fn complex_numbers_multiply_as_such() {
        let number = |re: f32, im: f32| [re.to_ne_bytes(), im.to_ne_bytes()].concat().try_into().unwrap();
        let product: [u8; 8] = folded(Op::Prod, dense(Kind::Complex, 8), number(1.0, 2.0), number(3.0, -1.0));
        assert_eq!(product, number(5.0, 5.0));
    }

    #[test]
    fn of_equal_values_the_lowest_index_wins() {
        let pair = |value: f64, index: i32| -> [u8; 16] {
            [value.to_ne_bytes(), [index.to_ne_bytes(), [0; 4]].concat().try_into().unwrap()]
                .concat()
                .try_into()
                .unwrap()
        };
        let kind = Datatype { kind: Kind::FloatIndex, size_bytes: 12, extent_bytes: 16 };
        assert_eq!(folded(Op::MinLoc, kind, pair(2.0, 5), pair(2.0, 3)), pair(2.0, 3));
        assert_eq!(folded(Op::MinLoc, kind, pair(2.0, 5), pair(3.0, 1)), pair(2.0, 5));
        assert_eq!(folded(Op::MaxLoc, kind, pair(2.0, 5), pair(3.0, 9)), pair(3.0, 9));
    }
}
