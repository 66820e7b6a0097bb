//! The palette: all actions by their names, narrowed down by what is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::actions::perform;
use super::input::TextInput;
use super::keys::UiAction;
use super::messages::UiEffect;
use super::state::{Overlay, UiState};
use super::update::{edit_line, is_cancel};

/// The palette while it is open.
#[derive(Debug, Default)]
pub(super) struct Palette {
    pub(super) input: TextInput,
    pub(super) selected: usize,
}

impl Palette {
    /// Returns the actions whose name or description has every typed word.
    pub(super) fn actions(&self) -> Vec<UiAction> {
        let typed = self.input.text.to_lowercase();
        let is_meant = |action: &&UiAction| {
            let text = format!("{} {}", action.name(), action.about());
            typed.split_whitespace().all(|word| text.contains(word))
        };
        let actions = UiAction::ALL.iter().filter(is_meant);
        let listed = actions.filter(|action| **action != UiAction::Palette);
        listed.copied().collect()
    }
}

/// Takes a key while the palette is open, which stays open while text is edited.
pub(super) fn update_palette(
    state: &mut UiState,
    mut palette: Palette,
    key: &KeyEvent,
) -> Vec<UiEffect> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let last = palette.actions().len().saturating_sub(1);
    match key.code {
        _ if is_cancel(key) => return Vec::new(),
        KeyCode::Enter => {
            let chosen = palette.actions().get(palette.selected).copied();
            return chosen.map_or_else(Vec::new, |action| perform(state, action));
        }
        KeyCode::Up => palette.selected = palette.selected.saturating_sub(1),
        KeyCode::Down => palette.selected = (palette.selected + 1).min(last),
        KeyCode::Char('p') if is_control => palette.selected = palette.selected.saturating_sub(1),
        KeyCode::Char('n') if is_control => palette.selected = (palette.selected + 1).min(last),
        _ => {
            let before = palette.input.text.clone();
            edit_line(&mut palette.input, key);
            if palette.input.text != before {
                palette.selected = 0;
            }
        }
    }
    state.overlay = Some(Overlay::Palette(palette));
    Vec::new()
}
