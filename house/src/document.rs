//! The list of rooms in `ARCHITECTURE.md`: the block of code that begins with `floor 0`.

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// A package's name, or that of a folder beside the floors.
    pub name: String,
    /// None for what stands beside the floors.
    pub floor: Option<u32>,
}

/// The rooms that the document lists, in its order; none if it has no such list.
///
/// A line is `floor N  NAME  what it is`, or, for another room on the same floor, begins with blanks and goes on with
/// the name. What stands beside the floors begins its line with its name.
pub fn read_rooms(document: &str) -> Vec<Room> {
    let mut floor = None;
    let lines = document.lines().skip_while(|line| !line.starts_with("floor 0"));
    lines
        .take_while(|line| !line.starts_with("```"))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let first = words.next()?;
            let name = if line.starts_with(char::is_whitespace) {
                first
            } else if first == "floor" {
                floor = words.next().and_then(|number| number.parse().ok());
                words.next()?
            } else {
                floor = None;
                first
            };
            Some(Room { name: name.into(), floor })
        })
        .collect()
}
