//! Computations that measure a target's speed.

use std::time::Instant;

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::Function;
use crate::machine::System;
use crate::{Error, Result};

/// The Collatz sequence from a number on, and how many seconds it took.
///
/// ```text
/// rocksalt '*' test.collatz 3
/// ```
#[function("test.collatz", reads, repeatable)]
pub struct Collatz {
    /// The first number.
    start: i64,
}

impl Function for Collatz {
    type Output = (Vec<i64>, f64);

    fn call(self, machine: &dyn System) -> Result<(Vec<i64>, f64)> {
        let begin = Instant::now();
        let mut number = self.start;
        let mut steps = Vec::new();
        while number > 1 && !machine.cancelled() {
            steps.push(number);
            let next =
                if number % 2 == 0 { Some(number / 2) } else { number.checked_mul(3).and_then(|n| n.checked_add(1)) };
            number = next.ok_or_else(|| Error::failed(format!("the sequence from {} on grows too big", self.start)))?;
        }
        Ok((steps, begin.elapsed().as_secs_f64()))
    }
}

/// A Fibonacci number, and how many seconds it took.
///
/// ```text
/// rocksalt '*' test.fib 30
/// ```
#[function("test.fib", reads, repeatable)]
pub struct Fib {
    /// Which one; the first two are 0 and 1.
    num: u32,
}

impl Function for Fib {
    type Output = (Value, f64);

    fn call(self, _: &dyn System) -> Result<(Value, f64)> {
        let begin = Instant::now();
        let (mut this, mut next) = (0u128, 1u128);
        for _ in 0..self.num {
            let sum = this.checked_add(next).ok_or_else(|| {
                Error::arguments(format!("the Fibonacci number {} is too big", self.num)).hint("up to 185 can be had")
            })?;
            (this, next) = (next, sum);
        }
        Ok((Value::integer(&this.to_string()).unwrap_or_default(), begin.elapsed().as_secs_f64()))
    }
}
