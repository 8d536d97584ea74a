//! A growable array of equal cells with a mark bit each.
//!
//! Owns allocation by scanning the mark bits of the last collection, so that nothing is swept;
//! knows nothing of what the cells mean or of any limit.

/// Cells of one type, addressed by index.
pub(crate) struct Arena<T> {
    cells: Vec<T>,
    marks: Vec<u64>,
    /// The word of marks that allocation looks at.
    word: usize,
    /// The cells of that word that are still free.
    free: u64,
}

impl<T: Copy> Arena<T> {
    pub(crate) const fn new() -> Self {
        Self {
            cells: Vec::new(),
            marks: Vec::new(),
            word: 0,
            free: 0,
        }
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit keeps indices in u32"
    )]
    pub(crate) fn allocate(&mut self, cell: T) -> u32 {
        if self.free == 0 {
            self.next_word(cell);
        }
        let index = self.word * 64 + self.free.trailing_zeros() as usize;
        self.free &= self.free - 1;
        self.cells[index] = cell;
        index as u32
    }

    /// Moves to the next word with a free cell, growing the arena when there is none.
    fn next_word(&mut self, filler: T) {
        while self.word + 1 < self.marks.len() {
            self.word += 1;
            self.free = !self.marks[self.word];
            if self.free != 0 {
                return;
            }
        }
        let words = self.marks.len();
        let grown = words + (words / 2).clamp(16, 16 << 10);
        self.marks.resize(grown, 0);
        self.cells.resize(grown * 64, filler);
        self.word = words;
        self.free = !0;
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> T {
        self.cells[index as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.cells[index as usize]
    }

    pub(crate) fn clear_marks(&mut self) {
        self.marks.fill(0);
    }

    /// Marks a cell; answers whether it was unmarked before.
    #[inline(always)]
    pub(crate) fn mark(&mut self, index: u32) -> bool {
        let bit = 1 << (index % 64);
        let word = &mut self.marks[index as usize / 64];
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Starts allocation anew from the marks; answers how many cells are marked.
    pub(crate) fn restart(&mut self) -> usize {
        let live: usize = self
            .marks
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum();
        // A mostly empty arena gives memory back, from the end only: indices never move.
        let used = self
            .marks
            .iter()
            .rposition(|&word| word != 0)
            .map_or(0, |last| last + 1);
        let kept = used.max(self.marks.len().min(1024)).max(live / 32);
        if kept < self.marks.len() / 2 {
            self.marks.truncate(kept);
            self.cells.truncate(kept * 64);
            self.marks.shrink_to_fit();
            self.cells.shrink_to_fit();
        }
        self.word = 0;
        self.free = self.marks.first().map_or(0, |word| !word);
        live
    }
}
