//! Patterns as JSON Schema has them: regular expressions of ECMA-262, matched within a budget.
//!
//! Patterns come from strangers, so one match takes no more steps than it is given; beyond that, and
//! for the few constructs that are not known here (lookbehind, Unicode properties), there is no
//! verdict rather than a guess.

mod parse;

use parse::{Class, Node};

/// The longest program that a pattern becomes.
const MOST_INSTRUCTIONS: usize = 20_000;

/// A pattern, ready to be matched.
#[derive(Debug)]
pub(crate) struct Pattern {
    program: Vec<Instruction>,
    /// Positions that are noted while matching: of groups and of loops.
    notes: usize,
}

#[derive(Clone, Debug)]
enum Instruction {
    Char(char),
    Any,
    Class(Class),
    Start,
    End,
    /// Whether a word begins or ends here, or not.
    Boundary(bool),
    /// Goes on at the first, and at the second if that fails.
    Split(usize, usize),
    Jump(usize),
    /// Notes the position.
    Note(usize),
    /// Fails if nothing was read since the note.
    Progress(usize),
    /// The same text as between two notes.
    Again(usize, usize),
    /// What follows, up to its end, matches here or does not; then goes on at the given place.
    Look {
        wanted: bool,
        next: usize,
    },
    Match,
}

impl Pattern {
    /// Reads a pattern; `None` if it is malformed or not known here.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parsed = parse::parse(text)?;
        let mut compiler = Compiler {
            program: Vec::new(),
            // The groups come first; groups that are never repeated back need no notes.
            notes: if parsed.repeats_groups {
                parsed.groups * 2
            } else {
                0
            },
            notes_groups: parsed.repeats_groups,
        };
        compiler.node(&parsed.node)?;
        compiler.push(Instruction::Match)?;
        Some(Self {
            program: compiler.program,
            notes: compiler.notes,
        })
    }

    /// Whether it matches anywhere in the text; `None` if that takes more steps than there are.
    /// Steps that were taken are taken off `steps`.
    pub(crate) fn matches(&self, text: &str, steps: &mut usize) -> Option<bool> {
        let mut matching = Matching {
            pattern: self,
            text,
            steps,
            notes: vec![None; self.notes],
        };
        let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for start in starts {
            if matching.run(0, start)? {
                return Some(true);
            }
            if matches!(self.program.first(), Some(Instruction::Start)) {
                break;
            }
        }
        Some(false)
    }
}

struct Compiler {
    program: Vec<Instruction>,
    notes: usize,
    notes_groups: bool,
}

impl Compiler {
    fn push(&mut self, instruction: Instruction) -> Option<usize> {
        let at = self.program.len();
        (at < MOST_INSTRUCTIONS).then(|| {
            self.program.push(instruction);
            at
        })
    }

    fn node(&mut self, node: &Node) -> Option<()> {
        match node {
            Node::Char(it) => self.push(Instruction::Char(*it)).map(drop),
            Node::Any => self.push(Instruction::Any).map(drop),
            Node::Class(class) => self.push(Instruction::Class(class.clone())).map(drop),
            Node::Start => self.push(Instruction::Start).map(drop),
            Node::End => self.push(Instruction::End).map(drop),
            Node::Boundary(wanted) => self.push(Instruction::Boundary(*wanted)).map(drop),
            Node::Sequence(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
            Node::Alternatives(nodes) => self.alternatives(nodes),
            Node::Group(number, inner) => {
                let noted = self.notes_groups;
                if noted {
                    self.push(Instruction::Note(number * 2))?;
                }
                self.node(inner)?;
                if noted {
                    self.push(Instruction::Note(number * 2 + 1))?;
                }
                Some(())
            }
            Node::Again(number) => self
                .push(Instruction::Again(number * 2, number * 2 + 1))
                .map(drop),
            Node::Look { wanted, inner } => {
                let look = self.push(Instruction::Match)?;
                self.node(inner)?;
                self.push(Instruction::Match)?;
                self.program[look] = Instruction::Look {
                    wanted: *wanted,
                    next: self.program.len(),
                };
                Some(())
            }
            Node::Repeat {
                inner,
                least,
                most,
                greedy,
            } => self.repeat(inner, *least, *most, *greedy),
        }
    }

    fn alternatives(&mut self, nodes: &[Node]) -> Option<()> {
        let mut ends = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            if at + 1 == nodes.len() {
                self.node(node)?;
                break;
            }
            let split = self.push(Instruction::Match)?;
            self.node(node)?;
            ends.push(self.push(Instruction::Match)?);
            self.program[split] = Instruction::Split(split + 1, self.program.len());
        }
        for end in ends {
            self.program[end] = Instruction::Jump(self.program.len());
        }
        Some(())
    }

