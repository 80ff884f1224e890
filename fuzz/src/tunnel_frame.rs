//! Any bytes are a frame of a tunnel that is written as it was read, or are refused.

use tunnel::Frame;

/// Returns whether it was a frame.
///
/// # Panics
/// When it is written otherwise than it was read.
pub fn tunnel_frame(bytes: &[u8]) -> bool {
    let Ok(frame) = Frame::read(bytes) else {
        return false;
    };
    let mut written = Vec::new();
    frame.put(&mut written);
    assert_eq!(written[4..], *bytes, "{frame:?}");
    true
}
