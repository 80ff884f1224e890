//! The study of the kernel: what follows from the report alone, which needs no root.

use crate::kernel;

#[test]
fn the_report_s_digits_are_answered_as_published() {
    let folder = tempfile::tempdir().unwrap();
    let output = kernel(&["study", "--only", "(table 7-", "--out", folder.path().to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("Verdict: as published").count(), 5, "{text}");
    let page = std::fs::read_to_string(folder.path().join("study.html")).unwrap();
    assert!(page.contains("0.070 + 1.315 + 0.186 + 0.029") && page.contains("<svg"));
    assert!(folder.path().join("open-published.svg").is_file());
}
