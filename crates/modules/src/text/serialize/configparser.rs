//! INI files as in Python's `configparser`: sections of options, with names in lower case.

use rocksalt_core::{Map, Value};

use super::Error;

const DEFAULT: &str = "DEFAULT";

pub fn dump(value: &Value) -> Result<String, Error> {
    let misfit = |text: String| Error::Misfit(text);
    let Value::Map(sections) = value else {
        return Err(misfit(format!("configparser can only serialize dictionaries, not {}", value.kind())));
    };
    let mut texts = Vec::new();
    for (name, options) in sections.iter() {
        let Value::Map(options) = options else {
            return Err(misfit(format!("section '{name}' must be a dictionary, not {}", options.kind())));
        };
        let mut text = format!("[{name}]\n");
        for (key, value) in options.iter() {
            let value = match value {
                Value::Null => "None".to_owned(),
                other => other.to_string(),
            };
            // A percent sign begins a reference to another option.
            if value.replace("%%", "").contains('%') && !value.contains("%(") {
                return Err(misfit(format!("invalid interpolation syntax in '{value}'")));
            }
            text.push_str(&format!("{} = {}\n", key.to_string().to_lowercase(), value.replace('\n', "\n\t")));
        }
        text.push('\n');
        // Options of all sections come first.
        let place = if name.as_str() == Some(DEFAULT) { 0 } else { texts.len() };
        texts.insert(place, text);
    }
    Ok(texts.concat())
}

pub fn load(text: &str) -> Result<Value, Error> {
    let mut sections = Map::new();
    let mut defaults = Map::new();
    let mut section: Option<String> = None;
    let mut last: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        let wrong = |why: &str| Error::Misfit(format!("line {}: {why}: {line:?}", index + 1));
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t'])
            && let (Some(section), Some(option)) = (&section, &last)
        {
            let options = if section == DEFAULT { Some(&mut defaults) } else { section_of(&mut sections, section) };
            if let Some(Value::String(value)) = options.and_then(|options| options.get_mut(option)) {
                value.push('\n');
                value.push_str(bare);
            }
            continue;
        }
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if name != DEFAULT && sections.insert(name, Map::new()).is_some() {
                return Err(wrong("the section is there already"));
            }
            (section, last) = (Some(name.to_owned()), None);
            continue;
        }
        let Some(section) = &section else { return Err(wrong("File contains no section headers")) };
        let Some((name, value)) = bare.split_once(['=', ':']) else { return Err(wrong("no option")) };
        let name = name.trim().to_lowercase();
        let options = if section == DEFAULT { Some(&mut defaults) } else { section_of(&mut sections, section) };
        if options.is_some_and(|options| options.insert(name.as_str(), value.trim()).is_some()) {
            return Err(wrong("the option is there already"));
        }
        last = Some(name);
    }
    for (_, options) in sections.iter_mut() {
        if let Value::Map(options) = options {
            let mut whole = defaults.clone();
            whole.extend(std::mem::take(options));
            *options = whole;
        }
    }
    Ok(Value::Map(sections))
}

fn section_of<'a>(sections: &'a mut Map, name: &str) -> Option<&'a mut Map> {
    match sections.get_mut(name) {
        Some(Value::Map(options)) => Some(options),
        _ => None,
    }
}
