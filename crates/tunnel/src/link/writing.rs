//! The writer: control frames first, then groups, as many at once as there are.

use std::sync::atomic::Ordering;
use std::time::Duration;

use clock::Stopwatch;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::Link;
use crate::error::LinkError;
use crate::frame::Frame;

/// The interval at which the peer is asked whether it is there.
const PING: Duration = Duration::from_secs(15);
/// Frames are gathered until they have as many bytes.
const N_GATHERED: usize = 1 << 16;

pub(super) async fn write(
    link: &Link,
    mut writer: impl AsyncWrite + Unpin,
    mut control: mpsc::UnboundedReceiver<Frame>,
    mut groups: mpsc::Receiver<Frame>,
) -> LinkError {
    let mut pings = tokio::time::interval(PING);
    let mut n_pings = 0;
    let mut bytes = Vec::new();
    loop {
        let mut n_groups = 0;
        let frame = tokio::select! {
            biased;
            frame = control.recv() => frame,
            frame = groups.recv() => {
                n_groups += 1;
                frame
            }
            _ = pings.tick() => {
                n_pings += 1;
                Some(Frame::Ping { number: n_pings })
            }
        };
        let Some(frame) = frame else {
            return LinkError::Ended;
        };
        bytes.clear();
        frame.put(&mut bytes);
        while bytes.len() < N_GATHERED {
            let mut group = || groups.try_recv().inspect(|_| n_groups += 1);
            let Ok(frame) = control.try_recv().or_else(|_| group()) else {
                break;
            };
            frame.put(&mut bytes);
        }
        let busy = Stopwatch::start();
        let written = async {
            writer.write_all(&bytes).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            return error.into();
        }
        link.n_unwritten.fetch_sub(n_groups, Ordering::Relaxed);
        link.common.counters.writer_busy_ns_total.add(busy.elapsed_ns());
        link.common.counters.wire_out_bytes_total.add(bytes.len() as u64);
    }
}
