//! Real misbehaving parts for tests.
