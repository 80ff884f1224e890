//! `bench-stretch INPUT OUTPUT HERTZ CHANNELS RATE TIER`: stretches interleaved floats of 32 bits, little-endian, from
//! one file to another, in blocks of 10 ms.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};

use anyhow::{Context, Result, bail};
use playback::stretch::{Format, Stretcher, Tier};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, hertz, channels, rate, tier] = &arguments[..] else {
        bail!("usage: bench-stretch INPUT OUTPUT HERTZ CHANNELS RATE TIER");
    };
    let format = Format { sample_rate_hertz: hertz.parse()?, n_channels: channels.parse()? };
    let tier = match tier.as_str() {
        "full" => Tier::Full,
        "coarse" => Tier::Coarse,
        "plain" => Tier::Plain,
        other => bail!("`{other}` is none of full, coarse, plain"),
    };
    let rate: f64 = rate.parse()?;
    let mut stretcher = Stretcher::new(format, tier)?;
    let mut input = BufReader::new(File::open(input).with_context(|| format!("cannot read {input}"))?);
    let mut output = BufWriter::new(File::create(output).with_context(|| format!("cannot write {output}"))?);
    let mut block = vec![0; 4 * usize::from(format.n_channels) * format.sample_rate_hertz as usize / 100];
    let (mut samples, mut played) = (Vec::new(), Vec::new());
    loop {
        let is_over = match input.read_exact(&mut block) {
            Ok(()) => false,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => true,
            Err(error) => return Err(error.into()),
        };
        if is_over {
            stretcher.finish();
        } else {
            samples.clear();
            samples.extend(block.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            stretcher.push(&samples, rate)?;
        }
        played.clear();
        stretcher.pull(&mut played);
        for sample in &played {
            output.write_all(&sample.to_le_bytes())?;
        }
        if is_over {
            return Ok(output.flush()?);
        }
    }
}
