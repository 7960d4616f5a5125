//! Messages about unknown names.

/// Returns `no KIND named 'WORD'. Did you mean 'NEAREST'? Known: …`; without the question if no name is near.
#[must_use]
pub fn unknown(kind: &str, word: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|name| distance(word, name));
    let question = match nearest {
        Some(name) if distance(word, name) * 3 <= name.len().max(3) => format!(" Did you mean '{name}'?"),
        _ => String::new(),
    };
    let mut names = known.to_vec();
    names.sort_unstable();
    format!("no {kind} named {}.{question} Known: {}.", shown(word), names.join(", "))
}

/// Shortens a text for a message, in quotes and on one line.
#[must_use]
pub fn shown(text: &str) -> String {
    if text.chars().count() <= 40 {
        return format!("{text:?}").replace('"', "'");
    }
    let start: String = text.chars().take(40).collect();
    format!("{start:?}").replace('"', "'") + "…"
}

/// The edit distance of two words (insertions, deletions and replacements of characters); a large number for long
/// words.
fn distance(from: &str, to: &str) -> usize {
    if from.len() > 64 || to.len() > 64 {
        return usize::MAX / 4;
    }
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (above, left) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (index, right) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[index + 1];
            row[index + 1] = replaced.min(diagonal + 1).min(row[index] + 1);
        }
    }
    row[row.len() - 1]
}
