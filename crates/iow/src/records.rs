//! A run as records: one for each task and file, with the time of each operation.

use record::{Field, Kind, RecordType, Value};

use crate::{Access, Mode, Run};

/// The type `time-iow`, with SESAME's names for the parts of a plan.
#[must_use]
pub fn run_type() -> RecordType {
    let fields = vec![
        Field::integer("start_ns", "ns", "when the task began with the file, on the monotonic clock"),
        Field::integer("bf", "", "number of the first file"),
        Field::integer("ef", "", "number of the last file"),
        Field::text("fm", "file mode: creat, write or read"),
        Field::text("access", "buffered, direct or synchronous"),
        Field::integer("nio", "", "operations on each file"),
        Field::integer("bio", "bytes", "where the first begins"),
        Field::integer("sio", "bytes", "size of each"),
        Field::integer("str", "bytes", "from one to the next"),
        Field::text("wd", "folder of the files"),
        Field::text("device", "what is mounted there"),
        Field::text("file_system", "its file system"),
        Field::text("mount_options", "how it is mounted"),
        Field::integer("sz", "", "tasks at the same time"),
        Field::integer("task", "", "which of them this is"),
        Field::integer("file", "", "which file this is"),
        Field::integer("cache_ns", "ns", "dropping the file from the page cache"),
        Field::integer("malloc_ns", "ns", "getting memory"),
        Field::integer("open_ns", "ns", "opening the file"),
        Field::integer("io_start_ns", "ns", "when the first operation began"),
        Field::new("mt2", Kind::Integers, "ns", "time of each operation"),
        Field::integer("io_end_ns", "ns", "when the last had ended"),
        Field::integer("end_ns", "ns", "when the file was closed"),
        Field::integer("real_ns", "ns", "elapsed time of the whole run"),
        Field::integer("user_ns", "ns", "processor time of the whole run, in its own code"),
        Field::integer("sys_ns", "ns", "and in the kernel"),
    ];
    RecordType { name: "time-iow".into(), attributes: Vec::new(), fields }
}

/// A record for each task and file.
#[must_use]
pub fn run_values(run: &Run) -> Vec<Vec<Value>> {
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
            Value::unsigned(task.start_ns),
            Value::unsigned(*plan.files.start()),
            Value::unsigned(*plan.files.end()),
            Value::text(mode),
            Value::text(access),
            Value::unsigned(plan.n_operations),
            Value::unsigned(plan.first_byte),
            Value::unsigned(plan.size_bytes),
            Value::unsigned(plan.stride_bytes),
            Value::text(&plan.folder.to_string_lossy()),
            Value::text(&run.place.device),
            Value::text(&run.place.file_system),
            Value::text(&run.place.options),
            Value::unsigned(plan.n_tasks),
            Value::unsigned(task.task),
            Value::unsigned(task.file),
            Value::unsigned(task.cache.span_ns),
            Value::unsigned(task.memory.span_ns),
            Value::unsigned(task.open.span_ns),
            Value::unsigned(task.first_ns),
            Value::Integers(task.times_ns.iter().map(|time| time.cast_signed()).collect()),
            Value::unsigned(task.last_ns),
            Value::unsigned(task.end_ns),
            Value::unsigned(run.elapsed_ns),
            Value::unsigned(run.user_ns),
            Value::unsigned(run.system_ns),
        ]
    };
    run.tasks.iter().map(record).collect()
}
