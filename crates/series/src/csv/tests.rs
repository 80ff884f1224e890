//! Texts as people, programs and spreadsheets write them, and what is refused of them.

use super::*;

#[track_caller]
fn read_text(text: &str, options: &Options) -> Result<Series, CsvError> {
    read(text.as_bytes(), options)
}

#[track_caller]
fn check_samples(text: &str, expected: &[f64]) {
    assert_eq!(read_text(text, &Options::default()).unwrap().samples(), expected);
}

#[track_caller]
fn check_refused(text: &str, message: &str) {
    assert_eq!(read_text(text, &Options::default()).unwrap_err().to_string(), message);
}

#[test]
fn a_number_a_line_needs_no_header() {
    check_samples("1\n2.5\n-3e2\n", &[1.0, 2.5, -300.0]);
    check_samples("load\n1\n2\n", &[1.0, 2.0]);
    check_samples("# recorded on db1\n1\n2\n", &[1.0, 2.0]);
}

#[track_caller]
fn check_gaps(text: &str, expected: &[Option<f64>]) {
    let series = read_text(text, &Options::default()).unwrap();
    let samples: Vec<Option<f64>> = series.samples().iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
    assert_eq!(samples, expected, "{text:?}");
}

#[test]
fn an_empty_line_of_one_column_is_a_gap_wherever_it_stands() {
    check_gaps("1\n\n2\n", &[Some(1.0), None, Some(2.0)]);
    check_gaps("1\r\n\r\n2\r\n", &[Some(1.0), None, Some(2.0)]);
    check_gaps("\n\n1\n2", &[None, None, Some(1.0), Some(2.0)]);
    check_gaps("load\n\n1\n", &[None, Some(1.0)]);
    check_gaps("1\n\n\n", &[Some(1.0), None, None]);
    check_gaps("1\n# the sensor was off\n\n2\n", &[Some(1.0), None, Some(2.0)]);
    check_gaps("1\n\"\"\n2\n", &[Some(1.0), None, Some(2.0)]);
}

#[test]
fn the_newline_of_the_last_line_and_empty_lines_before_a_header_are_no_gaps() {
    check_gaps("1\n2", &[Some(1.0), Some(2.0)]);
    check_gaps("1\n2\n", &[Some(1.0), Some(2.0)]);
    check_gaps("\nload\n1\n", &[Some(1.0)]);
    check_gaps("\"load\n\nof db1\"\n1\n", &[Some(1.0)]);
}

#[test]
fn an_empty_line_of_several_columns_is_nothing() {
    let text = "time,cpu\n\n2014-02-14 14:30:00,1\n\n2014-02-14 14:31:00,2\n\n";
    check_samples(text, &[1.0, 2.0]);
}

#[test]
fn a_line_after_empty_ones_is_named_by_its_own_number() {
    check_refused(
        "1\n\nthree\n",
        "line 3, column 1: `three` is not a number; a missing sample is an empty cell or NaN",
    );
}

#[test]
fn names_of_rows_are_no_samples() {
    check_samples("\"\",\"x\"\n\"1\",5\n\"2\",6\n", &[5.0, 6.0]);
    check_samples(",x\n0,5.0\n1,6.0\n", &[5.0, 6.0]);
    check_refused(
        ",x,y\n0,5,1\n",
        "there are several columns of samples (2 `x`, 3 `y`); choose one with its name or number",
    );
    // Without a header the first column may have a gap.
    check_refused(
        ",5\n1,6\n",
        "there are several columns of samples (1 ``, 2 `5`); choose one with its name or number",
    );
}

#[test]
fn dates_in_the_first_column_are_the_times() {
    let text = "timestamp,value\n2014-02-14 14:30:00,0.1\n2014-02-14 14:35:00,0.2\n2014-02-14 14:45:00,0.4\n";
    let series = read_text(text, &Options::default()).unwrap();
    assert_eq!(series.samples().len(), 4);
    assert_eq!(series.grid().map(|grid| grid.step.length().as_secs()), Some(300));
}

#[test]
fn gaps_are_written_in_several_ways() {
    let series =
        read_text("a,b\n1,\n2,NaN\n3,7\n", &Options { column: Some(Column::Number(2)), ..Options::default() }).unwrap();
    assert_eq!(series.n_gaps(), 2);
}

