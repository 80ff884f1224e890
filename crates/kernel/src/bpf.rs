//! The arm of programs in the kernel: loads what is compiled in, attaches it, and reads its counters.
//!
//! Every program stands for itself: one whose tracepoint this kernel lacks is left out, and what is missing without it
//! is told. All that is attached goes with the process.

mod calibrate;
mod drive;
mod flood;
mod layout;
mod opener;
mod run_time;
mod software_event;
mod tracer;

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::{
    Btf, Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, ProgramMut, RawTracepointOpts, UprobeOpts,
    UsdtOpts,
};

pub use calibrate::{Calibration, calibrate};
pub use flood::{Flood, flood};
use layout::Settings;
pub use opener::BpfOpener;
use run_time::RunTimes;
pub use tracer::Tracer;

use crate::control::PointState;
use crate::{Arguments, Arm, Attach, Error, FIELDS_MAX, FromProc, GroupLimits, Node, Ran, Reading, Subsystem};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Room for records of traced points where nothing else is asked for.
pub const RING_BYTES: u32 = 4 << 20;

/// The kernel makes no ring smaller than a page, and a greater one than this would be most of a host's memory.
const PAGE: u32 = 4096;
const RING_BYTES_MAX: u32 = 1 << 30;

/// Processes that a measured tree may have.
const TREE_PROCESSES_MAX: u32 = 1 << 16;

/// Directories where unified cgroups are mounted, by the two usual ways.
const CGROUP_ROOTS: [&str; 2] = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

/// A node that is measured by programs in the kernel, and what they share.
pub struct Bpf {
    node: Node,
    limits: GroupLimits,
    btf: Btf<'static>,
    tree: MapHandle,
    records: MapHandle,
    /// The subsystem of points that a user named, once it has an arm.
    user: Cell<Option<&'static Subsystem>>,
    // Its programs keep the tree.
    _tree_keeper: Option<Loaded>,
}

/// Ways in which programs read the kernel's memory where it may be gone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loads {
    /// `bpf_rdonly_cast` and plain loads, which kernels since 6.17 take.
    Plain,
    /// A call that copies.
    Copied,
}

struct Loaded {
    object: Object,
    _links: Vec<Link>,
}

fn refused(subsystem: &'static str, doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Error {
    move |error| match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied if !is_root() => Error::NotAllowed,
        _ => Error::Refused { subsystem, doing, source: io::Error::other(error) },
    }
}

fn is_root() -> bool {
    // SAFETY: it only reads this process's user.
    unsafe { libc::geteuid() == 0 }
}

impl Bpf {
    /// Prepares to measure a node, with sizes in these groups.
    ///
    /// # Errors
    /// If programs cannot be loaded at all, or the node does not exist.
    pub fn open(node: Node, limits: GroupLimits) -> Result<Rc<Self>, Error> {
        Self::open_with_ring(node, limits, RING_BYTES)
    }

