//! `foretop dedup study`: Canidae's figures made again, printed as they come, with pictures.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use dedup_study::{Settings, answers};
use program::{Failure, written};
use text::help::examples;

/// Repeat the figures of the paper on two levels of fingerprints, on data by seed
///
/// Each question has the published figure, the result here, the conditions and a verdict. The output is the same on
/// every machine.
#[derive(Args)]
#[command(after_help = examples(&["foretop dedup study --out dedup-study"]))]
pub struct Study {
    /// The folder for the pictures, created if necessary
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// The number of segments of 32 bytes in each exchange; a thousandth of it are pictures of a session
    #[arg(long, value_name = "N", default_value_t = Settings::default().n_segments as u32, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    segments: u32,

    /// Seed for the data
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed)]
    seed: u64,
}

impl Study {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        if let Some(folder) = &self.out {
            fs::create_dir_all(folder)
                .map_err(|error| Failure::work(format!("cannot make `{}`: {error}", folder.display())))?;
        }
        for answer in answers(Settings { seed: self.seed, n_segments: self.segments as usize }) {
            let (title, conditions, verdict) = (answer.title, answer.conditions, answer.verdict);
            written(write!(out, "{title}\n{conditions}\n\n{}\nVerdict: {verdict}.\n", answer.table))?;
            if let (Some(folder), Some((name, picture))) = (&self.out, answer.picture) {
                let path = folder.join(format!("{name}.svg"));
                fs::write(&path, picture.to_svg())
                    .map_err(|error| Failure::work(format!("cannot write `{}`: {error}", path.display())))?;
                written(writeln!(out, "Picture: {}", path.display()))?;
            }
            written(writeln!(out).and_then(|()| out.flush()))?;
        }
        Ok(())
    }
}
