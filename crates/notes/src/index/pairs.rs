//! Pairs of neighbouring words, which say where a phrase may be.
//!
//! To see whether words stand one behind the other, their places have to be read, in every note that
//! has them all: for common words that is every note there is. So the index has the number of each
//! pair too, without places, and only notes with all pairs of a phrase are read. Different pairs may
//! have the same number; a note is found only by its places.

use crate::analysis::Term;

/// How many bits the number of a pair has. Fewer make candidates that are none, more make each part
/// of the index larger.
///
/// In tests they are so few that most pairs share their numbers with others: that must not show.
const BITS: u32 = if cfg!(test) { 4 } else { 17 };

/// The numbers of all pairs in a text. A word may be followed by the next one or by its stem.
pub(super) fn of_terms(terms: &[Term], found: &mut Vec<u64>) {
    let mut places = terms.chunk_by(|one, other| one.position == other.position);
    let mut before = places.next().unwrap_or_default();
    for here in places {
        for first in before {
            found.extend(here.iter().map(|second| number(&first.text, &second.text)));
        }
        before = here;
    }
}

/// The numbers of all pairs in a phrase.
pub(super) fn of_phrase(words: &[String]) -> Vec<u64> {
    let pairs = words.iter().zip(words.iter().skip(1));
    let mut numbers: Vec<u64> = pairs.map(|(one, other)| number(one, other)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Part of what is on disk: alike everywhere, and changed only with the version of the index. The
/// hash is FNV-1a; multiplying once more brings its differences to the upper bits.
fn number(first: &str, second: &str) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in first.bytes().chain([0]).chain(second.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{self, Language};

    #[test]
    fn every_phrase_of_a_text_has_its_pairs_there() {
        let text = "Mornings pass, mornings pass 瞑想法 Brûlée";
        let mut found = Vec::new();
        of_terms(&analysis::indexed(text, Language::ENGLISH), &mut found);
        for phrase in [
            "mornings pass",
            "morn pass",
            "pass mornings",
            "瞑想法 brulee",
        ] {
            let numbers = of_phrase(&analysis::queried(phrase));
            assert!(!numbers.is_empty());
            assert!(numbers.iter().all(|it| found.contains(it)), "{phrase}");
        }
        let turned = of_phrase(&analysis::queried("pass morn pass"));
        assert_eq!(turned.len(), 2);
        of_terms(&[], &mut found);
        assert!(found.iter().all(|it| *it < 1 << BITS));
    }
}
