//! Equivalence: `eqv?` and `equal?`.
//!
//! Owns both; `equal?` works with its own stack, charges its work, and ends on cyclic data.

use std::collections::HashSet;

use crate::error::Fallible;
use crate::heap::Heap;
use crate::number::Number;
use crate::object::Object;
use crate::value::Value;
use crate::world::World;

/// Comparisons made before pairs already compared are remembered, which only cycles need.
const TRUSTING: usize = 4096;

/// Identity, and equality of numbers of the same exactness.
pub(crate) fn eqv(heap: &Heap, left: Value, right: Value) -> bool {
    if left == right {
        return true;
    }
    match (heap.number(left), heap.number(right)) {
        (Some(Number::Float(a)), Some(Number::Float(b))) => a.to_bits() == b.to_bits(),
        (Some(Number::Big(a)), Some(Number::Big(b))) => a == b,
        (Some(Number::Ratio(a)), Some(Number::Ratio(b))) => a == b,
        _ => match (heap.get(left), heap.get(right)) {
            (Some(Object::Text(a)), Some(Object::Text(b))) => a.is_empty() && b.is_empty(),
            (Some(Object::Vector(a)), Some(Object::Vector(b))) => a.is_empty() && b.is_empty(),
            _ => false,
        },
    }
}

impl World {
    pub(crate) fn equal(&mut self, left: Value, right: Value) -> Fallible<bool> {
        if left == right {
            return Ok(true);
        }
        let mut pending = vec![(left, right)];
        let mut compared = 0_usize;
        let mut remembered = HashSet::new();
        while let Some((a, b)) = pending.pop() {
            if eqv(&self.heap, a, b) {
                continue;
            }
            compared += 1;
            if compared.is_multiple_of(64) {
                self.charge(8)?;
            }
            let compound = a.as_pair().is_some() || a.as_object().is_some();
            if compound && compared > TRUSTING {
                // Each remembered pair is paid for like a pair of the heap.
                self.heap.reserve(remembered.len() * 32)?;
                if !remembered.insert((a, b)) {
                    continue;
                }
            }
            if let (Some([a_car, a_cdr]), Some([b_car, b_cdr])) =
                (self.heap.pair(a), self.heap.pair(b))
            {
                pending.push((a_cdr, b_cdr));
                pending.push((a_car, b_car));
                continue;
            }
            let same = match (self.heap.get(a), self.heap.get(b)) {
                (Some(Object::Text(a)), Some(Object::Text(b))) => a == b,
                (Some(Object::Bytes(a)), Some(Object::Bytes(b))) => a == b,
                (Some(Object::Vector(a)), Some(Object::Vector(b))) if a.len() == b.len() => {
                    pending.extend(a.iter().copied().zip(b.iter().copied()).rev());
                    true
                }
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
