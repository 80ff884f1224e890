//! Media whose container states a length that is not that of its sound.
//!
//! A WAV file written to a pipe has 0, 0xffffffff or another place-holder as its lengths, one that broke off has too
//! much, one that became longer has too little in its RIFF, and files put together are several. [`Container`] shows the
//! demuxer one WAV without a length, of all the sound that is there. MP4 that broke off is shown with the length that
//! it should have.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use symphonia::core::io::MediaSource;

/// Bytes before the sound that are searched for its length; more of them are left to the demuxer.
const HEAD_LEN_MAX: usize = 1 << 20;

/// Stated lengths from here on stand for an unknown one: programs write 0x7ffff000, 0x7fffffff, 0x80000000 and more.
const PLACE_HOLDER_MIN: u64 = 0x7fff_0000;

/// The beginning of a WAV chunk, and of an MP4 box: its name and its length.
const CHUNK_HEAD_LEN: usize = 8;

/// A medium as its demuxer sees it: a head, and then stretches of the source.
pub struct Container<R> {
    source: R,
    source_at: u64,
    head: Vec<u8>,
    stretches: Vec<Stretch>,
    at: u64,
    /// A WAV's chunk that describes its sound.
    format: Option<Vec<u8>>,
    length_seconds: Option<f64>,
    byte_len: Option<u64>,
    /// The last stretch is the last one.
    has_ended: bool,
    has_other: Arc<AtomicBool>,
}

/// Bytes of the source from `source_at` on, which the demuxer sees at `at`; `None` for all there are.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    at: u64,
    source_at: u64,
    length: Option<u64>,
}

impl<R: MediaSource> Container<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// If the source fails, or if it is MP4 with its index at the end and the source cannot go there.
    pub fn open(mut source: R) -> Result<Self, String> {
        let mut head = Head { source: &mut source, bytes: Vec::new() };
        let failed = |error: io::Error| format!("cannot read the medium: {error}");
        let is_wav = head.has(12).map_err(failed)?
            && matches!(&head.bytes[..4], b"RIFF" | b"RF64" | b"BW64")
            && head.bytes[8..12] == *b"WAVE";
        let wav = if is_wav { head.wav().map_err(failed)? } else { None };
        let is_mp4 = head.bytes.get(4..8) == Some(b"ftyp");
        let mp4_len = if is_mp4 { head.mp4_length().map_err(failed)? } else { Mp4::Unknown };
        let mut bytes = head.bytes;
        let at = bytes.len() as u64;
        let byte_len = match mp4_len {
            Mp4::IndexAtEnd if !source.is_seekable() => {
                return Err("its index lies at its end, so it cannot be played while it arrives; \
                            play it from a file, or put the index first, as with ffmpeg -movflags +faststart"
                    .to_owned());
            }
            Mp4::Length(length) => source.byte_len().map(|known| known.max(length)),
            _ => source.byte_len(),
        };
        let (mut length, mut length_seconds, mut format) = (None, None, None);
        if let Some(wav) = wav {
            length = wav.sound_len(source.byte_len().map(|known| known.saturating_sub(at)));
            length_seconds = length.and_then(|length| wav.seconds(length));
            bytes[..8].copy_from_slice(b"RIFF\xff\xff\xff\xff");
            let data_len_at = bytes.len() - 4;
            bytes[data_len_at..].fill(0xff);
            format = Some(wav.format);
        }
        let stretches = vec![Stretch { at, source_at: at, length }];
        Ok(Self {
            source,
            source_at: at,
            head: bytes,
            stretches,
            at: 0,
            format,
            length_seconds,
            byte_len,
            has_ended: false,
            has_other: Arc::default(),
        })
    }

    /// The length of the sound in seconds, if the container states it by bytes.
    pub fn length_seconds(&self) -> Option<f64> {
        self.length_seconds
    }

    /// Whether a sound of another format follows, which the demuxer does not see. It is known at the end of the last
    /// stretch.
    pub fn has_other(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_other)
    }

    /// The sound of a WAV that follows the last one, if it is of the same format. The source is at the end of the last.
    fn next_sound(&mut self) -> io::Result<Option<Stretch>> {
        let (Some(format), Some(last)) = (&self.format, self.stretches.last().copied()) else { return Ok(None) };
        let Some(length) = last.length else { return Ok(None) };
        let mut padding = length % 2;
        loop {
            let mut chunk = [0; CHUNK_HEAD_LEN];
            let n_skipped = io::copy(&mut (&mut self.source).take(padding), &mut io::sink())?;
            self.source_at += n_skipped;
            if n_skipped < padding || self.source.read_exact(&mut chunk).is_err() {
                return Ok(None);
            }
            self.source_at += CHUNK_HEAD_LEN as u64;
            if !matches!(&chunk[..4], b"RIFF" | b"RF64" | b"BW64") {
                let length = u64::from(number(&chunk[4..]));
                padding = length + length % 2;
                continue;
            }
            let before = self.source_at - CHUNK_HEAD_LEN as u64;
            let mut head = Head { source: &mut self.source, bytes: chunk.to_vec() };
            let wav = head.wav()?;
            self.source_at = before + head.bytes.len() as u64;
            let Some(wav) = wav.filter(|wav| wav.format == *format) else {
                self.has_other.store(true, Ordering::Relaxed);
                return Ok(None);
            };
            let left = self.source.byte_len().map(|known| known.saturating_sub(self.source_at));
            let length = wav.sound_len(left);
            return Ok(Some(Stretch { at: last.at + last.length.unwrap_or(0), source_at: self.source_at, length }));
        }
    }

    fn go_to(&mut self, place: u64) -> io::Result<()> {
        if place != self.source_at {
            self.source_at = self.source.seek(SeekFrom::Start(place))?;
        }
        Ok(())
    }
}

