//! Requests that this UI began: what was asked, how it goes, what came of it.

use std::collections::BTreeMap;

use attache::protocol::Payload;
use attache_view::Value;
use ratatui::text::{Line, Span};

use crate::answer::AnswerView;
use crate::component::Waker;
use crate::draw;
use crate::message::{Failed, JobEnd, JobId, JobNews, Work};
use crate::panes::catalog::spinner;
use crate::text::{self, column};
use crate::theme::{Role, Theme};

/// Ended requests whose answers are kept.
const KEPT: usize = 200;
/// How long their answers may be altogether.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// One request.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) work: Work,
    pub(crate) began_ms: u64,
    /// The host's number of it.
    pub(crate) number: Option<u64>,
    pub(crate) state: JobState,
    /// The answer, once it was looked at.
    pub(crate) view: Option<AnswerView>,
    /// A component began it, which knows it by this.
    pub(crate) tag: Option<u64>,
    /// The tool claims to change nothing.
    pub(crate) is_harmless: bool,
}

/// How a request goes.
#[derive(Debug)]
pub(crate) enum JobState {
    Running(Progress),
    Ended { end: JobEnd, after_ms: u64 },
}

/// How far a request is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    pub(crate) progress: Option<f64>,
    pub(crate) total: Option<f64>,
    /// What the server says about it, safe to show.
    pub(crate) message: Option<String>,
    /// A cancel is on its way.
    pub(crate) is_cancelled: bool,
}

impl Progress {
    /// How much of it is done.
    pub(crate) fn share(&self) -> Option<f64> {
        let (progress, total) = (self.progress?, self.total?);
        (total > 0.0 && progress.is_finite()).then(|| (progress / total).clamp(0.0, 1.0))
    }
}

