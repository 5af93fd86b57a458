//! Converts low data to plain data and back, so that another process can resume the run.

use std::sync::Arc;

use rocksalt_core::{Map, Value};

use super::{Chunk, DisabledChunk, Low, LowStep, Need, Requisite};
use crate::files::{SourceFiles, Spot};

impl Low {
    /// Converts everything except positions in files: a process that resumes a run has compiled no files.
    pub fn to_snapshot(&self) -> Value {
        let mut map = Map::new();
        map.insert("chunks", self.chunks.iter().map(chunk_to_value).collect::<Vec<_>>());
        map.insert("steps", self.steps.iter().map(step_to_value).collect::<Vec<_>>());
        let numbers = |group: &Vec<usize>| Value::List(group.iter().map(|index| (*index).into()).collect());
        map.insert("aggregates", self.aggregates.iter().map(numbers).collect::<Vec<_>>());
        let disabled = |disabled: &DisabledChunk| {
            Value::List(vec![chunk_to_value(&disabled.chunk), disabled.pattern.as_str().into()])
        };
        map.insert("disabled", self.disabled.iter().map(disabled).collect::<Vec<_>>());
        map.into()
    }

    /// Restores the data of [`Low::to_snapshot`]; `None` if the value is anything else.
    pub fn from_snapshot(kept: &Value) -> Option<Low> {
        let list = |key: &str| kept.as_map()?.get(key)?.as_list();
        let chunks: Vec<Chunk> = list("chunks")?.iter().map(chunk).collect::<Option<_>>()?;
        let steps: Vec<LowStep> = list("steps")?.iter().map(step).collect::<Option<_>>()?;
        let numbers = |group: &Value| group.as_list()?.iter().map(index).collect::<Option<Vec<_>>>();
        let aggregates: Vec<Vec<usize>> = list("aggregates")?.iter().map(numbers).collect::<Option<_>>()?;
        let disabled = |one: &Value| match one.as_list()? {
            [of, pattern] => Some(DisabledChunk { chunk: chunk(of)?, pattern: pattern.as_str()?.to_owned() }),
            _ => None,
        };
        let disabled = list("disabled")?.iter().map(disabled).collect::<Option<_>>()?;
        let fits =
            steps.iter().all(|step| step.chunk < chunks.len() && step.needs.iter().all(|need| need.step < steps.len()));
        let fits = fits && aggregates.iter().flatten().all(|index| *index < chunks.len());
        fits.then(|| Low { chunks, steps, aggregates, disabled, files: SourceFiles::default() })
    }
}

fn index(value: &Value) -> Option<usize> {
    usize::try_from(value.as_i64()?).ok()
}

fn chunk_to_value(chunk: &Chunk) -> Value {
    let mut map = Map::new();
    for (key, text) in [("state", &*chunk.state), ("fun", &*chunk.fun), ("name", &*chunk.name), ("id", &*chunk.id)] {
        map.insert(key, text);
    }
    map.insert("sls", &*chunk.sls);
    map.insert("saltenv", &*chunk.saltenv);
    map.insert("included_from", chunk.included_from.iter().map(|sls| (&**sls).into()).collect::<Vec<Value>>());
    // The list distinguishes a missing name from a null one.
    map.insert("name_value", chunk.name_value.iter().cloned().collect::<Vec<_>>());
    map.insert("order", chunk.order.clone());
    map.insert("arguments", chunk.arguments.clone());
    map.insert("prerequired", chunk.prerequired);
    map.insert("prerequiring", chunk.prerequiring);
    map.into()
}

fn chunk(kept: &Value) -> Option<Chunk> {
    let map = kept.as_map()?;
    let text = |key: &str| Some(map.get(key)?.as_str()?.to_owned());
    let flag = |key: &str| map.get(key)?.as_bool();
    let included = map.get("included_from")?.as_list()?;
    let included: Vec<Arc<str>> = included.iter().map(|sls| Some(sls.as_str()?.into())).collect::<Option<_>>()?;
    let arguments = map.get("arguments")?.as_map()?.clone();
    Some(Chunk {
        state: text("state")?,
        fun: text("fun")?,
        name: text("name")?,
        name_value: map.get("name_value")?.as_list()?.first().cloned(),
        id: text("id")?,
        sls: text("sls")?.into(),
        saltenv: text("saltenv")?.into(),
        included_from: included.into(),
        order: map.get("order")?.clone(),
        spots: vec![Spot::default(); arguments.len()],
        arguments,
        prerequired: flag("prerequired")?,
        prerequiring: flag("prerequiring")?,
        spot: Spot::default(),
    })
}

fn step_to_value(step: &LowStep) -> Value {
    let need = |need: &Need| Value::List(vec![need.requisite.name().into(), need.step.into()]);
    let needs = step.needs.iter().map(need).collect::<Vec<_>>();
    Value::List(vec![step.chunk.into(), step.dry_run.into(), needs.into()])
}

fn step(kept: &Value) -> Option<LowStep> {
    let [chunk, dry_run, needs] = kept.as_list()? else { return None };
    let need = |need: &Value| match need.as_list()? {
        [requisite, step] => Some(Need { requisite: Requisite::from_name(requisite.as_str()?)?, step: index(step)? }),
        _ => None,
    };
    let needs = needs.as_list()?.iter().map(need).collect::<Option<_>>()?;
    Some(LowStep { chunk: index(chunk)?, dry_run: dry_run.as_bool()?, needs })
}

#[cfg(test)]
mod tests {
    use rocksalt_core::value::{from_cbor, to_cbor};

    use super::*;

    #[test]
    fn what_is_kept_is_the_same_afterwards() {
        let chunk = Chunk {
            state: "file".into(),
            fun: "managed".into(),
            name: "80".into(),
            name_value: Some(80i64.into()),
            id: "one".into(),
            sls: "web".into(),
            saltenv: "base".into(),
            included_from: Arc::new([Arc::from("top")]),
            order: 10000i64.into(),
            arguments: Map::from_iter([("require".into(), Value::List(vec![Value::Null]))]),
            prerequired: true,
            prerequiring: false,
            spot: Spot::default(),
            spots: vec![Spot::default()],
        };
        let low = Low {
            chunks: vec![chunk.clone(), Chunk { id: "two".into(), name_value: None, ..chunk.clone() }],
            steps: vec![
                LowStep { chunk: 0, dry_run: true, needs: Vec::new() },
                LowStep { chunk: 1, dry_run: false, needs: vec![Need { requisite: Requisite::WatchAny, step: 0 }] },
            ],
            aggregates: vec![vec![0, 1]],
            disabled: vec![DisabledChunk { chunk, pattern: "file.*".into() }],
            files: SourceFiles::default(),
        };
        let kept = from_cbor(&to_cbor(&low.to_snapshot())).expect("it is CBOR");
        let again = Low::from_snapshot(&kept).expect("it is low data");
        assert_eq!(again.to_snapshot(), low.to_snapshot());
        assert_eq!((&again.steps, &again.aggregates), (&low.steps, &low.aggregates));
        assert!(again.chunks[1].name_value.is_none() && again.chunks[0].spots.len() == 1);
        let mut broken = low.to_snapshot();
        if let Value::Map(map) = &mut broken {
            map.insert("aggregates", vec![Value::List(vec![7i64.into()])]);
        }
        assert!(Low::from_snapshot(&broken).is_none(), "a number that leads nowhere");
        assert!(Low::from_snapshot(&Value::Null).is_none());
    }
}
