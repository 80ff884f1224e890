//! GPUs by AMD and Intel, from what their drivers offer in `/sys/class/drm`.
//!
//! A GPU is named after its place on the bus, because the numbers of cards change from boot to boot. One that is
//! suspended is not asked, which would wake it up, and is not busy.
//! Formats: `Documentation/gpu/amdgpu/driver-misc.rst`; `drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c`;
//! `drivers/gpu/drm/xe/xe_gt_idle.c`.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::counter::LastCount;
use crate::device::is_asleep;
use crate::tick::{Sensor, Tick};
use crate::value_file::{integer_at, names_in};

const BUSY: &Family = row("gpu.{gpu}.busy");
const AWAKE: &Family = row("gpu.{gpu}.awake");
const MEMORY_USED: &Family = row("gpu.{gpu}.memory.used");
const MEMORY_AVAILABLE: &Family = row("gpu.{gpu}.memory.available");

/// GPUs that are read: no host has more places for them.
const N_GPUS_MAX: usize = 16;

/// The milliseconds of the idle state by xe and i915, of later and earlier kernels.
const IDLE_FILES: [&str; 3] =
    ["device/tile0/gt0/gtidle/idle_residency_ms", "gt/gt0/rc6_residency_ms", "power/rc6_residency_ms"];

const MILLI: f64 = 1e-3;

/// The GPUs that were there when the host was opened.
pub(crate) struct Gpus {
    gpus: Vec<Gpu>,
}

impl Gpus {
    pub(crate) fn open(root: &Path) -> Option<Gpus> {
        let class = root.join("sys/class/drm");
        let mut gpus: Vec<Gpu> = Vec::new();
        for name in names_in(&class) {
            // Connectors are `card0-DP-1`.
            let is_card = name.strip_prefix("card").is_some_and(|rest| rest.parse::<u32>().is_ok());
            let gpu = Gpu::open(&class.join(&name)).filter(|_| is_card && gpus.len() < N_GPUS_MAX);
            gpus.extend(gpu.filter(|gpu| gpus.iter().all(|other| other.place != gpu.place)));
        }
        (!gpus.is_empty()).then_some(Gpus { gpus })
    }
}

impl Sensor for Gpus {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        for gpu in &mut self.gpus {
            let is_asleep = is_asleep(&gpu.device, tick.text);
            gpu.work.read(tick.at, is_asleep, tick.text, tick.readings);
            if is_asleep {
                continue;
            }
            // A GPU that was asleep before has not said how much memory it has.
            if gpu.memory.is_none() {
                gpu.memory = GpuMemory::open(&gpu.device, &gpu.place);
            }
            if let Some(memory) = &gpu.memory {
                memory.read(tick.text, tick.readings);
            }
        }
        Ok(())
    }
}

struct Gpu {
    /// The place on the bus.
    place: Vec<u8>,
    device: PathBuf,
    work: GpuWork,
    /// None until the GPU was awake, and if it does not say.
    memory: Option<GpuMemory>,
}

impl Gpu {
    fn open(card: &Path) -> Option<Gpu> {
        let device = card.join("device");
        let place = fs::read_link(&device).ok()?.file_name()?.as_bytes().to_owned();
        Some(Gpu { work: GpuWork::open(card, &place)?, place, device, memory: None })
    }
}

/// The use of a GPU's time.
enum GpuWork {
    /// The file has the percentage of time in which the GPU was busy.
    Busy { file: PathBuf, busy: Arc<Signal> },
    /// The file counts the milliseconds in which the GPU was idle.
    Awake { file: PathBuf, idle: LastCount, awake: Arc<Signal> },
}

impl GpuWork {
    fn open(card: &Path, place: &[u8]) -> Option<GpuWork> {
        let busy = card.join("device/gpu_busy_percent");
        if busy.exists() {
            return Some(GpuWork::Busy { file: busy, busy: Signal::labelled(BUSY, place) });
        }
        let file = IDLE_FILES.iter().map(|file| card.join(file)).find(|file| file.exists())?;
        Some(GpuWork::Awake { file, idle: LastCount::default(), awake: Signal::labelled(AWAKE, place) })
    }

    fn read(&mut self, at: Duration, is_asleep: bool, text: &mut Vec<u8>, readings: &mut Readings) {
        match self {
            GpuWork::Busy { busy, .. } if is_asleep => readings.push(busy, 0.0),
            GpuWork::Busy { file, busy } => {
                readings.push_some(busy, integer_at(file, text).map(|percent| percent as f64 / 100.0));
            }
            GpuWork::Awake { idle, awake, .. } if is_asleep => {
                // The counter may stand still meanwhile.
                *idle = LastCount::default();
                readings.push(awake, 0.0);
            }
            GpuWork::Awake { file, idle, awake } => {
                let count = integer_at(file, text).and_then(|count| u64::try_from(count).ok());
                let share = count.and_then(|count| idle.rate(at, count)).map(|idle| 1.0 - idle * MILLI);
                readings.push_some(awake, share);
            }
        }
    }
}

/// The memory of a GPU.
struct GpuMemory {
    file: PathBuf,
    total_bytes: f64,
    used: Arc<Signal>,
    available: Arc<Signal>,
}

impl GpuMemory {
    fn open(device: &Path, place: &[u8]) -> Option<GpuMemory> {
        let total = integer_at(&device.join("mem_info_vram_total"), &mut Vec::new()).filter(|&total| total > 0)?;
        let signal = |family| Arc::new(Arc::unwrap_or_clone(Signal::labelled(family, place)).up_to(total as f64));
        Some(GpuMemory {
            file: device.join("mem_info_vram_used"),
            total_bytes: total as f64,
            used: signal(MEMORY_USED),
            available: signal(MEMORY_AVAILABLE),
        })
    }

    fn read(&self, text: &mut Vec<u8>, readings: &mut Readings) {
        if let Some(used) = integer_at(&self.file, text) {
            readings.push(&self.used, used as f64);
            readings.push(&self.available, self.total_bytes - used as f64);
        }
    }
}
