//! Tests of both languages: programs agree with trees, and no text causes a crash.
mod models;
mod orders;

use proptest::prelude::*;

use super::dialect::Feature;
use super::operations::{Binary, Unary};
use super::{Dialect, ExpressionError, Item, MODELS, ORDERS, Program};

/// Names and their values.
const NAMES: [(&str, f64); 7] = [
    ("now", 1000.0),
    ("submit_time", 400.0),
    ("requested_time", 3600.0),
    ("tasks", 8.0),
    ("x", 3.0),
    ("k", -2.0),
    ("pi", std::f64::consts::PI),
];

/// Names of texts follow those of numbers.
const TEXTS: [(&str, &str); 1] = [("net", "resnet50")];

fn parse(text: &str, dialect: &Dialect) -> Result<Program, ExpressionError> {
    let names = || NAMES.iter().map(|(name, _)| *name).chain(TEXTS.iter().map(|(name, _)| *name));
    let mut index = |word: &str| names().position(|name| name == word).ok_or(format!("no name '{word}'."));
    Program::parse(text, dialect, &mut index)
}

fn meaning(index: usize) -> Item<'static> {
    match NAMES.get(index) {
        Some((_, value)) => Item::Number(*value),
        None => Item::Text(TEXTS[index - NAMES.len()].1),
    }
}

fn evaluate(text: &str, dialect: &Dialect) -> Result<f64, ExpressionError> {
    parse(text, dialect)?.value(|index| Ok(meaning(index)))
}

