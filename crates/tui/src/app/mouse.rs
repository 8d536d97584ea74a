//! What the mouse does.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::{App, Focus, Overlay, Tab};
use crate::component::{Component as _, Input};
use crate::overlay::Taken;

/// Lines that one turn of the wheel moves.
const WHEEL: isize = 3;

impl App {
    pub(super) fn on_mouse(&mut self, event: MouseEvent) {
        let (column, row) = (event.column, event.row);
        let wheel = match event.kind {
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::ScrollDown => WHEEL,
            _ => 0,
        };
        let is_click = matches!(event.kind, MouseEventKind::Down(MouseButton::Left));
        if let Some(mut overlay) = self.overlays.pop() {
            let taken = match &mut overlay {
                Overlay::Menu(menu) if is_click => menu.click(column, row),
                Overlay::Menu(menu) => {
                    menu.scroll(wheel);
                    Taken::Used
                }
                Overlay::Sheet(sheet) => {
                    sheet.scroll(wheel);
                    Taken::Used
                }
                Overlay::Save(..) => Taken::Used,
                Overlay::Question(dialog) => {
                    let outcome = dialog.input(Input::Mouse(event));
                    return self.on_dialog(overlay, outcome, None);
                }
            };
            return self.after_overlay(overlay, taken);
        }
        let place = (column, row).into();
        if is_click {
            let tabs = self.places.tabs.iter();
            let clicked = tabs.clone().find(|(area, _)| area.contains(place));
            if let Some((_, tab)) = clicked {
                return self.go_to(*tab);
            }
        }
        let is_in_detail = self.places.detail.contains(place) || self.tab == Tab::Specs;
        if is_in_detail && !self.places.servers.contains(place) {
            if is_click && self.detail().is_some() {
                self.focus = Focus::Detail;
            }
            if let Some(component) = self.component() {
                let outcome = component.input(Input::Mouse(event));
                self.on_outcome(outcome);
            }
            return;
        }
        if self.places.servers.contains(place) {
            if is_click && self.servers.click(column, row) {
                self.focus = Focus::Servers;
                self.scope_changed();
            }
            return;
        }
        if wheel != 0 {
            return self.scroll_list(wheel);
        }
        if is_click && self.places.list.contains(place) {
            let was_focused = self.focus == Focus::List;
            self.focus = Focus::List;
            let before = self.list_cursor();
            self.click_list(column, row);
            // A second click on the same line opens it.
            if was_focused && self.list_cursor() == before {
                self.open_selected();
            }
        }
    }

    fn list_cursor(&self) -> usize {
        match self.tab {
            Tab::Tools => self.tools.cursor.at,
            Tab::Resources => self.resources.cursor.at,
            Tab::Prompts => self.prompts.cursor.at,
            Tab::Calls => self.calls.cursor.at,
            Tab::Activity => self.activity.cursor.at,
            Tab::Log => self.log.cursor.at,
            Tab::Specs => 0,
        }
    }

    fn click_list(&mut self, column: u16, row: u16) -> bool {
        match self.tab {
            Tab::Tools => self.tools.click(column, row),
            Tab::Resources => self.resources.click(column, row),
            Tab::Prompts => self.prompts.click(column, row),
            Tab::Calls => self.calls.click(column, row),
            Tab::Activity => self.activity.click(column, row),
            Tab::Log => self.log.click(column, row),
            Tab::Specs => false,
        }
    }

    fn scroll_list(&mut self, lines: isize) {
        match self.tab {
            Tab::Tools => self.tools.cursor.step(lines, self.tools.count()),
            Tab::Resources => self.resources.cursor.step(lines, self.resources.count()),
            Tab::Prompts => self.prompts.cursor.step(lines, self.prompts.count()),
            Tab::Calls => self.calls.cursor.step(lines, self.calls.count()),
            Tab::Activity => {
                self.activity.cursor.step(lines, self.activity.count());
                self.activity.moved();
            }
            Tab::Log => {
                self.log.cursor.step(lines, self.log.count());
                self.log.moved();
            }
            Tab::Specs => {}
        }
    }
}
