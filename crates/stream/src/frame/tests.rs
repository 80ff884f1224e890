//! Frames, whole, cut and damaged.

use super::*;

fn frame_of(kind: Kind, payload: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    encode(kind, &mut out, |out| {
        out.put_slice(payload);
        Ok(())
    })
    .unwrap();
    out
}

fn decode(bytes: &[u8]) -> Result<Option<Frame>, FrameError> {
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(bytes);
    decoder.next_frame()
}

#[test]
fn a_frame_comes_back_whole_however_it_is_cut() {
    let mut bytes = frame_of(Kind::Sample, b"first");
    bytes.unsplit(frame_of(Kind::Forecast, b""));
    for cut in 0..=bytes.len() {
        let mut decoder = Decoder::default();
        let mut frames = Vec::new();
        for piece in [&bytes[..cut], &bytes[cut..]] {
            decoder.buffer().extend_from_slice(piece);
            while let Some(frame) = decoder.next_frame().unwrap() {
                frames.push((frame.kind, frame.payload().to_vec()));
            }
        }
        assert_eq!(frames, [(Kind::Sample, b"first".to_vec()), (Kind::Forecast, vec![])]);
        decoder.finish().unwrap();
    }
}

#[test]
fn what_is_no_frame_is_refused_with_its_place() {
    let good = frame_of(Kind::Sample, b"payload");
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        decode(&bytes).unwrap_err().to_string()
    };
    assert_eq!(with(0, b'X'), "byte 0: a frame must begin with `FT`, not with [58, 54]");
    assert_eq!(with(2, 9), "byte 0: a frame of version 9; this program reads version 1");
    assert_eq!(with(7, 0xff), "byte 0: a payload of 4278190087 bytes is announced; 1048576 is the limit");
    assert!(with(12, b'P').ends_with("it was damaged in transit"));
    assert!(with(3, 4).contains("checksum"), "the kind is under the checksum too");
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_buffer_as_it_was() {
    let mut out = frame_of(Kind::Sample, b"before");
    let before = out.clone();
    let refused = encode(Kind::Reply, &mut out, |out| {
        out.put_bytes(b'x', PAYLOAD_BYTES_MAX + 1);
        Ok(())
    });
    assert_eq!(refused.unwrap_err().to_string(), "a reply with 1048577 bytes: 1048576 is the limit");
    assert_eq!(out, before);
}

#[test]
fn strangers_have_a_lower_limit() {
    let bytes = frame_of(Kind::Sample, b"payload");
    let mut decoder = Decoder::with_limit(6);
    decoder.buffer().extend_from_slice(&bytes);
    let error = decoder.next_frame().unwrap_err();
    assert_eq!(error.to_string(), "byte 0: a payload of 7 bytes is announced; 6 is the limit");
    assert_eq!(decoder.without_limit().next_frame().unwrap().unwrap().payload(), b"payload");
}

#[test]
fn an_announced_length_takes_no_memory_before_its_bytes_come() {
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(b"FT\x01\x03\xff\xff\xff\xff\0\0\0\0");
    assert!(matches!(decoder.next_frame(), Err(FrameError::TooLong { given: u32::MAX, .. })));
    assert!(decoder.buffer().capacity() < 1024);
}

#[test]
fn half_a_frame_at_the_end_is_told() {
    let bytes = frame_of(Kind::Sample, b"payload");
    for (length, n_missing) in [(1, 11), (HEADER_BYTES, 7), (bytes.len() - 1, 1)] {
        let mut decoder = Decoder::default();
        decoder.buffer().extend_from_slice(&bytes[..length]);
        assert_eq!(decoder.next_frame(), Ok(None));
        assert_eq!(decoder.finish(), Err(FrameError::Truncated { offset: 0, n_missing }));
    }
}

#[test]
fn what_follows_damage_is_found() {
    let mut bytes = frame_of(Kind::Sample, b"damaged FT here");
    bytes[20] ^= 1;
    let damaged = bytes.len() as u64;
    bytes.unsplit(frame_of(Kind::Sample, b"whole"));
    let mut decoder = Decoder::default();
    decoder.buffer().unsplit(bytes);
    let mut n_left_out = 0;
    let frame = loop {
        match decoder.next_frame() {
            Ok(frame) => break frame.unwrap(),
            Err(_) => n_left_out += decoder.resume(),
        }
    };
    assert_eq!((frame.payload(), n_left_out), (&b"whole"[..], damaged));
}

#[test]
fn a_kind_of_another_day_is_skipped_and_counted() {
    let mut bytes = frame_of(Kind::Sample, b"unknown");
    bytes[3] = 200;
    let checksum = checksum(&bytes);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    bytes.unsplit(frame_of(Kind::Sample, b"known"));
    let mut decoder = Decoder::default();
    decoder.buffer().unsplit(bytes);
    assert_eq!(decoder.next_frame().unwrap().unwrap().payload(), b"known");
    assert_eq!(decoder.n_unknown(), 1);
}
