//! `table`: lists of maps, lists or texts as tables with borders; other values as in `nested`.

use rocksalt_core::{Map, Value};

use super::palette::Palette;
use super::{Outputter, Style, finish, named, nested, python};

pub struct Table;

/// The maximum widths of a column: the first is the default, the others are for narrow terminals.
const WIDTHS: [usize; 6] = [50, 40, 30, 20, 15, 10];

impl Outputter for Table {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        let mut out = Vec::new();
        display(&named(id, value), 0, style, &mut out);
        finish(&out.join("\n"))
    }
}

fn display(value: &Value, indent: usize, style: &Style, out: &mut Vec<String>) {
    let palette = Palette::of(style);
    match value {
        Value::Map(map) => {
            for (key, value) in python::sorted(map) {
                out.push(format!("{:indent$}{}{}{}:", "", palette.dark_gray, python::text(key), palette.end));
                out.push(format!("{:indent$}{}----------{}", "", palette.dark_gray, palette.end));
                display(value, indent + 4, style, out);
            }
        }
        Value::List(items) if items.is_empty() => {}
        Value::List(items) => match rows(items).and_then(|rows| fitting(&rows, indent, style)) {
            Some(lines) => out.extend(lines),
            None => out.push(nested::block(value, indent, style)),
        },
        scalar => out.push(nested::block(scalar, indent, style)),
    }
}

struct Rows {
    labels: Option<Vec<String>>,
    cells: Vec<Vec<String>>,
}

/// The list as a table, if its items are of one kind.
fn rows(items: &[Value]) -> Option<Rows> {
    let text = |value: &Value| python::text(value).into_owned();
    if let Some(maps) = items.iter().map(Value::as_map).collect::<Option<Vec<_>>>() {
        // The columns of all rows: one that lacks a key has an empty cell.
        let every: Map = maps.iter().flat_map(|map| map.keys()).map(|key| (key.clone(), Value::Null)).collect();
        let keys: Vec<&Value> = python::sorted(&every).into_iter().map(|(key, _)| key).collect();
        let row = |map: &&Map| keys.iter().map(|key| map.get_value(key).map(text).unwrap_or_default()).collect();
        let labels = keys.iter().map(|key| title(&python::text(key).replace('_', " "))).collect();
        return (!keys.is_empty()).then(|| Rows { labels: Some(labels), cells: maps.iter().map(row).collect() });
    }
    if let Some(lists) = items.iter().map(Value::as_list).collect::<Option<Vec<_>>>() {
        let columns = lists.iter().map(|list| list.len()).max().filter(|columns| *columns > 0)?;
        let row = |list: &&[Value]| (0..columns).map(|index| list.get(index).map(text).unwrap_or_default()).collect();
        return Some(Rows { labels: None, cells: lists.iter().map(row).collect() });
    }
    let scalars = items.iter().all(Value::is_scalar);
    scalars.then(|| Rows { labels: None, cells: items.iter().map(|item| vec![text(item)]).collect() })
}

/// The table's lines; `None` if it is too wide even with narrow columns.
fn fitting(rows: &Rows, indent: usize, style: &Style) -> Option<Vec<String>> {
    let room = style.width.unwrap_or(usize::MAX);
    WIDTHS.iter().find_map(|width| {
        let cells: Vec<Vec<Vec<String>>> = rows
            .labels
            .iter()
            .chain(&rows.cells)
            .map(|row| row.iter().map(|cell| wrapped(cell, *width)).collect())
            .collect();
        let widths = widths(&cells);
        let total = widths.iter().sum::<usize>() + 3 * widths.len() + 1;
        (indent + total <= room).then(|| lines(&cells, &widths, indent, Palette::of(style)))
    })
}

/// The widest line of each column.
fn widths(cells: &[Vec<Vec<String>>]) -> Vec<usize> {
    let columns = cells.first().map_or(0, Vec::len);
    let widest = |column: usize| cells.iter().flat_map(|row| &row[column]).map(|line| length(line)).max().unwrap_or(0);
    (0..columns).map(widest).collect()
}

fn lines(cells: &[Vec<Vec<String>>], widths: &[usize], indent: usize, palette: &Palette) -> Vec<String> {
    let total = widths.iter().sum::<usize>() + 3 * widths.len() + 1;
    let border = format!("{:indent$}{}{}{}", "", palette.light_gray, "-".repeat(total), palette.end);
    let mut out = vec![border.clone()];
    for row in cells {
        let height = row.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let part = |(cell, width): (&Vec<String>, &usize)| centred(cell.get(line).map_or("", |l| l), *width);
            let parts: Vec<String> = row.iter().zip(widths).map(part).collect();
            out.push(format!("{:indent$}{}| {} |{}", "", palette.white, parts.join(" | "), palette.end));
        }
        out.push(border.clone());
    }
    out
}

/// Wraps a text at blanks if a line would be longer than `width`.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut words = text.split(' ');
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        let line = length(out.rsplit('\n').next().unwrap_or_default());
        let first = length(word.split('\n').next().unwrap_or_default());
        out.push(if line + first >= width { '\n' } else { ' ' });
        out.push_str(word);
    }
    out.split('\n').map(str::to_owned).collect()
}

/// Python's `str.center`: if the padding is odd, an odd width puts the extra blank on the left.
fn centred(text: &str, width: usize) -> String {
    let room = width.saturating_sub(length(text));
    let left = room / 2 + (room & width & 1);
    format!("{:left$}{text}{:right$}", "", "", right = room - left)
}

/// Python's `str.title`: each run of letters begins with a capital.
fn title(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = c.is_alphabetic();
    }
    out
}

fn length(text: &str) -> usize {
    text.chars().count()
}
