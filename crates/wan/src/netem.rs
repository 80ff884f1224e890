//! The same links for kernels that have netem: commands of `tc` for the gateway of each site.

use std::time::Duration;

use netmodel::{Order, Profile, Rules};
use units::{Bandwidth, ByteCount};

use crate::plan::{LinkPlan, Plan, PlanError};

/// Bytes of a packet: netem's limit counts packets, and most are of this size.
const PACKET_BYTES: u64 = 1_500;

/// Returns the lines of a shell script: run with `DEVICE` set on the gateway of each site, the part of that site. What
/// netem cannot do stands in comments.
///
/// # Errors
/// [`PlanError`] if a link makes no sense.
pub fn netem_commands(plan: &Plan) -> Result<String, PlanError> {
    plan.all_links()?;
    let mut text = "#!/bin/sh\n# Usage: DEVICE=eth1 SITE=NAME sh FILE, on the gateway of each site; DEVICE leads to the other sites.\nset -eu\ncase \"$SITE\" in\n".to_owned();
    for (at, site) in plan.sites.iter().enumerate() {
        let links: Vec<&LinkPlan> = plan.links.iter().filter(|link| link.from == at).collect();
        // `prio` has 2 to 16 bands, and the first ones are for what no filter matches.
        text += &format!(
            "{})\n    tc qdisc replace dev \"$DEVICE\" root handle 1: prio bands {} priomap{}\n",
            site.name,
            links.len().max(1) + 1,
            " 0".repeat(16)
        );
        for (band, link) in (2..).zip(links) {
            let (to, subnet) = (&plan.sites[link.to].name, Plan::subnet(link.to));
            match netem(link) {
                Some(netem) => {
                    text += &format!(
                        "    tc qdisc add dev \"$DEVICE\" parent 1:{band} handle {band}0: netem {netem}\n    \
                         tc filter add dev \"$DEVICE\" parent 1: protocol ip u32 match ip dst {subnet} flowid 1:{band}  # to {to}\n"
                    );
                }
                None => text += &format!("    # The link to {to} follows a trace, which netem cannot.\n"),
            }
        }
        text += "    ;;\n";
    }
    Ok(text + "*) echo \"there is no site $SITE\" >&2; exit 2 ;;\nesac\n")
}

/// Returns the arguments for one link; `None` if it has no constant latency.
fn netem(link: &LinkPlan) -> Option<String> {
    let described = &link.description;
    let profile = described.profile.as_ref().and_then(|name| Profile::named(name).ok()).map(|profile| profile.means);
    let is_constant = described.trace.is_none() && described.deviation.is_none() && !described.drawn;
    let latency = described.latency.or(profile.map(|means| means.latency)).filter(|_| is_constant)?;
    let rate = described.bandwidth.or(profile.and_then(|means| means.bandwidth));
    let jitter = described.jitter.unwrap_or_default();
    // netem's jitter goes to both sides of the delay.
    let mut text = format!("delay {}us", (latency + jitter / 2).as_micros());
    if !jitter.is_zero() {
        text += &format!(" {}us", (jitter / 2).as_micros());
    }
    if let Some(loss) = described.loss {
        let (percent, burst) = (loss.share() * 100.0, described.burst.unwrap_or(1.0));
        text += &match burst > 1.0 && percent < 100.0 {
            true => format!(" loss gemodel {:.6}% {:.6}%", percent / (burst * (1.0 - loss.share())), 100.0 / burst),
            false => format!(" loss {percent}%"),
        };
    }
    if let Some(rate) = rate {
        text += &format!(" rate {}bit", rate.bits_per_sec());
    }
    text += &format!(" limit {}", limit(described.queue.unwrap_or(Rules::QUEUE), latency + jitter, rate));
    // Without jitter nothing can overtake.
    if described.order == Order::Fifo && !jitter.is_zero() {
        text += "  # overtakes where jitter lets it";
    }
    Some(text)
}

/// Returns the limit in packets: netem counts what travels too, and silently drops what is beyond its limit of 1,000.
fn limit(queue: ByteCount, travel: Duration, rate: Option<Bandwidth>) -> u64 {
    let travelling = rate.map_or(0, |rate| (travel.as_secs_f64() * rate.bits_per_sec() as f64 / 8.0) as u64);
    ((queue.bytes() + travelling) / PACKET_BYTES).max(1_000)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_link_becomes_a_command_with_room_for_what_travels() {
        let text = "format = 1\n[[site]]\nname = \"a\"\nhosts = [\"a0\"]\n[[site]]\nname = \"b\"\nhosts = [\"b0\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nlatency = \"50ms\"\nbandwidth = \"1 Gbit/s\"\nloss = \"1%\"\nburst = 4.0\njitter = \"2ms\"\norder = \"free\"\n\
            [[link]]\nfrom = \"b\"\nto = \"a\"\nlatency = \"50ms\"\ndeviation = \"5ms\"\n";
        let commands = netem_commands(&Plan::parse(text, Path::new("")).unwrap()).unwrap();
        let right = "netem delay 51000us 1000us loss gemodel 0.252525% 25.000000% rate 1000000000bit limit 7129\n";
        assert!(commands.contains(right), "{commands}");
        assert!(commands.contains("match ip dst 198.18.2.0/24 flowid 1:2  # to b"), "{commands}");
        assert!(commands.contains("# The link to a follows a trace"), "{commands}");
    }
}