    /// Prepares likewise, with a ring of this size for records of traced points; the next power of two, and a page at
    /// least.
    ///
    /// # Errors
    /// As those of [`Self::open`], and if there is no memory for the ring.
    pub fn open_with_ring(node: Node, limits: GroupLimits, ring_bytes: u32) -> Result<Rc<Self>, Error> {
        libbpf_rs::set_print(None);
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(Error::NoBtf);
        }
        let btf = Btf::from_vmlinux().map_err(|_| Error::NoBtf)?;
        let tree = map(MapType::Hash, "tree", 4, 4, TREE_PROCESSES_MAX)?;
        let records =
            map(MapType::RingBuf, "records", 0, 0, ring_bytes.clamp(PAGE, RING_BYTES_MAX).next_power_of_two())?;
        let user = Cell::default();
        let mut opened = Self { node, limits, btf, tree, records, user, _tree_keeper: None };
        if let Node::Tree(root) = opened.node {
            opened._tree_keeper = Some(opened.keep_tree(root)?);
        }
        Ok(Rc::new(opened))
    }

    /// Returns the arm of a subsystem, with its programs attached; one without hooks is read from /proc.
    ///
    /// # Errors
    /// If the kernel does not take its programs.
    pub fn arm(self: &Rc<Self>, subsystem: &'static Subsystem) -> Result<Box<dyn Arm>, Error> {
        if subsystem.programs.is_empty() {
            return Ok(Box::new(FromProc::new(Path::new("/proc"), subsystem)));
        }
        if !crate::all().contains(&subsystem) {
            self.user.set(Some(subsystem));
        }
        Ok(Box::new(BpfArm::new(Rc::clone(self), subsystem)?))
    }

    /// Returns the subsystem that programs refer to by this number: that of points that a user named has none among
    /// all.
    fn subsystem(&self, number: usize) -> Option<&'static Subsystem> {
        crate::all().get(number).copied().or_else(|| self.user.get())
    }

    fn keep_tree(&self, root: u32) -> Result<Loaded, Error> {
        let pid = root.to_ne_bytes();
        if !Path::new(&format!("/proc/{root}")).exists() {
            return Err(Error::Node { text: self.node.to_string(), wrong: "there is no such process" });
        }
        self.tree.update(&pid, &1u32.to_ne_bytes(), MapFlags::ANY).map_err(refused("tree", "naming its root"))?;
        let object = self.load("tree", "tree", |_| true, |_| {})?;
        let links = object
            .progs_mut()
            .map(|program| program.attach().map_err(refused("tree", "attaching")))
            .collect::<Result<Vec<_>, _>>()?;
        // Those that descend from it already. What is forked meanwhile is caught by the programs.
        for child in descendants(root) {
            self.tree
                .update(&child.to_ne_bytes(), &1u32.to_ne_bytes(), MapFlags::ANY)
                .map_err(refused("tree", "naming a process"))?;
        }
        Ok(Loaded { object, _links: links })
    }

    /// Loads a file of programs; `wanted` says which, by name, and `set` prepares the settings. Programs load from the
    /// kernel's memory plainly where it takes them so, else by copies.
    fn load(
        &self,
        subsystem: &'static str,
        file: &str,
        wanted: impl Fn(&str) -> bool,
        set: impl Fn(&mut [u8]),
    ) -> Result<Object, Error> {
        match self.load_as(subsystem, file, &wanted, &set, Loads::Plain) {
            Err(_) => self.load_as(subsystem, file, &wanted, &set, Loads::Copied),
            loaded => loaded,
        }
    }

    fn load_as(
        &self,
        subsystem: &'static str,
        file: &str,
        wanted: &impl Fn(&str) -> bool,
        set: &impl Fn(&mut [u8]),
        loads: Loads,
    ) -> Result<Object, Error> {
        let bytes = object(file).expect("each subsystem with programs has a file of them");
        let mut open = ObjectBuilder::default().open_memory(bytes).map_err(refused(subsystem, "opening"))?;
        for mut program in open.progs_mut() {
            let is_wanted = program.name().to_str().is_some_and(wanted);
            program.set_autoload(is_wanted);
        }
        for mut map in open.maps_mut() {
            let name = map.name().to_os_string();
            match name.to_str() {
                Some("tree") => map.reuse_fd(self.tree.as_fd()).map_err(refused(subsystem, "sharing the tree"))?,
                Some("records") => {
                    map.reuse_fd(self.records.as_fd()).map_err(refused(subsystem, "sharing the ring"))?
                }
                Some(name) if name.ends_with(".data.settings") => {
                    set(map.initial_value_mut().expect("it has a value"));
                }
                Some(name) if name.ends_with(".rodata") => {
                    let number =
                        crate::all().iter().position(|found| found.name == subsystem).unwrap_or(usize::from(u16::MAX));
                    let value = map.initial_value_mut().expect("it has a value");
                    // `struct fixed`.
                    value[..2].copy_from_slice(&(number as u16).to_ne_bytes());
                    value[2] = u8::from(loads == Loads::Plain);
                }
                _ => {}
            }
        }
        open.load().map_err(refused(subsystem, "loading"))
    }

    /// Whether the kernel has this tracepoint.
    fn has_tracepoint(&self, name: &str) -> bool {
        self.btf.type_by_name::<libbpf_rs::btf::BtfType<'_>>(&format!("btf_trace_{name}")).is_some()
    }

    fn settings(&self, subsystem: &Subsystem) -> Result<Settings, Error> {
        let mut settings = Settings::new(&self.limits, subsystem.points.len());
        match &self.node {
            Node::Host => {}
            Node::Tree(_) => settings.node_kind = layout::NODE_TREE,
            Node::Cgroup(path) => {
                let wrong = |wrong| Error::Node { text: self.node.to_string(), wrong };
                let root = CGROUP_ROOTS.iter().find(|root| Path::new(root).join("cgroup.procs").exists());
                let root = root.ok_or_else(|| wrong("this host has no unified cgroups"))?;
                let below = path.strip_prefix(root).map_err(|_| wrong("this is no folder of the unified cgroups"))?;
                let found = path.metadata().map_err(|_| wrong("there is no such cgroup"))?;
                settings.node_kind = layout::NODE_CGROUP;
                // A cgroup's number is that of its folder.
                settings.cgroup = found.ino();
                settings.cgroup_level = u32::try_from(below.components().count()).unwrap_or(u32::MAX);
            }
        }
        Ok(settings)
    }
}

