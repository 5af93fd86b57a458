//! The result of a query, in Salt's form.

use rocksalt_core::{Map, Value};

use super::reply::MysqlReply;

/// `{'query time': …, 'rows returned': 1, 'columns': […], 'results': [[…]]}`, or `rows affected`.
pub fn of_query(reply: &MysqlReply, seconds: f64) -> Map {
    let human = match seconds < 0.2 {
        true => format!("{}ms", rounded(seconds * 1000.0, 1)),
        false => format!("{}s", rounded(seconds, 2)),
    };
    let time = [("human".into(), human.into()), ("raw".into(), rounded(seconds, 5).to_string().into())];
    let mut answer = Map::from_iter([("query time".into(), Value::Map(Map::from_iter(time)))]);
    match reply.sets.last() {
        None => drop(answer.insert("rows affected", reply.affected)),
        Some(rows) => {
            answer.insert("rows returned", rows.len());
            answer.insert("columns", columns(rows));
            answer.insert("results", results(rows));
        }
    }
    answer
}

/// As [`of_query`], for several statements: their counts together, their rows in lists.
pub fn of_file(reply: &MysqlReply, seconds: f64) -> Map {
    let count: usize = reply.sets.iter().map(Vec::len).sum();
    let time = [("raw".into(), rounded(seconds, 5)), ("human".into(), format!("{}s", rounded(seconds, 2)).into())];
    let all = [
        ("rows returned", Value::from(count)),
        ("columns", Value::List(reply.sets.iter().map(|rows| columns(rows)).collect())),
        ("results", Value::List(reply.sets.iter().map(|rows| results(rows)).collect())),
        ("rows affected", reply.affected.into()),
        ("query time", Value::Map(Map::from_iter(time))),
    ];
    all.into_iter().filter(|(_, value)| value.truth()).map(|(key, value)| (key.into(), value)).collect()
}

fn columns(rows: &[Map]) -> Value {
    Value::List(rows.first().map(|row| row.keys().cloned().collect()).unwrap_or_default())
}

fn results(rows: &[Map]) -> Value {
    Value::List(rows.iter().map(|row| Value::List(row.values().cloned().collect())).collect())
}

fn rounded(number: f64, digits: i32) -> Value {
    let scale = 10f64.powi(digits);
    Value::Float((number * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_salts_form() {
        let row = Map::from_iter([("id".into(), "1".into()), ("name".into(), Value::Null)]);
        let reply = MysqlReply { sets: vec![vec![row]], affected: 0 };
        assert_eq!(
            Value::Map(of_query(&reply, 0.00123)).to_string(),
            "{'query time': {'human': '1.2ms', 'raw': '0.00123'}, 'rows returned': 1, 'columns': ['id', 'name'], \
             'results': [['1', None]]}"
        );
        let reply = MysqlReply { sets: Vec::new(), affected: 4 };
        assert_eq!(
            Value::Map(of_query(&reply, 1.5)).to_string(),
            "{'query time': {'human': '1.5s', 'raw': '1.5'}, 'rows affected': 4}"
        );
        assert_eq!(
            Value::Map(of_file(&reply, 0.5)).to_string(),
            "{'rows affected': 4, 'query time': {'raw': 0.5, 'human': '0.5s'}}"
        );
    }
}
