//! Files are made, written and read as planned.

use iow::{Access, Error, Mode, Plan, run, run_type, run_values};

fn plan(folder: &std::path::Path, mode: Mode) -> Plan {
    Plan {
        folder: folder.into(),
        files: 3..=4,
        mode,
        access: Access::Buffered,
        n_operations: 10,
        first_byte: 100,
        size_bytes: 1000,
        stride_bytes: 1500,
        n_tasks: 2,
        clears_caches: true,
        removes: false,
    }
}

#[test]
fn each_operation_of_each_task_and_file_is_timed() {
    let folder = tempfile::tempdir().unwrap();
    let written = run(&plan(folder.path(), Mode::Create)).unwrap();
    let whose: Vec<_> = written.tasks.iter().map(|task| (task.task, task.file, task.times_ns.len())).collect();
    assert_eq!(whose, [(0, 3, 10), (0, 4, 10), (1, 3, 10), (1, 4, 10)]);
    assert_eq!(written.plan.path(1, 4).metadata().unwrap().len(), 100 + 9 * 1500 + 1000);
    for task in &written.tasks {
        assert_eq!(task.times_ns.iter().sum::<u64>(), task.last_ns - task.first_ns);
    }
    let read = run(&Plan { removes: true, ..plan(folder.path(), Mode::Read) }).unwrap();
    assert!(read.bytes_per_sec() > 0.0 && read.tasks.iter().all(|task| task.cache.span_ns > 0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    for values in run_values(&read) {
        run_type().check(&values).unwrap();
    }
}

#[test]
fn a_file_that_is_too_short_is_told_with_its_end() {
    let folder = tempfile::tempdir().unwrap();
    run(&plan(folder.path(), Mode::Create)).unwrap();
    let error = run(&Plan { n_operations: 11, ..plan(folder.path(), Mode::Read) }).unwrap_err();
    assert!(matches!(error, Error::Short { end: 14600, at: 15100, .. }), "{error}");
}

#[test]
fn a_plan_without_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |plan: Plan| run(&plan).unwrap_err().to_string();
    let sane = plan(folder.path(), Mode::Create);
    assert!(refused(Plan { size_bytes: 0, ..sane.clone() }).contains("from 1 byte to 1 GiB"));
    assert!(refused(Plan { access: Access::Direct, ..sane.clone() }).contains("multiple of 512"));
    assert!(refused(Plan { n_tasks: 0, ..sane }).contains("from 1 to 1024"));
}