#[test]
fn a_word_among_numbers_is_refused_with_its_place() {
    check_refused(
        "1\n2\nthree\n",
        "line 3, column 1: `three` is not a number; a missing sample is an empty cell or NaN",
    );
    check_refused("1\ninf\n", "line 2, column 1: `inf` is not a number; a missing sample is an empty cell or NaN");
}

#[test]
fn nothing_is_no_series() {
    check_refused("", "there are no samples in it");
    check_refused("load\n", "there are no samples in it");
    check_refused("\n\n", "there are no samples in it");
}

#[test]
fn several_columns_need_a_choice() {
    check_refused(
        "time,cpu,net\n2014-02-14 14:30:00,1,2\n",
        "there are several columns of samples (2 `cpu`, 3 `net`); choose one with its name or number",
    );
    let named = Options { column: Some(Column::Name("net".into())), ..Options::default() };
    let text = "time,cpu,net\n2014-02-14 14:30:00,1,2\n2014-02-14 14:31:00,1,3\n";
    assert_eq!(read_text(text, &named).unwrap().samples(), [2.0, 3.0]);
}

#[test]
fn an_absent_column_is_named_beside_those_there_are() {
    let options = Options { column: Some(Column::Name("disk".into())), ..Options::default() };
    let error = read_text("cpu,net\n1,2\n", &options).unwrap_err();
    assert_eq!(error.to_string(), "there is no column `disk`; there are: 1 `cpu`, 2 `net`");
}

#[test]
fn plain_numbers_are_times_only_on_request() {
    let text = "0,5\n10,6\n20,7\n";
    let options = Options { time_column: Some(Column::Number(1)), ..Options::default() };
    assert_eq!(read_text(text, &options).unwrap().samples(), [5.0, 6.0, 7.0]);
    assert!(matches!(read_text(text, &Options::default()), Err(CsvError::ManyColumns { .. })));
}

#[test]
fn uneven_times_are_refused_by_line_and_brought_to_a_step() {
    let text = "at,load\n0,1\n\n70,2\n90,4\n200,5\n310,6\n330,7\n470,8\n640,9\n";
    let with = |resample| Options { time_column: Some(Column::Name("at".into())), resample, ..Options::default() };
    let error = read_text(text, &with(None)).unwrap_err();
    assert_eq!((error.to_string(), error.step_to_try()), ("line 4".into(), Some(Duration::from_secs(110))));
    let step = Duration::from_secs(100);
    let series = read_text(text, &with(Some((step, Resampling::Mean)))).unwrap();
    // Of 0; of 70 and 90; of 200; of none; of 310 and 330; of 470; of none.
    let known: Vec<Option<f64>> = series.samples().iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
    assert_eq!(known, [Some(1.0), Some(3.0), Some(5.0), None, Some(6.5), Some(8.0), None]);
    let no_times = Options { resample: Some((step, Resampling::Mean)), ..Options::default() };
    assert!(matches!(read_text("1\n2\n", &no_times), Err(CsvError::NoTimes)));
}

#[test]
fn no_more_rows_are_read_than_asked_for() {
    let options = Options { n_rows_max: Some(2), ..Options::default() };
    assert_eq!(read_text("1\n2\nbroken\n", &options).unwrap().samples(), [1.0, 2.0]);
}

#[test]
fn a_line_that_is_too_short_or_long_is_refused() {
    assert!(matches!(
        read_text("1,2\n3\n", &Options { column: Some(Column::Number(2)), ..Options::default() }),
        Err(CsvError::Ragged { line: 2, given: 1, needed: 2 })
    ));
}

