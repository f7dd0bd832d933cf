//! The live view of `weft admin top` on a terminal.

use std::time::{Duration, Instant};

use ratatui::Frame as Canvas;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, List, ListState, Paragraph, Row, Table, TableState};
use weft::Session;

use super::rates::{Frame, Sampler};
use super::{COLUMNS, Keys, Top, key_line, rows};
use crate::context::Context;
use crate::failure::Failure;

/// From one look at the keyboard and at the end of the command to the next.
const TICK: Duration = Duration::from_millis(100);

/// What is on the screen.
#[derive(Debug, Default)]
struct View {
    frame: Frame,
    keys: Option<Keys>,
    /// Where the list begins.
    first: usize,
    /// Why there is nothing new.
    problem: Option<String>,
}

/// What a key on the keyboard means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    End,
    ShowKeys,
    Scroll(isize),
    Nothing,
}

/// Shows the view until the end of the command.
pub(super) fn run(top: &Top, context: &Context, session: &Session) -> Result<(), Failure> {
    let mut sampler = Sampler::new(session.zid().to_string());
    let frame = sampler.frame(&top.look(session)?);
    let mut view = View { frame, keys: top.keys.then(Keys::new), ..View::default() };
    let mut terminal = ratatui::try_init()?;
    let outcome = (|| {
        let mut next = Instant::now();
        while !context.ending.is_here() {
            if next <= Instant::now() {
                next = Instant::now() + top.interval;
                view.refresh(top, session, &mut sampler);
                context.ending.counted(|| ());
            }
            terminal.draw(|canvas| view.draw(canvas))?;
            let wait = TICK.min(next.saturating_duration_since(Instant::now()));
            if event::poll(wait)? && view.obey(wish(&event::read()?)) {
                return Ok(());
            }
        }
        context.ending.check_signal()
    })();
    ratatui::try_restore()?;
    outcome
}

fn wish(event: &Event) -> Wish {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else {
        return Wish::Nothing;
    };
    match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Wish::End,
        KeyCode::Char('q') | KeyCode::Esc => Wish::End,
        KeyCode::Tab | KeyCode::Char('k') => Wish::ShowKeys,
        KeyCode::Up => Wish::Scroll(-1),
        KeyCode::Down => Wish::Scroll(1),
        KeyCode::PageUp => Wish::Scroll(-20),
        KeyCode::PageDown => Wish::Scroll(20),
        _ => Wish::Nothing,
    }
}

impl View {
    fn refresh(&mut self, top: &Top, session: &Session, sampler: &mut Sampler) {
        let looked = top.look(session).and_then(|answers| {
            self.frame = sampler.frame(&answers);
            if self.keys.is_some() {
                self.keys = Some(top.look_at_keys(session)?);
            }
            Ok(())
        });
        self.problem = looked.err().map(|failure| match failure {
            Failure::Usage(text) | Failure::Run(text) => text,
            Failure::Signal(_) => String::new(),
        });
    }

    /// Does what is wished; whether that is to end.
    fn obey(&mut self, wish: Wish) -> bool {
        match wish {
            Wish::End => return true,
            Wish::ShowKeys => {
                self.keys = if self.keys.is_some() { None } else { Some(Keys::new()) };
                self.first = 0;
            }
            Wish::Scroll(by) => {
                let len = self.keys.as_ref().map_or_else(|| rows(&self.frame).len(), Keys::len);
                self.first = self.first.saturating_add_signed(by).min(len.saturating_sub(1));
            }
            Wish::Nothing => {}
        }
        false
    }

    fn draw(&self, canvas: &mut Canvas<'_>) {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)])
                .areas(canvas.area());
        let faces: usize = self.frame.nodes.iter().map(|node| node.faces.len()).sum();
        let title = format!("weft admin top: {} nodes, {faces} neighbours", self.frame.nodes.len());
        canvas.render_widget(Paragraph::new(title), head);
        if let Some(keys) = &self.keys {
            let lines = keys.iter().map(|(key, declared)| key_line(key, declared));
            let list = List::new(lines).block(Block::bordered().title("keys"));
            let mut state = ListState::default().with_offset(self.first);
            canvas.render_stateful_widget(list, body, &mut state);
        } else {
            let titles = Row::new(COLUMNS).style(Style::new().add_modifier(Modifier::BOLD));
            let widths = std::array::from_fn::<_, { COLUMNS.len() }, _>(|column| match column {
                0 | 1 => Constraint::Min(10),
                _ => Constraint::Length(9),
            });
            let table = Table::new(rows(&self.frame).into_iter().map(Row::new), widths);
            let table = table.header(titles).block(Block::bordered().title("neighbours"));
            let mut state = TableState::default().with_offset(self.first);
            canvas.render_stateful_widget(table, body, &mut state);
        }
        let help = "q: end   Tab: neighbours or keys   arrows: scroll";
        canvas.render_widget(Paragraph::new(self.problem.as_deref().unwrap_or(help)), foot);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::DeclaredKey;
    use super::super::rates::{FaceRates, NodeRates};
    use super::*;

    fn shown(view: &View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(110, 8)).unwrap();
        terminal.draw(|canvas| view.draw(canvas)).unwrap();
        terminal.backend().to_string()
    }

    fn view() -> View {
        let face = |peer: &str| FaceRates {
            peer: peer.into(),
            tx_messages: Some(1500.0),
            ..FaceRates::default()
        };
        let faces = vec![face("b2"), face("c3")];
        let node = NodeRates { zid: "a1".into(), mode: "router".into(), faces };
        View { frame: Frame { nodes: vec![node] }, ..View::default() }
    }

    #[test]
    fn neighbours_and_their_rates_are_on_the_screen() {
        let text = shown(&view());
        assert!(text.contains("1 nodes, 2 neighbours"), "{text}");
        assert!(text.contains("b2") && text.contains("c3") && text.contains("1.5k"), "{text}");
        let problem = View { problem: Some("no node answers".into()), ..view() };
        assert!(shown(&problem).contains("no node answers"));
    }

    #[test]
    fn keys_are_a_view_of_their_own_and_lists_scroll() {
        let mut view = view();
        assert!(!view.obey(Wish::Scroll(5)));
        let text = shown(&view);
        assert!(!text.contains("b2") && text.contains("c3"), "{text}");
        assert!(!view.obey(Wish::ShowKeys));
        let declared = DeclaredKey { kinds: ["token".to_owned()].into(), ..DeclaredKey::default() };
        view.keys = Some([("some/key".to_owned(), declared)].into());
        assert!(shown(&view).contains("some/key: token of 0 nodes"), "{}", shown(&view));
        assert!(!view.obey(Wish::ShowKeys) && view.keys.is_none());
        assert!(view.obey(Wish::End));
    }

    #[test]
    fn the_keyboard_is_understood() {
        let press = |code, modifiers| wish(&Event::Key(KeyEvent::new(code, modifiers)));
        let plain = KeyModifiers::NONE;
        assert_eq!(press(KeyCode::Char('q'), plain), Wish::End);
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), Wish::End);
        assert_eq!(press(KeyCode::Char('c'), plain), Wish::Nothing);
        assert_eq!(press(KeyCode::Tab, plain), Wish::ShowKeys);
        assert_eq!(press(KeyCode::Down, plain), Wish::Scroll(1));
    }
}
