//! Parses the client's output with `--xml -vvv`: rows, and the number of changed rows.

use rocksalt_core::{Map, Value};

/// The results of all statements of one call.
#[derive(Debug, Default, PartialEq)]
pub struct MysqlReply {
    /// The rows of each statement that returns any.
    pub sets: Vec<Vec<Map>>,
    pub affected: u64,
}

const RULE: &str = "--------------";

impl MysqlReply {
    pub fn parse(text: &str) -> MysqlReply {
        let mut reply = MysqlReply::default();
        let mut rest = text;
        while let Some(line) = rest.lines().next() {
            if line == RULE {
                // The statement itself, which may contain any text.
                let after = &rest[RULE.len()..];
                rest = after.find(&format!("\n{RULE}\n")).map_or("", |end| &after[end + RULE.len() + 2..]);
            } else if line.starts_with("<resultset ") {
                let end = rest.find("</resultset>").unwrap_or(rest.len());
                reply.sets.push(rows(&rest[..end]));
                rest = rest.get(end + "</resultset>".len()..).unwrap_or_default();
            } else {
                let affected = line.strip_prefix("Query OK, ").and_then(|line| line.split(' ').next());
                reply.affected += affected.and_then(|number| number.parse::<u64>().ok()).unwrap_or_default();
                rest = rest.get(line.len() + 1..).unwrap_or_default();
            }
        }
        reply
    }

    /// The rows of all statements.
    pub fn rows(self) -> Vec<Map> {
        self.sets.into_iter().flatten().collect()
    }
}

fn rows(text: &str) -> Vec<Map> {
    // The head contains the statement, with `>` escaped.
    let body = text.split_once('>').map_or("", |(_, body)| body);
    body.split("<row>").skip(1).map(fields).collect()
}

fn fields(row: &str) -> Map {
    let mut fields = Map::new();
    let mut rest = row;
    while let Some((_, field)) = rest.split_once("<field name=\"") {
        let Some((name, after)) = field.split_once('"') else { break };
        if let Some(after) = after.strip_prefix(" xsi:nil=\"true\"") {
            fields.insert(plain(name), Value::Null);
            rest = after;
        } else {
            let content = after.strip_prefix('>').unwrap_or(after);
            let (content, after) = content.split_once("</field>").unwrap_or((content, ""));
            fields.insert(plain(name), plain(content));
            rest = after;
        }
    }
    fields
}

fn plain(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of MariaDB 10.11's client.
    const PRINTED: &str = "--------------
SELECT 1 AS a, NULL AS b, \"x<y&\\\"\\n\" as c, '
<resultset '
--------------

<?xml version=\"1.0\"?>

<resultset statement=\"SELECT &gt;\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">
  <row>
\t<field name=\"a\">1</field>
\t<field name=\"b\" xsi:nil=\"true\" />
\t<field name=\"c\">x&lt;y&amp;&quot;
&amp;lt;</field>
  </row>
  <row>
\t<field name=\"a\"></field>
  </row>
</resultset>
2 rows in set (0.000 sec)

--------------
insert into x values (1),(2)
--------------

Query OK, 2 rows affected (0.001 sec)
Records: 2  Duplicates: 0  Warnings: 0

<?xml version=\"1.0\"?>

<resultset statement=\"select\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"></resultset>
Empty set (0.000 sec)

Query OK, 1 row affected (0.000 sec)

Bye
";

    #[test]
    fn rows_and_counts_are_read() {
        let reply = MysqlReply::parse(PRINTED);
        assert_eq!(reply.affected, 3);
        let shown = |row: &Map| Value::Map(row.clone()).to_string();
        let sets: Vec<String> = reply.sets.iter().map(|set| set.iter().map(shown).collect()).collect();
        let first = "{'a': '1', 'b': None, 'c': 'x<y&\"\\n&lt;'}{'a': ''}";
        assert_eq!(sets, [first, ""]);
        assert_eq!(MysqlReply::parse(""), MysqlReply::default());
        assert_eq!(MysqlReply::parse("--------------\nhalf"), MysqlReply::default());
    }
}
