//! Messages through sockets: sent and received in software, and handed to a device.

use crate::{Attach, Counters, Drive, Error, FromProc, Point, Program, Reading, Subsystem, Timing};

/// The IPC subsystem, by size group of what was moved.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "ipc",
    title: "IPC",
    purpose: "messages through sockets of any kind: sent and received in software, and packets handed to a device",
    points: &[
        Point { name: "Send", label: "send, software", timing: Timing::Timed, is_sized: true },
        Point { name: "Receive", label: "receive, software", timing: Timing::Timed, is_sized: true },
        Point { name: "Transmit", label: "packet at the device", timing: Timing::Counted, is_sized: true },
    ],
    programs: &[
        at("message_call_begins", "sys_enter", "sends and receives"),
        at("message_is_sent", "sock_send_length", "sends"),
        at("message_is_received", "sock_recv_length", "receives"),
        at("packet_is_at_the_device", "net_dev_xmit", "packets at the device"),
    ],
    totals: &[],
    from_proc: read,
    proc_lacks: "sends and receives in software, and sizes of packets; it counts packets at the device",
    drive: Drive::Messages,
};

const fn at(name: &'static str, tracepoint: &'static str, without: &'static str) -> Program {
    Program { name, attach: Attach::Tracepoint(tracepoint), without }
}

/// Columns of the bytes and packets that went out in a line of /proc/net/dev.
const BYTES_OUT: usize = 8;
const PACKETS_OUT: usize = 9;

fn read(proc: &FromProc) -> Result<Reading, Error> {
    let (mut packets, mut bytes) = (0, 0);
    for line in proc.text("net/dev")?.lines() {
        let Some((_, numbers)) = line.split_once(':') else { continue };
        let numbers: Vec<u64> = numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        packets += numbers.get(PACKETS_OUT).unwrap_or(&0);
        bytes += numbers.get(BYTES_OUT).unwrap_or(&0);
    }
    let cell = Counters { count: Some(packets), sampled: packets, returned: Some(bytes), ..Counters::default() };
    Ok(Reading { cells: [((2, 0), cell)].into(), ..Reading::default() })
}
