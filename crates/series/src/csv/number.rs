//! Numbers as programs and spreadsheets write them: `1234.5`, `1,234.5`, `1.234,5`, `1 234,5`, `1'234.5`.

/// The mark between the whole part of a number and its fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalMark {
    /// `1.5`; commas may separate thousands.
    Point,
    /// `1,5`; points may separate thousands.
    Comma,
}

/// Missing samples, in lower case: the words of programs, and the values of formulas without a result in spreadsheets.
const GAP_WORDS: [&str; 18] = [
    "", "nan", "na", "n/a", "<na>", "null", "none", "-", "#n/a", "#na", "#nv", "#div/0!", "#num!", "#value!", "#ref!",
    "#name?", "#null!", "#calc!",
];

/// Separators of thousands beside point, comma and blank: other blanks, and apostrophes.
const GROUP_MARKS: [char; 5] = ['\u{a0}', '\u{2009}', '\u{202f}', '\'', '\u{2019}'];

/// A cell of samples that gives no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// A cell that is no number with either decimal mark.
    NotANumber,
    /// A number with the other decimal mark than that of the file, or two different numbers with the two.
    UnclearMark,
}

/// Reads the numbers of one file, of which all have the same decimal mark.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    mark: Option<DecimalMark>,
    separator: u8,
    /// Whether a blank may separate thousands; if not, it may separate columns.
    pub(super) has_blanks: bool,
    /// Line and text of the first cell such as `1.234`, which was read as if the point were the decimal mark.
    unconfirmed: Option<(u64, String)>,
}

impl Numbers {
    /// Reads those of a file with this separator. Between commas, the mark is the point unless another one is given.
    pub(super) fn new(separator: u8, given: Option<DecimalMark>) -> Self {
        let mark = given.or((separator == b',').then_some(DecimalMark::Point));
        Self { mark, separator, has_blanks: false, unconfirmed: None }
    }

    /// Reads the number in a cell; infinity is none.
    pub(super) fn read(&mut self, cell: &str, line: u64) -> Result<f64, Unreadable> {
        if self.mark == Some(DecimalMark::Point)
            && let Some(number) = cell.parse().ok().filter(|number: &f64| number.is_finite())
        {
            return Ok(number);
        }
        let with = |mark| parse(cell, mark).filter(|_| self.has_blanks || !cell.contains(' '));
        let (with_point, with_comma) = (with(DecimalMark::Point), with(DecimalMark::Comma));
        let shown = match (with_point, with_comma) {
            (None, None) => return Err(Unreadable::NotANumber),
            (Some(number), Some(same)) if number == same => return Ok(number),
            (Some(_), None) => Some(DecimalMark::Point),
            (None, Some(_)) => Some(DecimalMark::Comma),
            // Spreadsheets separate cells by semicolons where the comma is the decimal mark.
            (Some(_), Some(_)) if cell.contains(',') && self.separator == b';' => Some(DecimalMark::Comma),
            (Some(_), Some(_)) => None,
        };
        if self.mark.is_none() && (self.unconfirmed.is_none() || shown == Some(DecimalMark::Point)) {
            self.mark = shown;
        }
        match (self.mark, shown) {
            (Some(DecimalMark::Point), _) => with_point.ok_or(Unreadable::UnclearMark),
            (Some(DecimalMark::Comma), _) => with_comma.ok_or(Unreadable::UnclearMark),
            (None, None) if !cell.contains(',') => {
                self.unconfirmed.get_or_insert_with(|| (line, cell.to_owned()));
                with_point.ok_or(Unreadable::UnclearMark)
            }
            (None, _) => Err(Unreadable::UnclearMark),
        }
    }

    /// Returns the line and text of a cell whose point may separate thousands: between semicolons, nothing showed that
    /// it does not.
    pub(super) fn unclear(&mut self) -> Option<(u64, String)> {
        self.unconfirmed.take().filter(|_| self.mark.is_none() && self.separator == b';')
    }
}

fn parse(cell: &str, mark: DecimalMark) -> Option<f64> {
    let (decimal, group) = match mark {
        DecimalMark::Point => ('.', ','),
        DecimalMark::Comma => (',', '.'),
    };
    let (sign, unsigned) = match cell.strip_prefix(['-', '\u{2212}']) {
        Some(unsigned) => ("-", unsigned),
        None => ("", cell.strip_prefix('+').unwrap_or(cell)),
    };
    let (mantissa, exponent) = unsigned.split_at(unsigned.find(['e', 'E']).unwrap_or(unsigned.len()));
    let (whole, fraction) = mantissa.split_once(decimal).unwrap_or((mantissa, ""));
    let whole = match whole.chars().find(|char| !char.is_ascii_digit()) {
        None => whole.to_owned(),
        Some(char) if char == group || char == ' ' || GROUP_MARKS.contains(&char) => ungrouped(whole, char)?,
        Some(_) => return None,
    };
    let number: f64 = format!("{sign}{whole}.{fraction}{exponent}").parse().ok()?;
    number.is_finite().then_some(number)
}

/// Returns the digits of groups of three; the first group may be shorter, and does not begin with a zero.
fn ungrouped(whole: &str, mark: char) -> Option<String> {
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(mark);
    let first = groups.next().filter(|first| matches!(first.len(), 1..=3) && !first.starts_with('0'))?;
    (are_digits(first) && groups.all(|group| group.len() == 3 && are_digits(group))).then(|| whole.replace(mark, ""))
}

/// Whether a cell is a number with one decimal mark or the other.
pub(super) fn is_number(cell: &str) -> bool {
    [DecimalMark::Point, DecimalMark::Comma].into_iter().any(|mark| parse(cell, mark).is_some())
}

/// Whether a cell is meant as a number, readable or not: `1_000`, `0x10`, `12 %`, `$5`, `(5)`, `inf`. A name such as
/// `5m` is none.
pub(super) fn is_meant_as_number(cell: &str) -> bool {
    let unsigned = cell.trim_start_matches(['+', '-', '\u{2212}', '.', ',', '(', '$', '€', '£', '¥', ' ']);
    let is_of_number = |char: char| char.is_numeric() || GROUP_MARKS.contains(&char) || " _.,%()$€£¥".contains(char);
    let is_prefixed = ["0x", "0X", "0b", "0o"].iter().any(|prefix| unsigned.starts_with(prefix));
    is_number(cell)
        || cell.parse::<f64>().is_ok_and(f64::is_infinite)
        || (unsigned.starts_with(char::is_numeric) && (is_prefixed || unsigned.chars().all(is_of_number)))
}

pub(super) fn is_gap(cell: &str) -> bool {
    GAP_WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}