impl<R: MediaSource> Read for Container<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let in_head = usize::try_from(self.at).ok().and_then(|at| self.head.get(at..)).unwrap_or_default();
            if !in_head.is_empty() {
                let n = in_head.len().min(buffer.len());
                buffer[..n].copy_from_slice(&in_head[..n]);
                self.at += n as u64;
                return Ok(n);
            }
            let Some(stretch) = self.stretches.iter().rfind(|stretch| stretch.at <= self.at).copied() else {
                return Ok(0);
            };
            let into = self.at - stretch.at;
            let left = stretch.length.map_or(u64::MAX, |length| length.saturating_sub(into));
            let place = stretch.source_at + into;
            if left > 0 {
                if self.source.byte_len().is_some_and(|known| place >= known) {
                    return Ok(0);
                }
                self.go_to(place)?;
                let n_max = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                let n = self.source.read(&mut buffer[..n_max])?;
                (self.at, self.source_at) = (self.at + n as u64, self.source_at + n as u64);
                return Ok(n);
            }
            if self.has_ended {
                return Ok(0);
            }
            self.go_to(place)?;
            match self.next_sound()? {
                Some(next) => self.stretches.push(next),
                None => self.has_ended = true,
            }
        }
    }
}

impl<R: MediaSource> Seek for Container<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.byte_len.and_then(|length| length.checked_add_signed(by)),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl<R: MediaSource> MediaSource for Container<R> {
    fn is_seekable(&self) -> bool {
        self.source.is_seekable()
    }

    fn byte_len(&self) -> Option<u64> {
        self.byte_len
    }
}

/// The bytes before the sound.
struct Head<'a, R> {
    source: &'a mut R,
    bytes: Vec<u8>,
}

/// A WAV as its head describes it.
struct Wav {
    format: Vec<u8>,
    stated_len: u64,
}

enum Mp4 {
    /// The index is first; the medium should be as long as this.
    Length(u64),
    IndexAtEnd,
    Unknown,
}