fn map(kind: MapType, name: &'static str, key: u32, value: u32, n_max: u32) -> Result<MapHandle, Error> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    MapHandle::create(kind, Some(name), key, value, n_max, &options).map_err(refused("records", "making a map"))
}

/// Returns all processes that descend from `root`, as /proc shows them.
fn descendants(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut left = vec![root];
    while let Some(pid) = left.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children: Vec<u32> = children.split_whitespace().filter_map(|child| child.parse().ok()).collect();
            found.extend_from_slice(&children);
            left.extend(children);
        }
    }
    found
}

/// Returns the number of programs of any subsystem that this host's kernel holds, whoever loaded them.
#[must_use]
pub fn n_loaded() -> usize {
    // The kernel keeps so many letters of a name.
    const LETTERS: usize = 15;
    let ours: Vec<&[u8]> = crate::all()
        .iter()
        .flat_map(|subsystem| subsystem.programs)
        .map(|program| &program.name.as_bytes()[..program.name.len().min(LETTERS)])
        .collect();
    libbpf_rs::query::ProgInfoIter::default().filter(|info| ours.contains(&info.name.as_bytes())).count()
}

/// A subsystem's programs in the kernel.
struct BpfArm {
    shared: Rc<Bpf>,
    subsystem: &'static Subsystem,
    settings: Settings,
    loaded: Option<Loaded>,
    /// Counts of programs that are no longer loaded.
    before: Reading,
    run_times: Option<RunTimes>,
    missing: Vec<String>,
}

impl BpfArm {
    fn new(shared: Rc<Bpf>, subsystem: &'static Subsystem) -> Result<Self, Error> {
        let settings = shared.settings(subsystem)?;
        let before = Reading::default();
        let mut arm = Self { shared, subsystem, settings, loaded: None, before, run_times: None, missing: Vec::new() };
        arm.attach()?;
        Ok(arm)
    }

    fn attach(&mut self) -> Result<(), Error> {
        self.missing.clear();
        let is_there = |attach| match attach {
            Attach::Tracepoint(name) | Attach::UserTracepoint(name, ..) => self.shared.has_tracepoint(name),
            Attach::SoftwareEvent(_) | Attach::UserFunction(..) | Attach::UserProbe(..) => true,
        };
        let wanted =
            |name: &str| self.subsystem.programs.iter().any(|program| program.name == name && is_there(program.attach));
        let settings = self.settings.bytes();
        let set = |value: &mut [u8]| value[..settings.len()].copy_from_slice(&settings);
        let object = self.shared.load(self.subsystem.name, self.subsystem.name, wanted, set)?;
        let mut links = Vec::new();
        for program in self.subsystem.programs {
            let attached =
                match object.progs_mut().find(|found| found.name() == program.name && is_there(program.attach)) {
                    Some(found) => attach_program(&found, program.attach, &mut links),
                    None => Err(io::ErrorKind::NotFound.into()),
                };
            if let Err(error) = attached {
                self.missing.push(format!("{}: {} ({error})", self.subsystem.name, program.without));
            }
        }
        self.loaded = Some(Loaded { object, _links: links });
        Ok(())
    }

    fn write_settings(&self) -> Result<(), Error> {
        let Some(loaded) = &self.loaded else { return Ok(()) };
        let map = layout::settings_map(&loaded.object);
        map.update(&0u32.to_ne_bytes(), &self.settings.bytes(), MapFlags::ANY)
            .map_err(refused(self.subsystem.name, "changing its settings"))
    }
}

/// The state of a traced point.
const TRACED: u8 = 2;

/// Returns when no program that began with old settings still runs, so that what it counted can be read.
fn until_all_programs_have_seen_it() {
    const GLOBAL: libc::c_long = 1;
    // SAFETY: it waits, and changes nothing. Where the kernel does not know it, programs of some hundred nanoseconds
    // are over anyway.
    unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) };
}

const ALL_PROCESSES: i32 = -1;

