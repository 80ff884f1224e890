//! Bytes that are new, on their way: through one zstd stream for all groups of a direction where that pays, or as they
//! are.

/// Packing of new bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// The bytes as they are.
    Plain,
    /// The bytes through zstd at this level, 1 to 19.
    #[cfg(feature = "zstd")]
    Zstd(i32),
    /// The bytes through zstd at level 5 where they pack well, as text does, and at level 1 where level 5 would take
    /// most of the time for little.
    #[cfg(feature = "zstd")]
    Paced,
}

/// Text that names no packing.
#[cfg(feature = "zstd")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no level: give `paced`, or a level of zstd from 0, which packs nothing, to 19")]
pub struct UnknownPacking {
    /// The given text.
    pub text: String,
}

#[cfg(feature = "zstd")]
impl std::str::FromStr for Packing {
    type Err = UnknownPacking;

    fn from_str(text: &str) -> Result<Self, UnknownPacking> {
        match (text, text.parse()) {
            ("paced", _) => Ok(Self::Paced),
            (_, Ok(0)) => Ok(Self::Plain),
            (_, Ok(level @ 1..=19)) => Ok(Self::Zstd(level)),
            _ => Err(UnknownPacking { text: text.to_owned() }),
        }
    }
}

#[cfg(feature = "zstd")]
impl std::fmt::Display for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain => f.write_str("0"),
            Self::Zstd(level) => write!(f, "{level}"),
            Self::Paced => f.write_str("paced"),
        }
    }
}

/// Literals that do not unpack to what the group says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the packed bytes are damaged")]
pub struct Damaged;

#[cfg(feature = "zstd")]
pub(crate) use with_zstd::{Packer, Unpacker};
#[cfg(not(feature = "zstd"))]
pub(crate) use without::{Packer, Unpacker};

#[cfg(feature = "zstd")]
mod with_zstd {
    use zstd::stream::raw::{CParameter, DParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};

    use super::{Damaged, Packing};

    /// 2^23 bytes: what either side keeps of what went by, for each direction of a connection.
    const WINDOW_LOG: u32 = 23;
    /// A try that saves less than one part in this many did not pay.
    const SAVING: usize = 32;
    /// Largest number of groups for which packing is not tried, after tries that did not pay.
    const N_SKIPPED_MAX: u32 = 64;
    /// A block of zstd has some ten bytes beside what it holds.
    const N_WORTHWHILE: usize = 24;
    /// Fewer bytes than this do not say whether packing pays.
    const N_TELLING: usize = 256;
    /// Number of bytes over which the gain of packing is measured: with more, data whose parts differ are packed at the
    /// wrong level; with fewer, frames that begin anew forget more than is won.
    const N_PACED: usize = 2 << 20;

    /// The level for bytes that pack well or not, by how the last ones did.
    struct Pace {
        level: i32,
        n_given: usize,
        n_packed: usize,
    }

    impl Pace {
        const WELL: i32 = 5;
        const FAST: i32 = 1;
        /// The good level is left where it makes less than 3.6:1, and the fast one, which packs everything worse, where
        /// it makes more than 6:1: in between a frame that begins anew would forget more than it wins. Both in tenths.
        const WELL_MIN: usize = 36;
        const FAST_MAX: usize = 60;

        fn new() -> Self {
            Self { level: Self::WELL, n_given: 0, n_packed: 0 }
        }

        fn see(&mut self, n_given: usize, n_packed: usize) {
            self.n_given += n_given;
            self.n_packed += n_packed;
            if self.n_given < N_PACED {
                return;
            }
            let n_tenths = self.n_given * 10;
            let level = match self.level {
                Self::WELL if n_tenths < self.n_packed * Self::WELL_MIN => Self::FAST,
                Self::FAST if n_tenths > self.n_packed * Self::FAST_MAX => Self::WELL,
                level => level,
            };
            *self = Self { level, n_given: 0, n_packed: 0 };
        }
    }

    /// One end of a stream of packed bytes.
    pub(crate) struct Packer {
        encoder: Option<Encoder<'static>>,
        /// The level of the frame that is being written, or the next.
        pub(super) level: i32,
        /// The packing that is wanted from here on.
        packing: Packing,
        pace: Pace,
        window_log: u32,
        is_long: bool,
        scratch: Vec<u8>,
        /// Number of groups that are skipped after the next try that does not pay.
        n_patience: u32,
        n_skipped: u32,
    }

    impl Packer {
        pub fn new(packing: Packing) -> Self {
            Self::with_window(packing, WINDOW_LOG, false)
        }

        /// One that finds far matches by itself: what zstd has to offer against what this crate does.
        pub fn long(packing: Packing, window_log: u32) -> Self {
            Self::with_window(packing, window_log, true)
        }

        fn with_window(packing: Packing, window_log: u32, is_long: bool) -> Self {
            Self {
                encoder: None,
                level: 0,
                packing,
                pace: Pace::new(),
                window_log,
                is_long,
                scratch: vec![0; 1 << 16],
                n_patience: 1,
                n_skipped: 0,
            }
        }

        /// Sets the packing of bytes from here on.
        pub fn set(&mut self, packing: Packing) {
            if packing != self.packing {
                (self.n_patience, self.n_skipped) = (1, 0);
            }
            self.packing = packing;
        }