impl Job {
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, JobState::Running(_))
    }

    /// The name of what was asked for, safe to show.
    pub(crate) fn title(&self) -> String {
        text::safe(self.work.about()).into_owned()
    }

    /// Whether repeating it may have an effect for the second time.
    pub(crate) fn may_have_had_an_effect(&self) -> bool {
        let is_call = matches!(self.work, Work::Call { .. });
        let was_not_made = matches!(
            &self.state,
            JobState::Ended {
                end: JobEnd::Failed(Failed {
                    word: "refused" | "not sent",
                    ..
                }),
                ..
            }
        );
        is_call && !self.is_harmless && !was_not_made
    }

    /// The word for how it stands, and its meaning.
    pub(crate) fn word(&self) -> (&'static str, Role) {
        match &self.state {
            JobState::Running(progress) if progress.is_cancelled => ("cancelling", Role::Warning),
            JobState::Running(_) => ("running", Role::Warning),
            JobState::Ended { end, .. } => match end {
                JobEnd::Answered { document, .. } if document.is_error => {
                    ("tool failed", Role::Bad)
                }
                JobEnd::Answered { .. } => ("done", Role::Good),
                JobEnd::Failed(failed) => match failed.word {
                    "cancelled" => ("cancelled", Role::Warning),
                    word => (word, Role::Bad),
                },
            },
        }
    }

    /// How long it has taken.
    pub(crate) fn elapsed(&self, now_ms: u64) -> u64 {
        match &self.state {
            JobState::Running(_) => now_ms.saturating_sub(self.began_ms),
            JobState::Ended { after_ms, .. } => *after_ms,
        }
    }

    /// The answer to look at, if there is one.
    pub(crate) fn view(&mut self, waker: &Waker) -> Option<&mut AnswerView> {
        if self.view.is_none()
            && let JobState::Ended {
                end: JobEnd::Answered { document, raw, .. },
                ..
            } = &self.state
        {
            let view = AnswerView::new(document.clone(), raw.clone(), waker.clone());
            self.view = Some(view);
        }
        self.view.as_mut()
    }

    /// The answer as JSON.
    pub(crate) fn raw(&self) -> Option<&Payload> {
        match &self.state {
            JobState::Ended {
                end: JobEnd::Answered { raw, .. },
                ..
            } => Some(raw),
            _ => None,
        }
    }

    /// How long its answer is.
    fn bytes(&self) -> usize {
        self.raw().map_or(0, |raw| raw.as_bytes().len())
    }

    /// The line of a running request: name, bar, share, message, time.
    pub(crate) fn running_line(&self, width: usize, theme: &Theme, now_ms: u64) -> Line<'static> {
        let JobState::Running(progress) = &self.state else {
            return Line::default();
        };
        let glyphs = theme.glyphs();
        let quiet = theme.style(Role::Secondary);
        let elapsed = text::duration(self.elapsed(now_ms) / 100 * 100);
        let name = text::cut(&self.title(), width / 3, glyphs.ellipsis).into_owned();
        let mut spans = vec![
            Span::styled(format!("#{} ", self.id), quiet),
            Span::styled(name, theme.style(Role::Title)),
            Span::raw(" "),
        ];
        match progress.share() {
            Some(share) => {
                let bar = draw::bar(share, (width / 5).clamp(6, 24), theme);
                spans.push(Span::styled(bar, theme.style(Role::Accent)));
                spans.push(Span::raw(format!(" {:>3.0} %", share * 100.0)));
            }
            None => {
                let turning = spinner(theme, now_ms);
                spans.push(Span::styled(turning, theme.style(Role::Accent)));
                if let Some(done) = progress.progress {
                    spans.push(Span::raw(format!(" {done}")));
                }
            }
        }
        if let Some(left) = self.remaining(progress, now_ms) {
            spans.push(Span::styled(format!("  {left} left"), quiet));
        }
        spans.push(Span::styled(format!("  {elapsed}  "), quiet));
        let taken: usize = spans.iter().map(Span::width).sum();
        let word = match (progress.is_cancelled, &progress.message) {
            (true, _) => "cancelling",
            (false, Some(message)) => message.as_str(),
            (false, None) => "",
        };
        let room = width.saturating_sub(taken);
        spans.push(Span::raw(
            text::cut(word, room, glyphs.ellipsis).into_owned(),
        ));
        Line::from(spans)
    }

    /// How long it may still take, by how far it is.
    fn remaining(&self, progress: &Progress, now_ms: u64) -> Option<String> {
        let share = progress
            .share()
            .filter(|share| (0.05..1.0).contains(share))?;
        let elapsed = self.elapsed(now_ms);
        if elapsed < 2_000 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an estimate"
        )]
        let left = (elapsed as f64 * (1.0 - share) / share) as u64;
        Some(text::duration(left / 1000 * 1000))
    }
}

/// All requests of this UI.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    all: BTreeMap<JobId, Job>,
    last: JobId,
    /// What was entered last for a tool, a template or a prompt, without what is masked.
    pub(crate) entered: BTreeMap<crate::app::FormKey, Value>,
}

impl Jobs {
    /// Begins one.
    pub(crate) fn begin(&mut self, work: Work, now_ms: u64, is_harmless: bool) -> JobId {
        self.last += 1;
        let job = Job {
            id: self.last,
            work,
            began_ms: now_ms,
            number: None,
            state: JobState::Running(Progress::default()),
            view: None,
            tag: None,
            is_harmless,
        };
        self.all.insert(self.last, job);
        self.forget_oldest();
        self.last
    }

    /// Makes room for what is asked next: of many or large answers the oldest go.
    fn forget_oldest(&mut self) {
        let ended = self.all.values().filter(|job| !job.is_running());
        let ended: Vec<(JobId, usize)> = ended.map(|job| (job.id, job.bytes())).collect();
        let mut count = ended.len();
        let mut bytes: usize = ended.iter().map(|(_, bytes)| bytes).sum();
        for (id, freed) in ended {
            if count <= KEPT && bytes <= KEPT_BYTES {
                return;
            }
            self.all.remove(&id);
            count -= 1;
            bytes -= freed;
        }
    }

