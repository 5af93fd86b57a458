//! Parses rows of `COPY … TO STDOUT WITH CSV HEADER`. As in Salt, NULL becomes an empty text.

use rocksalt_core::{Map, Value};

pub fn rows(text: &str) -> Vec<Map> {
    let mut records = records(text).into_iter();
    let Some(header) = records.next() else { return Vec::new() };
    let row = |record: Vec<String>| {
        header.iter().zip(record).map(|(name, value)| (name.as_str().into(), Value::from(value))).collect::<Map>()
    };
    records.map(row).collect()
}

fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let (mut field, mut inside) = (String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if inside && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => inside = !inside,
            letter if inside => field.push(letter),
            ',' | '\n' => {
                record.push(std::mem::take(&mut field));
                if letter == '\n' {
                    records.push(std::mem::take(&mut record));
                }
            }
            letter => field.push(letter),
        }
    }
    records
}

/// Parses an array in PostgreSQL's form: `{a,"b c"}`.
pub fn array(text: &str) -> Vec<String> {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    if inner.is_empty() {
        return Vec::new();
    }
    let (mut members, mut member, mut inside) = (Vec::new(), String::new(), false);
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => member.extend(letters.next()),
            '"' => inside = !inside,
            ',' if !inside => members.push(std::mem::take(&mut member)),
            letter => member.push(letter),
        }
    }
    members.push(member);
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let rows = rows("a,\"b c\",d\n1,,\"\"\n\"x,\"\"y\"\"\nz\",2,3\n");
        let shown: Vec<String> = rows.into_iter().map(|row| Value::Map(row).to_string()).collect();
        assert_eq!(shown, ["{'a': '1', 'b c': '', 'd': ''}", "{'a': 'x,\"y\"\\nz', 'b c': '2', 'd': '3'}"]);
        assert!(super::rows("").is_empty());
    }

    #[test]
    fn arrays_are_read() {
        assert_eq!(array(r#"{a,"b c","d\"e,f"}"#), ["a", "b c", "d\"e,f"]);
        assert!(array("{}").is_empty() && array("").is_empty());
    }
}
