//! The page about the signals.

use expect_test::expect_file;

#[test]
fn the_page_about_signals_says_what_the_table_says() {
    expect_file!["../../../../docs/signals.md"].assert_eq(&signal::signals_markdown());
}