/// A formula as a tree: an independent way to evaluate it.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Name(&'static str, f64),
    Prefix(String, u8, Unary, Box<Tree>),
    Call(&'static str, Unary, Box<Tree>),
    /// The binding strengths of the whole and of both sides.
    Two(&'static str, [u8; 3], Binary, Box<[Tree; 2]>),
    Extreme(&'static str, Binary, Vec<Tree>),
    IfElse(Box<[Tree; 3]>),
    Choose(Box<[Tree; 3]>),
}

impl Tree {
    fn evaluate(&self) -> f64 {
        match self {
            Self::Number(number) | Self::Name(_, number) => *number,
            Self::Prefix(_, _, operation, inner) | Self::Call(_, operation, inner) => {
                operation.apply(inner.evaluate())
            }
            Self::Two(_, _, operation, sides) => operation.apply(sides[0].evaluate(), sides[1].evaluate()),
            Self::Extreme(_, operation, values) => {
                let values = values.iter().map(Self::evaluate);
                values.reduce(|left, right| operation.apply(left, right)).unwrap_or_default()
            }
            Self::IfElse(parts) => parts[if parts[1].evaluate() == 0.0 { 2 } else { 0 }].evaluate(),
            Self::Choose(parts) => parts[if parts[0].evaluate() == 0.0 { 2 } else { 1 }].evaluate(),
        }
    }

    /// The formula's text with the necessary parentheses only, and its binding strength.
    fn write(&self) -> (String, u8) {
        match self {
            Self::Number(number) => (number.to_string(), 20),
            Self::Name(name, _) => ((*name).into(), 20),
            Self::Prefix(sign, binding, _, inner) => {
                (format!("{sign}{}", inner.within(*binding)), binding - 1)
            }
            Self::Call(name, _, inner) => (format!("{name}({})", inner.write().0), 20),
            Self::Two(sign, [whole, left, right], _, sides) => {
                (format!("{} {sign} {}", sides[0].within(*left), sides[1].within(*right)), *whole)
            }
            Self::Extreme(name, _, values) => {
                let values: Vec<String> = values.iter().map(|value| value.write().0).collect();
                (format!("{name}({})", values.join(", ")), 20)
            }
            Self::IfElse(parts) => {
                let [value, condition, otherwise] = parts.as_ref();
                (format!("{} if {} else {}", value.within(1), condition.within(1), otherwise.write().0), 0)
            }
            Self::Choose(parts) => {
                let [condition, value, otherwise] = parts.as_ref();
                (format!("{} ? {} : {}", condition.within(1), value.write().0, otherwise.write().0), 0)
            }
        }
    }

    fn within(&self, least: u8) -> String {
        match self.write() {
            (text, hold) if hold < least => format!("({text})"),
            (text, _) => text,
        }
    }
}

/// A language and a formula of it as a tree.
fn trees() -> impl Strategy<Value = (&'static Dialect, Tree)> {
    prop::sample::select(vec![&ORDERS, &MODELS]).prop_flat_map(|dialect| (Just(dialect), trees_of(dialect)))
}

fn trees_of(dialect: &'static Dialect) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0.0..1e6_f64).prop_map(Tree::Number),
        (0_u8..4).prop_map(|number| Tree::Number(f64::from(number))),
        prop::sample::select(&NAMES[..]).prop_map(|(name, value)| Tree::Name(name, value)),
    ];
    leaf.prop_recursive(6, 40, 4, move |inner| {
        let three = || [inner.clone(), inner.clone(), inner.clone()].prop_map(Box::new);
        let calls = prop::sample::select(&["abs", "sqrt", "log", "log2", "log10", "exp", "floor", "ceil"][..]);
        prop_oneof![
            2 => (prop::sample::select(dialect.prefixes), inner.clone()).prop_map(|((sign, operation, binding), tree)| {
                Tree::Prefix(format!("{sign} "), binding, operation.unwrap_or(Unary::Number), Box::new(tree))
            }),
            1 => (calls, inner.clone())
                .prop_map(|(name, tree)| Tree::Call(name, Unary::written(name).unwrap(), Box::new(tree))),
            5 => (prop::sample::select(operators(dialect)), [inner.clone(), inner.clone()])
                .prop_map(|((sign, holds, operation), sides)| Tree::Two(sign, holds, operation, Box::new(sides))),
            1 => (any::<bool>(), prop::collection::vec(inner.clone(), 2..4)).prop_map(|(least, values)| {
                let (name, operation) = if least { ("min", Binary::Min) } else { ("max", Binary::Max) };
                Tree::Extreme(name, operation, values)
            }),
            1 => three().prop_map(Tree::Choose),
            u32::from(dialect.has(Feature::IfElse)) => three().prop_map(Tree::IfElse),
        ]
    })
}

/// All operators between numbers, with the binding strengths of the whole and of both sides.
fn operators(dialect: &Dialect) -> Vec<(&'static str, [u8; 3], Binary)> {
    let words = dialect.operators.iter().flat_map(|(_, _, words)| words.split(' '));
    let all = words.map(|word| {
        let (operation, left, right) = dialect.operator(word).unwrap();
        let groups_from_left = left < right && dialect.unchained != Some(left);
        (word, [left, left + u8::from(!groups_from_left), right], operation)
    });
    all.filter(|(_, _, operation)| !operation.needs_texts()).collect()
}

fn same(value: f64, other: f64) -> bool {
    value.to_bits() == other.to_bits() || value.is_nan() && other.is_nan()
}

proptest! {
    /// The program returns the same bits as the tree, with numbers only and with items.
    #[test]
    fn agrees_with_the_tree((dialect, tree) in trees()) {
        let ((text, _), direct) = (tree.write(), tree.evaluate());
        let parsed = parse(&text, dialect);
        prop_assert!(parsed.is_ok(), "{text}: {parsed:?}");
        if let Ok(program) = parsed {
            let number = program.number(|index| NAMES[index].1);
            prop_assert!(same(number, direct), "{text}: {number}, not {direct}");
            let value = program.value(|index| Ok(meaning(index)));
            prop_assert!(value.as_ref().is_ok_and(|value| same(*value, direct)), "{text}: {value:?}");
        }
    }

    /// No text makes the parser panic, and the position of an error is in the text or at its end.
    #[test]
    fn any_text(text in "\\PC*|[-+*/%^<>=!?:,()0-9.e a-f'\\[\\]{}&|]*|(x|net|now|if|else|in|and|or|not|like|min|'a|\\(|\\)|,|[ -+*?:<1-9.']){0,20}") {
        for dialect in [&ORDERS, &MODELS] {
            if let Err(error) = evaluate(&text, dialect) {
                prop_assert!(error.position <= text.chars().count());
            }
        }
    }

    /// A damaged formula leads to an error or to a valid program.
    #[test]
    fn damaged_formulas((dialect, tree) in trees(), from in any::<prop::sample::Index>(), length in 0_usize..6) {
        let characters: Vec<char> = tree.write().0.chars().collect();
        let from = from.index(characters.len());
        let kept = characters.iter().enumerate().filter(|(index, _)| !(from..from + length).contains(index));
        let damaged: String = kept.map(|(_, character)| character).collect();
        if let Err(error) = evaluate(&damaged, dialect) {
            prop_assert!(error.position <= damaged.chars().count());
        }
    }
}

/// A large stack leads to the same values.
#[test]
fn high_stacks() {
    let nested = "clamp(0, 1, ".repeat(150) + "9" + &")".repeat(150);
    assert_eq!(evaluate(&nested, &MODELS), Ok(1.0));
    let nested = "0 ? 1 : ".repeat(20) + "tasks";
    assert_eq!(evaluate(&nested, &ORDERS), Ok(8.0));
}

/// Programs can be serialised and deserialised, as needed for snapshots.
#[test]
fn programs_are_data() {
    fn is_data<T: Clone + PartialEq + serde::Serialize + serde::de::DeserializeOwned>() {}
    is_data::<Program>();
}