    fn repeat(&mut self, inner: &Node, least: u32, most: Option<u32>, greedy: bool) -> Option<()> {
        for _ in 0..least {
            self.node(inner)?;
        }
        let split = |into: usize, beyond: usize| match greedy {
            true => Instruction::Split(into, beyond),
            false => Instruction::Split(beyond, into),
        };
        let Some(most) = most else {
            let note = self.notes;
            self.notes += 1;
            let begin = self.push(Instruction::Match)?;
            self.push(Instruction::Note(note))?;
            self.node(inner)?;
            self.push(Instruction::Progress(note))?;
            self.push(Instruction::Jump(begin))?;
            self.program[begin] = split(begin + 1, self.program.len());
            return Some(());
        };
        let mut splits = Vec::new();
        for _ in least..most {
            splits.push(self.push(Instruction::Match)?);
            self.node(inner)?;
        }
        for at in splits {
            self.program[at] = split(at + 1, self.program.len());
        }
        Some(())
    }
}

/// One attempt to match, with what is left of its steps.
struct Matching<'p> {
    pattern: &'p Pattern,
    text: &'p str,
    steps: &'p mut usize,
    notes: Vec<Option<usize>>,
}

/// What is undone when an attempt fails.
enum Undo {
    /// Goes on here instead.
    Branch { at: usize, position: usize },
    /// The note was this.
    Note { note: usize, was: Option<usize> },
}

impl Matching<'_> {
    /// Runs the program from `at` until it matches or nothing is left to try.
    fn run(&mut self, mut at: usize, mut position: usize) -> Option<bool> {
        let mut undo: Vec<Undo> = Vec::new();
        loop {
            *self.steps = self.steps.checked_sub(1)?;
            let rest = &self.text[position..];
            let goes_on = match &self.pattern.program[at] {
                Instruction::Match => return Some(true),
                Instruction::Char(wanted) => {
                    let fits = rest.starts_with(*wanted);
                    position += if fits { wanted.len_utf8() } else { 0 };
                    fits
                }
                Instruction::Any => match rest.chars().next().filter(|it| !is_line_end(*it)) {
                    Some(it) => {
                        position += it.len_utf8();
                        true
                    }
                    None => false,
                },
                Instruction::Class(class) => {
                    match rest.chars().next().filter(|it| class.has(*it)) {
                        Some(it) => {
                            position += it.len_utf8();
                            true
                        }
                        None => false,
                    }
                }
                Instruction::Start => position == 0,
                Instruction::End => rest.is_empty(),
                Instruction::Boundary(wanted) => self.is_boundary(position) == *wanted,
                Instruction::Split(first, second) => {
                    undo.push(Undo::Branch {
                        at: *second,
                        position,
                    });
                    at = *first;
                    continue;
                }
                Instruction::Jump(to) => {
                    at = *to;
                    continue;
                }
                Instruction::Note(note) => {
                    undo.push(Undo::Note {
                        note: *note,
                        was: self.notes[*note],
                    });
                    self.notes[*note] = Some(position);
                    true
                }
                Instruction::Progress(note) => self.notes[*note] != Some(position),
                Instruction::Again(from, to) => match (self.notes[*from], self.notes[*to]) {
                    (Some(from), Some(to)) if from <= to => {
                        let fits = rest.starts_with(&self.text[from..to]);
                        position += if fits { to - from } else { 0 };
                        fits
                    }
                    // A group that has not matched yet repeats nothing.
                    _ => true,
                },
                Instruction::Look { wanted, next } => {
                    let (wanted, next) = (*wanted, *next);
                    let notes = self.notes.clone();
                    let found = self.run(at + 1, position)?;
                    if !(found && wanted) {
                        self.notes = notes;
                    }
                    if found == wanted {
                        at = next;
                        continue;
                    }
                    false
                }
            };
            if goes_on {
                at += 1;
                continue;
            }
            loop {
                match undo.pop() {
                    Some(Undo::Branch {
                        at: branch,
                        position: back,
                    }) => {
                        (at, position) = (branch, back);
                        break;
                    }
                    Some(Undo::Note { note, was }) => self.notes[note] = was,
                    None => return Some(false),
                }
            }
        }
    }

    fn is_boundary(&self, position: usize) -> bool {
        let is_word = |it: Option<char>| it.is_some_and(parse::is_word);
        let before = is_word(self.text[..position].chars().next_back());
        before != is_word(self.text[position..].chars().next())
    }
}