impl<R: Read> Head<'_, R> {
    /// Whether there are so many bytes, after reading them.
    fn has(&mut self, n: usize) -> io::Result<bool> {
        let missing = n.saturating_sub(self.bytes.len());
        if n <= HEAD_LEN_MAX {
            self.source.take(missing as u64).read_to_end(&mut self.bytes)?;
        }
        Ok(self.bytes.len() >= n)
    }

    /// Reads to the beginning of the sound; `None` if it is not there.
    fn wav(&mut self) -> io::Result<Option<Wav>> {
        let (mut at, mut format, mut long_len) = (12, None, None);
        while self.has(at + CHUNK_HEAD_LEN)? {
            let (name, length) = (&self.bytes[at..at + 4], number(&self.bytes[at + 4..at + 8]));
            if name == b"data" {
                let stated_len = long_len.filter(|_| length == u32::MAX).unwrap_or(u64::from(length));
                return Ok(format.map(|format| Wav { format, stated_len }));
            }
            let is_format = name == b"fmt ";
            let is_long = name == b"ds64";
            let body = at + CHUNK_HEAD_LEN;
            let end = body.saturating_add(length as usize);
            at = end.saturating_add(end % 2);
            if !self.has(at)? {
                return Ok(None);
            }
            let chunk = &self.bytes[body..end];
            if is_format && chunk.len() >= 16 {
                format = Some(chunk.to_vec());
            } else if is_long && chunk.len() >= 16 {
                long_len = Some(u64::from(number(&chunk[8..])) | (u64::from(number(&chunk[12..])) << 32));
            }
        }
        Ok(None)
    }

    /// Reads boxes to the index or the sound, whichever is first.
    fn mp4_length(&mut self) -> io::Result<Mp4> {
        let (mut at, mut has_index) = (0_usize, false);
        while self.has(at + 2 * CHUNK_HEAD_LEN)? {
            let big = |at: usize| u64::from(number(&self.bytes[at..]).swap_bytes());
            let length = if big(at) == 1 { (big(at + 8) << 32) | big(at + 12) } else { big(at) };
            match &self.bytes[at + 4..at + 8] {
                b"mdat" if has_index => return Ok(Mp4::Length((at as u64).saturating_add(length))),
                b"mdat" => return Ok(Mp4::IndexAtEnd),
                name => has_index |= name == b"moov",
            }
            let length = usize::try_from(length).unwrap_or(HEAD_LEN_MAX).clamp(CHUNK_HEAD_LEN, HEAD_LEN_MAX);
            at += length;
        }
        Ok(Mp4::Unknown)
    }
}

impl Wav {
    /// Bytes of whole frames, of `left` that there are if that is known.
    fn sound_len(&self, left: Option<u64>) -> Option<u64> {
        let length = match left {
            Some(left) if self.stated_len == 0 || self.stated_len > left => left,
            None if self.stated_len == 0 || self.stated_len >= PLACE_HOLDER_MIN => return None,
            _ => self.stated_len,
        };
        let frame_len = u64::from(number(&self.format[12..]) & 0xffff).max(1);
        Some(length - length % frame_len)
    }

    fn seconds(&self, length: u64) -> Option<f64> {
        let bytes_per_second = number(&self.format[8..]);
        (bytes_per_second > 0).then(|| length as f64 / f64::from(bytes_per_second))
    }
}

