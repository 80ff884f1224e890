//! Data of known redundancy, by seed: versions of a stream, a session on a screen, and the output of a simulation.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A picture as it is sent: rows of pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub width: u32,
    pub height: u32,
    pub pixel_bytes: u32,
}

/// The screen for which 2-D segmenters were made.
pub(crate) const SCREEN: Screen = Screen { width: 320, height: 240, pixel_bytes: 4 };
/// Values of four bytes on a grid.
pub(crate) const GRID: Screen = Screen { width: 256, height: 256, pixel_bytes: 4 };

/// Text of which `redundancy` is in segments of 32 bytes that were there before, as the published formula has it.
pub(crate) fn of_redundancy(n_segments: usize, redundancy: f64, seed: u64) -> Vec<u8> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let n_new = ((n_segments as f64 * (1.0 - redundancy)) as usize).max(1);
    let mut bytes = noise(&mut chance, n_new * 32);
    for _ in n_new..n_segments {
        let at = chance.random_range(0..n_new) * 32;
        bytes.extend_from_within(at..at + 32);
    }
    bytes
}

/// Versions of a stream, one after the other: each with edits of up to 64 bytes replaced, inserted or moved, one in
/// some `spacing` bytes.
pub(crate) fn versions(n_versions: usize, n_bytes: usize, spacing: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut version = noise(&mut chance, n_bytes);
    let mut versions = vec![version.clone()];
    while versions.len() < n_versions {
        for _ in 0..version.len() / spacing {
            let at = chance.random_range(0..version.len());
            let n = chance.random_range(1..64).min(version.len() - at);
            match chance.random_range(0..3) {
                0 => chance.fill(&mut version[at..at + n]),
                1 => drop(version.splice(at..at, noise(&mut chance, n))),
                _ => {
                    let part: Vec<u8> = version.drain(at..at + n).collect();
                    let to = chance.random_range(0..=version.len());
                    drop(version.splice(to..to, part));
                }
            }
        }
        versions.push(version.clone());
    }
    versions
}

/// A page of coloured rows and letters, seen through a screen that is scrolled down, and to the side at every third
/// move.
pub(crate) fn session(n_pictures: usize, seed: u64) -> Vec<u8> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let (width, height) = (SCREEN.width as usize, SCREEN.height as usize);
    let (page_width, page_height) = (width * 2, height * 4);
    let mut page = vec![0xffff_ffff_u32; page_width * page_height];
    // Words of noise on white, in lines of 12 rows with 4 white ones between.
    for (y, row) in page.chunks_mut(page_width).enumerate().filter(|(y, _)| y % 16 < 12) {
        let mut words = ChaCha8Rng::seed_from_u64(seed ^ (y as u64 / 16) << 8);
        let mut x = 0;
        while x < page_width {
            let (n_letters, n_gap) = (words.random_range(10..80), words.random_range(4..40));
            row[x..(x + n_letters).min(page_width)].iter_mut().for_each(|pixel| {
                if chance.random_bool(0.3) {
                    *pixel = 0xff00_0000 | (chance.random_range(0..4) * 0x0040_4040);
                }
            });
            x += n_letters + n_gap;
        }
    }
    let (mut left, mut top) = (0, 0);
    let mut bytes = Vec::new();
    for i in 0..n_pictures {
        for y in 0..height {
            let row = &page[(top + y) * page_width + left..][..width];
            bytes.extend(row.iter().flat_map(|pixel| pixel.to_le_bytes()));
        }
        if i % 3 == 2 {
            left = (left + chance.random_range(1..40)).min(page_width - width);
        } else {
            top = (top + chance.random_range(1..30)).min(page_height - height);
        }
    }
    bytes
}

/// Steps of a heat equation on a grid, quiet but for some places: most values stay, as in a mesh or a weather model.
pub(crate) fn simulation(n_steps: usize, seed: u64) -> Vec<u8> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let (width, height) = (GRID.width as usize, GRID.height as usize);
    let mut values: Vec<f32> = (0..width * height).map(|_| chance.random::<f32>()).collect();
    let mut bytes = Vec::new();
    for _ in 0..n_steps {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        for _ in 0..4 {
            let (x0, y0) = (chance.random_range(0..width - 32), chance.random_range(0..height - 32));
            for y in y0..y0 + 32 {
                for x in x0..x0 + 32 {
                    values[y * width + x] += chance.random::<f32>() / 16.0;
                }
            }
        }
    }
    bytes
}

fn noise(chance: &mut ChaCha8Rng, n_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; n_bytes];
    chance.fill(&mut bytes[..]);
    bytes
}