/// Returns the cookie for `bpf/user.bpf.c`: the point of an attachment, and which arguments are its size and its
/// fields.
fn cookie(point: usize, arguments: Arguments) -> u64 {
    let fields = arguments.fields.iter().take(FIELDS_MAX).map(|(_, argument)| *argument);
    let given = std::iter::once(arguments.size.unwrap_or(0)).chain(fields).enumerate();
    given.fold(point as u64, |cookie, (i, argument)| cookie | u64::from(argument) << (8 + 4 * i))
}

fn attach_program(found: &ProgramMut<'_>, attach: Attach, links: &mut Vec<Link>) -> io::Result<()> {
    match attach {
        Attach::Tracepoint(_) => links.push(found.attach().map_err(io::Error::other)?),
        Attach::UserTracepoint(name, point, arguments) => {
            let options = RawTracepointOpts { cookie: cookie(point, arguments), ..RawTracepointOpts::default() };
            links.push(found.attach_raw_tracepoint_with_opts(name, options).map_err(io::Error::other)?);
        }
        Attach::UserFunction(file, function, point, arguments) => {
            let cookie = cookie(point, arguments);
            let options = UprobeOpts { cookie, func_name: Some(function.into()), ..UprobeOpts::default() };
            links.push(found.attach_uprobe_with_opts(ALL_PROCESSES, file, 0, options).map_err(io::Error::other)?);
        }
        Attach::UserProbe(file, provider, name, point, arguments) => {
            let options = UsdtOpts { cookie: cookie(point, arguments), ..UsdtOpts::default() };
            let link = found.attach_usdt_with_opts(ALL_PROCESSES, file, provider, name, options);
            links.push(link.map_err(io::Error::other)?);
        }
        Attach::SoftwareEvent(number) => {
            for event in software_event::on_each_processor(number)? {
                // The link closes the event.
                links.push(found.attach_perf_event(event.into_raw_fd()).map_err(io::Error::other)?);
            }
        }
    }
    Ok(())
}

impl Arm for BpfArm {
    fn name(&self) -> &'static str {
        "bpf"
    }

    fn read(&mut self) -> Result<Reading, Error> {
        let Some(loaded) = &self.loaded else {
            return Ok(Reading { at_ns: clock::monotonic_ns(), ..self.before.clone() });
        };
        let ended = self.settings.epoch;
        self.settings.epoch += 1;
        self.write_settings()?;
        let reading = layout::read(&loaded.object, self.subsystem, ended).map_err(|source| Error::Refused {
            subsystem: self.subsystem.name,
            doing: "reading its counters",
            source,
        })?;
        Ok(layout::added(&self.before, reading))
    }

    fn set_weight(&mut self, weight: u32) -> Result<(), Error> {
        self.settings.weight = weight;
        self.write_settings()
    }

    fn set_states(&mut self, states: &[PointState]) -> Result<(), Error> {
        let was_tracing = self.settings.states.contains(&TRACED);
        for (byte, state) in self.settings.states.iter_mut().zip(states) {
            *byte = match state {
                PointState::Inactive => 0,
                PointState::Summary => 1,
                PointState::Trace => TRACED,
            };
        }
        self.write_settings()?;
        if was_tracing && !self.settings.states.contains(&TRACED) {
            until_all_programs_have_seen_it();
        }
        Ok(())
    }

    fn set_shed(&mut self, is_shed: bool) -> Result<(), Error> {
        if is_shed && self.loaded.is_some() {
            let mut last = self.read()?;
            // What is on its way now ends unseen.
            for flight in last.flights.values_mut() {
                (flight.ended, flight.ended_ns) = (flight.begun, flight.begun_ns);
            }
            self.before = last;
            self.loaded = None;
        } else if !is_shed && self.loaded.is_none() {
            self.attach()?;
        }
        Ok(())
    }

    fn begin_account(&mut self) {
        self.run_times = RunTimes::begin(self);
    }

    fn end_account(&mut self) -> Option<Ran> {
        self.run_times.take()?.end(self)
    }

    fn missing(&self) -> Vec<String> {
        self.missing.clone()
    }
}

#[cfg(test)]
mod root {
    use super::*;

    #[test]
    #[ignore = "needs root; scripts/kernel.sh test runs it"]
    fn programs_load_with_copies_where_the_kernel_takes_no_plain_loads() {
        let shared = Bpf::open(Node::Host, GroupLimits::default()).unwrap();
        let is_end = |name: &str| name.ends_with("_fault_ends");
        let object = shared.load_as("vm", "vm", &is_end, &|_| {}, Loads::Copied).unwrap();
        assert_eq!(object.progs().filter(|program| program.name().to_str().is_some_and(is_end)).count(), 2);
    }
}