fn is_line_end(it: char) -> bool {
    matches!(it, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> Option<bool> {
        Pattern::parse(pattern)?.matches(text, &mut 10_000)
    }

    #[test]
    fn patterns_match_as_ecma_has_them() {
        for (pattern, good, bad) in [
            ("", &["", "x"][..], &[][..]),
            ("a+", &["a", "xaay"], &["", "b"]),
            ("^a*$", &["", "aaa"], &["ab", "aa\n"]),
            ("^(ab|cd)+$", &["ab", "abcd"], &["", "abc"]),
            ("^[a-z0-9_]{2,4}$", &["ab", "a_9z"], &["a", "abcde", "AB"]),
            ("^[^a-c]$", &["d", "é", "\n"], &["a", "dd"]),
            ("[]", &[], &["", "a"]),
            ("^[^]$", &["\n"], &[""]),
            ("^.{2}$", &["ab", "🐲a"], &["a", "a\n"]),
            (
                r"^\d{3}-\w+\s$",
                &["123-ab ", "123-x\u{a0}"],
                &["१२३-a ", "123-é "],
            ),
            (r"^\D\W\S$", &["a-b"], &["1-b", "aab", "a- "]),
            (r"\bcat\b", &["a cat.", "cat"], &["concat"]),
            (r"^\Bx", &[], &["x"]),
            (r"^(?=.*\d)(?!.*x).+$", &["a1"], &["ab", "1x"]),
            (r"^(a+)-\1$", &["aa-aa"], &["aa-a"]),
            (r"^(?<q>['a])b\k<q>$", &["'b'", "aba"], &["'ba"]),
            (r"^a{2}$", &["aa"], &["a", "aaa"]),
            (r"^a{2,}$", &["aa", "aaaa"], &["a"]),
            (r"^a{,2}$", &["a{,2}"], &["aa"]),
            (r"^a??b", &["b", "ab"], &["aab"]),
            (r"^\u0041\x42\u{43}\t\cJ\/$", &["ABC\t\n/"], &["ABC"]),
            (r"^\ud83d\udc32$", &["🐲"], &["x"]),
            (r"^[\d\-x]+$", &["1-x"], &["a"]),
            (r"^[\b]$", &["\u{8}"], &["b"]),
            ("^(a+)+$", &["a", "aaa"], &["", "aab"]),
            ("^(x+x+)+y$", &["xxxy"], &["xy"]),
            ("^(a|)*b$", &["b", "aab"], &["a"]),
            ("^(?:a*)*$", &["", "aaa"], &["b"]),
            (r"^[\s\S]*$", &["", "a\nb"], &[]),
            (r"^\p{Alphabetic}+$", &["aé日"], &["a1"]),
        ] {
            for text in good {
                assert_eq!(matches(pattern, text), Some(true), "{pattern} {text:?}");
            }
            for text in bad {
                assert_eq!(matches(pattern, text), Some(false), "{pattern} {text:?}");
            }
        }
    }

    #[test]
    fn what_is_malformed_or_not_known_has_no_verdict() {
        for pattern in [
            "(",
            ")",
            "[",
            "[z-a]",
            "*",
            "a**",
            "a{3,2}",
            r"\",
            r"(?<=a)b",
            r"\p{Letter}",
            r"\2(a)(",
            r"\k<x>",
            "(?",
            "(?<1>a)",
            r"\u{110000}",
            r"[\d-z",
            "a{2}{2}",
            "(a{1000}){1000}",
            "a{10001}",
        ] {
            assert!(Pattern::parse(pattern).is_none(), "{pattern}");
        }
    }

    // S14.
    #[test]
    fn a_match_takes_no_more_steps_than_it_is_given() {
        let pattern = Pattern::parse("^(a+)+$").unwrap();
        let text = "a".repeat(60) + "!";
        let mut steps = 100_000;
        assert_eq!(pattern.matches(&text, &mut steps), None);
        assert_eq!(steps, 0);
        let mut steps = 100_000;
        assert_eq!(pattern.matches("aaa", &mut steps), Some(true));
        assert!(steps > 99_000, "{steps}");
        let nested = "(".repeat(5_000) + &")".repeat(5_000);
        assert!(Pattern::parse(&nested).is_none());
    }
}
