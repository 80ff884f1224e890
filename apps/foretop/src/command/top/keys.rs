//! Effects of keys.

use node_api::ProcessOrder;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::state::{Detail, Mode, Sort, State};

/// The distance that PageUp and PageDown go.
const PAGE: isize = 10;
/// A filter longer than any signal's id finds nothing.
const FILTER_CHARS_MAX: usize = 200;

/// The effects that the state cannot have by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    Quit,
    /// The large view needs what it shows.
    Inquire,
}

impl State {
    /// Takes a key.
    pub fn press(&mut self, key: KeyEvent) -> Effect {
        if key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Effect::Quit;
        }
        match self.mode {
            Mode::Filter => self.press_in_filter(key.code),
            Mode::Help => self.press_in_help(key.code),
            Mode::Detail => self.press_in_detail(key.code),
            Mode::List => self.press_in_list(key.code),
            Mode::Processes => self.press_in_processes(key.code),
        }
    }

    fn press_in_list(&mut self, key: KeyCode) -> Effect {
        match key {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char('p') => {
                self.mode = Mode::Processes;
                return Effect::Inquire;
            }
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('t') => self.sort_by(Sort::Table),
            KeyCode::Char('n') => self.sort_by(Sort::Name),
            KeyCode::Char('v') => self.sort_by(Sort::Value),
            KeyCode::Char('u') => self.sort_by(Sort::Uncertainty),
            KeyCode::Char('c') => self.sort_by(Sort::Change),
            KeyCode::Char('o') => self.next_host(),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char('+' | '=') | KeyCode::Right => self.shift_horizon(true),
            KeyCode::Char('-') | KeyCode::Left => self.shift_horizon(false),
            KeyCode::Enter => return self.open(),
            other => self.move_selection(other),
        }
        Effect::None
    }

    fn press_in_detail(&mut self, key: KeyCode) -> Effect {
        match key {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace => self.mode = Mode::List,
            KeyCode::Char('+' | '=') | KeyCode::Right => {
                self.shift_horizon(true);
                return Effect::Inquire;
            }
            KeyCode::Char('-') | KeyCode::Left => {
                self.shift_horizon(false);
                return Effect::Inquire;
            }
            other => {
                let before = self.selected.clone();
                self.move_selection(other);
                if self.selected != before {
                    return self.open();
                }
            }
        }
        Effect::None
    }

    fn press_in_processes(&mut self, key: KeyCode) -> Effect {
        let pane = &mut self.processes;
        let is_other = match key {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Esc | KeyCode::Char('p') | KeyCode::Backspace => {
                self.mode = Mode::List;
                return Effect::None;
            }
            KeyCode::Left | KeyCode::Char('-') => pane.go_back(),
            KeyCode::Right | KeyCode::Char('+' | '=') => pane.go_forward(),
            KeyCode::End => pane.go_to_now(),
            KeyCode::Char(letter) => {
                let order = ProcessOrder::ALL.into_iter().find(|order| order.as_str().starts_with(letter));
                pane.sort = order.unwrap_or(pane.sort);
                order.is_some()
            }
            _ => false,
        };
        if is_other { Effect::Inquire } else { Effect::None }
    }

    fn press_in_filter(&mut self, key: KeyCode) -> Effect {
        match key {
            KeyCode::Enter => self.mode = Mode::List,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::List;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) if !c.is_control() && self.filter.chars().count() < FILTER_CHARS_MAX => {
                self.filter.extend(c.to_lowercase());
            }
            other => self.move_selection(other),
        }
        Effect::None
    }

    fn press_in_help(&mut self, key: KeyCode) -> Effect {
        match key {
            KeyCode::Char('q') => Effect::Quit,
            _ => {
                self.mode = Mode::List;
                Effect::None
            }
        }
    }

    fn move_selection(&mut self, key: KeyCode) {
        match key {
            KeyCode::Up | KeyCode::Char('k') => self.select_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.select_by(1),
            KeyCode::PageUp => self.select_by(-PAGE),
            KeyCode::PageDown => self.select_by(PAGE),
            KeyCode::Home => self.select_by(isize::MIN),
            KeyCode::End => self.select_by(isize::MAX),
            _ => {}
        }
    }

    fn sort_by(&mut self, sort: Sort) {
        self.is_reversed = self.sort == sort && !self.is_reversed;
        self.sort = sort;
    }

    fn open(&mut self) -> Effect {
        self.select_by(0);
        if self.selected.is_none() {
            return Effect::None;
        }
        self.mode = Mode::Detail;
        self.detail = Detail::default();
        Effect::Inquire
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use node_api::ProcessTable;
    use units::{Moment, Timestamp};

    use super::super::sample;
    use super::super::state::Update;
    use super::*;

    #[track_caller]
    fn press(state: &mut State, keys: &[KeyCode]) -> Effect {
        keys.iter().fold(Effect::None, |_, key| state.press(KeyEvent::from(*key)))
    }

    #[test]
    fn letters_are_text_while_a_filter_is_typed() {
        let mut state = sample::state();
        let typed = ['/', 'S', 'q', '?'].map(KeyCode::Char);
        assert_eq!(press(&mut state, &typed), Effect::None);
        assert_eq!(state.filter, "sq?");
        press(&mut state, &[KeyCode::Backspace, KeyCode::Backspace, KeyCode::Char('w'), KeyCode::Enter]);
        assert_eq!((state.filter.as_str(), state.mode), ("sw", Mode::List));
        press(&mut state, &[KeyCode::Esc]);
        assert_eq!(state.filter, "");
    }

    #[test]
    fn the_same_sort_again_turns_it_round() {
        let mut state = sample::state();
        press(&mut state, &[KeyCode::Char('v')]);
        assert_eq!((state.sort, state.is_reversed), (Sort::Value, false));
        press(&mut state, &[KeyCode::Char('v')]);
        assert_eq!((state.sort, state.is_reversed), (Sort::Value, true));
    }

    #[test]
    fn the_time_cursor_goes_over_kept_minutes_and_back_to_now() {
        let mut state = sample::state();
        assert_eq!(press(&mut state, &[KeyCode::Char('p')]), Effect::Inquire);
        assert_eq!(press(&mut state, &[KeyCode::Left]), Effect::None, "nothing is known so far");
        let answered = |state: &mut State, previous: Option<i64>, next: Option<i64>| {
            let time = |minute: i64| Timestamp::from_nanos(minute * 60_000_000_000);
            let (previous, next) = (previous.map(time), next.map(time));
            let table = ProcessTable { previous, next, ..sample::processes().table.unwrap() };
            state.apply(Update::Processes { at: state.processes.at, answer: Box::new(Ok(table)) });
        };
        let minute = |n: i64| Some(Moment::At(Timestamp::from_nanos(n * 60_000_000_000)));
        answered(&mut state, Some(7), None);
        assert_eq!((press(&mut state, &[KeyCode::Left]), state.processes.at), (Effect::Inquire, minute(7)));
        answered(&mut state, None, None);
        assert_eq!((press(&mut state, &[KeyCode::Left]), state.processes.at), (Effect::None, minute(7)), "the first");
        assert_eq!((press(&mut state, &[KeyCode::Right]), state.processes.at), (Effect::Inquire, None), "the last");
        answered(&mut state, Some(7), None);
        press(&mut state, &[KeyCode::Left]);
        answered(&mut state, Some(3), Some(9));
        assert_eq!((press(&mut state, &[KeyCode::Right]), state.processes.at), (Effect::Inquire, minute(9)));
        assert_eq!((press(&mut state, &[KeyCode::End]), state.processes.at), (Effect::Inquire, None));
        // The answer to what was asked before comes late.
        let late = Box::new(Err("late".to_owned()));
        state.apply(Update::Processes { at: minute(9), answer: late });
        assert_eq!(state.processes.problem, None);
        assert_eq!(
            (press(&mut state, &[KeyCode::Char('m')]), state.processes.sort),
            (Effect::Inquire, ProcessOrder::Memory)
        );
        press(&mut state, &[KeyCode::Esc]);
        assert_eq!(state.mode, Mode::List);
    }

    #[test]
    fn enter_opens_what_is_selected_and_escape_goes_back() {
        let mut state = sample::state();
        assert_eq!(press(&mut state, &[KeyCode::Down, KeyCode::Enter]), Effect::Inquire);
        assert_eq!((state.mode, state.selected.as_deref()), (Mode::Detail, Some("load.1m")));
        assert_eq!(press(&mut state, &[KeyCode::Char('+')]), Effect::Inquire);
        assert_eq!(state.horizon(&state.rows[1]), (Duration::from_secs(120), false));
        press(&mut state, &[KeyCode::Esc]);
        assert_eq!(state.mode, Mode::List);
    }

    #[test]
    fn nothing_opens_where_there_is_nothing() {
        let mut state = sample::state();
        state.filter = "zebra".to_owned();
        assert_eq!(press(&mut state, &[KeyCode::Enter]), Effect::None);
        assert_eq!(state.mode, Mode::List);
    }

    #[test]
    fn control_c_quits_everywhere() {
        let mut state = sample::state();
        for mode in [Mode::List, Mode::Filter, Mode::Help, Mode::Detail] {
            state.mode = mode;
            assert_eq!(state.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Effect::Quit);
        }
    }
}
