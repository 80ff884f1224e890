//! A run as records: one for each task and file, with the time of each operation.

use record::{Field, Kind, RecordType, Value};

use crate::{Access, Mode, Run};

/// The type `time-iow`, with SESAME's names for the parts of a plan.
#[must_use]
pub fn run_type() -> RecordType {
    let text = |name: &str, meaning: &str| Field::new(name, Kind::Text, "", meaning);
    let whole = |name: &str, unit: &str, meaning: &str| Field::new(name, Kind::Integer, unit, meaning);
    let fields = vec![
        whole("start_ns", "ns", "when the task began with the file, on the monotonic clock"),
        whole("bf", "", "number of the first file"),
        whole("ef", "", "number of the last file"),
        text("fm", "file mode: creat, write or read"),
        text("access", "buffered, direct or synchronous"),
        whole("nio", "", "operations on each file"),
        whole("bio", "bytes", "where the first begins"),
        whole("sio", "bytes", "size of each"),
        whole("str", "bytes", "from one to the next"),
        text("wd", "folder of the files"),
        text("device", "what is mounted there"),
        text("file_system", "its file system"),
        text("mount_options", "how it is mounted"),
        whole("sz", "", "tasks at the same time"),
        whole("task", "", "which of them this is"),
        whole("file", "", "which file this is"),
        whole("cache_ns", "ns", "dropping the file from the page cache"),
        whole("malloc_ns", "ns", "getting memory"),
        whole("open_ns", "ns", "opening the file"),
        whole("io_start_ns", "ns", "when the first operation began"),
        Field::new("mt2", Kind::Integers, "ns", "time of each operation"),
        whole("io_end_ns", "ns", "when the last had ended"),
        whole("end_ns", "ns", "when the file was closed"),
        whole("real_ns", "ns", "elapsed time of the whole run"),
        whole("user_ns", "ns", "processor time of the whole run, in its own code"),
        whole("sys_ns", "ns", "and in the kernel"),
    ];
    RecordType { name: "time-iow".into(), attributes: Vec::new(), fields }
}

/// A record for each task and file.
#[must_use]
pub fn run_values(run: &Run) -> Vec<Vec<Value>> {
    let whole = |number: u64| Value::Integer(number.cast_signed());
    let text = |text: &str| Value::Text(text.into());
    let plan = &run.plan;
    let mode = match plan.mode {
        Mode::Create => "creat",
        Mode::Write => "write",
        Mode::Read => "read",
    };
    let access = match plan.access {
        Access::Buffered => "buffered",
        Access::Direct => "direct",
        Access::Synchronous => "synchronous",
    };
    let record = |task: &crate::Task| {
        vec![
            whole(task.start_ns),
            whole(u64::from(*plan.files.start())),
            whole(u64::from(*plan.files.end())),
            text(mode),
            text(access),
            whole(plan.n_operations),
            whole(plan.first_byte),
            whole(plan.size_bytes),
            whole(plan.stride_bytes),
            text(&plan.folder.to_string_lossy()),
            text(&run.place.device),
            text(&run.place.file_system),
            text(&run.place.options),
            whole(u64::from(plan.n_tasks)),
            whole(u64::from(task.task)),
            whole(u64::from(task.file)),
            whole(task.cache.span_ns),
            whole(task.memory.span_ns),
            whole(task.open.span_ns),
            whole(task.first_ns),
            Value::Integers(task.times_ns.iter().map(|time| time.cast_signed()).collect()),
            whole(task.last_ns),
            whole(task.end_ns),
            whole(run.elapsed_ns),
            whole(run.user_ns),
            whole(run.system_ns),
        ]
    };
    run.tasks.iter().map(record).collect()
}
