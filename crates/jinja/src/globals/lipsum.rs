//! `lipsum`: filler text.

use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::Value;

const WORDS: &str = "a ac accumsan ad adipiscing aenean aliquam amet ante aptent arcu at auctor bibendum blandit \
    condimentum congue consectetuer consequat cras cum cursus dapibus diam dictum dignissim dis dolor donec dui duis \
    egestas eget eleifend elit enim erat eros est et etiam eu euismod facilisi fames faucibus felis fermentum feugiat \
    gravida habitant hendrerit iaculis id imperdiet in integer ipsum justo lacinia lacus laoreet lectus leo libero \
    ligula lobortis lorem luctus maecenas magna malesuada massa mattis mauris metus mi molestie morbi nam nec neque \
    nibh nisi nonummy nulla nunc odio orci ornare parturient pede pellentesque pharetra placerat porta posuere \
    praesent primis proin pulvinar purus quam quis rhoncus risus rutrum sagittis sapien scelerisque sed sem semper \
    sit sociis sodales tellus tempor tincidunt tortor tristique turpis ullamcorper ultrices urna ut varius vel \
    velit vestibulum vitae vivamus viverra volutpat vulputate";

/// Generates paragraphs of meaningless words.
pub fn lipsum(scope: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let paragraphs = arguments.integer("n", 5)?.max(0) as usize;
    let html = arguments.flag("html", true)?;
    let least = arguments.integer("min", 20)?.max(1) as usize;
    let most = arguments.integer("max", 100)?.max(2) as usize;
    arguments.finish()?;
    scope.check_size(paragraphs.saturating_mul(most.saturating_mul(12)))?;
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let random = |below: usize| Ok((scope.environment().random()? % below.max(1) as u64) as usize);
    let mut out: Vec<String> = Vec::new();
    for _ in 0..paragraphs {
        let count = least + random(most.saturating_sub(least))?;
        let mut text = String::new();
        let mut left_in_sentence = 0;
        for index in 0..count {
            let word = words[random(words.len())?];
            if left_in_sentence == 0 {
                if index > 0 {
                    text.push_str(". ");
                }
                text.push_str(&crate::methods::capitalize(word));
                left_in_sentence = 4 + random(10)?;
            } else {
                text.push(' ');
                text.push_str(word);
                left_in_sentence -= 1;
            }
        }
        text.push('.');
        out.push(text);
    }
    if html {
        let paragraphs: Vec<String> = out.iter().map(|text| format!("<p>{text}</p>")).collect();
        return Ok(Value::safe(paragraphs.join("\n")));
    }
    Ok(out.join("\n\n").into())
}
