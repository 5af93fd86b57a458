//! [`mask`]: a call's arguments with their secrets replaced, before they are stored or shown.

use rocksalt_core::masking::{self, MASK, holds_something};
use rocksalt_core::{Map, Value};

use crate::docs::ArgumentKind;

/// As [`masking::mask`], which goes by names, and also the arguments that the function itself calls secret.
pub fn mask(function: &str, args: &[Value], kwargs: &Map) -> (Vec<Value>, Map) {
    let (mut args, mut kwargs) = masking::mask(function, args, kwargs);
    let Some(known) = crate::find(function) else { return (args, kwargs) };
    for (place, argument) in known.arguments.iter().enumerate().filter(|(_, argument)| argument.secret) {
        let positional = args.get_mut(place).filter(|_| known.kind(argument) == ArgumentKind::Plain);
        for value in positional.into_iter().chain(kwargs.get_mut(argument.name)).filter(|value| holds_something(value))
        {
            *value = MASK.into();
        }
    }
    (args, kwargs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_by_place_and_by_name() {
        let place = crate::find("mysql.user_create").expect("there is one");
        let place = place.arguments.iter().position(|argument| argument.name == "password").expect("it takes one");
        let given: Vec<Value> = (0..=place).map(|index| format!("value{index}").into()).collect();
        let (args, _) = mask("mysql.user_create", &given, &Map::new());
        assert_eq!(args[place], MASK.into());
        assert_eq!(args[0], "value0".into());
        let (_, kwargs) = mask("state.apply", &[], &Map::from_iter([("pillar".into(), "x".into())]));
        assert_eq!(kwargs.get("pillar"), Some(&MASK.into()));
    }

    #[test]
    fn whatever_is_called_like_a_secret_is_one() {
        for one in crate::FUNCTIONS.iter().chain(crate::STATES) {
            for argument in one.arguments.iter().filter(|argument| masking::is_secret(argument.name)) {
                let is_switch = matches!(argument.shape.to_string().as_str(), "bool" | "flag" | "bool?" | "flag?");
                assert!(argument.secret || is_switch, "{}: {} is not marked #[secret]", one.name, argument.name);
            }
        }
    }
}