        /// Has a frame of this level under way; ends that of another one first.
        fn begin(&mut self, level: i32, out: &mut Vec<u8>) {
            if self.encoder.is_some() && self.level == level {
                return;
            }
            if let Some(mut encoder) = self.encoder.take() {
                loop {
                    let mut output = OutBuffer::around(&mut self.scratch[..]);
                    let n_left = encoder.finish(&mut output, true).expect("zstd packs any bytes");
                    out.extend_from_slice(output.as_slice());
                    if n_left == 0 {
                        break;
                    }
                }
            }
            let mut encoder = Encoder::new(level).expect("zstd has memory for a stream");
            let window = CParameter::WindowLog(self.window_log);
            let long = CParameter::EnableLongDistanceMatching(self.is_long);
            for parameter in [window, long, CParameter::ContentSizeFlag(false)] {
                encoder.set_parameter(parameter).expect("these are parameters of zstd");
            }
            (self.encoder, self.level) = (Some(encoder), level);
        }

        /// Appends the packed bytes, or says that it is better to leave them as they are. In either case nothing of
        /// them is held back.
        pub fn pack(&mut self, body: &[u8], out: &mut Vec<u8>) -> bool {
            let level = match self.packing {
                Packing::Plain => return false,
                Packing::Zstd(level) => level,
                Packing::Paced => self.pace.level,
            };
            if body.len() < N_WORTHWHILE {
                return false;
            }
            if self.n_skipped > 0 {
                self.n_skipped -= 1;
                return false;
            }
            let began = out.len();
            self.begin(level, out);
            let encoder = self.encoder.as_mut().expect("a frame was begun");
            let mut input = InBuffer::around(body);
            while input.pos() < body.len() {
                let mut output = OutBuffer::around(&mut self.scratch[..]);
                encoder.run(&mut input, &mut output).expect("zstd packs any bytes");
                out.extend_from_slice(output.as_slice());
            }
            loop {
                let mut output = OutBuffer::around(&mut self.scratch[..]);
                let n_left = encoder.flush(&mut output).expect("zstd packs any bytes");
                out.extend_from_slice(output.as_slice());
                if n_left == 0 {
                    break;
                }
            }
            self.pace.see(body.len(), out.len() - began);
            if body.len() >= N_TELLING {
                if out.len() - began > body.len() - body.len() / SAVING {
                    self.n_skipped = self.n_patience;
                    self.n_patience = (self.n_patience * 2).min(N_SKIPPED_MAX);
                } else {
                    self.n_patience = 1;
                }
            }
            true
        }
    }

    /// The other end.
    pub(crate) struct Unpacker {
        decoder: Decoder<'static>,
    }

    impl Unpacker {
        pub fn new() -> Self {
            let mut decoder = Decoder::new().expect("zstd has memory for a stream");
            decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).expect("this is a parameter of zstd");
            Self { decoder }
        }

        /// The `n_bytes` bytes that `packed` stands for: no more are made, whatever it says.
        pub fn unpack(&mut self, packed: &[u8], n_bytes: usize) -> Result<Vec<u8>, Damaged> {
            let mut bytes = vec![0; n_bytes];
            let mut input = InBuffer::around(packed);
            let mut n_made = 0;
            loop {
                // One byte more than there may be, so that too many are seen.
                let mut spare = [0; 1];
                let room = if n_made < n_bytes { &mut bytes[n_made..] } else { &mut spare[..] };
                let mut output = OutBuffer::around(room);
                let before = input.pos();
                self.decoder.run(&mut input, &mut output).map_err(|_| Damaged)?;
                let n = output.pos();
                if n_made == n_bytes && n > 0 {
                    return Err(Damaged);
                }
                n_made += n;
                if n == 0 && input.pos() == before {
                    break;
                }
            }
            if n_made == n_bytes && input.pos() == packed.len() { Ok(bytes) } else { Err(Damaged) }
        }
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;

    #[test]
    fn a_packing_is_read_or_refused_by_name() {
        for (text, packing) in [("paced", Packing::Paced), ("0", Packing::Plain), ("19", Packing::Zstd(19))] {
            assert_eq!(text.parse(), Ok(packing));
        }
        for text in ["", "20", "-1", "Paced", "auto"] {
            let told = text.parse::<Packing>().unwrap_err().to_string();
            assert!(told.contains(&format!("`{text}`")) && told.contains("`paced`"), "{told}");
        }
    }

    #[test]
    fn the_pace_follows_how_well_bytes_pack_and_all_of_them_come_back() {
        // Every byte of noise once is 1:1, a line of it again and again is many to one.
        let mut noise = vec![0; 16 << 10];
        let (mut packer, mut unpacker) = (Packer::new(Packing::Paced), Unpacker::new());
        let mut reader = blake3::Hasher::new().finalize_xof();
        let mut levels = Vec::new();
        for i in 0..1024 {
            reader.fill(&mut noise);
            // Half of the bits are zeros: it packs to a half, not better.
            let mut body: Vec<u8> = noise.iter().map(|byte| byte & 0x0f).collect();
            if i >= 512 {
                body.fill(b'a');
            }
            let mut packed = Vec::new();
            assert!(packer.pack(&body, &mut packed));
            assert_eq!(unpacker.unpack(&packed, body.len()), Ok(body));
            levels.push(packer.level);
        }
        levels.dedup();
        assert_eq!(levels, [5, 1, 5]);
    }
}

#[cfg(not(feature = "zstd"))]
mod without {
    use super::{Damaged, Packing};

    /// Packs nothing.
    pub(crate) struct Packer;

    impl Packer {
        pub fn new(_: Packing) -> Self {
            Self
        }

        pub fn long(_: Packing, _: u32) -> Self {
            Self
        }

        pub fn set(&mut self, _: Packing) {}

        pub fn pack(&mut self, _: &[u8], _: &mut Vec<u8>) -> bool {
            false
        }
    }

    /// Refuses what was packed.
    pub(crate) struct Unpacker;

    impl Unpacker {
        pub fn new() -> Self {
            Self
        }

        pub fn unpack(&mut self, _: &[u8], _: usize) -> Result<Vec<u8>, Damaged> {
            Err(Damaged)
        }
    }
}
