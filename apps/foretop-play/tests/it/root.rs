//! A processor that is taken away for real, by a control group's quota.

use std::path::Path;

use clock::{Clock, System, thread_cpu};
use playback::stretch::{Format, Stretcher, Tier};
use playback::{Lead, Processor, Work};
use workload::{ControlGroup, Worker};

const FORMAT: Format = Format { sample_rate_hertz: 48_000, n_channels: 2 };
/// Eight times 32: a quota is a millisecond at least, of which 32 streams without search take a part.
const N_STREAMS: usize = 256;
const BLOCK_SECONDS: f64 = 0.02;
const RATE: f64 = 0.9;

/// Seconds with all of the processor, and in a burst of somebody else's.
const QUIET_SECONDS: f64 = 2.0;
const BURST_SECONDS: f64 = 4.0;

#[test]
#[ignore = "needs root; run by make test"]
fn where_a_quota_lets_full_search_fall_behind_the_tier_is_lower_before_the_first_late_block() {
    let [full, plain] = [Tier::Full, Tier::Plain].map(|tier| Streams::new(false).cost(tier));
    assert!(
        plain < 0.7 * full,
        "a second of full search takes {full} s of the processor, and without search {plain} s"
    );
    eprintln!("full search takes {full:.4} of a core, no search {plain:.4}");
    let group = Group::new();
    let quota_cores = (full * plain).sqrt();
    let heeding = Streams::new(true).play(&group, quota_cores, 2);
    let blind = Streams::new(false).play(&group, quota_cores, 1);
    eprintln!("bursts leave {quota_cores:.4}: {heeding:?}, and blind, in one burst, {blind:?}");
    assert!(blind.n_late > 0, "full search has to fall behind: {blind:?}");
    assert!(heeding.lowest > Tier::Full, "{heeding:?}");
    // On a machine of one's own none are late, in twice as many bursts. Others may take the processor for a second,
    // which no lead outlasts.
    assert!(heeding.n_late <= blind.n_late, "{heeding:?}, blind {blind:?}");
}

/// What became of some bursts.
#[derive(Debug)]
struct Played {
    n_late: usize,
    lowest: Tier,
}

/// Streams that are stretched side by side, as a mixer of many voices does, with what `foretop play` decides by.
struct Streams {
    stretchers: Vec<Stretcher>,
    sound: Vec<f32>,
    at: usize,
    tier: Tier,
    processor: Option<Processor>,
}

impl Streams {
    fn new(heeds_processor: bool) -> Self {
        let mut noise = 1_u32;
        let samples = 2 * FORMAT.sample_rate_hertz as usize;
        let sound = (0..samples).map(|idx| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((idx / 2) as f32 * 0.02).sin() * 0.4 + (noise >> 16) as f32 / 65_536.0 * 0.2
        });
        Self {
            stretchers: vec![Stretcher::new(FORMAT, Tier::Full).unwrap(); N_STREAMS],
            sound: sound.collect(),
            at: 0,
            tier: Tier::Full,
            processor: heeds_processor.then(|| Processor::new("AUTO".parse().unwrap())),
        }
    }

    /// Makes the next block of all streams.
    fn make(&mut self) {
        let n = (BLOCK_SECONDS * RATE * f64::from(FORMAT.sample_rate_hertz)) as usize * usize::from(FORMAT.n_channels);
        if self.at + n > self.sound.len() {
            self.at = 0;
        }
        let block = &self.sound[self.at..][..n];
        let mut out = Vec::new();
        for stretcher in &mut self.stretchers {
            stretcher.set_tier(self.tier);
            stretcher.push(block, RATE).unwrap();
            stretcher.pull(&mut out);
            out.clear();
        }
        self.at += n;
    }

    /// Processor seconds that a second of sound takes.
    fn cost(mut self, tier: Tier) -> f64 {
        self.tier = tier;
        let before = thread_cpu();
        let n_blocks = 100;
        (0..n_blocks).for_each(|_| self.make());
        (thread_cpu() - before).as_secs_f64() / (f64::from(n_blocks) * BLOCK_SECONDS)
    }

    /// Plays quiet times with a burst after each.
    fn play(mut self, group: &Group, quota_cores: f64, n_bursts: u32) -> Played {
        let clock = System::start();
        let now = || clock.monotonic().as_secs_f64();
        let (mut lead, mut lowest, mut before) = (Lead::new(BLOCK_SECONDS), Tier::Full, now());
        let cycle = QUIET_SECONDS + BURST_SECONDS;
        let mut is_burst = false;
        while now() < f64::from(n_bursts) * cycle {
            if is_burst != (now() % cycle >= QUIET_SECONDS) {
                is_burst = !is_burst;
                group.limit(is_burst.then_some(quota_cores));
            }
            let is_busy = self.processor.as_ref().is_some_and(Processor::is_in_a_hurry);
            let wanted = lead.wanted(now(), None, is_busy);
            let (began, cpu) = (now(), thread_cpu());
            (0..wanted.n_blocks).for_each(|_| self.make());
            let work = Work {
                processor_seconds: (thread_cpu() - cpu).as_secs_f64(),
                busy_seconds: now() - began,
                media_seconds: wanted.n_blocks as f64 * BLOCK_SECONDS * RATE,
                tier: self.tier,
            };
            if let Some(processor) = &mut self.processor {
                if wanted.is_short {
                    processor.hurry();
                }
                processor.step(&work, RATE, now() - before);
                self.tier = processor.next_tier(self.tier, RATE, RATE, None);
                lowest = lowest.max(self.tier);
            }
            before = now();
            clock::sleep(std::time::Duration::from_secs_f64(BLOCK_SECONDS));
        }
        group.limit(None);
        Played { n_late: lead.n_late(), lowest }
    }
}

/// A control group that this process is in, whose quota is set at will.
struct Group {
    load: workload::Load,
    _inside: workload::Inside,
}

impl Group {
    fn new() -> Self {
        // Every part of `make test` has built both.
        let program = Path::new(env!("CARGO_BIN_EXE_foretop-play")).with_file_name("foretop");
        let worker = Worker { program, arguments: ["internal", "load-worker"].map(Into::into).to_vec() };
        let load = workload::find("limited-to-half").unwrap().start(1, &worker).unwrap();
        let inside = load.group().unwrap().enter().unwrap();
        let group = Self { load, _inside: inside };
        group.limit(None);
        group
    }

    /// So many cores in periods of a tenth of a second, or no limit.
    fn limit(&self, cores: Option<f64>) {
        let group = self.load.group().map(ControlGroup::directory).unwrap();
        let quota_us = cores.map(|cores| (cores * 100_000.0).round().to_string());
        let (file, none) = ("cpu.cfs_quota_us", "-1".to_owned());
        if group.join(file).exists() {
            std::fs::write(group.join(file), quota_us.unwrap_or(none)).unwrap();
        } else {
            let quota = quota_us.unwrap_or_else(|| "max".to_owned());
            std::fs::write(group.join("cpu.max"), format!("{quota} 100000")).unwrap();
        }
    }
}