#[track_caller]
fn check_error(text: impl AsRef<[u8]>, parts: &[&str]) {
    let error = read(text.as_ref(), &Options::default()).unwrap_err().to_string();
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn values_of_failed_formulas_are_gaps_and_no_comments() {
    let expected = [Some(1.0), None, None, Some(4.0)];
    check_gaps("1\n#N/A\n#DIV/0!\n4\n", &expected);
    check_gaps("#NUM!\n2\n#VALUE!\n", &[None, Some(2.0), None]);
    check_gaps("load\n1\n#N/A\n#n/a\n4\n", &expected);
    check_gaps("time;load\n2026-01-01;1\n2026-01-02;#NUM!\n2026-01-03;#NV\n2026-01-04;4\n", &expected);
    check_error("#WERT!\n1\n#WERT!\n", &["line 3, column 1: `#WERT!` is not a number"]);
    let times = "time,load\n#N/A,1\n2026-01-02,2\n2026-01-03,3\n";
    check_error(times, &["line 2, column 1: `#N/A` is no time"]);
    let samples_first = Options { column: Some(Column::Name("load".into())), ..Options::default() };
    let series = read_text("load,note\n#N/A,a\n5,b\n#REF!,c\n", &samples_first).unwrap();
    assert_eq!((series.samples().len(), series.n_gaps()), (3, 2));
}

#[test]
fn a_header_may_begin_with_a_number_sign() {
    let load = Options { column: Some(Column::Name("load".into())), ..Options::default() };
    let rows = "2026-01-01,3\n2026-01-02,4\n";
    for header in ["#time,load", "# time,load", "# of db1\n#time,load", "#of db1\n# time,load", "# x\n# time, load"] {
        let series = read_text(&format!("{header}\n{rows}"), &load);
        if header.starts_with("#of") {
            // A line without a blank after the sign is a row.
            assert!(matches!(series, Err(CsvError::NoSuchColumn { .. })), "{header}");
        } else {
            assert_eq!(series.unwrap().samples(), [3.0, 4.0], "{header}");
        }
    }
    check_samples("#load\n1\n2\n", &[1.0, 2.0]);
    check_samples("# load, of db1\nload\n1\n2\n", &[1.0, 2.0]);
    check_samples("#\n## a\n#!b\n1\n#\n2\n", &[1.0, 2.0]);
}

#[test]
fn semicolons_with_decimal_commas_and_days_first_are_read() {
    let series = read_text("Zeit;Last\n01.02.2026;1,5\n02.02.2026;1.234,5\n3.2.2026;-0,25\n", &Options::default());
    let series = series.unwrap();
    assert_eq!(series.samples(), [1.5, 1234.5, -0.25]);
    let grid = series.grid().unwrap();
    assert_eq!((grid.start.to_string(), grid.step.length().as_secs()), ("2026-02-01T00:00:00Z".to_owned(), 86_400));
    check_samples("01.02.2026 09:00;1,5\n01.02.2026 09:05;2\n", &[1.5, 2.0]);
    check_samples("sep=;\n2026-01-01;1,5\n2026-01-02;2,5\n", &[1.5, 2.5]);
    check_samples("# made by hand\nsep=;\nt;x\n2026-01-01;1\n2026-01-02;2\n", &[1.0, 2.0]);
    check_samples("t,a;b\n2026-01-01,1\n2026-01-02,2\n", &[1.0, 2.0]);
}

#[test]
fn numbers_have_thousands_and_one_decimal_mark_a_file() {
    check_samples("\"1,234\"\n\"12,345,678.5\"\n900\n", &[1234.0, 12_345_678.5, 900.0]);
    check_samples("t;x\n2026-01-01;1'234.5\n2026-01-02;1\u{2019}234\n", &[1234.5, 1234.0]);
    check_samples("t;x\n2026-01-01;1\u{a0}234,5\n2026-01-02;1\u{202f}234\n", &[1234.5, 1234.0]);
    check_samples("t;x\n2026-01-01;1 234,5\n2026-01-02;1.234\n", &[1234.5, 1234.0]);
    check_samples("load\n1 234\n12\n", &[1234.0, 12.0]);
    check_samples("t;x\n2026-01-01;1.5\n2026-01-02;1.234\n", &[1.5, 1.234]);
    check_samples("t\tx\n2026-01-01\t1.234\n2026-01-02\t1,234.5\n", &[1.234, 1234.5]);
    check_samples("\u{2212}5\n+2\n1e3\n.5\n7.\n", &[-5.0, 2.0, 1000.0, 0.5, 7.0]);
    // A blank may separate columns.
    check_error("10 100\n11 101\n", &["line 1, column 1: `10 100` is not a number"]);
    check_error("1,5\n2,5\n", &["several columns"]);
    check_error("\"1,5\"\n\"2,5\"\n", &["line 1, column 1: `1,5`", "decimal mark"]);
    check_error("load\n\"0,987\"\n", &["line 2, column 1: `0,987`", "decimal mark"]);
    check_error("t;x\n2026-01-01;1.5\n2026-01-02;1,5\n", &["line 3, column 2: `1,5`", "decimal mark"]);
    check_error("t;x\n2026-01-01;1.234\n2026-01-02;1,5\n", &["line 3, column 2: `1,5`", "decimal mark"]);
    check_error("t;x\n2026-01-01;1.234\n2026-01-02;12.345\n", &["line 2, column 2: `1.234`", "decimal mark"]);
    check_error("t\tx\n2026-01-01\t1,234\n", &["line 2, column 2: `1,234`", "decimal mark"]);
    let comma = Options { decimal_mark: Some(DecimalMark::Comma), ..Options::default() };
    assert_eq!(read_text("\"1,234\"\n\"2,5\"\n", &comma).unwrap().samples(), [1.234, 2.5]);
    let pipe = Options { separator: Some(b'|'), ..Options::default() };
    assert_eq!(read_text("t|x\n2026-01-01|1\n2026-01-02|2\n", &pipe).unwrap().samples(), [1.0, 2.0]);
}

#[test]
fn what_is_meant_as_a_number_is_no_header() {
    for cell in ["0x10", "1_000", "1.2.3", "12 %", "$5", "(5)", "5 €", "1e400", "inf", "-0x1", "\u{661}\u{662}"] {
        check_error(format!("{cell}\n1\n2\n"), &[&format!("line 1, column 1: `{cell}` is not a number")]);
    }
    for name in ["5m", "1st", "p50", "2026-01-01", "e", "x_1"] {
        check_samples(&format!("{name}\n1\n2\n"), &[1.0, 2.0]);
    }
}

#[test]
fn dates_of_which_the_order_is_unknown_are_refused_as_dates() {
    check_error("t,x\n01/02/2026,1\n02/02/2026,2\n", &["line 2, column 1: `01/02/2026` is no time", "21.11.2026"]);
    check_error("t;x\n01.13.2026;1\n", &["line 2, column 1: `01.13.2026` is no time"]);
    check_error("t;x\n01.02.26;1\n", &["line 2, column 1: `01.02.26` is no time"]);
}

fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn utf_16_is_read_with_and_without_a_mark() {
    let text = "Gr\u{f6}\u{df}e\tx\r\n2026-01-01\t1,5\r\n2026-01-02\t#N/A\r\n2026-01-03\t\u{2212}2,5\r\n";
    for mark in ["\u{feff}", ""] {
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let encoded = utf_16(&format!("{mark}{text}"), bytes);
            let series = read(&encoded[..], &Options::default()).unwrap();
            assert_eq!((series.samples()[0], series.samples()[2], series.n_gaps()), (1.5, -2.5, 1));
            check_error(&encoded[..encoded.len() - 1], &["cannot read the samples"]);
        }
    }
    check_samples("\u{feff}1\n2\n", &[1.0, 2.0]);
    check_samples("\u{feff}\"load\"\n1\n", &[1.0]);
    check_gaps("\u{feff}\n# x\n1\n", &[None, Some(1.0)]);
    let named = Options { column: Some(Column::Name("load".into())), ..Options::default() };
    assert_eq!(read_text("\u{feff}load,x\n1,2\n", &named).unwrap().samples(), [1.0]);
    check_error(b"Gr\xf6sse\n1\n", &["line 1, column 1: the text is not UTF-8"]);
    check_error([0xff, 0xfe, 0, 0xd8, 0x31, 0], &["cannot read the samples"]);
}

#[test]
fn every_line_end_ends_a_line() {
    for end in ["\n", "\r\n", "\r", "\r\r\n"] {
        let text = ["load", "1", "", "2"].join(end);
        check_gaps(&text, &[Some(1.0), None, Some(2.0)]);
        check_gaps(&(text + end), &[Some(1.0), None, Some(2.0)]);
        check_error(["load", "# x", "", "three"].join(end), &["line 4, column 1: `three`"]);
    }
    check_gaps("1\r2\r\r", &[Some(1.0), Some(2.0), None]);
}