/// A little-endian number of 32 bits at the front of these bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use symphonia::core::io::ReadOnlySource;

    use super::*;

    const SOUND: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

    /// A WAV of one channel, 16 bits and 4 Hz: a second of sound, with these lengths in its head.
    fn wav(riff_len: u32, data_len: u32, before_data: &[u8]) -> Vec<u8> {
        let format = [1, 0, 1, 0, 4, 0, 0, 0, 8, 0, 0, 0, 2, 0, 16, 0];
        [b"RIFF", &riff_len.to_le_bytes()[..], b"WAVEfmt \x10\0\0\0", &format, before_data]
            .into_iter()
            .chain([&b"data"[..], &data_len.to_le_bytes(), &SOUND])
            .collect::<Vec<_>>()
            .concat()
    }

    fn sound(source: impl MediaSource) -> (Vec<u8>, Option<f64>) {
        let mut container = Container::open(source).unwrap();
        let mut bytes = Vec::new();
        container.read_to_end(&mut bytes).unwrap();
        let at = bytes.windows(4).position(|four| four == b"data").unwrap() + 8;
        assert!(bytes.starts_with(b"RIFF\xff\xff\xff\xffWAVE") && bytes[at - 4..at] == [0xff; 4]);
        (bytes.split_off(at), container.length_seconds())
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[u8], seconds_in_file: f64, seconds_in_pipe: Option<f64>) {
        assert_eq!(sound(Cursor::new(bytes.to_vec())), (expected.to_vec(), Some(seconds_in_file)), "file");
        assert_eq!(sound(ReadOnlySource::new(bytes)), (expected.to_vec(), seconds_in_pipe), "pipe");
    }

    #[test]
    fn all_sound_is_played_whatever_its_lengths_are() {
        for riff_len in [0, 20, 44, u32::MAX] {
            check(&wav(riff_len, 8, b""), &SOUND, 1.0, Some(1.0));
            for data_len in [0, 0x7fff_f000, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                check(&wav(riff_len, data_len, b""), &SOUND, 1.0, None);
            }
        }
        // Broken off: a pipe cannot know it.
        check(&wav(44, 16, b""), &SOUND, 1.0, Some(2.0));
        // Half a frame at the end is none.
        assert_eq!(sound(Cursor::new([wav(44, 0, b""), vec![9]].concat())), (SOUND.to_vec(), Some(1.0)));
    }

    #[test]
    fn chunks_of_odd_length_and_64_bits_are_understood() {
        check(&wav(54, 8, b"LIST\x01\0\0\0x\0"), &SOUND, 1.0, Some(1.0));
        let mut long = wav(u32::MAX, u32::MAX, b"");
        long[..4].copy_from_slice(b"RF64");
        let sizes = [&b"ds64\x18\0\0\0"[..], &80_u64.to_le_bytes(), &6_u64.to_le_bytes(), &[0; 8]].concat();
        long.splice(12..12, sizes);
        check(&long, &SOUND[..6], 0.75, Some(0.75));
    }

    #[test]
    fn several_files_in_one_are_one_sound_if_they_are_of_one_format() {
        let list = b"LIST\x03\0\0\0abc\0";
        let two = [&wav(44, 8, b"")[..], list, &wav(44, 8, b""), &wav(44, 0, b"")].concat();
        check(&two, &[SOUND; 3].concat(), 1.0, Some(1.0));
        let mut other = wav(44, 8, b"");
        other[24] = 8;
        check(&[wav(44, 8, b""), other].concat(), &SOUND, 1.0, Some(1.0));
        check(&[&wav(44, 8, b"")[..], b"TAG and more"].concat(), &SOUND, 1.0, Some(1.0));
    }

    #[test]
    fn a_head_that_breaks_off_is_left_as_it_is() {
        let whole = wav(44, 8, b"");
        for n in 0..44 {
            let mut bytes = Vec::new();
            Container::open(Cursor::new(whole[..n].to_vec())).unwrap().read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, whole[..n]);
        }
    }

    #[test]
    fn mp4_that_broke_off_is_as_long_as_it_should_be_and_an_index_at_the_end_needs_a_file() {
        let with_index = b"\0\0\0\x08ftyp\0\0\0\x08moov\0\0\x01\0mdat12345678";
        let mut container = Container::open(Cursor::new(with_index.to_vec())).unwrap();
        assert_eq!(container.seek(SeekFrom::End(0)).unwrap(), 16 + 256);
        assert_eq!(container.read(&mut [0; 8]).unwrap(), 0);
        let without = b"\0\0\0\x08ftyp\0\0\x01\0mdat12345678";
        assert!(Container::open(Cursor::new(without.to_vec())).is_ok());
        let refused = Container::open(ReadOnlySource::new(&without[..])).err().unwrap();
        assert!(refused.contains("faststart"), "{refused}");
    }
}
