//! Stretchers of sound: our own stretcher, or another that this build may have.

use clap::ValueEnum;
use playback::stretch::{Error, Format, Stretcher, Tier};
use program::Failure;

/// Values of `--stretcher`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Asked {
    /// WSOLA, in tiers that a busy processor can afford
    Own,
    /// The phase vocoder of Signalsmith Audio, without tiers
    Signalsmith,
}

impl Asked {
    /// Itself, if this build has it.
    pub fn checked(self) -> Result<Self, Failure> {
        if self == Self::Signalsmith && cfg!(not(feature = "signalsmith")) {
            return Err(Failure::usage(
                "`--stretcher signalsmith` is not in this build: `cargo build --release -p foretop-play --features signalsmith`, \
                 with a C++ compiler and libclang (Debian: g++, libclang-dev)",
            ));
        }
        Ok(self)
    }
}

/// A stretcher in use.
pub enum Stretching {
    /// Ours.
    Own(Box<Stretcher>),
    /// Signalsmith's.
    #[cfg(feature = "signalsmith")]
    Signalsmith(playback::stretch::Signalsmith),
}

impl Stretching {
    /// Builds a stretcher without any sound yet.
    pub fn of(asked: Asked, format: Format) -> Result<Self, Error> {
        match asked {
            #[cfg(feature = "signalsmith")]
            Asked::Signalsmith => playback::stretch::Signalsmith::new(format).map(Self::Signalsmith),
            _ => Stretcher::new(format, Tier::Full).map(|own| Self::Own(Box::new(own))),
        }
    }

    /// Takes sound to be played at `rate`, by a tier if it has any, and appends what can be played to `output`.
    pub fn play(&mut self, sound: &[f32], rate: f64, tier: Tier, output: &mut Vec<f32>) -> Result<(), Error> {
        match self {
            Self::Own(own) => {
                own.set_tier(tier);
                own.push(sound, rate)?;
                own.pull(output);
            }
            #[cfg(feature = "signalsmith")]
            Self::Signalsmith(other) => {
                other.push(sound, rate)?;
                other.pull(output);
            }
        }
        Ok(())
    }

    /// Appends what is left to `output`.
    pub fn finish(&mut self, output: &mut Vec<f32>) {
        match self {
            Self::Own(own) => {
                own.finish();
                own.pull(output);
            }
            #[cfg(feature = "signalsmith")]
            Self::Signalsmith(other) => {
                other.finish();
                other.pull(output);
            }
        }
    }

    /// The media time that it has reached.
    pub fn media_seconds(&self) -> f64 {
        match self {
            Self::Own(own) => own.media_seconds(),
            #[cfg(feature = "signalsmith")]
            Self::Signalsmith(other) => other.media_seconds(),
        }
    }
}
