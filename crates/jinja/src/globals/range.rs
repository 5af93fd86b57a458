//! [`RangeObject`]: Python's `range()`.

use crate::error::{Error, Result};
use crate::value::{PythonObject, Slice, Value};

pub struct RangeObject {
    pub start: i64,
    pub stop: i64,
    pub step: i64,
}

impl RangeObject {
    pub fn new(start: i64, stop: i64, step: i64) -> Result<RangeObject> {
        if step == 0 {
            return Err(Error::value_error("range() arg 3 must not be zero"));
        }
        Ok(RangeObject { start, stop, step })
    }

    pub fn count(&self) -> u64 {
        let (start, stop, step) = (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let distance = if step > 0 { stop - start } else { start - stop };
        if distance <= 0 { 0 } else { ((distance - 1) / step.abs() + 1) as u64 }
    }

    fn at(&self, index: u64) -> i64 {
        (i128::from(self.start) + i128::from(index) * i128::from(self.step)) as i64
    }
}

impl PythonObject for RangeObject {
    fn type_name(&self) -> &str {
        "range"
    }

    fn len(&self) -> Option<usize> {
        Some(self.count() as usize)
    }

    fn get_item(&self, key: &Value) -> Result<Option<Value>> {
        let Some(index) = key.as_i64() else { return Ok(None) };
        let count = self.count();
        let index = if index < 0 { index.checked_add(count as i64) } else { Some(index) };
        Ok(index.and_then(|index| u64::try_from(index).ok()).filter(|index| *index < count).map(|i| self.at(i).into()))
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        match name {
            "start" => Some(self.start.into()),
            "stop" => Some(self.stop.into()),
            "step" => Some(self.step.into()),
            _ => None,
        }
    }

    fn slice(&self, slice: &Slice) -> Option<Result<Value>> {
        let indexes = match slice.indexes(self.count() as usize) {
            Ok(indexes) => indexes,
            Err(error) => return Some(Err(error)),
        };
        let step = self.step.saturating_mul(slice.step.unwrap_or(1));
        let (start, stop) = match (indexes.first(), indexes.last()) {
            (Some(first), Some(last)) => (self.at(*first as u64), self.at(*last as u64).saturating_add(step)),
            _ => (self.start, self.start),
        };
        Some(RangeObject::new(start, stop, step).map(Value::object))
    }

    fn contains(&self, value: &Value) -> Option<Result<bool>> {
        let number = match value {
            Value::Float(number) if *number == number.trunc() => Some(*number as i64),
            other => other.as_i64(),
        };
        Some(Ok(number.is_some_and(|number| {
            let inside = if self.step > 0 {
                number >= self.start && number < self.stop
            } else {
                number <= self.start && number > self.stop
            };
            inside && (i128::from(number) - i128::from(self.start)) % i128::from(self.step) == 0
        })))
    }

    fn iterate(&self) -> Option<Vec<Value>> {
        Some((0..self.count()).map(|index| self.at(index).into()).collect())
    }

    fn equals(&self, other: &Value) -> Option<bool> {
        let other = other.downcast::<RangeObject>()?;
        let same_count = self.count() == other.count();
        Some(
            same_count
                && (self.count() == 0 || (self.start == other.start && (self.count() == 1 || self.step == other.step))),
        )
    }

    fn repr(&self) -> String {
        match self.step {
            1 => format!("range({}, {})", self.start, self.stop),
            step => format!("range({}, {}, {step})", self.start, self.stop),
        }
    }
}