    /// Takes news of one; true if it has ended now.
    pub(crate) fn on_news(&mut self, id: JobId, news: JobNews, now_ms: u64) -> bool {
        let Some(job) = self.all.get_mut(&id) else {
            return false;
        };
        match (news, &mut job.state) {
            (JobNews::Numbered(number), _) => job.number = Some(number),
            (
                JobNews::Progress {
                    progress,
                    total,
                    message,
                },
                JobState::Running(running),
            ) => {
                running.progress = Some(progress);
                running.total = total;
                if let Some(message) = message {
                    running.message = Some(text::safe(&message).into_owned());
                }
            }
            (JobNews::Ended(end), JobState::Running(_)) => {
                let after_ms = now_ms.saturating_sub(job.began_ms);
                job.state = JobState::Ended { end, after_ms };
                return true;
            }
            // It was cancelled, and its last words crossed that.
            (JobNews::Progress { .. } | JobNews::Ended(_), JobState::Ended { .. }) => {}
        }
        false
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.all.get_mut(&id)
    }

    /// All of them, the newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Job> {
        self.all.values().rev()
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Job> {
        self.all.values().filter(|job| job.is_running())
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Job> {
        self.all.values_mut()
    }
}

/// The columns of one line of a call, running or past.
pub(crate) struct CallLine<'a> {
    pub(crate) at_ms: u64,
    pub(crate) mark: bool,
    pub(crate) server: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a str,
    pub(crate) word: (&'a str, Role),
    pub(crate) took_ms: Option<u64>,
    pub(crate) bytes: Option<usize>,
}

impl CallLine<'_> {
    pub(crate) fn line(&self, width: usize, theme: &Theme) -> Line<'static> {
        let glyphs = theme.glyphs();
        let quiet = theme.style(Role::Secondary);
        let mark = if self.mark { glyphs.done } else { " " };
        let name = format!("{}/{}", self.server, self.name);
        // Where there is little room, the size goes first, then the time of day.
        let (has_clock, has_size) = (width >= 56, width >= 72);
        let fixed = 2 + 13 + 9 + if has_clock { 9 } else { 0 } + if has_size { 8 } else { 0 };
        let room = width.saturating_sub(fixed);
        let name = column(&name, room.min(34), glyphs.ellipsis);
        let room = room.saturating_sub(text::width(&name) + 1);
        let took = self.took_ms.map(text::duration).unwrap_or_default();
        let bytes = self.bytes.filter(|bytes| *bytes > 0).map(text::bytes);
        let mut spans = vec![Span::styled(format!("{mark} "), theme.style(Role::Accent))];
        if has_clock {
            spans.push(Span::styled(format!("{} ", text::clock(self.at_ms)), quiet));
        }
        spans.extend([
            Span::raw(format!("{name} ")),
            Span::styled(column(self.arguments, room, glyphs.ellipsis), quiet),
            Span::raw(" "),
            Span::styled(
                column(self.word.0, 12, glyphs.ellipsis),
                theme.style(self.word.1),
            ),
            Span::styled(text::right(&took, 9, glyphs.ellipsis), quiet),
        ]);
        if has_size {
            let bytes = text::right(&bytes.unwrap_or_default(), 8, glyphs.ellipsis);
            spans.push(Span::styled(bytes, quiet));
        }
        Line::from(spans)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use attache::protocol::Json;

    use super::*;

    #[test]
    fn large_answers_make_room_for_each_other() {
        let mut jobs = Jobs::default();
        let large = Json::from(serde_json::Value::from("x".repeat(KEPT_BYTES / 3)));
        let ids: Vec<JobId> = (0..5)
            .map(|_| {
                let work = Work::Read {
                    server: "notes".to_owned(),
                    uri: "note://large".to_owned(),
                };
                let id = jobs.begin(work, 0, true);
                let answered = JobEnd::Answered {
                    document: Arc::default(),
                    raw: large.clone().into(),
                };
                jobs.on_news(id, JobNews::Ended(answered), 0);
                id
            })
            .collect();
        let kept: Vec<bool> = ids.iter().map(|id| jobs.get(*id).is_some()).collect();
        // Room is made when the next one begins.
        assert_eq!(kept, [false, false, true, true, true]);
    }
}
