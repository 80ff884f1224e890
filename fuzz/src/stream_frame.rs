//! Any bytes are frames whose messages say the same when they are written again, or are refused with their place.

use bytes::BytesMut;
use stream::{Decoder, Frame, Kind, Message, MessageError, encode};

/// Decodes the bytes after the first one, which selects their form. After an odd byte, they are a stream as received,
/// in two pieces; after an even one, the payload of a frame whose kind is half of that byte, so that checksums do not
/// keep out what is interesting.
///
/// Returns whether there was a message in it.
///
/// # Panics
/// When a message reads back as another one, or bytes are neither taken, left nor refused.
pub fn stream_frame(bytes: &[u8]) -> bool {
    let Some((choice, rest)) = bytes.split_first() else {
        return false;
    };
    match kind(choice / 2) {
        Some(kind) if choice % 2 == 0 => {
            let mut framed = BytesMut::new();
            let encoded = encode(kind, &mut framed, |out| {
                out.extend_from_slice(rest);
                Ok(())
            });
            if encoded.is_err() {
                return false;
            }
            is_messages(&framed, framed.len() / 2)
        }
        _ => is_messages(rest, usize::from(*choice).min(rest.len())),
    }
}

fn kind(number: u8) -> Option<Kind> {
    use Kind::{Description, Forecast, Greeting, Measurement, Reply, Request, Sample};
    [Description, Measurement, Sample, Forecast, Request, Reply, Greeting].get(usize::from(number)).copied()
}

/// Reads it as a connection would, and after damage as a file would.
fn is_messages(bytes: &[u8], cut: usize) -> bool {
    let mut decoder = Decoder::default();
    let mut n_messages = 0;
    for piece in [&bytes[..cut], &bytes[cut..]] {
        decoder.buffer().extend_from_slice(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => n_messages += usize::from(reads_back(&frame)),
                Ok(None) => break,
                Err(_) => assert!(decoder.resume() > 0, "damage is never left behind"),
            }
        }
    }
    let n_left = bytes.len() as u64 - decoder.position();
    assert_eq!(decoder.finish().is_ok(), n_left == 0, "what is left is half a frame");
    n_messages > 0
}

fn reads_back(frame: &Frame) -> bool {
    let Ok(message) = Message::decode(frame) else {
        return false;
    };
    let mut again = Decoder::default();
    if let Err(refused) = message.encode(again.buffer()) {
        // What a writer may leave out is written, which can be too much for a frame; nothing else can.
        assert!(matches!(refused, MessageError::TooMany { of: "bytes", .. }), "{refused}");
        assert!(again.buffer().is_empty(), "what was refused is left behind");
        return true;
    }
    let again = again.next_frame().expect("what was written is a frame").expect("a whole one");
    let again = Message::decode(&again).expect("what was read can be read again");
    // NaN is a value here, so texts are compared.
    assert_eq!(format!("{again:?}"), format!("{message:?}"), "a message reads back as another one");
    true
}
