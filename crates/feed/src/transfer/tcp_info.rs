//! The kernel's statistics of a TCP connection: `TCP_INFO` of Linux, `include/uapi/linux/tcp.h`.
//!
//! The only file of this crate with `unsafe` in it. No library that we found reads this option without it, or says how
//! much of the record an older kernel left unfilled.

use std::{
    io,
    mem::offset_of,
    net::TcpStream,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    time::Duration,
};

/// The record up to and with `tcpi_delivery_rate`, which the kernel has since 4.9.
const RECORD_BYTES: usize = 168;

/// The offsets of the fields that are used. The record only ever grew at its end, and the C library has its beginning.
const SND_MSS_AT: usize = offset_of!(libc::tcp_info, tcpi_snd_mss);
const SACKED_AT: usize = offset_of!(libc::tcp_info, tcpi_sacked);
const RTT_AT: usize = offset_of!(libc::tcp_info, tcpi_rtt);
const TOTAL_RETRANS_AT: usize = offset_of!(libc::tcp_info, tcpi_total_retrans);
const BYTES_ACKED_AT: usize = 120;
const MIN_RTT_AT: usize = 148;
const DATA_SEGS_IN_AT: usize = 152;
const DATA_SEGS_OUT_AT: usize = 156;
const DELIVERY_RATE_AT: usize = 160;

/// The kernel's statistics of a connection from its beginning to this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpInfo {
    /// Bytes that have arrived at the other side: those it has acknowledged, and segments that it has out of order
    /// (SACK).
    pub arrived_bytes: u64,
    /// Segments with data that have arrived here, in order or not.
    pub n_segments_in: u32,
    /// Segments with data that were sent, those sent again included.
    pub n_segments_out: u32,
    /// Segments that were sent again.
    pub n_sent_again: u32,
    /// The shortest round trip, which is the path's own, or the smoothed one if there is none.
    pub round_trip: Duration,
    /// The rate of delivery in about the last round trip in which data did not run out, in bytes per second.
    pub delivery_rate_bytes_per_sec: u64,
}

impl TcpInfo {
    /// # Errors
    /// When the kernel does not say, or says less than kernels since Linux 4.9 do.
    pub(super) fn of(stream: &TcpStream) -> io::Result<TcpInfo> {
        let mut record = [0; RECORD_BYTES];
        let n_bytes = read(stream.as_fd(), &mut record)?;
        if n_bytes < RECORD_BYTES {
            let reason = format!("the kernel says {n_bytes} bytes about a TCP connection; {RECORD_BYTES} are needed");
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        Ok(TcpInfo::parse(&record))
    }

    fn parse(record: &[u8; RECORD_BYTES]) -> TcpInfo {
        let shortest = short(record, MIN_RTT_AT);
        let is_known = shortest != 0 && shortest != u32::MAX;
        let round_trip_us = if is_known { shortest } else { short(record, RTT_AT) };
        let out_of_order_bytes = u64::from(short(record, SACKED_AT)) * u64::from(short(record, SND_MSS_AT));
        TcpInfo {
            arrived_bytes: long(record, BYTES_ACKED_AT).saturating_add(out_of_order_bytes),
            n_segments_in: short(record, DATA_SEGS_IN_AT),
            n_segments_out: short(record, DATA_SEGS_OUT_AT),
            n_sent_again: short(record, TOTAL_RETRANS_AT),
            round_trip: Duration::from_micros(round_trip_us.into()),
            delivery_rate_bytes_per_sec: long(record, DELIVERY_RATE_AT),
        }
    }
}

fn short(record: &[u8; RECORD_BYTES], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&record[at..at + 4]);
    u32::from_ne_bytes(bytes)
}

fn long(record: &[u8; RECORD_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[at..at + 8]);
    u64::from_ne_bytes(bytes)
}

/// Fills `record` from its beginning, and says how far.
#[expect(unsafe_code, reason = "no library offers this option of a socket")]
fn read(socket: BorrowedFd<'_>, record: &mut [u8; RECORD_BYTES]) -> io::Result<usize> {
    let mut n_bytes = size_of_val(record) as libc::socklen_t;
    // SAFETY: The descriptor is open for as long as it is borrowed. The kernel writes no more than `n_bytes` bytes to
    // `record`, which has that many, any of which may have any value, and sets `n_bytes` to how many it wrote; both
    // outlive the call.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            record.as_mut_ptr().cast(),
            &raw mut n_bytes,
        )
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(n_bytes as usize)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn fields_are_read_from_their_places() {
        let mut record = [0xff; RECORD_BYTES];
        let shorts = [
            (SND_MSS_AT, 1448_u32),
            (SACKED_AT, 3),
            (TOTAL_RETRANS_AT, 7),
            (MIN_RTT_AT, 250),
            (DATA_SEGS_IN_AT, 9),
            (DATA_SEGS_OUT_AT, 700),
        ];
        for (at, value) in shorts {
            record[at..][..4].copy_from_slice(&value.to_ne_bytes());
        }
        record[BYTES_ACKED_AT..][..8].copy_from_slice(&1_000_000_u64.to_ne_bytes());
        record[DELIVERY_RATE_AT..][..8].copy_from_slice(&5_u64.to_ne_bytes());
        let expected = TcpInfo {
            arrived_bytes: 1_000_000 + 3 * 1448,
            n_segments_in: 9,
            n_segments_out: 700,
            n_sent_again: 7,
            round_trip: Duration::from_micros(250),
            delivery_rate_bytes_per_sec: 5,
        };
        assert_eq!(TcpInfo::parse(&record), expected);
    }

    #[test]
    fn without_a_shortest_round_trip_the_smoothed_one_stands_in() {
        let mut record = [0xff; RECORD_BYTES];
        record[RTT_AT..][..4].copy_from_slice(&90_u32.to_ne_bytes());
        assert_eq!(TcpInfo::parse(&record).round_trip, Duration::from_micros(90));
    }

    #[test]
    fn the_kernel_tells_of_a_connection_that_has_just_begun() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = TcpInfo::of(&stream).unwrap();
        assert!(!info.round_trip.is_zero());
        assert_eq!((info.n_segments_out, info.n_sent_again), (0, 0));
    }
}
