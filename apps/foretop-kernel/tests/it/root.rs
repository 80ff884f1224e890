//! With programs in the kernel.

use crate::kernel;

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn the_price_of_each_probe_is_measured() {
    let output = kernel(&["cost", "fs", "vm"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("filesystem.file_call_begins") && text.contains("first touch of a page"), "{text}");
}
