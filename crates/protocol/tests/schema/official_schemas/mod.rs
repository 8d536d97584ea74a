//! The tests of this program. `scripts/test` knows them by the name of this module, to leave them
//! out and say so where there are no schemas.

mod emitted;
mod examples;
mod known_members;
