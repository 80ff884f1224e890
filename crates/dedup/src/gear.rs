//! Gear hashes over a window of 64 bytes, and the anchors among them: the one hash in 2^n whose highest bits are zero.
//!
//! The hash is that of Xia et al., "Ddelta" (2014): each step shifts what was and adds what the table says of the new
//! byte, so that a byte has left the hash after 64 steps. The table is made of a key: whoever does not know it cannot
//! choose data by where its anchors lie.

/// Number of bytes that a gear hash covers.
pub const WINDOW: usize = 64;

/// The key of a table of gears, and of all hashes that go with it: one for each tenant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// The number that each byte adds to the hash.
#[derive(Clone)]
pub struct Gear {
    table: Box<[u64; 256]>,
    /// Number of the highest bits of an anchor that are zero.
    shift: u32,
}

/// The gear hash of a window that is an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Anchor(pub u64);

impl Key {
    /// The key of whoever needs none: data of one owner at both ends, or an estimate.
    pub const OPEN: Self = Self([0; 32]);

    /// The key for `tenant` of whoever has `secret`; keys of different tenants have nothing to do with each other.
    #[must_use]
    pub fn of_tenant(secret: &[u8], tenant: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("foretop dedup 1 tenant");
        hasher.update(&(tenant.len() as u64).to_le_bytes());
        hasher.update(tenant.as_bytes());
        hasher.update(secret);
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns a tag that distinguishes keys and reveals nothing of them.
    #[must_use]
    pub fn tag(&self) -> [u8; 16] {
        let tag = self.hasher().update(b"tag").finalize();
        *tag.as_bytes().first_chunk().expect("BLAKE3 gives 32 bytes")
    }

    /// A BLAKE3 hasher under this key.
    #[must_use]
    pub(crate) fn hasher(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&self.0)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl std::fmt::Debug for Gear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gear").field("shift", &self.shift).finish_non_exhaustive()
    }
}

impl Gear {
    /// Builds the gear of `key`, with one anchor in `2^bits` bytes of varied data.
    ///
    /// # Panics
    /// Unless `bits` is 1 to 32.
    #[must_use]
    pub fn new(key: &Key, bits: u32) -> Self {
        assert!((1..=32).contains(&bits), "anchors are chosen by 1 to 32 bits, not {bits}");
        let mut bytes = [0; 256 * 8];
        let mut hasher = key.hasher();
        hasher.update(b"gear");
        hasher.finalize_xof().fill(&mut bytes);
        let mut table = Box::new([0; 256]);
        for (entry, bytes) in table.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *entry = u64::from_le_bytes(*bytes);
        }
        Self { table, shift: 64 - bits }
    }

    /// The hash after `byte`, when it was `hash` before.
    #[inline]
    #[must_use]
    pub fn roll(&self, hash: u64, byte: u8) -> u64 {
        (hash << 1).wrapping_add(self.table[usize::from(byte)])
    }

    /// The hash after the last [`WINDOW`] of these bytes.
    #[must_use]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        bytes[bytes.len().saturating_sub(WINDOW)..].iter().fold(0, |hash, &byte| self.roll(hash, byte))
    }

    /// Whether `hash` is one of the few that are kept.
    #[inline]
    #[must_use]
    pub fn is_anchor(&self, hash: u64) -> bool {
        hash >> self.shift == 0
    }

    /// Rolls over `bytes` until an anchor, and gives how many bytes that took. `hash` is what it was, and becomes what
    /// it is.
    #[inline]
    pub fn next_anchor(&self, hash: &mut u64, bytes: &[u8]) -> Option<usize> {
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut rolled = *hash;
        let mut n_passed = 0;
        for eight in eights {
            let (after, least) = self.roll_eight(rolled, eight);
            // One test for all of them: an anchor is rare.
            if self.is_anchor(least) {
                break;
            }
            (rolled, n_passed) = (after, n_passed + 8);
        }
        let rest = if n_passed < eights.len() * 8 { &bytes[n_passed..n_passed + 8] } else { rest };
        for (i, &byte) in rest.iter().enumerate() {
            rolled = self.roll(rolled, byte);
            if self.is_anchor(rolled) {
                *hash = rolled;
                return Some(n_passed + i + 1);
            }
        }
        *hash = rolled;
        None
    }

    /// The hash after eight bytes, and the least of those on the way. What the bytes add is summed up beside the hash,
    /// so that one of eight steps waits for the last hash, not each of them.
    #[inline]
    fn roll_eight(&self, hash: u64, bytes: &[u8; 8]) -> (u64, u64) {
        let (mut added, mut after, mut least) = (0, hash, u64::MAX);
        for (i, &byte) in bytes.iter().enumerate() {
            added = self.roll(added, byte);
            after = (hash << (i + 1)).wrapping_add(added);
            least = least.min(after);
        }
        (after, least)
    }
}

impl Anchor {
    /// A hash of it of which all bits are good: those of a gear hash know of few bytes at the lower end.
    #[inline]
    #[must_use]
    pub fn mixed(self) -> u64 {
        // The finalizer of SplitMix64 (Steele et al. 2014).
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_the_window_alone() {
        let gear = Gear::new(&Key::OPEN, 8);
        let bytes: Vec<u8> = (0..200_u8).map(|i| i.wrapping_mul(37)).collect();
        assert_eq!(gear.hash(&bytes), gear.hash(&bytes[200 - WINDOW..]));
        assert_ne!(gear.hash(&bytes), gear.hash(&bytes[..199]));
    }

    #[test]
    fn one_hash_in_two_to_the_n_is_an_anchor() {
        let gear = Gear::new(&Key::OPEN, 6);
        let mut bytes = vec![0; 1 << 18];
        Key::OPEN.hasher().finalize_xof().fill(&mut bytes);
        let (mut hash, mut at, mut n_anchors) = (0, 0, 0);
        while let Some(taken) = gear.next_anchor(&mut hash, &bytes[at..]) {
            (at, n_anchors) = (at + taken, n_anchors + 1);
        }
        // 4096 are expected, with a standard deviation of 64.
        assert!((3840..4352).contains(&n_anchors), "{n_anchors} anchors");
    }

    #[test]
    fn tenants_have_gears_of_their_own() {
        let key = |tenant| Key::of_tenant(b"secret", tenant);
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
        assert_ne!(key("a"), Key::of_tenant(b"another", "a"));
        assert_ne!(Gear::new(&key("a"), 8).hash(b"same"), Gear::new(&key("b"), 8).hash(b"same"));
        assert_eq!(format!("{:?}", key("a")), "Key(..)");
    }
}
